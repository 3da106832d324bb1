"""Scores of whole texts against a loop that feeds one token at a time."""

import math
import weakref
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from charlm.model.build import build_model
from charlm.model.forms import Forms, FormTable
from charlm.model.language_model import LanguageModel
from charlm.scoring.likelihood import nll, streams
from charlm.scoring.likelihood.nll import (
    FormVectors,
    continued_nll,
    form_slices,
    perplexity_of,
    sentence_nlls,
    streams_nll,
    validation_perplexity,
)
from charlm.text.corpus.tokens import END, UNK
from charlm.text.vocabulary.encoding import FormIds, Ids, encode_sentences
from charlm.text.vocabulary.vocabulary import MAX_WORD_LENGTH, Inventory, inventory_of

TRAIN = [["a", "b", "c", "a"], ["cab", "<unk>", "bac"], ["b", "a"]]
TEXT = [["a"], ["b", "new", "cab", "a", "c"], [], ["newer", "b"], ["bac", "<unk>", "new"]]
SETTINGS = {
    "encoder": {
        "type": "highway",
        "encoder": {"type": "char-cnn", "dim": 4, "widths": [1, 3], "filters": [5, 6]},
    },
    "context": {"type": "lstm", "dim": 7, "layers": 2},
}


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    return inventory_of(TRAIN)


@pytest.fixture(scope="module", params=["softmax", "hierarchical"])
def model(request: pytest.FixtureRequest, inventory: Inventory) -> LanguageModel:
    torch.manual_seed(3)
    built, _ = build_model({**SETTINGS, "output": {"type": request.param}}, inventory)
    for parameter in built.parameters():
        torch.nn.init.uniform_(parameter, -1.0, 1.0)
    return built.eval()


@pytest.fixture(params=["unk", "spelling"])
def vectors(
    request: pytest.FixtureRequest, model: LanguageModel, inventory: Inventory
) -> FormVectors:
    return FormVectors(model, inventory, oov_input=request.param)


@pytest.fixture
def form_ids(inventory: Inventory) -> FormIds:
    return FormIds(inventory)


@pytest.fixture
def sentences(form_ids: FormIds) -> list[Ids]:
    return encode_sentences(TEXT, form_ids)


def one_by_one(
    vectors: FormVectors, ids: Ids, *, form_ids: FormIds, before: int = END
) -> list[float]:
    """nll of each token, feeding one at a time from the initial state; each form encoded alone."""
    spellings, numbers = tuple(form_ids.spellings), tuple(ids.tolist())
    return losses_of(
        vectors.model, vectors.inventory, vectors.by_spelling, spellings, numbers, before
    )


@cache
def losses_of(
    model: LanguageModel,
    inventory: Inventory,
    by_spelling: bool,
    spellings: tuple[str, ...],
    ids: tuple[int, ...],
    before: int,
) -> list[float]:
    state = model.context.initial_state(1)
    forms = [*inventory.words, *spellings]
    losses = []
    for fed, predicted in zip([before, *ids[:-1]], ids, strict=True):
        as_unk = fed >= inventory.n_words and not by_spelling
        number, form = (UNK, "<unk>") if as_unk else (int(fed), forms[fed])
        with torch.no_grad():
            x_NE = model.encoder(FormTable(inventory, [form], ids=[number]).forms(np.arange(1)))
            h_TBH, state = model.context(x_NE[None], state)
            log_probs_NV = model.output.log_probs(h_TBH[0])
        word = predicted if predicted < inventory.n_words else UNK
        losses.append(-float(log_probs_NV[0, word]))
    return losses


@pytest.fixture(params=[1, 3, 1000])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(nll, "CHUNK_POSITIONS", request.param)
    return int(request.param)


def test_a_stream_goes_on_from_a_state_as_if_it_had_not_been_cut(
    vectors: FormVectors, sentences: list[Ids], form_ids: FormIds, chunk: int
) -> None:
    state = vectors.model.context.initial_state(1)
    found: list[float] = []
    for ids in (np.concatenate(sentences[:2]), np.concatenate(sentences[2:])):
        part, state = continued_nll(vectors, ids, spellings=form_ids.spellings, state=state)
        found += part.tolist()
    ids = np.concatenate(sentences)
    assert found == pytest.approx(one_by_one(vectors, ids, form_ids=form_ids), abs=1e-4)


