"""Cached vectors against an encoder that encodes one form at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from charlm.model.build import build_model
from charlm.model.forms import FormTable
from charlm.model.language_model import LanguageModel
from charlm.scoring.likelihood import form_cache
from charlm.scoring.likelihood.form_cache import FormCache
from charlm.scoring.likelihood.walker import Walker
from charlm.scoring.rescoring.scorers.neural import NeuralScorer
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of

TRAIN = [["a", "b", "c", "a"], ["cab", "<unk>", "bac"], ["b", "a"]]
SETTINGS = {
    "encoder": {"type": "char-cnn", "dim": 4, "widths": [1, 3], "filters": [5, 6]},
    "context": {"type": "lstm", "dim": 7, "layers": 1},
    "output": {"type": "softmax"},
}
BYTES = 4 * 4 * 7  # of a cached row: the first layer's four products
WORDS = ["new", "a", "cab", "newer", "</s>", "b", "new", "c", "<unk>", "bac", "<unk>:cab"]


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    return inventory_of(TRAIN)


@pytest.fixture(scope="module")
def model(inventory: Inventory) -> LanguageModel:
    torch.manual_seed(3)
    built, _ = build_model(SETTINGS, inventory)
    for parameter in built.parameters():
        torch.nn.init.uniform_(parameter, -1.0, 1.0)
    return built.eval()


def alone(model: LanguageModel, inventory: Inventory, word: str) -> torch.Tensor:
    number = inventory.word_ids.get(word, inventory.n_words)
    form = word.removeprefix("<unk>:")
    table = FormTable(inventory, [form], ids=[number])
    with torch.no_grad():
        return model.context.project(model.encoder(table.forms(np.arange(1))))[0]


@pytest.fixture
def n_encoded(model: LanguageModel) -> Iterator[list[int]]:
    """How many forms the encoder reads, call by call."""
    numbers: list[int] = []
    hook = model.encoder.register_forward_hook(lambda _, __, out: numbers.append(len(out)))
    yield numbers
    hook.remove()


@pytest.mark.parametrize("n_kept", [0, 1, 3, 8, 10, 100])
def test_vectors_are_the_encoders_whatever_is_kept(
    model: LanguageModel, inventory: Inventory, n_kept: int
) -> None:
    cache = FormCache(model, inventory, oov_input="spelling", max_bytes=n_kept * BYTES)
    expected = torch.stack([alone(model, inventory, word) for word in WORDS])
    for words in (WORDS[:4], WORDS, WORDS[::-1], WORDS):
        vectors = cache.vectors(cache.ids(words))
        wanted = torch.stack([expected[WORDS.index(word)] for word in words])
        torch.testing.assert_close(vectors, wanted, rtol=0, atol=1e-5)


def test_what_is_kept_outlasts_the_growth_of_the_table(
    model: LanguageModel,
    inventory: Inventory,
    n_encoded: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(form_cache, "FIRST_ROWS", 2)
    cache = FormCache(model, inventory, oov_input="spelling")
    for n_words in range(1, len(WORDS) + 1):  # new rows: one at a time
        cache.vectors(cache.ids(WORDS[:n_words]))
    assert n_encoded == [1] * len(set(WORDS))
    expected = torch.stack([alone(model, inventory, word) for word in WORDS])
    torch.testing.assert_close(cache.vectors(cache.ids(WORDS)), expected, rtol=0, atol=1e-5)


def test_the_most_frequent_words_stay_where_there_is_little_room(
    model: LanguageModel, inventory: Inventory, n_encoded: list[int]
) -> None:
    cache = FormCache(model, inventory, max_bytes=3 * BYTES)
    everything = np.arange(inventory.n_words, dtype=np.int32)
    cache.vectors(everything[::-1].copy())
    n_encoded.clear()
    cache.vectors(everything)
    assert sum(n_encoded) == inventory.n_words - 3
    cache.vectors(everything[:3])
    assert sum(n_encoded) == inventory.n_words - 3


class Sizes(TorchDispatchMode):
    """Notes how many numbers the largest tensor has that anything gives."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.largest = 0

    def __torch_dispatch__(
        self, func: Any, types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        found = func(*args, **(kwargs or {}))
        if isinstance(found, Tensor):
            self.largest = max(self.largest, found.numel())
        return found


def test_a_form_that_finds_no_room_needs_no_copy_of_what_is_kept(
    model: LanguageModel, inventory: Inventory
) -> None:
    cache = FormCache(model, inventory, oov_input="spelling", max_bytes=500 * BYTES)
    cache.vectors(cache.ids([f"w{number}" for number in range(500)]))
    sizes = Sizes()
    with sizes:
        cache.vectors(cache.ids(["new", "w1", "newer"]))
    assert 3 * BYTES // 4 <= sizes.largest < 500 * BYTES // 4


def test_an_unknown_form_goes_in_as_unk_where_the_model_was_told_so(
    model: LanguageModel, inventory: Inventory
) -> None:
    cache = FormCache(model, inventory, oov_input="unk")
    vectors = cache.vectors(cache.ids(["new", "<unk>"]))
    assert torch.equal(vectors[0], vectors[1])


def test_what_has_seen_too_many_spellings_begins_anew_and_answers_the_same(
    model: LanguageModel, inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(form_cache, "MOST_SPELLINGS", 20)
    cache = FormCache(model, inventory, oov_input="spelling")
    scorer = NeuralScorer(Walker(cache))
    (before,) = scorer.score([WORDS])
    for number in range(50):
        scorer.score([[f"w{number}"]])
        assert len(cache.form_ids.spellings) <= 22
        assert len(cache.form_ids) <= inventory.n_words + 22
    (after,) = scorer.score([WORDS])
    assert after.log_probs == pytest.approx(before.log_probs, abs=1e-5)
    assert after.known.tolist() == before.known.tolist()
