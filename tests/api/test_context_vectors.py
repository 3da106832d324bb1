"""`Model.context_vectors`: what the output reads, for the parts of every preset, and by hand."""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import charlm
from charlm.api.trained_model import Model
from charlm.errors import DataError
from charlm.presets import PRESETS
from charlm.run.stored_weights import load_run
from charlm.scoring.likelihood import nll
from charlm.settings import Settings
from charlm.text.vocabulary.morphs import MorphModel
from charlm.text.vocabulary.vocabulary import Inventory

WORDS = ("a", "ab", "cab", "bac", "acbacb", "abacus", "bb", "c", "caba", "abcabc", "acb")
# The last begins with an `<unk>` that is spelled like a word.
SENTENCES = ("cab ab abcabc bac", "", "scab bacbac a", "ü c <unk> c", "<unk>:cab bb a a a a a a a")
SMALL = {
    **dict.fromkeys(("dim", "last_dim", "rank"), 8),
    **dict.fromkeys(("letter_dim", "hidden_dim"), 6),
    "buckets": 50,
}


def small(part: Settings) -> Settings:
    """The part with widths of a few numbers."""
    inner = {key: small(value) for key, value in part.items() if isinstance(value, dict)}
    own = {key: SMALL[key] for key in part.keys() & SMALL.keys() if part[key]}
    cnn = {"dim": 4, "widths": [1, 2, 3], "filters": [3, 3, 2]}
    return {**part, **own, **inner, **(cnn if part["type"] == "char-cnn" else {})}


def distinct() -> dict[str, Settings]:
    """The presets whose parts differ in more than their sizes, made small."""
    found: dict[str, tuple[str, Settings]] = {}
    for name, preset in PRESETS.items():
        parts = {place: small(preset[place]) for place in ("encoder", "context", "output")}
        found.setdefault(json.dumps(parts, sort_keys=True), (name, parts))
    return dict(found.values())


@pytest.fixture
def save(tmp_path: Path, save_random: Callable[..., Path]) -> Callable[[Settings], Path]:
    """Writes a run with random weights."""
    words = ("</s>", "<unk>", *WORDS)
    morphs = MorphModel(tuple("abcus"), (1.0,) * 5, {word: tuple(word) for word in WORDS})
    counts = tuple(range(len(words), 0, -1))
    inventory = Inventory(words, counts, tuple("abcus"), morphs=morphs)
    return lambda settings: save_random(tmp_path / "run", settings, inventory)


def distributions(model: Model, sentence: str) -> Iterator[np.ndarray]:
    """log P of all words before each word and before the end, in the states of decoders."""
    state = model.start()
    for word in model.tokens(sentence):
        yield model.distribution(state)[0]
        state = model.step(state, [word]).state
    yield model.distribution(state)[0]


@torch.no_grad()
@pytest.mark.parametrize("settings", distinct().values(), ids=distinct())
def test_the_output_makes_of_them_the_probabilities_of_every_kind_of_model(
    settings: Settings, save: Callable[[Settings], Path]
) -> None:
    run = save(settings)
    model, output = charlm.load(run, device="cpu"), load_run(run).model.eval().output
    assert isinstance(model, Model)
    for sentence in SENTENCES:
        h_NH, words = model.context_vectors(sentence), model.tokens(sentence)
        assert (h_NH.shape[0], h_NH.dtype) == (len(words) + 1, np.float32)
        log_probs_NV = output.log_probs(torch.from_numpy(h_NH)).numpy()
        expected = np.stack(list(distributions(model, sentence)))
        np.testing.assert_allclose(log_probs_NV, expected, atol=1e-5)
        ids = [model.words.index(w) if w in model.words else 1 for w in words] + [0]
        log10s = log_probs_NV[np.arange(len(ids)), ids] / math.log(10)
        assert model.score(sentence).log10_probs == pytest.approx(log10s, abs=1e-5)


@torch.no_grad()
def test_they_are_those_of_torchs_lstm_and_a_matrix_product_scores_words_by_them(
    tiny_run: Path,
) -> None:
    model, run = charlm.load(tiny_run, device="cpu"), load_run(tiny_run).model
    assert isinstance(model, Model)
    lstm = torch.nn.LSTM(16, 8, num_layers=2)
    own = {  # layers.1.bias_ih_l0 is theirs bias_ih_l1
        f"{name.split('.')[2][:-1]}{name.split('.')[1]}": weight
        for name, weight in run.context.state_dict().items()
    }
    lstm.load_state_dict(own)
    fed, predicted = ["</s>", "the", "cat", "sat"], ["the", "cat", "sat", "</s>"]
    expected_TH, _ = lstm(torch.from_numpy(model.vectors(fed)))
    found = model.context_vectors("the cat sat")
    np.testing.assert_allclose(found, expected_TH, atol=1e-6)
    softmax = run.output.state_dict()
    scores_TV = torch.from_numpy(found) @ softmax["words.weight"].T + softmax["words.bias"]
    ids = [model.words.index(word) for word in predicted]
    log10s = torch.log_softmax(scores_TV, dim=1)[range(4), ids] / math.log(10)
    assert model.score("the cat sat").log10_probs == pytest.approx(log10s.tolist(), abs=1e-6)


def test_a_sentence_is_as_long_as_it_is_whatever_is_read_at_once(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = charlm.load(tiny_run, device="cpu")
    assert isinstance(model, Model)
    at_once = model.context_vectors("<s> the cat  sat on the mat\n")
    assert at_once.shape == (7, 8)
    monkeypatch.setattr(nll, "CHUNK_POSITIONS", 3)
    np.testing.assert_allclose(model.context_vectors("the cat sat on the mat"), at_once, atol=1e-6)
    with pytest.raises(DataError, match="found a line end; expected one sentence"):
        model.context_vectors("the cat\nsat")
