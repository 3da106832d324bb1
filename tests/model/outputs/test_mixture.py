"""The mixture of softmaxes against a loop over Yang et al.'s equations, and its memory bound."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor

from charlm.errors import ConfigError
from charlm.model.build import ENCODER, OUTPUT
from charlm.model.outputs import mixture
from charlm.model.outputs.mixture import MixtureOfSoftmaxes
from charlm.text.vocabulary.vocabulary import Inventory

DIM = 6

Build = Callable[..., Any]


def output_of(build: Build, inventory: Inventory, **options: Any) -> MixtureOfSoftmaxes:
    encoder = build(ENCODER, {"type": "word", "dim": 4}, leading=[inventory])
    settings = {"type": "mixture", **options}
    output = build(OUTPUT, settings, leading=[DIM, inventory, encoder])
    assert isinstance(output, MixtureOfSoftmaxes)
    return output


def softmax(scores: np.ndarray) -> np.ndarray:
    return np.exp(scores) / np.exp(scores).sum()


def by_loop(output: MixtureOfSoftmaxes, h: np.ndarray, words: np.ndarray) -> np.ndarray:
    """P(w | h) as the sum over components, one after the other."""
    state = {name: tensor.double().numpy() for name, tensor in output.state_dict().items()}
    prior = softmax(state["prior.weight"] @ h)
    dim = words.shape[1]
    bias = state["words.bias"] if "words.bias" in state else state["bias"]
    total = np.zeros(len(words))
    for component in range(len(prior)):
        rows = slice(component * dim, (component + 1) * dim)
        latent = np.tanh(state["latent.weight"][rows] @ h + state["latent.bias"][rows])
        total += prior[component] * softmax(words @ latent + bias)
    return total


@pytest.mark.parametrize(
    "options", [{}, {"components": 1}, {"components": 3, "dim": 2}, {"components": 2, "tied": True}]
)
def test_probabilities_are_those_of_a_loop_over_components(
    build: Build, inventory: Inventory, options: dict[str, Any]
) -> None:
    output = output_of(build, inventory, **options)
    if output.vectors is not None:
        words = output.vectors.of_all()
    else:
        assert output.words is not None
        words = output.words.weight
    h = np.random.default_rng(1).normal(size=(3, DIM)) * 3
    expected = [by_loop(output, row, words.detach().double().numpy()) for row in h]
    found = output.log_probs(torch.tensor(h, dtype=torch.float32)).detach().exp()
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


def answers(output: MixtureOfSoftmaxes) -> tuple[Tensor, list[Tensor]]:
    """log_probs beside nll of 20 positions, and the gradients of a weighted sum of nll."""
    h = torch.randn(20, DIM, generator=torch.Generator().manual_seed(2))
    nll = output.nll(h, torch.arange(20) % 13 - 1)
    log_probs = output.log_probs(h)
    grads = torch.autograd.grad((nll * torch.linspace(1, 2, 20)).sum(), list(output.parameters()))
    return torch.cat([nll[:, None], log_probs], dim=1), list(grads)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_blocks_of_positions_change_neither_answers_nor_gradients(
    build: Build, inventory: Inventory, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = output_of(build, inventory, components=3, dim=4)
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        whole, gradients = answers(output)
        monkeypatch.setattr(mixture, "SCORES_AT_ONCE", 7 * 3 * inventory.n_words)
        monkeypatch.setattr(mixture, "BYTES_KEPT", 0)
        in_blocks, gradients_in_blocks = answers(output)
    tolerance = 1e-5 if precision == "fp32" else 1e-2
    torch.testing.assert_close(in_blocks, whole, rtol=tolerance, atol=tolerance)
    for found, wanted in zip(gradients_in_blocks, gradients, strict=True):
        torch.testing.assert_close(found, wanted, rtol=tolerance, atol=5 * tolerance)


def test_scores_beyond_a_limit_are_not_kept_for_the_gradients(
    build: Build, inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = output_of(build, inventory, components=3, dim=4)
    h, words = torch.randn(100, DIM), torch.zeros(100, dtype=torch.int64)

    def largest_kept() -> int:
        sizes = []

        def note(tensor: Tensor) -> Tensor:
            sizes.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            output.nll(h, words)
        return max(sizes)

    assert largest_kept() == 100 * 3 * inventory.n_words
    monkeypatch.setattr(mixture, "BYTES_KEPT", 4 * 100 * 3 * inventory.n_words - 1)
    assert largest_kept() == 100 * 3 * 4  # the latent vectors


def test_a_gpu_keeps_scores_in_a_quarter_of_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    card = SimpleNamespace(total_memory=16_000_000_000)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: card)
    h = cast(Tensor, SimpleNamespace(is_cuda=True, device="cuda"))
    assert mixture._most_kept(h) == 1_000_000_000


def test_twice_as_many_scores_are_kept_in_bf16() -> None:
    h = torch.zeros(1, DIM)
    in_fp32 = mixture._most_kept(h)
    with torch.autocast("cpu", torch.bfloat16):
        assert mixture._most_kept(h) == 2 * in_fp32


def test_dropout_is_on_the_latent_vectors_in_training_alone(
    build: Build, inventory: Inventory
) -> None:
    output = output_of(build, inventory, components=2, dropout=0.5)
    h = torch.ones(2, DIM)
    assert torch.equal(output.log_probs(h)[0], output.log_probs(h)[1])
    output.train()
    assert not torch.equal(output.log_probs(h)[0], output.log_probs(h)[1])


def test_a_latent_width_that_is_not_the_tied_vectors_is_refused(
    build: Build, inventory: Inventory
) -> None:
    with pytest.raises(ConfigError) as caught:
        output_of(build, inventory, tied=True, dim=5)
    assert str(caught.value) == (
        "option 'dim' of output 'mixture' is 5 and the encoder's vectors are 4 wide; "
        "expected equal widths to tie them; use 0"
    )
