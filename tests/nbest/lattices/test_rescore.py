"""The search against every path of small lattices, enumerated."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import pytest

from charlm.errors import ConfigError, DataError
from charlm.nbest.lattices.expanded import RescoredLattice
from charlm.nbest.lattices.histories import History, MixedHistories, Request, ScorerHistories
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_options import LatticeOptions
from charlm.nbest.lattices.rescore import rescore_with
from charlm.nbest.scorers import FunctionScorer, LogProbs
from charlm.text.corpus.normalisation.labels import is_silent, is_word
from charlm.text.corpus.normalisation.normalisation import Normalisation

Read = Callable[..., list[Lattice]]
MakeLattice = Callable[..., str]
ALL = 100_000
WEIGHTS = {"am": 0.1, "graph": 0.7, "nn": 0.9, "words": -0.3}


def paths_of(lattice: Lattice) -> Iterator[list[int]]:
    """Every way from the start to a final node, as numbers of arcs."""

    def onward(node: int, before: list[int]) -> Iterator[list[int]]:
        if node in lattice.finals:
            yield before
        for number, arc in enumerate(lattice.arcs):
            if arc.source == node:
                yield from onward(arc.target, [*before, number])

    yield from onward(lattice.start, [])


def by_hand(
    lattice: Lattice, scorer: FunctionScorer, weights: Mapping[str, float]
) -> dict[tuple[str, ...], float]:
    """The best total of each sequence of words."""
    best = dict[tuple[str, ...], float]()
    for numbers in paths_of(lattice):
        arcs = [lattice.arcs[number] for number in numbers]
        last = arcs[-1].target if arcs else lattice.start
        values = [*(arc.values for arc in arcs), lattice.finals[last]]
        words = tuple(arc.word for arc in arcs if not is_silent(arc.word))
        read = [arc.word for arc in arcs if is_word(arc.word)]
        total = sum(weights["graph"] * graph + weights["am"] * am for graph, am in values)
        total += weights["words"] * len(words)
        total += weights["nn"] * scorer.score([read])[0].log_prob
        best[words] = max(best.get(words, -math.inf), total)
    return best


def rescored(lattice: Lattice, scorer: FunctionScorer, **options: object) -> RescoredLattice:
    said: dict[str, object] = {"weights": WEIGHTS, "beam": 0, "recombine": 0, "n_best": ALL}
    chosen = LatticeOptions(**{**said, **options})  # type: ignore[arg-type]
    return next(rescore_with([lattice], {"nn": ScorerHistories(scorer)}, options=chosen))


@pytest.mark.parametrize("seed", range(20))
def test_without_merging_and_pruning_every_hypothesis_has_its_own_score(
    read: Read, random_lattice: MakeLattice, scorer: FunctionScorer, seed: int
) -> None:
    lattice = read(random_lattice(seed))[0]
    found = rescored(lattice, scorer)
    hypotheses = dict(zip((h.words for h in found.nbest.hypotheses), found.totals, strict=True))
    assert found.expanded.is_exact
    assert hypotheses == pytest.approx(by_hand(lattice, scorer, WEIGHTS), abs=1e-9)
    assert list(found.totals) == sorted(found.totals, reverse=True)


@pytest.mark.parametrize("seed", range(20))
def test_merged_histories_leave_hypotheses_with_their_own_scores(
    read: Read, random_lattice: MakeLattice, scorer: FunctionScorer, seed: int
) -> None:
    lattice = read(random_lattice(seed))[0]
    found = rescored(lattice, scorer, recombine=1)
    expected = by_hand(lattice, scorer, WEIGHTS)
    assert len(found.nbest.hypotheses) == len(expected)
    for hypothesis, total in zip(found.nbest.hypotheses, found.totals, strict=True):
        own = [word for word in hypothesis.words if is_word(word)]
        assert hypothesis.features["nn"] == pytest.approx(scorer.score([own])[0].log_prob)
        # Merged scores choose one pronunciation of the words, never a better one.
        assert total <= expected[hypothesis.words] + 1e-9


def test_a_model_of_bigrams_loses_nothing_by_recombining_on_the_last_word(
    read: Read, random_lattice: MakeLattice, scorer: FunctionScorer
) -> None:
    def bigrams(sentences: object) -> list[list[float]]:
        found = []
        for sentence in sentences:  # type: ignore[attr-defined]
            pairs = zip(["<s>", *sentence], [*sentence, "</s>"], strict=True)
            found.append([float(scorer.score([[a, b]])[0].log_probs[1]) for a, b in pairs])
        return found

    own = FunctionScorer(bigrams)
    n_merged = 0
    for seed in range(10):
        lattice = read(random_lattice(seed))[0]
        merged, full = rescored(lattice, own, recombine=1), rescored(lattice, own)
        n_merged += merged.expanded.n_merged
        assert merged.totals == pytest.approx(full.totals)
        assert len(merged.expanded.arcs) <= len(full.expanded.arcs)
    assert n_merged > 10


def test_recombination_on_one_word_changes_the_expanded_score_by_the_difference_of_histories(
    read: Read,
) -> None:
    text = "u\n0 1 a\n0 1 b 1,0\n1 2 c\n2 3 d\n3\n\n"

    def answer(sentences: object) -> list[list[float]]:
        return [
            [-3.0 if word == "d" and sentence[0] == "b" else -1.0 for word in [*sentence, "</s>"]]
            for sentence in sentences  # type: ignore[attr-defined]
        ]

    found = rescored(
        read(text)[0], FunctionScorer(answer), recombine=1, weights={"graph": 1, "nn": 1}
    )
    last = [arc for arc in found.expanded.arcs if arc.arc == 3]
    assert found.expanded.n_merged == 1
    assert [arc.answers for arc in last] == [(-1.0,)]  # of a c d alone, although b c d gives −3
    assert [h.features["nn"] for h in found.nbest.hypotheses] == [-4.0, -6.0]


def test_a_beam_leaves_out_what_is_far_below_the_best(read: Read, scorer: FunctionScorer) -> None:
    lattice = read("u\n0 1 a 0,0\n0 2 b 40,0\n1 3 c\n2 3 c\n3\n\n")[0]
    narrow = rescored(lattice, scorer, beam=5.0)
    assert [h.words for h in narrow.nbest.hypotheses] == [("a", "c")]
    assert (narrow.expanded.n_pruned, narrow.expanded.is_exact) == (1, False)
    assert len(rescored(lattice, scorer, beam=50.0).nbest.hypotheses) == 2


@pytest.mark.parametrize(("beam", "n_pruned"), [(11.0, 1), (13.0, 0)])
def test_where_no_old_model_stands_in_words_to_come_count_six_nats_each(
    read: Read, scorer: FunctionScorer, beam: float, n_pruned: int
) -> None:
    # After one word, three more follow on one path and one on the other: 12 nats apart.
    lattice = read("u\n0 1 a\n1 2 b\n2 3 c\n3 4 d\n0 5 a\n5 4 d\n4\n\n")[0]
    found = rescored(lattice, scorer, beam=beam, weights={"nn": 1.0})
    assert found.expanded.n_pruned == n_pruned


def test_a_level_holds_no_more_than_it_may_and_says_so(read: Read, scorer: FunctionScorer) -> None:
    rows = [f"{i} {i + 1} {word}" for i in range(4) for word in "abc"]
    lattice = read("\n".join(["u", *rows, "4", "", ""]))[0]
    found = rescored(lattice, scorer, max_pairs=2)
    assert found.expanded.n_pruned == 1 + 4 + 4 + 4  # 3, then 2 · 3 of which 2 stay
    assert len(found.nbest.hypotheses) == 2


def test_what_a_path_needs_is_not_counted_as_left_out(read: Read, scorer: FunctionScorer) -> None:
    lattice = read("u\n0 1 <eps>\n1 2 a\n2\n\n")[0]
    assert rescored(lattice, scorer, max_pairs=1).expanded.is_exact


@pytest.mark.parametrize("seed", range(40))
def test_the_narrowest_beam_leaves_a_path(
    read: Read, random_lattice: MakeLattice, scorer: FunctionScorer, seed: int
) -> None:
    found = rescored(read(random_lattice(seed))[0], scorer, beam=1e-12, max_pairs=1)
    assert len(found.nbest.hypotheses) >= 1
    going_on = {arc.source for arc in found.expanded.arcs} | found.expanded.ends.keys()
    assert going_on == set(range(len(found.expanded.nodes)))


@pytest.mark.parametrize("n_arcs", [1, 40, 1 << 20])  # of those that are asked together
def test_lattices_asked_together_give_what_each_gives_alone(
    read: Read,
    random_lattice: MakeLattice,
    scorer: FunctionScorer,
    monkeypatch: pytest.MonkeyPatch,
    n_arcs: int,
) -> None:
    monkeypatch.setattr("charlm.nbest.lattices.rescore.ARCS_AT_ONCE", n_arcs)
    lattices = [read(random_lattice(seed, name=f"u{seed}"))[0] for seed in range(12)]
    options = LatticeOptions(weights=WEIGHTS, recombine=2)
    models = {"nn": ScorerHistories(scorer)}
    together = list(rescore_with(lattices, models, options=options))
    alone = list(rescore_with(lattices, models, options=options, at_once=1))
    assert [found.nbest for found in together] == [found.nbest for found in alone]
    assert [found.lattice.id for found in together] == [f"u{seed}" for seed in range(12)]


def test_of_lattices_that_come_one_by_one_each_is_returned_before_the_next_is_read(
    read: Read, random_lattice: MakeLattice, scorer: FunctionScorer
) -> None:
    n_read = 0

    def coming() -> Iterator[Lattice]:
        nonlocal n_read
        for seed in range(3):
            n_read += 1
            yield read(random_lattice(seed))[0]

    models = {"nn": ScorerHistories(scorer)}
    options = LatticeOptions(weights=WEIGHTS)
    found = rescore_with(coming(), models, options=options, at_once=1)
    assert [n_read for _ in found] == [1, 2, 3]


def test_lattices_that_wait_since_states_abound_lose_nothing(
    read: Read, random_lattice: MakeLattice, scorer: FunctionScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lattices = [read(random_lattice(seed, name=f"u{seed}"))[0] for seed in range(12)]
    heard: list[int] = []

    class Counting(ScorerHistories):
        def log_probs(self, requests: Sequence[Request]) -> LogProbs:
            heard.append(len({id(history) for history, _ in requests}))
            return super().log_probs(requests)

    free = list(rescore_with(lattices, {"nn": Counting(scorer)}, options=LatticeOptions()))
    n_free, widest = len(heard), max(heard)
    monkeypatch.setattr("charlm.nbest.lattices.rescore.LIVE_AT_ONCE", 5)
    heard.clear()
    bounded = list(rescore_with(lattices, {"nn": Counting(scorer)}, options=LatticeOptions()))
    assert [each.nbest for each in bounded] == [each.nbest for each in free]
    assert len(heard) > n_free and max(heard) < widest


def test_without_a_model_the_lattices_own_scores_rank_its_paths(
    read: Read, texts: dict[str, str]
) -> None:
    options = LatticeOptions(weights={"graph": 1.0, "am": 0.1})
    found = next(rescore_with(read(texts["compact"]), {}, options=options))
    expected = {
        ("we",): -(2.5 + 0.5 + 0.125) - 10.025,
        ("we", "it"): -(2.5 + 0.5 + 1.25) - 13.075,
        ("they", "know"): -(2 + 1 + 0.125) - 12.1,
        ("they", "know", "it"): -(2 + 1 + 1.25) - 15.15,
    }
    hypotheses = dict(zip((h.words for h in found.nbest.hypotheses), found.totals, strict=True))
    assert hypotheses == pytest.approx(expected)
    assert found.nbest.hypotheses[0].features == {"graph": -3.125, "am": -100.25}
    assert len(found.expanded.nodes) == len(found.lattice.nodes)


def test_the_old_model_is_taken_out_of_kaldis_graph_score(
    read: Read, texts: dict[str, str], scorer: FunctionScorer
) -> None:
    models = {"nn": ScorerHistories(scorer), "old_lm": ScorerHistories(scorer)}
    weights = {"am": 0.1, "graph_nolm": 2.0, "old_lm": 0.25, "nn": 0.5}
    options = LatticeOptions(weights=weights, recombine=0)
    found = next(rescore_with(read(texts["compact"]), models, options=options))
    first, total = found.nbest.hypotheses[0], found.totals[0]
    own = scorer.score([first.words])[0].log_prob
    assert first.features["old_lm"] == pytest.approx(own)
    assert first.features["graph_nolm"] == pytest.approx(-3.125 - own)
    assert total == pytest.approx(sum(weights[n] * v for n, v in first.features.items()))


def test_words_are_read_as_the_model_reads_them_and_stay_as_they_are(read: Read) -> None:
    heard = []

    def answer(sentences: object) -> list[list[float]]:
        heard.extend(sentences)  # type: ignore[arg-type]
        return [[-1.0] * (len(s) + 1) for s in sentences]  # type: ignore[attr-defined]

    options = LatticeOptions(
        rules=Normalisation(lower=True, split_hyphens=True),
        is_known=lambda token: token not in ("e", "[laugh]", "[COUGH]"),
        weights={"nn": 1.0, "oov": -10.0},
        recombine=0,
    )
    models = {"nn": ScorerHistories(FunctionScorer(answer))}
    lattice = read("u\n0 1 WELL-KNOWN\n1 2 [laugh]\n2 3 E\n3 4 [COUGH]\n4\n\n")
    found = next(rescore_with(lattice, models, options=options))
    assert found.nbest.hypotheses[0].words == ("WELL-KNOWN", "[laugh]", "E", "[COUGH]")
    assert ["well", "known", "e", "[cough]"] in heard
    assert found.totals == (-15.0,)


def test_kaldis_unknown_word_is_the_models_unless_it_has_such_a_word(read: Read) -> None:
    heard = []

    def answer(sentences: object) -> list[list[float]]:
        heard.extend(sentences)  # type: ignore[arg-type]
        return [[-1.0] * (len(s) + 1) for s in sentences]  # type: ignore[attr-defined]

    models = {"nn": ScorerHistories(FunctionScorer(answer))}
    lattice = read("u\n0 1 a\n1 2 <UNK>\n2\n\n")
    for known, read_as in (({"a"}, "<unk>"), ({"a", "<UNK>"}, "<UNK>")):
        options = LatticeOptions(is_known=known.__contains__, weights={"nn": 1.0}, recombine=0)
        found = next(rescore_with(lattice, models, options=options))
        assert found.nbest.hypotheses[0].words == ("a", "<UNK>")
        assert heard[-1] == ["a", read_as]


def test_a_mixture_is_one_word_by_word(read: Read, texts: dict[str, str]) -> None:
    def always(number: float) -> ScorerHistories:
        return ScorerHistories(FunctionScorer(lambda s: [[number] * (len(w) + 1) for w in s]))

    mixture = MixedHistories([always(math.log(0.5)), always(math.log(0.1))], [0.25, 0.75])
    options = LatticeOptions(weights={"nn": 1.0})
    found = next(rescore_with(read(texts["compact"]), {"nn": mixture}, options=options))
    assert found.nbest.hypotheses[0].words == ("we",)
    assert found.totals[0] == pytest.approx(2 * math.log(0.25 * 0.5 + 0.75 * 0.1))


def test_a_model_that_gives_nothing_is_one_line(read: Read, texts: dict[str, str]) -> None:
    nothing = FunctionScorer(lambda sentences: [[-math.inf] * (len(s) + 1) for s in sentences])
    with pytest.raises(DataError, match=r"model 'nn': gives 'we' the log-probability -inf;"):
        models = {"nn": ScorerHistories(nothing)}
        next(rescore_with(read(texts["compact"]), models, options=LatticeOptions()))


def test_an_old_model_beside_scores_of_its_own_is_refused(
    read: Read, texts: dict[str, str], scorer: FunctionScorer
) -> None:
    with pytest.raises(ConfigError, match="--old-lm: .*has the old model's scores already"):
        models = {"old_lm": ScorerHistories(scorer)}
        next(rescore_with(read(texts["slf"]), models, options=LatticeOptions()))


@pytest.mark.parametrize("seed", range(5))
def test_a_beam_is_in_nats_of_the_language_models_whatever_their_weights(
    read: Read, random_lattice: MakeLattice, scorer: FunctionScorer, seed: int
) -> None:
    lattice = read(random_lattice(seed))[0]
    options = {"beam": 4.0, "recombine": 2}
    one = rescored(lattice, scorer, **options).expanded
    # Powers of two, which change no other digit of a sum.
    eightfold = {name: 8 * weight for name, weight in WEIGHTS.items()}
    other = rescored(lattice, scorer, weights=eightfold, **options).expanded
    assert (other.arcs, other.n_pruned) == (one.arcs, one.n_pruned)


@pytest.mark.parametrize("beam", [0.0, 4.0])
def test_a_model_is_asked_only_for_what_goes_on_from_histories_that_it_keeps(
    read: Read, random_lattice: MakeLattice, scorer: FunctionScorer, beam: float
) -> None:
    kept = set[History]()

    class Keeping(ScorerHistories):
        def log_probs(self, requests: Sequence[Request]) -> LogProbs:
            for history, _ in requests:
                node = history
                while node.parent is not None and node not in kept:
                    node = node.parent
                assert node in kept or history.depth == 0
            return super().log_probs(requests)

        def keep(self, histories: Iterable[History]) -> None:
            kept.clear()
            kept.update(histories)

    lattices = [read(random_lattice(seed, name=f"u{seed}"))[0] for seed in range(12)]
    options = LatticeOptions(weights=WEIGHTS, recombine=2, beam=beam)
    found = list(rescore_with(lattices, {"nn": Keeping(scorer)}, options=options))
    assert len(found) == 12
