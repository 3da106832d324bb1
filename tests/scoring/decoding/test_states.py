"""States step by step give the figures of whole sentences, whatever is selected or asked."""

import copy
import itertools
import math
import multiprocessing
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import charlm
from charlm.api.loaded_models import LoadedModel
from charlm.api.trained_model import Model
from charlm.errors import ConfigError, DataError
from charlm.scoring.decoding.mixed_model import MixedModel
from charlm.scoring.decoding.run_steps import READING
from charlm.scoring.decoding.states import Floats, Rows, State, StatefulModel
from charlm.scoring.likelihood.nll import continued_nll
from charlm.text.vocabulary.encoding import FormIds, encode_sentences

KINDS = ("run", "spelling run", "n-gram model", "spelling n-gram model", "mixture")
LOADED = KINDS[:-1]
SPELLING = ("spelling run", "spelling n-gram model")
Load = Callable[[str], StatefulModel]

words = st.sampled_from(["a", "b", "c", "h", "zz", "ab", "<unk>", "<unk>:zz"])
sentences = st.lists(words, max_size=6)
few = settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])


def chained(model: StatefulModel, sentence: list[str]) -> list[float]:
    """What stepping through a sentence gives, its end the last."""
    state, found = model.start(), list[float]()
    for word in sentence:
        log_probs, _, state = model.step(state, [word])
        found += log_probs.tolist()
    return [*found, *model.finish(state).tolist()]


@pytest.mark.parametrize("kind", LOADED)
@few
@given(sentence=sentences)
def test_chained_steps_are_the_scores_of_the_sentence(
    load: Load, kind: str, sentence: list[str]
) -> None:
    model = load(kind)
    assert isinstance(model, LoadedModel)
    log10s = model.score(" ".join(sentence)).log10_probs
    assert chained(model, sentence) == pytest.approx([x * math.log(10) for x in log10s], abs=1e-6)


@pytest.mark.parametrize("words", [["a", "zz", "b", "h", "c", "ab"], []])
def test_in_fp64_chained_steps_and_a_whole_sentence_agree_to_1e_9(
    load: Load, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    model = load("run")
    assert isinstance(model, Model)
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)  # outputs end with it
    model._run.model.double()
    form_ids = FormIds(model._run.inventory)
    (ids,) = encode_sentences([words], form_ids)
    nll, _ = continued_nll(
        model._form_vectors,
        ids,
        spellings=form_ids.spellings,
        state=model._run.model.context.initial_state(1),
    )
    assert nll.dtype == np.float64
    assert chained(model, words) == pytest.approx((-nll).tolist(), abs=1e-9)


