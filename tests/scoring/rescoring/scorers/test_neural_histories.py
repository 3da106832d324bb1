"""A neural model in lattices, against the scores of whole sentences."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from charlm.nbest.lattices.expanded import RescoredLattice
from charlm.nbest.lattices.histories import History
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_files import read_lattices
from charlm.nbest.lattices.lattice_options import LatticeOptions
from charlm.nbest.lattices.rescore import rescore_with
from charlm.nbest.reading.format import Source
from charlm.run.stored_weights import LoadedRun, load_run
from charlm.scoring.likelihood.form_cache import FormCache
from charlm.scoring.likelihood.nll import FormVectors, sentence_nlls
from charlm.scoring.likelihood.walker import Paths, Walker
from charlm.scoring.rescoring.scorers.neural_histories import NeuralHistories
from charlm.text.corpus.tokens import END, END_WORD
from charlm.text.vocabulary.encoding import FormIds

WORDS = ["a", "b", "c", "unheard", "[noise]", "<eps>"]
EXACT = LatticeOptions(weights={"nn": 1.0}, recombine=0, beam=0.0, n_best=10_000)


def random_text(seed: int) -> str:
    """Lattices of a few nodes whose histories often meet again."""
    rng = np.random.default_rng(seed)
    rows = [f"utt{seed}"]
    n_nodes = int(rng.integers(2, 7))
    for node in range(n_nodes - 1):
        for target in {node + 1, int(rng.integers(node + 1, n_nodes))}:
            for word in rng.choice(WORDS, 2, replace=False):
                rows.append(f"{node} {target} {word} {rng.random():.4f},{rng.random():.4f},")
    return "\n".join([*rows, f"{n_nodes - 1}", "", ""])


def lattices(tmp_path: Path, *seeds: int) -> list[Lattice]:
    path = tmp_path / "lattices"
    path.write_text("".join(map(random_text, seeds)))
    return list(read_lattices(Source(path)))


def loaded(saved_run: Callable[..., Path], **options: object) -> LoadedRun:
    return load_run(saved_run("random", **options))


def walker_of(run: LoadedRun) -> Walker:
    return Walker(FormCache(run.model, run.inventory, oov_input=run.oov_input))


def rescored(
    lattices: Sequence[Lattice],
    walker: Walker,
    *,
    options: LatticeOptions = EXACT,
    start: Paths | None = None,
) -> list[RescoredLattice]:
    """By the model alone, behind what was said before."""
    models = {"nn": NeuralHistories(walker, start=start or walker.begin())}
    return list(rescore_with(lattices, models, options=options))


def sentence_scores(run: LoadedRun, sentences: Sequence[Sequence[str]]) -> Iterator[float]:
    """By the code that evaluates texts."""
    ids = FormIds(run.inventory)
    encoded = [np.array([*(ids[word] for word in s), END], np.int32) for s in sentences]
    vectors = FormVectors(run.model, run.inventory, oov_input=run.oov_input)
    for nlls in sentence_nlls(vectors, encoded, spellings=ids.spellings):
        yield -float(nlls.sum(dtype=np.float64))


@pytest.mark.parametrize("oov_input", ["unk", "spelling"])
def test_every_path_has_the_score_of_its_sentence(
    saved_run: Callable[..., Path], tmp_path: Path, oov_input: str
) -> None:
    run = loaded(saved_run, oov_input=oov_input)
    found = rescored(lattices(tmp_path, *range(15)), walker_of(run), options=EXACT)
    hypotheses = [h for each in found for h in each.nbest.hypotheses]
    sentences = [[word for word in h.words if word != "[noise]"] for h in hypotheses]
    scores = [h.features["nn"] for h in hypotheses]
    assert all(each.expanded.is_exact for each in found)
    assert len(hypotheses) > 100
    assert scores == pytest.approx(list(sentence_scores(run, sentences)), abs=1e-4)


def test_noise_that_the_model_knows_is_read_as_in_lists(
    saved_run: Callable[..., Path], tmp_path: Path
) -> None:
    run = loaded(saved_run, oov_input="spelling")
    options = replace(EXACT, is_known={"[noise]"}.__contains__)
    found = rescored(lattices(tmp_path, *range(15)), walker_of(run), options=options)
    hypotheses = [h for each in found for h in each.nbest.hypotheses]
    assert any("[noise]" in h.words for h in hypotheses)
    scores = list(sentence_scores(run, [h.words for h in hypotheses]))
    assert [h.features["nn"] for h in hypotheses] == pytest.approx(scores, abs=1e-4)


def test_merged_histories_are_scored_again_as_sentences(
    saved_run: Callable[..., Path], tmp_path: Path
) -> None:
    run = loaded(saved_run)
    options = LatticeOptions(weights={"nn": 1.0}, recombine=1)
    found = rescored(lattices(tmp_path, *range(15)), walker_of(run), options=options)
    hypotheses = [h for each in found for h in each.nbest.hypotheses]
    sentences = [[word for word in h.words if word != "[noise]"] for h in hypotheses]
    assert sum(each.expanded.n_merged for each in found) > 20
    assert [h.features["nn"] for h in hypotheses] == pytest.approx(
        list(sentence_scores(run, sentences)), abs=1e-4
    )
    for each in found:
        assert list(each.totals) == sorted(each.totals, reverse=True)


def test_what_recombination_costs_is_bounded_by_what_the_merged_words_can_differ(
    saved_run: Callable[..., Path], tmp_path: Path
) -> None:
    # An LSTM cell of this size forgets: the longer the words in common, the smaller the error.
    walker, some = walker_of(loaded(saved_run)), lattices(tmp_path, *range(15))
    exact = rescored(some, walker)
    worst = {}
    for recombine in (1, 2, 3):
        options = LatticeOptions(weights={"nn": 1.0}, recombine=recombine, beam=0.0)
        pairs = zip(exact, rescored(some, walker, options=options), strict=True)
        errors = [one.totals[0] - merged.totals[0] for one, merged in pairs]
        worst[recombine] = max(errors)
        assert min(errors) >= -1e-4  # no path beats the best of all paths
    assert worst[3] <= worst[2] <= worst[1] < 1.0


def test_a_lattice_scores_the_same_alone_and_among_others(
    saved_run: Callable[..., Path], tmp_path: Path
) -> None:
    walker = walker_of(loaded(saved_run))
    some = lattices(tmp_path, *range(10))
    together = rescored(some, walker)
    for lattice, other in zip(some, together, strict=True):
        (alone,) = rescored([lattice], walker)
        assert alone.totals == pytest.approx(other.totals, abs=1e-4)


def test_a_state_is_computed_once_for_all_lattices_and_may_be_forgotten(
    saved_run: Callable[..., Path],
) -> None:
    run = loaded(saved_run)
    walker = walker_of(run)
    model = NeuralHistories(walker, start=walker.begin())
    root = History()
    long = root.then("a").then("b").then("c")
    first = model.log_probs([(long, "d"), (root.then("a"), "b"), (long, END_WORD)])
    assert len(model.paths) == 1 + 3
    model.keep([root.then("a").then("b")])
    again = model.log_probs([(long, "d"), (root.then("a"), "b"), (long, END_WORD)])
    assert again == pytest.approx(first, abs=1e-5)
    sentences = [["a", "b", "c"]]
    total = model.log_probs([(root, "a"), (root.then("a"), "b"), (root.then("a").then("b"), "c")])
    expected = next(sentence_scores(run, sentences))
    assert total.sum() + first[2] == pytest.approx(expected, abs=1e-4)


def test_states_that_nobody_goes_on_from_leave_the_memory(
    saved_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("charlm.scoring.rescoring.scorers.neural_histories.LEAST_ROWS", 1)
    walker = walker_of(loaded(saved_run))
    model = NeuralHistories(walker, start=walker.begin())
    root = History()
    histories = [root.then(word) for word in "abcdefgh"]
    before = model.log_probs([(history, "a") for history in histories])
    model.keep(histories[6:7])
    assert len(model.paths) == 2  # the start, and the one history that is left
    assert model.log_probs([(histories[6], "a")]) == pytest.approx(before[6:7], abs=1e-6)
    assert model.log_probs([(histories[2], "a")]) == pytest.approx(before[2:3], abs=1e-6)


def test_what_was_said_before_changes_the_scores(
    saved_run: Callable[..., Path], tmp_path: Path
) -> None:
    run = loaded(saved_run)
    walker, (lattice,) = walker_of(run), lattices(tmp_path, 3)
    forms, rows = walker.forms, np.zeros(1, np.int64)
    said = walker.advance(walker.begin(), rows=rows, form_ids=forms.ids(["a"]))
    start = walker.begin(said.state)
    (behind,) = rescored([lattice], walker, start=start)
    (alone,) = rescored([lattice], walker)
    first = behind.nbest.hypotheses[0]
    own = [word for word in first.words if word != "[noise]"]
    spoken = next(sentence_scores(run, [["a", END_WORD, *own]]))
    before = next(sentence_scores(run, [["a"]]))
    assert first.features["nn"] == pytest.approx(spoken - before, abs=1e-4)
    assert behind.totals[0] != pytest.approx(alone.totals[0], abs=1e-3)
