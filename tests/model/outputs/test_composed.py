"""Composed word vectors: against copied weights, against single words, and when they are kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from charlm.errors import ConfigError
from charlm.model.build import ENCODER, OUTPUT, build_model
from charlm.model.contract import Encoder
from charlm.model.encoders.char_cnn import CharCNN
from charlm.model.encoders.sides import Mixture
from charlm.model.encoders.type_dropout import without_type_dropout
from charlm.model.encoders.word import WordLookup
from charlm.model.forms import Forms, FormTable
from charlm.model.language_model import LanguageModel
from charlm.model.outputs import vocabulary
from charlm.model.outputs.composed import ComposedSoftmax
from charlm.model.outputs.softmax import Softmax
from charlm.run.stored_weights import load_weights, write_tensors
from charlm.text.vocabulary.vocabulary import Inventory

CNN = {"type": "char-cnn", "dim": 3, "widths": [1, 2], "filters": [2, 4]}
WORD = {"type": "word", "dim": 6}
DIM = 6
IDS = torch.tensor([[3, 5], [0, 7], [3, 2]])

Build = Callable[..., Any]


def model_of(encoder: dict[str, Any], inventory: Inventory, **output: Any) -> LanguageModel:
    settings = {
        "encoder": encoder,
        "context": {"type": "lstm", "dim": DIM, "layers": 1, "dropout": 0},
        "output": {"type": "composed", **output},
    }
    torch.manual_seed(2)
    model = build_model(settings, inventory)[0]
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -0.5, 0.5)
    model.encoder.after_step()
    model.output.after_step()
    return model


def loss_of(model: LanguageModel, inventory: Inventory) -> Tensor:
    forms = FormTable(inventory, inventory.words).forms(np.arange(inventory.n_words))
    start = model.context.initial_state(2)
    nll, _ = model.continue_from(model.encoder(forms)[IDS], words_TB=IDS.flip(0), state=start)
    total: Tensor = nll.sum()
    return total


@pytest.mark.parametrize("mode", ["training", "evaluation"])
def test_tying_is_a_softmax_with_the_tables_weights_and_the_sum_of_both_gradients(
    inventory: Inventory, mode: str
) -> None:
    tied = model_of(WORD, inventory)
    apart = model_of(WORD, inventory)
    apart.load_state_dict(tied.state_dict())
    apart.output = Softmax(DIM, inventory, apart.encoder)
    assert isinstance(tied.encoder, WordLookup)
    assert isinstance(tied.output, ComposedSoftmax)
    with torch.no_grad():
        apart.output.words.weight.copy_(tied.encoder.table.weight)
        apart.output.words.bias.copy_(tied.output.bias)
    losses = [loss_of(model.train(mode == "training"), inventory) for model in (tied, apart)]
    assert torch.equal(*losses)
    for loss in losses:
        loss.backward()
    both = apart.encoder.table.weight.grad + apart.output.words.weight.grad
    torch.testing.assert_close(tied.encoder.table.weight.grad, both)
    torch.testing.assert_close(tied.output.bias.grad, apart.output.words.bias.grad)


def test_a_shared_encoder_is_counted_and_saved_once_and_comes_back(
    inventory: Inventory, tmp_path: Path
) -> None:
    saved = model_of(CNN, inventory)
    counts = saved.n_parameters_by_part()
    assert counts["output"] == inventory.n_words
    assert sum(counts.values()) == sum(p.numel() for p in saved.parameters())
    assert [name for name in saved.state_dict() if name.startswith("output")] == ["output.bias"]
    write_tensors(tmp_path / "weights", saved.state_dict(), meta={})
    with torch.device("meta"):
        loaded = model_of(CNN, inventory)
    load_weights(loaded, tmp_path / "weights")
    assert torch.equal(loss_of(loaded.eval(), inventory), loss_of(saved.eval(), inventory))


def encoded_alone(encoder: Encoder, inventory: Inventory) -> Tensor:
    """Every word's vector, each word encoded in a batch of its own."""
    table = FormTable(inventory, inventory.words)
    rows = [encoder(table.forms(np.array([row]))) for row in range(inventory.n_words)]
    return torch.cat(rows)