@few
@given(sentence=sentences)
def test_a_mixture_mixes_what_its_models_step_by_step_give(load: Load, sentence: list[str]) -> None:
    members = [np.exp(chained(load(kind), sentence)) for kind in ("run", "n-gram model")]
    mixed = 0.4 * members[0] + 0.6 * members[1]
    assert np.exp(chained(load("mixture"), sentence)) == pytest.approx(mixed, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@few
@given(data=st.data())
def test_picked_rows_go_on_as_if_each_stood_alone(
    load: Load, kind: str, data: st.DataObject
) -> None:
    model = load(kind)
    state, histories = model.start(2), [list[str](), list[str]()]
    for _ in range(3):
        indices = data.draw(st.lists(st.integers(0, len(state) - 1), min_size=1, max_size=4))
        new = data.draw(st.lists(words, min_size=len(indices), max_size=len(indices)))
        if data.draw(st.booleans()):
            model.distribution(state)  # remembered values change nothing
        log_probs, known, state = model.step(state.select(indices), new)
        histories = [[*histories[i], word] for i, word in zip(indices, new, strict=True)]
        alone = [chained(model, each)[-2] for each in histories]
        assert log_probs.tolist() == pytest.approx(alone, abs=1e-5)
        assert known.tolist() == [word in ("a", "b", "c", "h") for word in new]
    ends = [chained(model, each)[-1] for each in histories]
    assert model.finish(state).tolist() == pytest.approx(ends, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_distribution_holds_what_a_step_gives_to_each_word(load: Load, kind: str) -> None:
    model = load(kind)
    state = model.start(3).select([1])
    state = model.step(state, ["b"]).state.select([0, 0])
    table = model.distribution(state)
    assert table.shape == (2, len(model.words)) == (2, 10)
    assert np.exp(table).sum(axis=1) == pytest.approx([1, 1], abs=1e-6)
    for number, word in enumerate(model.words):
        fresh = model.step(model.start(), ["b"]).state
        found = model.finish(fresh) if word == "</s>" else model.step(fresh, [word]).log_probs
        assert found.tolist() == pytest.approx(table[:1, number].tolist(), abs=1e-5)


def letters_of(model: StatefulModel) -> list[str]:
    """All letters of the vocabulary, and one that it lacks."""
    return sorted({letter for word in model.words[2:] for letter in word})


@pytest.mark.parametrize("kind", KINDS)
def test_the_empty_prefix_is_all_but_the_end_and_what_has_no_spelling(
    load: Load, kind: str
) -> None:
    model = load(kind)
    state = model.step(model.start(2), ["b", "zz"]).state
    table = np.exp(model.distribution(state))
    left = 1 - table[:, 0] - (0 if kind in SPELLING else table[:, 1])
    assert np.exp(model.prefix_log_prob(state, "")) == pytest.approx(left, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prefix", ["", "a", "ab", "z", "日"])
def test_continuations_by_a_letter_and_the_words_end_add_up_to_the_prefix(
    load: Load, kind: str, prefix: str
) -> None:
    model = load(kind)
    state = model.step(model.start(2), ["b", "zz"]).state
    whole = np.exp(model.prefix_log_prob(state, prefix))
    parts = np.zeros(2)
    for letter in letters_of(model):
        parts += np.exp(model.prefix_log_prob(state, prefix + letter))
    if model.speller is not None:  # the probability of one escaped letter, for all of them
        n_escaped = model.speller.speller.n_escaped
        parts += n_escaped * np.exp(model.prefix_log_prob(state, prefix + "日"))
    if prefix in model.words or (prefix and model.speller is not None):
        parts += np.exp(model.step(state, [prefix, prefix]).log_probs)
    assert parts == pytest.approx(whole, abs=1e-6)


def test_a_prefix_of_its_own_for_each_row(load: Load) -> None:
    model = load("run")
    state = model.start(2)
    both = model.prefix_log_prob(state, ["a", "b"])
    one = model.step(state, ["a", "b"]).log_probs  # each is the only word with these letters
    assert both == pytest.approx(one, abs=1e-5)
    assert model.prefix_log_prob(state, "ab").tolist() == [-math.inf, -math.inf]


def test_tiny_sums_are_not_lost_in_rounding(load: Load) -> None:
    model = load("run")
    state = model.start()
    table = np.full((1, 10), -math.inf)
    table[0, 2:4] = 0.0, -80.0  # the words a and b
    state._at[0].log_probs_NV = table
    assert model.prefix_log_prob(state, "b").tolist() == pytest.approx([-80.0])


def test_no_rows_are_rows_too(load: Load) -> None:
    for kind in KINDS:
        model = load(kind)
        none = model.start(2).select([])
        step = model.step(none, [])
        assert (len(step.state), len(step.log_probs), len(model.finish(none))) == (0, 0, 0)
        assert model.distribution(none).shape == (0, 10)
        assert model.prefix_log_prob(none, "a").shape == (0,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, s: m.step(s, ["a"]), "words: found 1; expected 2, one for each row of the st"),
        (lambda m, s: m.step(s, ["a", "</s>"]), "words: found '</s>'; expected words; start and f"),
        (lambda m, s: m.step(s, ["a", "<s>"]), "words: found '<s>'; expected words; start and fin"),
        (lambda m, s: m.prefix_log_prob(s, ["a"]), "letters: found 1; expected 2, one for each r"),
        (lambda m, s: s.select([2]), "indices: found 2; expected 0 to 1"),
        (lambda m, s: s.select([-1]), "indices: found -1; expected 0 to 1"),
        (lambda m, s: s.select(0), "indices: found 0; expected a list of whole numbers"),
        (lambda m, s: s.select([[0], [0, 1]]), "indices: found [[0], [0, 1]]; expected a list of"),
        (lambda m, s: s.select([True]), "indices: found [True]; expected a list of whole numbers"),
        (lambda m, s: m.log_prob_of_unk(None), "state: found None; expected a State"),
        (lambda m, s: m.start(-1), "n: found -1; expected 0 to 16777216"),
        (lambda m, s: m.start(10**12), "n: found 1000000000000; expected 0 to 16777216"),
        (lambda m, s: m.step(s, "ab"), "words: found 1; expected 2"),
        (lambda m, s: m.spelled("zz", [False]), "words: found 'zz' and 1 flags; expected a list"),
        (lambda m, s: m.spelled(["zz"], [False] * 2), "words: found ['zz'] and 2 flags; expect"),
        (lambda m, s: m.step(s, ["<unk>:a", "b"]), "found '<unk>:a', and the run's vocabulary has"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    load: Load, call: Callable[[StatefulModel, State], object], message: str
) -> None:
    model = load("spelling run")
    with pytest.raises(ConfigError) as caught:
        call(model, model.start(2))
    assert message in str(caught.value)


@pytest.mark.filterwarnings("error")
def test_a_tensor_selects_rows_without_a_warning(load: Load) -> None:
    picked: Any = torch.tensor([2, 0])
    assert len(load("run").start(3).select(picked)) == 2


def test_a_state_belongs_to_its_model(load: Load) -> None:
    with pytest.raises(ConfigError, match="state: found another model's"):
        load("run").step(load("mixture").start(), ["a"])


@pytest.mark.parametrize("kind", KINDS)
def test_hypotheses_are_copied_without_the_model_and_go_on(load: Load, kind: str) -> None:
    model = load(kind)
    beam = {"model": model, "state": model.start(), "words": ["a"]}
    found = copy.deepcopy(beam)
    assert found["words"] is not beam["words"]
    assert found["model"] is copy.copy(model) is model
    assert model.step(found["state"], ["a"]).log_probs == chained(model, ["a"])[:1]


def test_a_mixture_has_models_and_a_weight_for_each(load: Load) -> None:
    with pytest.raises(ConfigError, match="^weights 0.5: 1 for 2 to be mixed; expected one for ea"):
        MixedModel([load("run"), load("n-gram model")], [0.5])
    with pytest.raises(ConfigError, match="models: found none; expected one or more"):
        MixedModel([], [])


def test_models_of_other_words_or_spellers_do_not_mix(load: Load, tiny_run: Path) -> None:
    other = charlm.load(tiny_run, device="cpu")
    with pytest.raises(ConfigError, match="number 2 differ in .* words, 'and' among"):
        MixedModel([load("run"), other], [0.5, 0.5])
    with pytest.raises(ConfigError, match="number 2 have not the same speller"):
        MixedModel([load("run"), load("spelling n-gram model")], [0.5, 0.5])


def test_an_n_gram_model_is_loaded_from_its_file(
    arpa: Path, spelled_run: Path, tiny_run: Path, tmp_path: Path
) -> None:
    model = charlm.load(arpa)
    assert (model.order, model.words[:3]) == (3, ("</s>", "<unk>", "a"))
    assert repr(model) == f"<charlm n-gram model {str(arpa)!r}, 10 words>"
    with pytest.raises(ConfigError, match="has no speller of its own"):
        charlm.load(arpa, open_vocabulary=True)
    with pytest.raises(ConfigError, match="the run has no speller"):
        charlm.load(arpa, open_vocabulary=tiny_run)
    smaller = tmp_path / "small.arpa"
    smaller.write_text("\\data\\\nngram 1=3\n\n\\1-grams:\n-1 <unk>\n-1 </s>\n-1 a\n\n\\end\\\n")
    with pytest.raises(ConfigError, match="has other words than"):
        charlm.load(smaller, open_vocabulary=spelled_run)
    binary = tmp_path / "kn.bin"
    binary.write_bytes(b"mmap lm http://kheafield.com/code format version 5\n\0")
    with pytest.raises(ConfigError, match="KenLM's binary, which does not list its words"):
        charlm.load(binary)


def test_an_n_gram_model_may_have_no_n_grams_of_an_order(tmp_path: Path) -> None:
    text, arpa = tmp_path / "text", tmp_path / "kn.arpa"
    text.write_text("a\n")
    sizes = charlm.ngram_baseline(train=text, order=5, out=arpa).model.sizes
    assert sizes == (4, 2, 1, 0, 0)
    model = charlm.load(arpa)
    found = model.step(model.start(), ["a"])
    expected = np.array(model.score("a").log10_probs) * math.log(10)
    assert found.log_probs == pytest.approx(expected[:1])
    assert model.distribution(found.state)[0, 0] == pytest.approx(expected[1])


def test_a_broken_model_is_one_line_and_no_nan(saved_run: Callable[..., Path]) -> None:
    model = charlm.load(saved_run("beyond"), device="cpu")
    with pytest.raises(DataError, match="the model is broken: log probabilities are NaN or inf"):
        model.step(model.start(), ["b"])
    with pytest.raises(DataError, match="the model is broken"):
        model.distribution(model.start())


def test_threads_share_a_model_and_its_states(load: Load) -> None:
    model, letters = load("run"), "abch"
    new = ["".join(each) for each in itertools.product(letters, repeat=4)]
    texts = [new[n : n + 4] for n in range(0, len(new), 4)]
    start = model.start(2).select([1])

    def walked(text: list[str]) -> tuple[list[float], list[float]]:
        return chained(model, text), model.distribution(start.select([0]))[0].tolist()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(walked, texts))
    finally:
        sys.setswitchinterval(before)
    for (log_probs, first), text in zip(found, texts, strict=True):
        assert log_probs == pytest.approx(chained(model, text), abs=1e-5)
        assert first == found[0][1]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_steps_though_another_thread_was_reading(load: Load) -> None:
    model = load("run")
    child = multiprocessing.get_context("fork").Process(target=chained, args=(model, ["a", "b"]))
    READING.acquire()
    reader = threading.Timer(0.2, READING.release)
    reader.start()
    child.start()
    child.join(20)
    child.kill()
    child.join()
    reader.join()
    assert child.exitcode == 0


class Bigrams:
    """P(word | word before) from a table over the words in an order of their own."""

    def __init__(self, words: tuple[str, ...], probs: dict[str, dict[str, float]]) -> None:
        self.words = words
        self.table = np.log([[probs[before][word] for word in words] for before in words])

    def start(self, n: int) -> Rows:
        return np.zeros(n, np.int64)  # as after the end of a sentence

    def gather(self, position: Rows, rows: Rows) -> Rows:
        return position[rows]

    def log_probs(self, position: Rows, *, rows: Rows, words: Rows) -> Floats:
        return np.asarray(self.table[position[rows], words])

    def read(self, position: Rows, *, rows: Rows, tokens: Sequence[str], words: Rows) -> Rows:
        return words

    def distribution(self, position: Rows) -> Floats:
        return np.asarray(self.table[position])


def bigrams(*order: str, seed: int) -> tuple[StatefulModel, dict[str, dict[str, float]]]:
    """A model whose words stand in this order, and its probabilities by word."""
    words = ("</s>", "<unk>", *order)
    table = np.random.default_rng(seed).dirichlet(np.ones(len(words)), len(words))
    by_word = {
        before: dict(zip(sorted(words), row.tolist(), strict=True))
        for before, row in zip(sorted(words), table, strict=True)
    }
    return StatefulModel(Bigrams(words, by_word)), by_word


@pytest.mark.parametrize("asks", [False, True])
def test_models_that_number_their_words_in_other_orders_mix_word_by_word(asks: bool) -> None:
    (one, p), (other, q) = bigrams("a", "b", "c", seed=1), bigrams("c", "a", "b", seed=2)
    model = MixedModel([one, other], [0.3, 0.7])
    assert repr(model) == "<charlm mixture of 2 models, 5 words>"
    state, before = model.start(), "</s>"
    for word in ("b", "c", "zz", "a", "b"):
        known = word if word in model.words else "<unk>"
        if asks:
            found = dict(zip(model.words, model.distribution(state)[0].tolist(), strict=True))
            mixed = {each: math.log(0.3 * p[before][each] + 0.7 * q[before][each]) for each in p}
            assert found == pytest.approx(mixed)
        step = model.step(state, [word])
        expected = math.log(0.3 * p[before][known] + 0.7 * q[before][known])
        assert step.log_probs.tolist() == pytest.approx([expected])
        state, before = step.state, known


def test_rows_picked_in_any_order_and_again_have_their_own_distributions() -> None:
    model, probs = bigrams("a", "b", "c", seed=3)
    state = model.step(model.start(4), ["c", "zz", "a", "b"]).state.select([3, 0, 3, 2])
    expected = [[math.log(probs[each][word]) for word in model.words] for each in "bcba"]
    np.testing.assert_allclose(model.distribution(state), expected)
    behind = model.step(state.select([2, 3]), ["a", "a"])
    assert behind.log_probs.tolist() == pytest.approx([expected[2][2], expected[3][2]])
