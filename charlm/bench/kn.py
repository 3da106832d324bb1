"""Kneser–Ney: estimation and queries, against KenLM's lmplz and Python module if installed.

Both estimates go from a text file to an ARPA file. lmplz runs as a separate program: its memory is
not in the figures of this process.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from charlm.bench.bench_options import KnBenchOptions
from charlm.bench.text import text_of
from charlm.bench.timing import Measured, in_turns
from charlm.errors import ConfigError, DataError
from charlm.interface.options import keywords
from charlm.ngram.files.arpa_writing import write_arpa
from charlm.ngram.files.kenlm_model import has_kenlm
from charlm.ngram.files.load import load_ngram
from charlm.ngram.lmplz import estimate_with_lmplz, find_lmplz
from charlm.ngram.model_sources import EstimationPlan, model_of_text, parse_pruning
from charlm.text.corpus.sentences import read_sentences, split_path

ESTIMATE, LMPLZ = "estimate", "lmplz"
QUERY, KENLM = "query", "query, kenlm"


@dataclass(frozen=True, kw_only=True)
class KnBench(Measured):
    data: str  # `generated` if none was given
    order: int
    n_tokens: int  # of the training text, </s> counted
    n_queries: int  # tokens of the test text
    n_ngrams: int
    derived = ("ratio_to_lmplz",)

    @property
    def ratio_to_lmplz(self) -> float | None:
        """charlm's time over lmplz's; None without lmplz."""
        if LMPLZ not in self.timings:
            return None
        return self.timings[ESTIMATE].median / self.timings[LMPLZ].median

    def paths(self) -> dict[str, dict[str, object]]:
        sizes = {ESTIMATE: self.n_tokens, LMPLZ: self.n_tokens}
        return {k: v.to_dict(sizes.get(k, self.n_queries)) for k, v in self.timings.items()}


@keywords(KnBenchOptions)
def bench_kn(options: KnBenchOptions) -> KnBench:
    """Measure Kneser–Ney.

    Raises:
        ConfigError: an order or pruning that makes no model, no lmplz where one is named, or a
            length beside a corpus.
        DataError: a corpus that is not what was expected.
    """
    plan = EstimationPlan(order=options.order, prune=parse_pruning(options.prune))
    program = None if options.lmplz is None else find_lmplz(options.lmplz)
    if options.lmplz is None:
        with suppress(ConfigError):  # none on the PATH: ours is measured alone
            program = find_lmplz(None)
    with text_of(options) as folder, TemporaryDirectory() as work:
        train, arpa = split_path(folder, "train"), Path(work) / "model.arpa"
        paths: dict[str, Callable[[], object]] = {
            ESTIMATE: lambda: write_arpa(model_of_text(train, plan, for_arpa=True)[0], arpa)
        }
        if program is not None:
            paths[LMPLZ] = lambda: estimate_with_lmplz(
                read_sentences(train), arpa, program=program, order=plan.order, prune=plan.prune
            )
        timings = in_turns(paths, repetitions=options.repetitions, warm_up=False)
        model, _, _ = model_of_text(train, plan)
        sentences = list(read_sentences(split_path(folder, "test")))
        queries = {QUERY: lambda: model.score(sentences)}
        if has_kenlm():
            with suppress(DataError):  # it takes no unigrams
                kenlm = load_ngram(arpa, engine="kenlm")
                queries[KENLM] = lambda: kenlm.score(sentences)
        timings |= in_turns(queries, repetitions=options.repetitions)
        return KnBench(
            data="generated" if options.data is None else str(options.data),
            order=options.order,
            n_tokens=sum(len(words) + 1 for words in read_sentences(train)),
            n_queries=sum(len(words) + 1 for words in sentences),
            n_ngrams=model.n_ngrams,
            timings=timings,
        )