@pytest.mark.parametrize("mode", ["training", "evaluation"])
@pytest.mark.parametrize("shares", [True, False])
def test_scores_of_characters_and_a_free_vector_are_those_of_each_word_encoded_alone(
    build: Build, inventory: Inventory, shares: bool, mode: str
) -> None:
    read = build(ENCODER, CNN, leading=[inventory])
    settings = {"type": "composed", "free": True, "encoder": None if shares else CNN}
    output = build(OUTPUT, settings, leading=[DIM, inventory, read])
    output.after_step()
    h = torch.randn(4, DIM, generator=torch.Generator().manual_seed(1))
    vectors = encoded_alone(read if shares else output.encoder, inventory) + output.free.weight
    expected = (h @ vectors.T + output.bias).detach()
    output.train(mode == "training")
    torch.testing.assert_close(output.scores(h).detach(), expected, rtol=1e-5, atol=1e-5)
    words = torch.tensor([7, 2, 7])
    torch.testing.assert_close(output.scores(h, words), expected[:, words], rtol=1e-5, atol=1e-5)
    with torch.no_grad():
        torch.testing.assert_close(output.scores(h), expected, rtol=1e-5, atol=1e-5)


class Counting(WordLookup):
    """Counts the forms it encodes; no plain table, so that its vectors are computed."""

    n_forms = 0

    def forward(self, forms: Forms) -> Tensor:
        self.n_forms += len(forms.words_N)
        return super().forward(forms) * 2


@pytest.fixture
def counted(inventory: Inventory, monkeypatch: pytest.MonkeyPatch) -> ComposedSoftmax:
    # A plain lookup uses its table without encoding, which would not be counted.
    monkeypatch.setattr(vocabulary, "WordLookup", CharCNN)
    monkeypatch.setattr(vocabulary, "FORMS_AT_ONCE", 5)
    return ComposedSoftmax(DIM, inventory, Counting(inventory, dim=DIM).eval()).eval()


def n_encoded(output: ComposedSoftmax, ask: Callable[[], object]) -> int:
    encoder = output.vectors.encoder
    assert isinstance(encoder, Counting)
    before = encoder.n_forms
    ask()
    return encoder.n_forms - before


def in_place(output: ComposedSoftmax) -> None:
    with torch.no_grad():
        next(output.vectors.encoder.parameters()).add_(1.0)


def loaded(output: ComposedSoftmax) -> None:
    encoder = output.vectors.encoder
    encoder.load_state_dict({name: t + 1 for name, t in encoder.state_dict().items()})


def assigned(output: ComposedSoftmax) -> None:
    encoder = output.vectors.encoder
    encoder.load_state_dict({n: t + 1 for n, t in encoder.state_dict().items()}, assign=True)


def through_data(output: ComposedSoftmax) -> None:
    weight = next(output.vectors.encoder.parameters())
    weight.data = weight.data + 1


@pytest.mark.parametrize("change", [in_place, loaded, assigned, through_data])
def test_in_evaluation_the_vocabulary_is_encoded_once_for_each_change_of_the_weights(
    counted: ComposedSoftmax, inventory: Inventory, change: Callable[[ComposedSoftmax], None]
) -> None:
    h, words = torch.ones(2, DIM), torch.tensor([1, 4])

    def ask() -> None:
        with torch.no_grad():
            counted.nll(h, words)
            counted.word_scores(h, words)

    assert n_encoded(counted, ask) == inventory.n_words
    assert n_encoded(counted, ask) == 0
    counted.eval()  # evaluation calls it before every chunk
    assert n_encoded(counted, ask) == 0
    before = counted.scores(h)
    change(counted)
    assert n_encoded(counted, ask) == inventory.n_words
    with torch.no_grad():
        assert float((counted.scores(h) - before).min()) > 1.0


def test_in_training_some_words_are_encoded_without_the_others_and_each_once(
    counted: ComposedSoftmax, inventory: Inventory
) -> None:
    counted.train()
    h, words = torch.ones(4, DIM), torch.tensor([3, 4, 3, -1])
    assert n_encoded(counted, lambda: counted.scores(h, torch.tensor([9, 9, 2]))) == 2
    assert n_encoded(counted, lambda: counted.word_scores(h, words)) == 3  # 3, 4 and 0 for -1
    assert n_encoded(counted, lambda: counted.nll(h, words)) == inventory.n_words


