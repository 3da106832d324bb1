"""Runs, mixtures and differences: figures by hand or from slow versions."""

import json
import math
import shutil
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import ttest_ind

from charlm.ngram.backoff import BackoffModel
from charlm.ngram.files.arpa_writing import write_arpa
from charlm.run.folder import ENCODED
from charlm.scoring.evaluation.comparison.compare_kn_options import CompareKnOptions
from charlm.scoring.evaluation.comparison.kneser_ney import kneser_ney
from charlm.scoring.evaluation.comparison.results import MeanDifference, SeedFigures, Seeds
from charlm.scoring.evaluation.evaluate import evaluate
from charlm.text.perplexity import perplexity
from charlm.text.perplexity.perplexity import ScoredSentence
from charlm.text.vocabulary.build_vocabulary import vocab
from charlm.text.vocabulary.vocabulary import load_inventory
from charlm.training.train import train

Compare = Callable[..., Any]


def slow_weight(model: list[float], kn: list[float]) -> float:
    """The weight of the likelier of 10,001 mixtures, from probabilities."""

    def log_likelihood(weight: float) -> float:
        return sum(math.log(weight * p + (1 - weight) * q) for p, q in zip(model, kn, strict=True))

    return max((n / 10_000 for n in range(10_001)), key=log_likelihood)


def test_a_mixture_is_weighted_as_makes_valid_likeliest(
    letters: Path, uniform: Path, compared: Compare
) -> None:
    (letters / "valid.txt").write_text("b c d e\n")
    (letters / "test.txt").write_text("b\n")
    result = compared(letters, uniform)
    # train.txt is "a a a b b <unk>". Counts 3, 2, 1, 1 of 7: n = (2, 1, 1, 0), D = (1/2, 1/2, 3),
    # and 4.5/7 is left for the 10 words of the run in equal parts.
    p = {"b": 1.95 / 7, "c": 0.45 / 7, "d": 0.45 / 7, "e": 0.45 / 7, "</s>": 0.95 / 7}
    valid = [p[word] for word in ("b", "c", "d", "e", "</s>")]
    weight = slow_weight([0.1] * 5, valid)
    assert 0.1 < weight < 0.9
    found = result.system("run-zeros+KN-1").by_state["sentence"]
    assert found.weight == pytest.approx(weight, abs=2e-4)
    mixed = [weight * 0.1 + (1 - weight) * p[word] for word in ("b", "</s>")]
    assert result.ppl("run-zeros+KN-1") == pytest.approx(math.prod(mixed) ** (-1 / 2), rel=1e-4)
    assert result.ppl("run-zeros") == pytest.approx(10, rel=1e-6)
    assert result.ppl("KN-1") == pytest.approx((p["b"] * p["</s>"]) ** (-1 / 2))


def test_the_text_that_is_measured_has_no_part_in_a_weight(
    corpus_dir: Path, tiny_run: Path, compared: Compare
) -> None:
    name = f"{tiny_run.name}+KN-3"
    result = compared(corpus_dir, tiny_run, order=3)
    other = shutil.copytree(corpus_dir, tiny_run.parent / "other-test")
    (other / "test.txt").write_text("the cat sat\n")
    moved = compared(other, tiny_run, order=3)
    for state in ("carried", "sentence"):
        weights = [r.system(name).by_state[state].weight for r in (result, moved)]
        assert weights[0] == weights[1]
        assert result.ppl(name, state) != moved.ppl(name, state)


def test_morphs_are_counted_whichever_run_has_them(
    corpus_dir: Path, tiny_run: Path, tiny_sizes: list[str], tmp_path: Path, compared: Compare
) -> None:
    (tmp_path / "morphs").write_text("sat\ts at\n")
    segmented = vocab(data=corpus_dir, morphs=str(tmp_path / "morphs"), out=tmp_path / "v.json")
    run = tmp_path / "segmented"
    options: dict[str, Any] = {
        "arch": "char-small",
        "epochs": 1,
        "overrides": tiny_sizes,
        "device": "cpu",
    }
    train(data=corpus_dir, vocab=tmp_path / "v.json", out=run, threads=1, **options)
    for models in [(tiny_run, run), (run, tiny_run)]:
        figures = compared(corpus_dir, *models).only_group.to_dict()
        assert figures["n_morphs_of_vocabulary"] == segmented.n_morphs


