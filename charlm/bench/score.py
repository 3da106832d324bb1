"""Rescoring: the tree of prefixes against batches of like length that share nothing.

Form vectors are computed beforehand for both. The tree, as in `score`, also has the first layer's
product with each of them, so it can save a little more than the list's sharing, tokens over
distinct prefixes.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor

from charlm.bench.bench_options import ScoreBenchOptions
from charlm.bench.timing import Measured, in_turns
from charlm.errors import ConfigError, DataError
from charlm.interface.options import as_names, keywords
from charlm.nbest.formats import open_lists
from charlm.nbest.reading.format import Source
from charlm.run.stored_weights import load_run
from charlm.run.which import which_run
from charlm.runtime import pick_device, pick_precision, set_threads
from charlm.scoring.likelihood.form_cache import FormCache
from charlm.scoring.likelihood.nll import FormVectors, sentence_nlls
from charlm.scoring.likelihood.walker import Walker
from charlm.scoring.rescoring.hypothesis_text import HypothesisText
from charlm.scoring.rescoring.scorers.neural import NeuralScorer
from charlm.text.corpus.tokens import END
from charlm.text.vocabulary.encoding import Ids

SHARED, APART, BF16 = "prefix tree", "batches by length", "prefix tree, bf16"


@dataclass(frozen=True, kw_only=True)
class ScoreBench(Measured):
    source: str
    model: str
    n_lists: int
    n_hypotheses: int
    n_tokens: int  # ends of sentences included
    sharing: float  # tokens over distinct prefixes
    sharing_of_distinct: float  # the same, each text of a list counted once
    threads: int
    largest_difference: float  # of a sentence's score between the two ways, in nats
    bf16_deviation: float | None  # largest of a sentence's score from fp32, in nats; None: no bf16
    bf16_mean_deviation: float | None
    derived = ("speed_up",)

    @property
    def speed_up(self) -> float:
        """How many times as fast the tree is as batches that share nothing."""
        return self.timings[APART].median / self.timings[SHARED].median


class _Precomputed(FormVectors):
    """As `FormVectors`, with the vectors of spellings kept as well."""

    def __init__(self, forms: FormCache, *, oov_input: str) -> None:
        super().__init__(forms.model, forms.inventory, oov_input=oov_input)
        self.forms = FormCache(
            forms.model, forms.inventory, oov_input=oov_input, keeps_products=False
        )
        self.forms.form_ids = forms.form_ids

    def of(self, form_ids: Ids, spellings: Sequence[str]) -> Tensor:
        return self.forms.encoded(form_ids.ravel()).view(*form_ids.shape, -1)


@keywords(ScoreBenchOptions)
def bench_score(options: ScoreBenchOptions) -> ScoreBench:
    """Measure how fast the hypotheses of a list are scored.

    Raises:
        ConfigError, DataError: as `charlm.score`.
    """
    n_threads = set_threads(options.threads)
    run = load_run(which_run(options.model), device=pick_device(options.device))
    forms = FormCache(run.model, run.inventory, oov_input=run.oov_input)
    lists = _lists(options, forms)
    ids = [each for one in lists for each in one]
    closed = [np.append(each, END).astype(np.int32) for each in ids]
    vectors = _Precomputed(forms, oov_input=run.oov_input)
    spellings = forms.form_ids.spellings
    for cache in (forms, vectors.forms):
        cache.encoded(np.unique(np.concatenate([*ids, [END]])))
    tree = NeuralScorer(Walker(forms))
    paths: dict[str, Callable[[], Sequence[npt.NDArray[np.floating]]]] = {
        SHARED: lambda: tree.score_ids(ids),
        APART: lambda: sentence_nlls(vectors, closed, spellings=spellings),
    }
    with suppress(ConfigError):  # no bf16 on this machine
        coarse = NeuralScorer(Walker(forms), precision=pick_precision("bf16", forms.device))
        paths[BF16] = lambda: coarse.score_ids(ids)
    timings = in_turns(paths, repetitions=options.repetitions)
    exact, nlls, *rough = (
        np.array([each.sum(dtype=np.float64) for each in path()]) for path in paths.values()
    )
    deviations = [np.abs(each - exact) for each in rough]  # of bf16, or none
    sharing = tree.n_tokens / tree.n_prefixes
    n_tokens = sum(map(len, closed))
    return ScoreBench(
        source=str(options.path),
        model=str(run.path),
        n_lists=len(lists),
        n_hypotheses=len(ids),
        n_tokens=n_tokens,
        sharing=sharing,
        sharing_of_distinct=sharing * _n_distinct_tokens(lists) / n_tokens,
        threads=n_threads,
        timings=timings,
        largest_difference=float(np.abs(exact + nlls).max()),
        bf16_deviation=float(deviations[0].max()) if deviations else None,
        bf16_mean_deviation=float(deviations[0].mean()) if deviations else None,
    )


def _lists(options: ScoreBenchOptions, forms: FormCache) -> list[list[Ids]]:
    """The form ids of the hypotheses of whole lists, until there are as many as asked for."""
    inventory = forms.inventory
    text = HypothesisText(inventory.normalisation, is_known=inventory.word_ids.__contains__)
    source = Source(options.path, columns=as_names(options.columns, option="--columns"))
    found: list[list[Ids]] = []
    n_hypotheses = 0
    with open_lists(source, name="" if options.format == "auto" else options.format) as (_, lists):
        for nbest in lists:
            found.append([forms.ids(text.read(each.words)) for each in nbest.hypotheses])
            n_hypotheses += len(nbest.hypotheses)
            if 0 < options.max_hypotheses <= n_hypotheses:
                break
    if not n_hypotheses:
        raise DataError(f"{options.path}: no hypothesis; expected a list of some")
    return found


def _n_distinct_tokens(lists: Sequence[Sequence[Ids]]) -> int:
    """Tokens, ends of sentences included, of each list's different texts."""
    return sum(len(text) + 1 for one in lists for text in {tuple(each.tolist()) for each in one})