@pytest.mark.parametrize("at_once", [1, 2, 64])
def test_a_sentence_is_scored_as_if_it_stood_alone_whatever_its_batch(
    vectors: FormVectors,
    sentences: list[Ids],
    form_ids: FormIds,
    chunk: int,
    at_once: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "SENTENCES_AT_ONCE", at_once)
    found = sentence_nlls(vectors, sentences, spellings=form_ids.spellings)
    for ids, losses in zip(sentences, found, strict=True):
        expected = one_by_one(vectors, ids, form_ids=form_ids)
        assert losses.tolist() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("n_streams", [1, 2, 5, 40])
def test_each_stream_is_a_pass_over_its_piece_started_with_the_token_before(
    vectors: FormVectors, sentences: list[Ids], form_ids: FormIds, chunk: int, n_streams: int
) -> None:
    ids = np.concatenate(sentences)
    chunks = list(streams_nll(vectors, ids, spellings=form_ids.spellings, n_streams=n_streams))
    nll_TB = np.concatenate([losses for losses, _ in chunks])
    targets_TB = np.concatenate([targets for _, targets in chunks])
    length = -(-len(ids) // n_streams)
    assert nll_TB.shape == targets_TB.shape == (length, n_streams)
    for column in range(n_streams):
        start = column * length
        piece = ids[start : start + length]
        before = int(ids[start - 1]) if 0 < start < len(ids) else END
        expected = (
            one_by_one(vectors, piece, form_ids=form_ids, before=before) if len(piece) else []
        )
        padding = length - len(piece)
        assert nll_TB[:, column].tolist() == pytest.approx([*expected, *[0.0] * padding], abs=1e-4)
        assert targets_TB[:, column].tolist() == [*piece.tolist(), *[-1] * padding]


def test_a_validation_perplexity_is_exp_of_the_mean_over_tokens_alone(
    vectors: FormVectors, sentences: list[Ids], form_ids: FormIds
) -> None:
    ids = np.concatenate(sentences)
    found = validation_perplexity(streams_nll(vectors, ids, spellings=form_ids.spellings))
    expected = one_by_one(vectors, ids, form_ids=form_ids)
    assert found == pytest.approx(math.exp(sum(expected) / len(ids)), rel=1e-4)


def test_the_spelling_of_an_unknown_word_counts_only_where_it_goes_in(
    model: LanguageModel, inventory: Inventory
) -> None:
    losses = {}
    for oov_input in ("unk", "spelling"):
        vectors = FormVectors(model, inventory, oov_input=oov_input)
        for word in ("abba", "cccc"):
            form_ids = FormIds(inventory)
            ids = encode_sentences([[word, "a"]], form_ids)
            (found,) = sentence_nlls(vectors, ids, spellings=form_ids.spellings)
            losses[oov_input, word] = found.tolist()
    assert losses["unk", "abba"] == losses["unk", "cccc"]
    assert losses["spelling", "abba"][0] == losses["spelling", "cccc"][0]  # both are <unk>
    assert losses["spelling", "abba"][1] != losses["spelling", "cccc"][1]


def test_a_long_sentence_costs_neither_larger_chunks_nor_padding_of_its_batch(
    vectors: FormVectors, form_ids: FormIds, shapes: list[tuple[int, int]]
) -> None:
    sentences = encode_sentences([["a"], ["a"] * 5000, ["b"]], form_ids)
    sentence_nlls(vectors, sentences, spellings=form_ids.spellings)
    n_positions = [steps * streams for steps, streams in shapes]
    assert max(n_positions) <= nll.CHUNK_POSITIONS
    assert sum(n_positions) <= 5005 + nll.CHUNK_POSITIONS


def test_what_a_chunk_gives_does_not_stay_among_the_blocks_of_memory_of_later_chunks(
    vectors: FormVectors, form_ids: FormIds, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[weakref.ref[nll.Nlls]] = []
    original = nll.chunk_nll

    def chunk_nll(*args: Any, **options: Any) -> tuple[nll.Nlls, object]:
        assert all(each() is None for each in given[:-1])  # the latest still has its name
        found, state = original(*args, **options)
        given.append(weakref.ref(found))
        return found, state

    monkeypatch.setattr(nll, "CHUNK_POSITIONS", 4)
    monkeypatch.setattr(nll, "chunk_nll", chunk_nll)
    ids = np.full(30, END, np.int32)

    (alone,) = sentence_nlls(vectors, [ids], spellings=form_ids.spellings)
    state = vectors.model.context.initial_state(1)
    stream, _ = continued_nll(vectors, ids, spellings=form_ids.spellings, state=state)

    assert len(given) > 10
    np.testing.assert_allclose(alone, stream, rtol=1e-5)


def test_a_chunk_holds_fewer_positions_where_the_vocabulary_is_large(
    vectors: FormVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nll, "CHUNK_SCORES", 10 * vectors.inventory.n_words + 1)
    assert vectors.positions_at_once == 10
    monkeypatch.setattr(nll, "CHUNK_SCORES", 1)
    assert vectors.positions_at_once == 1
    vectors.device = torch.device("cuda")
    assert vectors.positions_at_once == nll.GPU_POSITIONS


def rows_at_once(lengths: list[int]) -> list[tuple[int, int]]:
    return [(part.start, part.stop) for part in form_slices(np.array(lengths, np.int64))]


def test_an_ordinary_vocabulary_is_encoded_so_many_forms_at_once() -> None:
    longest = MAX_WORD_LENGTH + 2  # plus the start and end of the word
    assert rows_at_once([longest] * 5000) == [(0, 2048), (2048, 4096), (4096, 5000)]
    assert rows_at_once([3] * 2048) == [(0, 2048)]
    assert rows_at_once([]) == []


def test_an_endless_word_makes_the_forms_at_once_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nll, "FORMS_AT_ONCE", 4)
    monkeypatch.setattr(nll, "LETTERS_AT_ONCE", 20)
    lengths = [5, 5, 5, 5, 5, 10, 2, 2, 100, 1, 7, 7, 7]
    # 4 of 5 letters; 5 and 10 as 2 of 10; 2 and 2 (3 of 100 are too many); 100 alone; then 2 of 7.
    assert rows_at_once(lengths) == [(0, 4), (4, 6), (6, 8), (8, 9), (9, 11), (11, 13)]


def test_forms_have_the_same_vectors_however_few_are_encoded_at_once(
    model: LanguageModel, inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = FormVectors(model, inventory).vocabulary_VE
    monkeypatch.setattr(nll, "LETTERS_AT_ONCE", 7)
    parted = FormVectors(model, inventory).vocabulary_VE
    assert parted.shape == (inventory.n_words, model.encoder.dim)
    torch.testing.assert_close(parted, whole, atol=1e-6, rtol=0)


def test_words_of_a_large_vocabulary_are_encoded_when_they_are_met(
    model: LanguageModel,
    vectors: FormVectors,
    inventory: Inventory,
    form_ids: FormIds,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ids = np.concatenate(encode_sentences(TEXT, form_ids))
    whole = [nll for nll, _ in streams_nll(vectors, ids, spellings=form_ids.spellings)]
    monkeypatch.setattr(nll, "MANY_WORDS", inventory.n_words - 1)
    oov_input = "spelling" if vectors.by_spelling else "unk"
    large = FormVectors(model, inventory, oov_input=oov_input)
    encoded: list[int] = []
    forward = model.encoder.forward

    def met(forms: Forms) -> torch.Tensor:
        encoded.extend(forms.words_N.tolist())
        return forward(forms)

    monkeypatch.setattr(model.encoder, "forward", met)
    for _ in range(2):  # the second time, all words are known
        found = [nll for nll, _ in streams_nll(large, ids, spellings=form_ids.spellings)]
        np.testing.assert_allclose(np.concatenate(found), np.concatenate(whole), atol=1e-5)
    words = [word for word in encoded if word != UNK]
    assert sorted(words) == sorted(
        {int(i) for i in [END, *ids[:-1]] if UNK != i < len(inventory.words)}
    )


def test_what_was_encoded_is_not_kept_twice(
    model: LanguageModel, inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nll, "FORMS_AT_ONCE", 1)
    encoded: list[weakref.ref[torch.Tensor]] = []
    alive: list[int] = []

    def hook(module: object, inputs: object, output: torch.Tensor) -> None:
        alive.append(sum(reference() is not None for reference in encoded))
        encoded.append(weakref.ref(output))

    with model.encoder.register_forward_hook(hook):
        FormVectors(model, inventory)
    assert len(alive) == inventory.n_words > 4
    assert max(alive) <= 1


def test_a_perplexity_is_infinite_only_where_it_fits_no_float() -> None:
    assert perplexity_of(3 * math.log(8), 3) == pytest.approx(8)
    assert perplexity_of(2 * 700.0, 2) == pytest.approx(math.exp(700))
    assert perplexity_of(2 * 710.0, 2) == math.inf