def heard(run: Path, data: Path, split: Any, state: Any) -> list[float]:
    found: list[ScoredSentence] = []
    evaluate(run, data=data, split=split, state=state, device="cpu", on_sentence=found.append)
    return [log10 for sentence in found for log10 in sentence.log10_probs]


@pytest.mark.parametrize("state", ["carried", "sentence"])
def test_figures_of_a_state_are_those_of_eval_and_of_a_mixture_made_from_them(
    corpus_dir: Path, tiny_run: Path, state: Any, compared: Compare
) -> None:
    result = compared(corpus_dir, tiny_run, order=3)
    (evaluation,) = evaluate(tiny_run, data=corpus_dir, device="cpu")
    model = result.system("tiny").by_state[state]
    assert model.perplexity == evaluation.by_state[state]
    assert model.signature == evaluation.signatures[state]
    mixture = result.system("tiny+KN-3").by_state[state]
    assert mixture.weight is not None
    inventory = load_inventory(tiny_run / "vocab.json")
    kn = kneser_ney(inventory, CompareKnOptions(corpus_dir, order=3)).model
    test = [line.split() for line in (corpus_dir / "test.txt").read_text().splitlines()]
    pairs = zip(heard(tiny_run, corpus_dir, "test", state), slow_log10s(kn, test), strict=True)
    weight = mixture.weight
    slow = [math.log10(weight * 10**p + (1 - weight) * 10**q) for p, q in pairs]
    assert mixture.perplexity.sums.log10_prob == pytest.approx(math.fsum(slow))


def slow_log10s(model: BackoffModel, sentences: list[list[str]]) -> list[float]:
    """Sentence by sentence, so that nothing can leak from one to the next."""
    return [p for words in sentences for p in model.score([words]).log10_probs.tolist()]


def test_a_pair_differs_by_its_perplexities_and_comes_with_an_interval_in_each_state(
    corpus_dir: Path, tiny_run: Path, compared: Compare
) -> None:
    result = compared(corpus_dir, tiny_run, order=2, samples=100)
    group = result.only_group
    names = [(pair.first, pair.second) for pair in group.pairs]
    assert names == [("tiny", "KN-2"), ("tiny+KN-2", "tiny"), ("tiny+KN-2", "KN-2")]
    for pair in group.pairs:
        for state in ("carried", "sentence"):
            found = pair.by_state[state]
            expected = result.ppl(pair.first, state) - result.ppl(pair.second, state)
            assert found.ppl == pytest.approx(expected)
            assert found.low is not None and found.high is not None
            assert found.low <= expected <= found.high


@pytest.mark.parametrize("states", [("carried", "sentence"), ("sentence",)])
def test_bands_are_of_the_first_state(
    letters: Path, saved_run: Callable[..., Path], states: tuple[str, ...], compared: Compare
) -> None:
    (letters / "test.txt").write_text("a b\nb zz\na\n")
    name = "both" if len(states) == 2 else states[0]
    result = compared(letters, saved_run("random"), state=name)
    bands = result.only_group.bands
    together = 10 ** sum(band.share * math.log10(band.ppls[1] or 0) for band in bands)
    assert together == pytest.approx(result.ppl("run-random", states[0]), rel=1e-9)
    if len(states) == 2:
        assert together != pytest.approx(result.ppl("run-random", states[1]), rel=1e-4)


def test_bands_of_a_model_of_single_sentences_are_by_sentence(
    letters: Path, saved_run: Callable[..., Path], compared: Compare
) -> None:
    (letters / "test.txt").write_text("a b\nb zz\na\n")
    run = saved_run("random", batching={"type": "sentences"})
    result = compared(letters, run)
    group = result.only_group
    assert (group.state, group.to_dict()["state_of_bands"]) == ("sentence", "sentence")
    together = 10 ** sum(band.share * math.log10(band.ppls[1] or 0) for band in group.bands)
    assert together == pytest.approx(result.ppl("run-random", "sentence"), rel=1e-9)
    assert together != pytest.approx(result.ppl("run-random", "carried"), rel=1e-4)
    ends = [pair.by_band["</s>"].ppl for pair in group.pairs[:1]]
    (band,) = (each for each in group.bands if each.name == "</s>")
    assert ends == [pytest.approx((band.ppls[1] or 0) - (band.ppls[0] or 0))]
    assert compared(letters, run, state="carried").only_group.state == "carried"