@pytest.mark.parametrize("inside", [WORD, CNN])
def test_word_types_that_are_dropped_going_in_are_words_all_the_same_coming_out(
    build: Build, inventory: Inventory, inside: dict[str, Any]
) -> None:
    dropping = {"type": "type-dropout", "encoder": inside, "p": 0.9}
    for settings in (dropping, {"type": "highway", "encoder": dropping}):
        read = build(ENCODER, settings, leading=[inventory])
        output = build(OUTPUT, {"type": "composed"}, leading=[DIM, inventory, read])
        expected = output.scores(torch.ones(1, DIM))
        nn.ModuleList([read, output]).train()
        torch.testing.assert_close(output.scores(torch.ones(1, DIM)), expected)
        assert all(part.training for part in read.modules())


def test_widths_that_differ_are_refused_with_what_to_change(inventory: Inventory) -> None:
    with pytest.raises(ConfigError) as caught, torch.device("meta"):
        model_of({"type": "word", "dim": 9}, inventory)
    told = (
        "output 'composed': the context's vectors are 6 wide and the words' 9; expected equal "
        "widths; {}, or set output.project=true"
    )
    assert str(caught.value) == told.format(
        "make the context 9 wide (context.dim, or context.last_dim where given)"
    )
    settings = {
        "encoder": {"type": "word", "dim": 6},
        "context": {"type": "log-bilinear"},  # which is as wide as its input
        "output": {"type": "composed", "encoder": {"type": "word", "dim": 9}},
    }
    with pytest.raises(ConfigError) as caught, torch.device("meta"):
        build_model(settings, inventory)
    assert str(caught.value) == told.format("make output.encoder 6 wide")


def test_a_projection_maps_the_context_to_the_width_of_the_vectors(inventory: Inventory) -> None:
    model = model_of({"type": "word", "dim": 9}, inventory, project=True, bias=False)
    assert isinstance(model.encoder, WordLookup)
    assert isinstance(model.output, ComposedSoftmax)
    assert model.output.projection is not None
    h = torch.ones(1, DIM)
    expected = h @ model.output.projection.weight.T @ model.encoder.table.weight.T
    torch.testing.assert_close(model.output.scores(h), expected)


MIXED = {"type": "add", "word": WORD, "char": {"type": "project", "dim": DIM, "encoder": CNN}}


@pytest.mark.parametrize("side", ["word", "char"])
@pytest.mark.parametrize("around", [False, True])
def test_one_side_of_two_gives_the_outputs_vectors(
    inventory: Inventory, side: str, around: bool
) -> None:
    encoder = {**MIXED, "word": {"type": "type-dropout", "encoder": WORD}}
    if around:
        encoder = {"type": "type-dropout", "encoder": encoder}
    model = model_of(encoder, inventory, side=side)
    forms = FormTable(inventory, inventory.words).forms(np.arange(inventory.n_words))
    mixture = without_type_dropout(model.encoder)
    assert isinstance(mixture, Mixture)
    assert isinstance(model.output, ComposedSoftmax)
    part = mixture.sides[side]
    h = torch.linspace(-1, 1, DIM).reshape(1, DIM)
    words_alone = part.eval()(forms)  # at the output no word type is dropped
    model.train()
    torch.testing.assert_close(model.output.scores(h), h @ words_alone.T + model.output.bias)
    assert [name for name, _ in model.output.named_parameters()] == ["bias"]


def test_a_side_of_an_encoder_without_two_is_refused(inventory: Inventory) -> None:
    with pytest.raises(ConfigError) as caught:
        model_of(WORD, inventory, side="char")
    assert str(caught.value) == (
        "output 'composed' has side=char, but its encoder has no two sides; expected a mixture, "
        "as encoder.type=add; leave output.side out, or set it to 'both'"
    )
    settings = {
        "encoder": {"type": "add", "word": WORD, "char": WORD},
        "context": {"type": "log-bilinear"},
        "output": {"type": "composed", "side": "char", "encoder": WORD},
    }
    with pytest.raises(ConfigError) as caught, torch.device("meta"):
        build_model(settings, inventory)
    assert "but its output.encoder has no two sides; expected" in str(caught.value)
    assert "as output.encoder.type=add; leave" in str(caught.value)
