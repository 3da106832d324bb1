"""An n-gram baseline from a text or a file: estimated or loaded, saved, and measured.

Without a vocabulary all words of the training text are words as they stand, also those seen once,
as in lmplz.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from charlm.errors import ConfigError
from charlm.interface.json_results import JsonResult
from charlm.interface.options import keywords, require_data, require_one_stdin, several
from charlm.interface.short_repr import ShortRepr
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.files.arpa_writing import write_arpa
from charlm.ngram.files.kenlm_binary import (
    convert_to_binary,
    find_build_binary,
    wants_binary,
    write_binary,
)
from charlm.ngram.files.load import NgramModel, refuse_binary
from charlm.ngram.lmplz import find_lmplz
from charlm.ngram.model_sources import (
    SRILMS_PRUNE,
    EstimationPlan,
    ModelInfo,
    model_in_file,
    model_of_counts,
    model_of_text,
    parse_pruning,
    write_lmplz_model,
)
from charlm.ngram.ngram_options import NgramOptions, Start
from charlm.ngram.reshaping.combination import cut_to, entropy_pruned
from charlm.ngram.reshaping.fewer_words import limited_to
from charlm.ngram.text_perplexity import evaluate_ngram
from charlm.ngram.word_ids import MARKS, text_in, vocabulary_or_list_at
from charlm.text.corpus.normalisation.normalisation import NO_RULES
from charlm.text.corpus.sentences import split_path
from charlm.text.io.lines import TEXT, LineRules
from charlm.text.io.overwrite import refuse_overwrite, require_distinct
from charlm.text.io.paths import (
    require_place,
    require_texts,
    size_of,
    stream_of,
    working_folder_of,
)
from charlm.text.perplexity.perplexity import Evaluation
from charlm.text.perplexity.signature import HASH_DIGITS
from charlm.text.vocabulary.vocabulary import Inventory

LMPLZ: Start = "lmplz"
ORDER, PRUNE, SPLIT = 5, "0", "test"  # where nothing else is said


@dataclass(frozen=True)
class ModelFile:
    """A file that a model is written to."""

    path: Path
    start: Start
    tool: Path | None  # that makes KenLM's binary; None for ARPA

    def save(self, model: BackoffModel) -> None:
        """Write a model, atomically.

        Raises:
            DataError: a word that ARPA cannot hold; the tool failed.
        """
        if self.tool is None:
            write_arpa(model, self.path, start=self.start)
        else:
            write_binary(model, self.path, tool=self.tool)


@dataclass(frozen=True)
class Baseline(JsonResult, ShortRepr):
    """An n-gram model and its perplexities of texts."""

    model: ModelInfo
    out: Path | None
    n_bytes: int | None  # of the file as it was written; None without one, or of a stream
    texts: tuple[Evaluation, ...]


@keywords(NgramOptions)
@refuse_overwrite("out", "write_counts")
def ngram_baseline(options: NgramOptions) -> Baseline:
    """Estimate a Kneser–Ney model of the text `train` or of `counts`, or load `lm`; measure texts.

    `data` is a corpus directory: its train.txt is estimated from unless one of those is given, and
    its `split` (test.txt) is measured. The engine `auto` estimates with charlm and loads with
    KenLM if that is installed and takes the file. KenLM trusts its binaries, so one from a stranger
    may crash the program. A `speller` brings its vocabulary.

    >>> found = charlm.ngram_baseline(data="corpus", order=3, prune="0,0,1", out="kn.arpa")
    >>> found.texts[0].by_state["sentence"]
    Perplexity(ppl=..., n_tokens=14)

    Raises:
        ConfigError: options that contradict each other, have no effect or make no model; a missing
            program or folder.
        DataError: a text or model that is not what was expected.
    """
    files, data = several(options.files), options.data
    _check(files, options)
    part = options.split or SPLIT
    paths = [split_path(data, part)] if data is not None else files
    inventory, rules = _vocabulary(options), replace(TEXT, encoding=options.encoding)
    limit = None if options.limit_vocab is None else vocabulary_or_list_at(options.limit_vocab)
    model: NgramModel | None
    if options.lm is not None:
        model, info = _loaded(options.lm, options, limit=limit)
    else:
        model, info = _estimated(options, inventory, rules=rules, limit=limit, is_asked=bool(paths))
    if options.on_model is not None:
        options.on_model(info)
    texts = []
    for path in paths:
        assert model is not None  # it is asked
        result = evaluate_ngram(
            model,
            text_in(path, inventory, rules=rules, further=options.text_rules),
            in_signature=info.in_signature,
            split="" if data is None else part,
            vocabulary=inventory,
            speller=options.speller,
            marked=not options.no_sentence_marks,
            on_sentence=options.on_sentence,
        )
        texts.append(result)
        if options.on_text is not None:
            options.on_text(result)
    out = None if options.out is None else Path(options.out)
    return Baseline(info, out, None if out is None else size_of(out), tuple(texts))


def _check(files: Sequence[str | Path], options: NgramOptions) -> None:
    train, lm, data, counts = options.train, options.lm, options.data, several(options.counts)
    n_sources = (train is not None) + (lm is not None) + bool(counts)
    if n_sources > 1 or (not n_sources and data is None):
        raise ConfigError(
            "expected one of --train TEXT, --counts FILE, --lm MODEL, or --data DIR alone"
        )
    if files and data is not None:
        raise ConfigError("found both files and --data; expected one of them; give either")
    require_data(data, options.split)
    require_one_stdin([train, *counts, lm, options.vocab, options.limit_vocab, options.map, *files])
    require_texts(files)  # else missed only when the model is made
    if files or data is not None:
        return
    if options.out is None and options.write_counts is None:
        raise ConfigError("nothing to do: expected --out FILE, or texts to measure")
    idle = {
        "--no-sentence-marks": options.no_sentence_marks,
        "--vocab": options.vocab is not None and lm is not None,  # an estimate would be made in it
        "--speller": options.speller is not None and lm is not None,
        "--lower and the like": options.text_rules != NO_RULES and train is None,
    }
    for option, is_given in idle.items():
        if is_given:
            instead = ", or take --limit-vocab, the words of the model" * (option == "--vocab")
            raise ConfigError(f"{option}: found no text to measure; expected one; drop it{instead}")


def _vocabulary(options: NgramOptions) -> Inventory | None:
    theirs = None if options.speller is None else options.speller.inventory
    if options.vocab is None:
        return theirs
    own = vocabulary_or_list_at(options.vocab)
    if theirs and (own.words, own.normalisation) != (theirs.words, theirs.normalisation):
        raise ConfigError(
            f"--vocab {options.vocab}: not the vocabulary of the speller's run; expected the same; "
            "drop it"
        )
    return own


def _loaded(
    path: str | Path, options: NgramOptions, *, limit: Inventory | None
) -> tuple[NgramModel, ModelInfo]:
    """Load a model, by our reader if it is to be written or changed; options of estimation fail."""
    if options.lmplz is not None or options.engine == "lmplz":
        raise ConfigError("lmplz estimates, and --lm loads; expected one of them; drop either")
    only_estimates = {"prune": options.prune, "write-counts": options.write_counts}
    for name, value in only_estimates.items():
        if value is not None:
            other = SRILMS_PRUNE if name == "prune" else ""
            raise ConfigError(
                f"--{name} is for an estimate, and --lm loads; expected one of them; drop either"
                f"{other}"
            )
    out = model_file(options.out, start=options.start, beside=None)
    if out is None and not options.entropy_prune and limit is None and options.order is None:
        return model_in_file(path, engine=options.engine, encoding=options.encoding)
    refuse_binary(path, "of which no other model can be made; expected an ARPA file")
    if options.engine == "kenlm":
        raise ConfigError(
            "--engine kenlm: neither writes nor changes a model; expected --engine charlm"
        )
    model, info = model_in_file(path, engine="charlm", encoding=options.encoding)
    assert isinstance(model, BackoffModel)  # as ours are
    return _reshape_and_save(model, info, options, limit=limit, out=out)


def _reshape_and_save(
    model: BackoffModel,
    info: ModelInfo,
    options: NgramOptions,
    *,
    limit: Inventory | None,
    out: ModelFile | None,
) -> tuple[BackoffModel, ModelInfo]:
    """The model cut to an order, its words limited, n-grams pruned; saved if it is to be."""
    began = time.perf_counter()
    in_signature = dict(info.in_signature)
    order = options.order or model.order  # an estimate has it already
    if order > model.order:
        raise ConfigError(
            f"--order {order}: {model.source} has order {model.order}; expected that or less"
        )
    if order < model.order:
        model = cut_to(order, model)
        in_signature["order"] = str(order)
    if limit is not None:
        model = limited_to(frozenset(limit.words), model)
        if len(model.words) == len(MARKS):
            raise ConfigError(
                f"--limit-vocab {options.limit_vocab}: {model.source} has none of its words; "
                "expected some; is it of another language, or in capitals?"
            )
        in_signature["limit-vocab"] = limit.sha256[:HASH_DIGITS]
        lacking = set(limit.words).difference(model.words)
        info = replace(info, lacking=tuple(word for word in limit.words if word in lacking))
    if threshold := options.entropy_prune:
        model = entropy_pruned(model, threshold)
        in_signature["entropy-prune"] = f"{threshold:g}"
    seconds = info.seconds + time.perf_counter() - began
    info = replace(info, order=order, sizes=model.sizes, seconds=seconds, in_signature=in_signature)
    if out is not None:
        out.save(model)
    return model, info


def model_file(
    out: str | Path | None, *, start: Start | None, beside: Path | None
) -> ModelFile | None:
    """The file that the options name, if any; KenLM's tool may lie `beside` lmplz.

    A missing folder or tool, which would make the end fail, is noticed before the work begins.

    Raises:
        ConfigError: options that contradict each other; a missing folder or tool.
        DataError: a place that holds something other than a file.
    """
    is_binary = out is not None and wants_binary(out)
    if start is not None and (out is None or is_binary):
        raise ConfigError(
            f"--start {start}: says how an ARPA file is written, and none is; expected --out with "
            "the name of one; drop --start"
        )
    if out is None:
        return None
    require_place(out, option="--out")
    if is_binary and stream_of(out) is not None:
        raise ConfigError(f"--out {out}: a stream; expected a file for KenLM's binary")
    tool = find_build_binary(beside=beside) if is_binary else None
    return ModelFile(Path(out), start or LMPLZ, tool)


def _lmplz(options: NgramOptions) -> Path | None:
    """lmplz, if that is to estimate."""
    engine, path = options.engine, options.lmplz
    if engine == "kenlm" or (engine == "charlm" and path is not None):
        found = "--engine kenlm" if engine == "kenlm" else "--engine charlm and --lmplz"
        raise ConfigError(f"{found}: expected --engine charlm or lmplz to estimate a model")
    return find_lmplz(path) if engine == "lmplz" or path is not None else None


def _estimated(
    options: NgramOptions,
    vocabulary: Inventory | None,
    *,
    rules: LineRules,
    limit: Inventory | None,
    is_asked: bool,
) -> tuple[NgramModel | None, ModelInfo]:
    """Estimate a model, with lmplz if that is wanted, and save it if it is to be.

    lmplz's model, which need not fit into memory, is only loaded if texts are to be measured.
    """
    program, counts = _lmplz(options), several(options.counts)
    out = model_file(options.out, start=options.start, beside=program)
    require_place(options.write_counts, option="--write-counts")
    require_distinct({"--out": options.out, "--write-counts": options.write_counts})
    pruning = parse_pruning(PRUNE if options.prune is None else options.prune)
    plan = EstimationPlan(
        ORDER if options.order is None else options.order,
        pruning,
        vocabulary,
        rules,
        options.text_rules,
        counts_out=options.write_counts,
    )
    text = options.train
    if text is None and not counts:
        text = split_path(options.data or "", "train")
    if program is not None:
        _refuse_beside_lmplz(options, limit=limit)
        return _estimated_by_lmplz(text or "", plan, out=out, program=program, is_asked=is_asked)
    if text is None:
        model, info, _ = model_of_counts(counts, plan, for_arpa=out is not None)
    else:
        model, info, _ = model_of_text(text, plan, for_arpa=out is not None)
    return _reshape_and_save(model, info, options, limit=limit, out=out)


def _refuse_beside_lmplz(options: NgramOptions, *, limit: Inventory | None) -> None:
    if options.counts or options.write_counts is not None:
        option = "--counts" if options.counts else "--write-counts"
        raise ConfigError(f"{option}: lmplz has no such files; expected --engine charlm")
    if options.entropy_prune or limit is not None:
        option = "--entropy-prune" if options.entropy_prune else "--limit-vocab"
        raise ConfigError(
            f"{option}: prunes no model on the disk, where lmplz leaves it; expected --lm with "
            "its file; drop it here"
        )


def _estimated_by_lmplz(
    text: str | Path,
    plan: EstimationPlan,
    *,
    out: ModelFile | None,
    program: Path,
    is_asked: bool,
) -> tuple[NgramModel | None, ModelInfo]:
    if out is not None and stream_of(out.path) is not None:
        raise ConfigError(
            f"--out {out.path}: a stream, and what lmplz writes is read again; expected a file, "
            "or --engine charlm"
        )
    beside = Path() if out is None else working_folder_of(out.path)
    with TemporaryDirectory(dir=beside, prefix=".charlm-") as folder:
        arpa = Path(folder, "model.arpa") if out is None or out.tool else out.path
        start = LMPLZ if out is None else out.start
        info = write_lmplz_model(text, plan, out=arpa, program=program, start=start)
        if out is not None and out.tool is not None:
            with open(arpa, "rb") as file:
                convert_to_binary(file, out.path, tool=out.tool)
        return model_in_file(arpa, engine="auto")[0] if is_asked else None, info
