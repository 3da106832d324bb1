"""One Kneser–Ney model against the runs that share its words, each run alone and mixed with it.

Weights of mixtures are fitted on valid.txt only, separately for each state. An n-gram model starts
every sentence anew, so its figures are the same in both states.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from statistics import mean, stdev
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from charlm.nbest.metrics.resampling import remarks_on_units
from charlm.ngram.backoff import Log10s
from charlm.ngram.files.arpa_writing import arpa_bytes
from charlm.ngram.word_ids import END
from charlm.run.folder import is_unfinished
from charlm.scoring.evaluation.comparison.bootstrap import PairedBootstrap
from charlm.scoring.evaluation.comparison.compare_kn_options import TUNING, CompareKnOptions, Split
from charlm.scoring.evaluation.comparison.frequency_bands import (
    band_name,
    band_numbers,
    frequency_bands,
)
from charlm.scoring.evaluation.comparison.kneser_ney import KneserNey, kneser_ney
from charlm.scoring.evaluation.comparison.notes import remarks_on_text, remarks_on_training
from charlm.scoring.evaluation.comparison.results import (
    Group,
    Pair,
    SeedFigures,
    Seeds,
    System,
    SystemFigures,
)
from charlm.scoring.evaluation.comparison.scores import Scores
from charlm.scoring.evaluation.comparison.verdict import verdict
from charlm.scoring.evaluation.em_weights import em_weights, mixed_log10
from charlm.scoring.evaluation.evaluate_options import State, states_of
from charlm.text.vocabulary.vocabulary import Inventory

if TYPE_CHECKING:
    from charlm.scoring.evaluation.comparison.runs import Contender


@dataclass(frozen=True)
class _Entry:
    """A system, and the log10 probability it gives to each token of the text."""

    system: System
    log10s: dict[State, Log10s]


def compared_group(
    inventory: Inventory, members: "Sequence[Contender]", *, options: CompareKnOptions
) -> Group:
    """Compare Kneser–Ney over the words of `inventory` with the members, which have these words."""
    baseline = kneser_ney(inventory, options)
    contest = _Contest(baseline, options)
    entries = [contest.alone, *(entry for member in members for entry in contest.against(member))]
    if members:
        options.tell(f"drawing {options.units} {options.samples} times")
    state = states_of(options.state, bool(members) and members[0].learned_single_sentences)[0]
    log10s_KN = np.stack([entry.log10s[state] for entry in entries])
    pairs = contest.pairs(entries, state=state)
    n_units = math.ceil(contest.scores.counts.n_sentences / options.block)
    morphs = (member.inventory.n_morphs for member in members)
    return Group(
        inventory=inventory,
        n_morphs=next((n for n in morphs if n is not None), None),
        n_train_tokens=baseline.n_train_tokens,
        counts=contest.scores.counts,
        fallback_orders=baseline.info.fallback_orders,
        systems=tuple(entry.system for entry in entries),
        seeds=tuple(contest.seeds(entries[1::2], members)),
        mixed_seeds=tuple(contest.seeds(entries[2::2], members)),
        pairs=pairs,
        state=state,
        bands=frequency_bands(
            contest.scores.targets, train_counts_V=baseline.train_counts, log10_probs_KN=log10s_KN
        ),
        verdict=verdict(pairs, members, options=options, n_units=n_units),
        notes=(
            *remarks_on_text(contest.scores.counts),
            *(remarks_on_units(options.units, n_units) if members else ()),
            *remarks_on_training(members, options, n_tokens=baseline.n_train_tokens),
        ),
    )


class _Contest:
    """The n-gram model's scores of the text, against which runs are compared one by one."""

    def __init__(self, baseline: KneserNey, options: CompareKnOptions) -> None:
        self.baseline, self.options = baseline, options
        self.scores = baseline.scores_of(options.data, options.split)
        figures = SystemFigures(self.scores.perplexity, None, self.scores.signature)
        system = System(
            name=baseline.name,
            n_parameters=None,
            n_ngrams=baseline.model.n_ngrams,
            n_bytes=arpa_bytes(baseline.model),  # of a file that is not kept
            seconds=baseline.info.seconds + self.scores.seconds,
            by_state=dict.fromkeys(options.states, figures),
        )
        self.alone = _Entry(system, dict.fromkeys(options.states, self.scores.log10s))

    @cached_property
    def tuning_log10s(self) -> Log10s:
        """The log10 probabilities of the text on which weights are fitted."""
        return self.baseline.scores_of(self.options.data, TUNING).log10s

    def against(self, contender: "Contender") -> tuple[_Entry, _Entry]:
        """The entries of a run alone and of its mixture with the n-gram model."""
        scores: dict[State, Scores] = {}
        mixed: dict[State, Log10s] = {}
        mixture: dict[State, SystemFigures] = {}
        for state in self.options.states:
            scores[state] = self._scores(contender, self.options.split, state)
            if not np.array_equal(scores[state].targets, self.scores.targets):
                raise ValueError(f"{contender.path}: read other words than the n-gram model")
            weight = self._weight(contender, state, scores[state])
            both_KN = np.stack([scores[state].log10s, self.scores.log10s])
            mixed[state] = mixed_log10(both_KN, [weight, 1 - weight])
            mixture[state] = SystemFigures(self.scores.perplexity_of(mixed[state]), weight, "")
        model = System(
            name=contender.name,
            n_parameters=contender.n_parameters,
            n_ngrams=None,
            n_bytes=contender.n_bytes,
            seconds=scores[self.options.states[0]].seconds,
            by_state={
                s: SystemFigures(each.perplexity, None, each.signature)
                for s, each in scores.items()
            },
        )
        ngrams = self.alone.system
        together = replace(
            model,
            name=f"{model.name}+{ngrams.name}",
            n_ngrams=ngrams.n_ngrams,
            n_bytes=model.n_bytes + ngrams.n_bytes,
            seconds=model.seconds + ngrams.seconds,
            by_state=mixture,
        )
        alone = _Entry(model, {state: each.log10s for state, each in scores.items()})
        return alone, _Entry(together, mixed)

    def seeds(self, entries: Sequence[_Entry], members: "Sequence[Contender]") -> Iterator[Seeds]:
        """Entries whose members' trainings differ in their seed alone, all at their end.

        Of several runs with one seed only the first is taken: copies would make the others look
        more alike than they are.
        """
        by_recipe: dict[str, dict[int, int]] = {}
        for number, member in enumerate(members):
            if not is_unfinished(member.path):
                by_recipe.setdefault(member.recipe, {}).setdefault(member.seed, number)
        for by_seed in by_recipe.values():
            if len(by_seed) > 1:
                yield self._seeds([entries[number] for number in by_seed.values()])

    def _seeds(self, entries: Sequence[_Entry]) -> Seeds:
        found = {}
        for state in self.options.states:
            log10s_KN = np.stack([entry.log10s[state] for entry in entries])
            together = mixed_log10(log10s_KN, [1 / len(entries)] * len(entries))
            ppls = [entry.system.by_state[state].perplexity.ppl for entry in entries]
            finite = [ppl for ppl in ppls if ppl is not None]
            is_finite = len(finite) == len(ppls)
            found[state] = SeedFigures(
                mean=mean(finite) if is_finite else None,
                deviation=stdev(finite) if is_finite else None,
                lowest=min(finite, default=None),
                highest=max(finite) if is_finite else None,
                averaged=self.scores.perplexity_of(together).ppl,
            )
        return Seeds(tuple(entry.system.name for entry in entries), found)

    def _scores(self, contender: "Contender", split: Split, state: State) -> Scores:
        from charlm.scoring.evaluation.comparison.runs import scores_of

        return scores_of(contender, self.options, split=split, state=state)

    def _weight(self, contender: "Contender", state: State, scores: Scores) -> float:
        """The run's weight in the mixture that makes the tuning text most probable."""
        if self.options.split != TUNING:
            scores = self._scores(contender, TUNING, state)
        both_KN = np.stack([scores.log10s, self.tuning_log10s])
        return float(em_weights(both_KN).weights[0])

    def pairs(self, entries: Sequence[_Entry], *, state: State) -> tuple[Pair, ...]:
        """Each run and its mixture against their components, and each run against the others.

        `state` is that of the differences by band.
        """
        models = range(1, len(entries), 2)
        compared = [pair for m in models for pair in ((m, 0), (m + 1, m), (m + 1, 0))]
        compared += combinations(models, 2)
        if not compared:
            return ()
        everywhere = np.ones(len(self.scores.targets), np.bool_)
        drawn = {s: self._drawn(entries, s, inside_N=everywhere) for s in self.options.states}
        bands_N = band_numbers(self.scores.targets, train_counts_V=self.baseline.train_counts)
        drawn_by_band = {
            band_name(band): self._drawn(entries, state, inside_N=bands_N == band)
            for band in np.unique(bands_N).tolist()
        }
        return tuple(
            Pair(
                first=entries[first].system.name,
                second=entries[second].system.name,
                by_state={s: each.difference(first, second) for s, each in drawn.items()},
                by_band={b: each.difference(first, second) for b, each in drawn_by_band.items()},
            )
            for first, second in compared
        )

    def _drawn(
        self, entries: Sequence[_Entry], state: State, *, inside_N: npt.NDArray[np.bool_]
    ) -> PairedBootstrap:
        """A bootstrap that counts only the tokens for which `inside_N` is true."""
        return PairedBootstrap(
            np.stack([entry.log10s[state] for entry in entries]),
            inside_N,
            is_end_N=self.scores.targets == END,
            samples=self.options.samples,
            seed=self.options.seed,
            block=self.options.block,
        )
