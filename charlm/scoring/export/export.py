"""An ARPA file that comes near to a neural model: what `charlm export` and `charlm.export` do.

What would fail at the end, a missing folder or a word that ARPA cannot hold, is looked for before
the work begins.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from charlm.errors import ConfigError, DataError
from charlm.ngram.arpa_writing import require_arpa_words, write_arpa
from charlm.ngram.estimation import require_all_words, thresholds_of
from charlm.ngram.source import parse_pruning
from charlm.options import require_seed
from charlm.run.store import LoadedRun, load_run
from charlm.run.which import which_run
from charlm.runtime import Precision, autocast, pick_device, pick_precision, set_threads
from charlm.scoring.export.approximation import Approximation, Approximator, ExportPlan, OnStage
from charlm.scoring.export.averages_over_text import Walker
from charlm.scoring.likelihood.nll import FormVectors
from charlm.scoring.likelihood.streams import as_words
from charlm.text.corpus.hashed_text import ReadText
from charlm.text.corpus.sentences import split_path
from charlm.text.io.files import display_name
from charlm.text.io.overwrite import keeps_inputs
from charlm.text.io.paths import require_place
from charlm.text.vocabulary.encoding import FormIds, Ids, encode_sentences

PRUNE = (0, 0, 1)  # where nothing else is said
LEAST_ORDER = 2  # words alone have no context, and KenLM refuses them


@dataclass(frozen=True)
class Export:
    """What an export has made."""

    model: Path
    arpa: Path
    n_sampled: int  # tokens
    sizes: tuple[int, ...]  # n-grams of each order, in the file
    n_bytes: int
    weights: dict[str, float]  # of what was mixed: train, sample, average
    valid_ppls: dict[str, float]  # by sentence: of each of these, and of what is in the `file`
    seconds: float

    @property
    def n_ngrams(self) -> int:
        """Of all orders."""
        return sum(self.sizes)

    def to_dict(self) -> dict[str, object]:
        """As JSON."""
        return {
            "model": str(self.model),
            "arpa": str(self.arpa),
            "n_sampled": self.n_sampled,
            "n_ngrams": list(self.sizes),
            "n_bytes": self.n_bytes,
            "weights": self.weights,
            "valid_ppls": self.valid_ppls,
            "seconds": self.seconds,
        }


@keeps_inputs("arpa")
def export(
    model: str | Path | None = None,
    *,
    arpa: str | Path,
    data: str | Path,
    tokens: int = 1_000_000,
    order: int = 5,
    prune: str | None = None,
    followers: int = 16,
    entropy_prune: float = 0.0,
    seed: int = 1,
    device: str = "auto",
    precision: Precision = "fp32",
    threads: int | None = None,
    on_stage: OnStage | None = None,
) -> Export:
    """Write the ARPA file of an n-gram approximation of a run, for first-pass decoding.

    `model` is a run directory, else $CHARLM_MODEL. `tokens` of text are drawn from it with `seed`,
    and n-grams that stand in them no more often than `prune` says, by order, are left out (0,0,1).
    At each position of these and of train.txt of `data` the model draws `followers` words, whose
    n-grams come in, too. The parts are weighed on valid.txt. `entropy_prune` drops n-grams whose
    loss raises the perplexity by no more than that share. `arpa` is packed by .gz, .bz2 or .xz.
    `on_stage` hears what is done.

    Raises:
        ConfigError: no model was said; a number out of its range; a missing folder.
        DataError: a run or text that is not what was expected; a word that ARPA cannot hold.
    """
    began = time.perf_counter()
    require_place(arpa, option="--arpa")
    plan = _plan(
        tokens=tokens,
        order=order,
        prune=prune,
        followers=followers,
        entropy_prune=entropy_prune,
        seed=seed,
    )
    set_threads(threads)
    where = pick_device(device)
    number_format = pick_precision(precision, where)
    run = load_run(which_run(model, newest_allowed=False), device=where)
    require_arpa_words(run.inventory.words, source=str(run.path))
    train, valid = (_word_ids(split_path(data, split), run) for split in ("train", "valid"))
    with autocast(where, number_format):
        made = _approximator(run, plan, on_stage=on_stage).approximation(train, valid)
    write_arpa(made.model, arpa)
    return _export(made, run, arpa=Path(arpa), began=began)


def _plan(
    *, tokens: int, order: int, prune: str | None, followers: int, entropy_prune: float, seed: int
) -> ExportPlan:
    """
    Raises:
        ConfigError: a number out of its range.
    """
    if tokens < 1:
        raise ConfigError(f"--tokens {tokens}: expected 1 or more")
    if order < LEAST_ORDER:
        raise ConfigError(f"--order {order}: expected 2 to 6; words alone have no context")
    if followers < 0:
        raise ConfigError(f"--followers {followers}: expected 0 or more")
    if not 0 <= entropy_prune < np.inf:
        raise ConfigError(f"--entropy-prune {entropy_prune:g}: expected 0 or more, as 1e-8")
    require_seed(seed)
    thresholds = PRUNE[:order] if prune is None else parse_pruning(prune)
    thresholds_of(thresholds, order=order)
    require_all_words(thresholds)
    return ExportPlan(tokens, order, thresholds, followers, entropy_prune, seed)


def _word_ids(path: Path, run: LoadedRun) -> Ids:
    """The words of a text in the run's vocabulary, every sentence closed by `</s>`."""
    inventory = run.inventory
    sentences = ReadText(path, normalisation=inventory.normalisation).sentences()
    encoded = encode_sentences(sentences, FormIds(inventory))
    if not encoded:
        raise DataError(f"{display_name(path)}: no sentence; expected one a line")
    return as_words(np.concatenate(encoded), inventory.n_words).astype(np.int32)


def _approximator(run: LoadedRun, plan: ExportPlan, *, on_stage: OnStage | None) -> Approximator:
    vectors = FormVectors(run.model, run.inventory, oov_input=run.oov_input)
    by_sentence = run.settings["recipe"].get("batching", {}).get("type") == "sentences"
    walker = Walker(vectors, carries_state=not by_sentence, source=run.path)
    return Approximator(walker, plan, on_stage=on_stage)


def _export(made: Approximation, run: LoadedRun, *, arpa: Path, began: float) -> Export:
    return Export(
        model=run.path,
        arpa=arpa,
        n_sampled=made.n_sampled,
        sizes=made.model.sizes,
        n_bytes=arpa.stat().st_size,
        weights=made.weights,
        valid_ppls=made.valid_ppls,
        seconds=time.perf_counter() - began,
    )
