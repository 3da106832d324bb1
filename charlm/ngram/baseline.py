"""An n-gram baseline from a text or a file: estimated or loaded, kept, and measured.

The words of the training text are taken as they stand unless a vocabulary says otherwise; those
seen once are words, too, as lmplz has it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from charlm.errors import ConfigError, DataError
from charlm.ngram.arpa_writing import Start
from charlm.ngram.kenlm_binary import convert_to_binary
from charlm.ngram.kenlm_model import is_kenlm_binary
from charlm.ngram.lmplz import find_lmplz
from charlm.ngram.load import Engine as Reader
from charlm.ngram.load import NgramModel, is_pipe
from charlm.ngram.saving import LMPLZ, Place, place_of
from charlm.ngram.source import (
    ModelInfo,
    Plan,
    estimated,
    lmplz_estimated,
    loaded,
    loaded_for_arpa,
    parse_pruning,
)
from charlm.ngram.text_perplexity import evaluate_ngram
from charlm.ngram.word_ids import text_in
from charlm.text.corpus.sentences import split_path
from charlm.text.io.lines import TEXT, UTF8
from charlm.text.io.overwrite import keeps_inputs
from charlm.text.io.paths import stream_of, working_folder_of
from charlm.text.perplexity.perplexity import Evaluation, ScoredSentence
from charlm.text.perplexity.spelled_words import Spells
from charlm.text.vocabulary.vocabulary import Inventory, vocabulary_at

Engine = Literal["auto", "charlm", "kenlm", "lmplz"]
ENGINES = ("auto", "charlm", "kenlm", "lmplz")
ORDER, PRUNE, SPLIT = 5, "0", "test"  # where nothing else is said

Split = Literal["train", "valid", "test"]


@dataclass(frozen=True)
class Baseline:
    """An n-gram model and what it makes of texts."""

    model: ModelInfo
    out: Path | None
    texts: tuple[Evaluation, ...]

    def to_dict(self) -> dict[str, object]:
        """As JSON."""
        return {
            "model": self.model.to_dict(),
            "out": None if self.out is None else str(self.out),
            "n_bytes": None if self.out is None else self.out.stat().st_size,
            "texts": [text.to_dict() for text in self.texts],
        }


@keeps_inputs("out")
def ngram_baseline(
    files: str | Path | Sequence[str | Path] = (),
    *,
    train: str | Path | None = None,
    lm: str | Path | None = None,
    data: str | Path | None = None,
    split: Split | None = None,
    out: str | Path | None = None,
    order: int | None = None,
    prune: str | None = None,
    vocab: str | Path | None = None,
    engine: Engine = "auto",
    lmplz: str | Path | None = None,
    start: Start | None = None,
    speller: Spells | None = None,
    no_sentence_marks: bool = False,
    encoding: str = UTF8,
    on_model: Callable[[ModelInfo], None] | None = None,
    on_sentence: Callable[[ScoredSentence], None] | None = None,
    on_text: Callable[[Evaluation], None] | None = None,
) -> Baseline:
    """Estimate a Kneser–Ney model of the text `train`, or load `lm`; write it; measure texts.

    `data` is a corpus directory: its train.txt is estimated from unless `train` or `lm` says
    otherwise, its `split` (test.txt) measured. `vocab` is a vocabulary or a run: words outside it
    are `<unk>` in every text. An estimate has `order` 5 and nothing pruned unless told otherwise.
    `out` is ARPA (gz, bz2 or xz by its suffix; `start` is how it has `<s>`, as lmplz or as srilm)
    or, ending in .bin, .binary or .klm, KenLM's binary. The engine `auto` estimates with ours and
    loads with KenLM where it is installed and takes the file; `lmplz` estimates on the disk. KenLM
    believes its binaries, so one from a stranger may crash the program. `speller` (an
    `OpenVocabulary`) brings its vocabulary and adds figures in which words outside it are spelled.
    With `no_sentence_marks` texts are measured with neither `<s>` nor `</s>`, over words alone.
    `encoding` is that of all texts and of an ARPA file that is loaded.

    Raises:
        ConfigError: options that contradict each other, have no effect or make no model; a missing
            program or folder.
        DataError: a text or model that is not what was expected.
    """
    files = [files] if isinstance(files, str | Path) else list(files)
    _check_source(files, train=train, lm=lm, data=data, split=split)
    part = SPLIT if split is None else split
    paths = [split_path(data, part)] if data is not None else _existing(files)
    if not paths:
        _refuse_without_text(out=out, no_sentence_marks=no_sentence_marks)
    inventory, rules = _vocabulary(vocab, speller), replace(TEXT, encoding=encoding)
    if lm is not None:
        _refuse_to_estimate(order=order, prune=prune, lmplz=lmplz)
        place = place_of(out, start=start, beside=None)
        model, info = _loaded(lm, place, reader=_reader(engine), encoding=encoding)
    else:
        program = _lmplz(engine, lmplz)
        pruning = parse_pruning(PRUNE if prune is None else prune)
        plan = Plan(ORDER if order is None else order, pruning, inventory, rules)
        place = place_of(out, start=start, beside=program)
        text = train if train is not None else split_path(data or "", "train")
        model, info = _estimated(text, plan, place=place, program=program)
    if on_model is not None:
        on_model(info)
    texts = []
    for path in paths:
        result = evaluate_ngram(
            model,
            text_in(path, inventory, rules=rules),
            told=info.told,
            split="" if data is None else part,
            vocabulary=inventory,
            speller=speller,
            marked=not no_sentence_marks,
            on_sentence=on_sentence,
        )
        texts.append(result)
        if on_text is not None:
            on_text(result)
    return Baseline(info, None if out is None else Path(out), tuple(texts))


def _check_source(
    files: Sequence[str | Path], *, train: object, lm: object, data: object, split: str | None
) -> None:
    if (train is not None) + (lm is not None) > 1 or (train is lm is data is None):
        raise ConfigError("expected one of --train TEXT, --lm MODEL, or --data DIR alone")
    if files and data is not None:
        raise ConfigError("found both files and --data; expected one of them; give either")
    if split is not None and data is None:
        raise ConfigError(f"--split {split}: expected --data DIR, of which it is a part; drop it")
    if [str(each) for each in (train, lm, *files)].count("-") > 1:
        raise ConfigError("standard input: asked for twice; expected one thing to read from it")


def _refuse_without_text(*, out: object, no_sentence_marks: bool) -> None:
    """What needs a text, where none is given."""
    if out is None:
        raise ConfigError("nothing to do: expected --out FILE, or texts to measure")
    if no_sentence_marks:
        raise ConfigError(
            "--no-sentence-marks: says how texts are measured, and there is none; expected one; "
            "drop it"
        )


def _vocabulary(vocab: str | Path | None, speller: Spells | None) -> Inventory | None:
    own = None if vocab is None else vocabulary_at(vocab)
    if own is None or speller is None:
        return own if speller is None else speller.inventory
    if (own.words, own.normalisation) != (speller.inventory.words, speller.inventory.normalisation):
        raise ConfigError(
            f"--vocab {vocab}: not the vocabulary of the speller's run; expected the same; drop it"
        )
    return own


def _existing(files: Sequence[str | Path]) -> Sequence[str | Path]:
    """The files: a missing one would be missed only when the model is made."""
    for path in files:
        if str(path) != "-" and not Path(path).exists():
            raise DataError(f"{path}: no such file; expected a text")
    return files


def _refuse_to_estimate(*, order: object, prune: object, lmplz: object) -> None:
    """What belongs to an estimate, where a model is loaded."""
    if lmplz is not None:
        raise ConfigError("lmplz estimates, and --lm loads; expected one of them; drop either")
    for name, value in (("order", order), ("prune", prune)):
        if value is not None:
            raise ConfigError(
                f"--{name} is for an estimate, and --lm loads; expected one of them; drop either"
            )


def _reader(engine: Engine) -> Reader:
    """The engine for loading a model."""
    if engine not in ENGINES:
        raise ConfigError(f"--engine {engine!r}: expected one of {', '.join(ENGINES)}")
    if engine == "lmplz":
        raise ConfigError("lmplz estimates, and --lm loads; expected one of them; drop either")
    return engine


def _lmplz(engine: str, path: str | Path | None) -> Path | None:
    """The program to estimate with, if it is not ours."""
    if engine not in ENGINES:
        raise ConfigError(f"--engine {engine!r}: expected one of {', '.join(ENGINES)}")
    if engine == "kenlm" or (engine == "charlm" and path is not None):
        found = "--engine kenlm" if engine == "kenlm" else "--engine charlm and --lmplz"
        raise ConfigError(f"{found}: expected --engine charlm or lmplz to estimate a model")
    return find_lmplz(path) if engine == "lmplz" or path is not None else None


def _loaded(
    path: str | Path, place: Place | None, *, reader: Reader, encoding: str
) -> tuple[NgramModel, ModelInfo]:
    """Load a model; one that is to be written is read by us."""
    if place is None:
        return loaded(path, engine=reader, encoding=encoding)
    if not is_pipe(path) and is_kenlm_binary(path):
        raise ConfigError(
            f"{path}: KenLM's binary, of which no other file can be made; expected an ARPA file to "
            f"write {place.path} from"
        )
    if reader == "kenlm":
        raise ConfigError("--engine kenlm: writes no model; expected no --out, or --engine charlm")
    model, info = loaded_for_arpa(path, encoding=encoding)
    place.keep(model)
    return model, info


def _estimated(
    text: str | Path, plan: Plan, *, place: Place | None, program: Path | None
) -> tuple[NgramModel, ModelInfo]:
    """Estimate a model, by lmplz if it is given, and keep it where it is to be kept."""
    if program is None:
        model, info, _ = estimated(text, plan, for_arpa=place is not None)
        if place is not None:
            place.keep(model)
        return model, info
    if place is not None and stream_of(place.path) is not None:
        raise ConfigError(
            f"--out {place.path}: a stream, and what lmplz writes is read again; expected a file, "
            "or --engine charlm"
        )
    beside = working_folder_of("model" if place is None else place.path)
    with TemporaryDirectory(dir=beside, prefix=".charlm-") as folder:
        is_arpa = place is not None and place.tool is None
        arpa = place.path if place is not None and is_arpa else Path(folder, "model.arpa")
        start = LMPLZ if place is None else place.start
        info = lmplz_estimated(text, plan, out=arpa, program=program, start=start)
        if place is not None and place.tool is not None:
            with open(arpa, "rb") as file:
                convert_to_binary(file, place.path, tool=place.tool)
        return loaded(arpa, engine="auto")[0], info