def test_a_difference_by_band_is_that_of_its_tokens_alone_on_draws_of_whole_sentences(
    letters: Path, saved_run: Callable[..., Path], compared: Compare
) -> None:
    # One word per sentence: a band's differences are those of a text with only its sentences.
    words = ["a", "b", "zz"] * 30
    (letters / "test.txt").write_text("".join(f"{word}\n" for word in words))
    runs = [saved_run("zeros"), saved_run("random")]
    group = compared(letters, *runs, state="sentence").only_group
    assert group.best_two is not None
    first, second = (
        [each.name for each in group.systems].index(name)
        for name in (group.best_two.first, group.best_two.second)
    )
    for band in group.bands:
        found = group.best_two.by_band[band.name]
        ppls = band.ppls[first], band.ppls[second]
        assert found.ppl == pytest.approx((ppls[0] or 0) - (ppls[1] or 0))
        assert found.low is not None and found.high is not None
        assert found.low - 1e-9 <= (found.ppl or 0) <= found.high + 1e-9  # some have no spread
    ends, whole = group.best_two.by_band["</s>"], group.best_two.by_state["sentence"]
    assert ends.high != whole.high


def test_the_best_two_are_no_mixtures(
    corpus_dir: Path,
    tiny_run: Path,
    letters: Path,
    saved_run: Callable[..., Path],
    compared: Compare,
) -> None:
    pair = compared(corpus_dir, tiny_run, order=2).only_group.best_two
    assert pair is not None
    assert (pair.first, pair.second) == ("tiny", "KN-2")
    assert compared(letters).only_group.best_two is None
    group = compared(letters, saved_run("zeros"), saved_run("random")).only_group
    ppls = {each.name: each.by_state["carried"].perplexity.ppl for each in group.systems}
    alone = sorted((name for name in ppls if "+" not in name), key=lambda name: ppls[name])
    assert group.best_two is not None
    assert {group.best_two.first, group.best_two.second} == set(alone[:2])


def test_runs_with_the_same_words_share_kneser_ney_and_meet_each_other(
    letters: Path, saved_run: Callable[..., Path], compared: Compare
) -> None:
    runs = [saved_run("zeros"), saved_run("random")]
    stages: list[str] = []
    corpus = f"{letters}/"
    result = compared(corpus, *runs, state="sentence", on_stage=stages.append)
    group = result.only_group
    assert [each.name for each in group.systems] == [
        *("KN-1", "run-zeros", "run-zeros+KN-1", "run-random", "run-random+KN-1")
    ]
    assert (group.pairs[-1].first, group.pairs[-1].second) == ("run-zeros", "run-random")
    assert len(group.pairs) == 7
    assert all(len(band.ppls) == 5 for band in group.bands)
    assert result.notes == ()
    assert stages == [
        f"KN-1: estimating from {letters}/train.txt",
        f"run-zeros: scoring {letters}/test.txt, state sentence",
        f"run-zeros: scoring {letters}/valid.txt, state sentence",
        f"run-random: scoring {letters}/test.txt, state sentence",
        f"run-random: scoring {letters}/valid.txt, state sentence",
        "drawing sentences 100 times",
    ]


def test_the_size_of_kneser_ney_is_that_of_its_arpa_file_and_a_mixture_has_both(
    corpus_dir: Path, tiny_run: Path, tmp_path: Path, compared: Compare
) -> None:
    result = compared(corpus_dir, tiny_run, state="sentence")
    kn, model, mixture = result.only_group.systems
    assert model.n_bytes == (tiny_run / "model.safetensors").stat().st_size
    inventory = load_inventory(tiny_run / "vocab.json")
    made = kneser_ney(inventory, CompareKnOptions(corpus_dir, order=1)).model
    write_arpa(made, tmp_path / "kn.arpa")
    assert kn.n_bytes == (tmp_path / "kn.arpa").stat().st_size
    assert mixture.n_bytes == kn.n_bytes + model.n_bytes
    assert (mixture.n_ngrams, mixture.n_parameters) == (kn.n_ngrams, model.n_parameters)
    assert mixture.seconds == kn.seconds + model.seconds > 0


def test_a_model_beyond_numbers_has_no_perplexity_and_the_mixture_has_one(
    letters: Path, saved_run: Callable[..., Path], compared: Compare
) -> None:
    for split in ("valid", "test"):
        (letters / f"{split}.txt").write_text("a\n")
    result = compared(letters, saved_run("beyond"), state="sentence")
    assert result.system("run-beyond").by_state["sentence"].perplexity.ppl is None
    assert result.ppl("run-beyond+KN-1") < 100
    json.dumps(result.to_dict(), allow_nan=False)


