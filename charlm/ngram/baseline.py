"""An n-gram baseline from a text or a file: estimated or loaded, kept, and measured.

The words of the training text are taken as they stand unless a vocabulary says otherwise; those
seen once are words, too, as lmplz has it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from charlm.errors import ConfigError
from charlm.ngram.arpa_writing import STARTS, Start, write_arpa
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.evaluation import evaluate_ngram
from charlm.ngram.kenlm_binary import (
    convert_to_binary,
    find_build_binary,
    neighbour_folder,
    wants_binary,
    write_binary,
)
from charlm.ngram.lmplz import find_lmplz
from charlm.ngram.load import NgramModel
from charlm.ngram.source import ModelInfo, Plan, estimated, lmplz_estimated, loaded, parse_pruning
from charlm.text.corpus import split_path
from charlm.text.inventory import Inventory, load_inventory
from charlm.text.perplexity import Evaluation, ScoredSentence

Engine = Literal["auto", "charlm", "kenlm", "lmplz"]
ENGINES = ("auto", "charlm", "kenlm", "lmplz")
VOCABULARY = "vocab.json"  # in a run directory


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


def ngram_baseline(
    files: str | Path | Sequence[str | Path] = (),
    *,
    train: str | Path | None = None,
    lm: str | Path | None = None,
    data: str | Path | None = None,
    split: Literal["train", "valid", "test"] = "test",
    out: str | Path | None = None,
    order: int = 5,
    prune: str = "0",
    vocab: str | Path | None = None,
    engine: Engine = "auto",
    lmplz: str | Path | None = None,
    start: Start = "lmplz",
    on_model: Callable[[ModelInfo], None] | None = None,
    on_sentence: Callable[[ScoredSentence], None] | None = None,
    on_text: Callable[[Evaluation], None] | None = None,
) -> Baseline:
    """Estimate a Kneser–Ney model of the text `train`, or load `lm`; write it; measure texts.

    `data` is a corpus directory: its train.txt is estimated from unless `train` or `lm` says
    otherwise, its `split` measured. `vocab` is a vocabulary or a run: words outside it are `<unk>`
    in every text. `out` is ARPA (gz, bz2 or xz by its suffix) or, ending in .bin, .binary or .klm,
    KenLM's binary. The engine `auto` estimates with ours and loads with KenLM where it is
    installed; `lmplz` estimates on the disk and needs `out`.

    Raises:
        ConfigError: options that contradict each other or make no model; a missing program.
        DataError: a text or model that is not what was expected.
    """
    files = [files] if isinstance(files, str | Path) else list(files)
    if (train is not None) + (lm is not None) > 1 or (train is lm is data is None):
        raise ConfigError("expected one of --train TEXT, --lm MODEL, or --data DIR alone")
    if files and data is not None:
        raise ConfigError("found both files and --data; expected one of them; give either")
    _check_engine(engine, lm=lm, lmplz=lmplz, start=start)
    paths = [split_path(data, split)] if data is not None else files
    if not paths and out is None:
        raise ConfigError("nothing to do: expected --out FILE, or texts to measure")
    plan = Plan(order, parse_pruning(prune), _vocabulary(vocab))
    job = _Job(plan, None if out is None else Path(out), start, engine)
    if lm is not None:
        model, info = job.load(lm)
    else:
        text = train if train is not None else split_path(data or "", "train")
        model, info = job.estimate(text, program=_lmplz(engine, lmplz))
    if on_model is not None:
        on_model(info)
    texts = []
    for path in paths:
        result = evaluate_ngram(
            model,
            path,
            told=info.told,
            split="" if data is None else split,
            vocabulary=plan.vocabulary,
            on_sentence=on_sentence,
        )
        texts.append(result)
        if on_text is not None:
            on_text(result)
    return Baseline(info, job.out, tuple(texts))


def _check_engine(engine: str, *, lm: object, lmplz: object, start: str) -> None:
    if engine not in ENGINES:
        raise ConfigError(f"--engine {engine!r}: expected one of {', '.join(ENGINES)}")
    if lm is not None and (engine == "lmplz" or lmplz is not None):
        raise ConfigError("lmplz estimates, and --lm loads; expected one of them; drop either")
    if lm is None and (engine == "kenlm" or (engine == "charlm" and lmplz is not None)):
        found = "--engine kenlm" if engine == "kenlm" else "--engine charlm and --lmplz"
        raise ConfigError(f"{found}: expected --engine charlm or lmplz to estimate a model")
    if start not in STARTS:
        raise ConfigError(f"--start {start!r}: expected one of {', '.join(STARTS)}")


def _lmplz(engine: str, path: str | Path | None) -> Path | None:
    return find_lmplz(path) if engine == "lmplz" or path is not None else None


def _vocabulary(path: str | Path | None) -> Inventory | None:
    if path is None:
        return None
    return load_inventory(Path(path) / VOCABULARY if Path(path).is_dir() else path)


@dataclass(frozen=True)
class _Job:
    """How a model is made or loaded, and where it is kept."""

    plan: Plan
    out: Path | None
    start: Start
    engine: Engine

    def load(self, path: str | Path) -> tuple[NgramModel, ModelInfo]:
        """Load a model; one that is to be written is read by us, whatever the engine."""
        if self.out is None:
            assert self.engine != "lmplz"
            return loaded(path, engine=self.engine)
        tool = self._tool()
        model, info = loaded(path, engine="charlm")
        self._keep(model, tool)
        return model, info

    def estimate(self, text: str | Path, *, program: Path | None) -> tuple[NgramModel, ModelInfo]:
        """Estimate a model, by lmplz if it is given, and keep it where it is to be kept."""
        tool = self._tool(beside=program)  # missing, it should be missed before the work
        if program is None:
            model, info = estimated(text, self.plan)
            self._keep(model, tool)
            return model, info
        with neighbour_folder(self.out or Path("model")) as folder:
            arpa = self.out if self.out is not None and tool is None else folder / "model.arpa"
            info = lmplz_estimated(text, self.plan, out=arpa, program=program)
            if tool is not None and self.out is not None:
                convert_to_binary(arpa, self.out, tool=tool)
            return loaded(arpa, engine="auto")[0], info

    def _tool(self, *, beside: Path | None = None) -> Path | None:
        wanted = self.out is not None and wants_binary(self.out)
        return find_build_binary(beside=beside) if wanted else None

    def _keep(self, model: NgramModel, tool: Path | None) -> None:
        if self.out is None:
            return
        assert isinstance(model, BackoffModel)
        if tool is None:
            write_arpa(model, self.out, start=self.start)
        else:
            write_binary(model, self.out, tool=tool)