def test_a_run_that_read_other_words_than_the_baseline_is_our_own_mistake(
    letters: Path, uniform: Path, monkeypatch: pytest.MonkeyPatch, compared: Compare
) -> None:
    monkeypatch.setattr(perplexity, "UNK", 5)
    with pytest.raises(ValueError, match="read other words than the n-gram model"):
        compared(letters, uniform)


@pytest.fixture(scope="module")
def seeds(
    corpus_dir: Path, tiny_sizes: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder of trainings 1, 2 and 3 with these seeds, and of two longer ones."""
    folder = tmp_path_factory.mktemp("seeds")
    options: dict[str, Any] = {"arch": "char-small", "device": "cpu", "threads": 1}
    overrides = [*tiny_sizes, "recipe.initialisation.range=1"]
    for name, seed, epochs in [("1", 1, 1), ("2", 2, 1), ("3", 3, 1), ("4", 4, 2), ("5", 5, 2)]:
        out = folder / name
        train(data=corpus_dir, out=out, seed=seed, epochs=epochs, overrides=overrides, **options)
    return folder


def test_trainings_that_differ_in_their_seed_alone_have_a_mean_and_a_deviation(
    corpus_dir: Path, seeds: Path, compared: Compare
) -> None:
    runs = [seeds / name for name in ("1", "4", "2", "3")]
    result = compared(corpus_dir, *runs, order=2, state="sentence")
    (alone,), (mixed,) = result.only_group.seeds, result.only_group.mixed_seeds
    assert alone.names == ("1", "2", "3")
    assert mixed.names == ("1+KN-2", "2+KN-2", "3+KN-2")
    for found in (alone, mixed):
        ppls = [result.ppl(name) for name in found.names]
        figures = found.by_state["sentence"]
        assert len(set(ppls)) == 3
        assert figures.mean == pytest.approx(sum(ppls) / 3)
        assert figures.deviation == pytest.approx(statistics.stdev(ppls))
        assert (figures.lowest, figures.highest) == (min(ppls), max(ppls))
    columns = zip(*(heard(seeds / n, corpus_dir, "test", "sentence") for n in "123"), strict=True)
    logs = [math.log(sum(10**log10 for log10 in column) / 3) for column in columns]
    averaged = alone.by_state["sentence"].averaged
    assert averaged == pytest.approx(math.exp(-math.fsum(logs) / len(logs)))
    assert averaged < alone.by_state["sentence"].mean


def test_copies_unfinished_and_lone_trainings_have_no_deviation(
    corpus_dir: Path, seeds: Path, compared: Compare
) -> None:
    begun = shutil.copytree(seeds / "2", seeds / "begun", dirs_exist_ok=True)
    (begun / ENCODED).mkdir(exist_ok=True)
    assert compared(corpus_dir, seeds / "1", begun).only_group.seeds == ()
    copy = shutil.copytree(seeds / "1", seeds / "copy", dirs_exist_ok=True)
    assert compared(corpus_dir, seeds / "1", copy, seeds / "4").only_group.seeds == ()


def test_two_groups_of_trainings_differ_as_welch_s_test_says(
    corpus_dir: Path, seeds: Path, compared: Compare
) -> None:
    result = compared(corpus_dir, *(seeds / name for name in "12345"), order=2)
    ((first, second, by_state),) = result.only_group.seed_differences()
    assert (first.names, second.names) == (("1", "2", "3"), ("4", "5"))
    for state in ("carried", "sentence"):
        ppls = [[result.ppl(name, state) for name in each.names] for each in (first, second)]
        test = ttest_ind(*ppls, equal_var=False)
        found = by_state[state]
        assert found.ppl == pytest.approx(statistics.mean(ppls[0]) - statistics.mean(ppls[1]))
        assert (found.low, found.high) == pytest.approx(tuple(test.confidence_interval()))
        assert found.p == pytest.approx(test.pvalue)


def test_means_that_do_not_vary_differ_exactly_and_those_out_of_range_not_at_all() -> None:
    two, three = (
        Seeds(("a", "b"), {"carried": SeedFigures(ppl, 0.0, ppl, ppl, ppl)}) for ppl in (2.0, 3.0)
    )
    assert two.less(three, "carried") == MeanDifference(-1.0, -1.0, -1.0, None)
    huge = Seeds(("a", "b"), {"carried": SeedFigures(None, None, 1e300, None, None)})
    assert two.less(huge, "carried") is None
