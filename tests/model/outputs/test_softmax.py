"""The full softmax against float64 sums over the words, and at scores that overflow."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from charlm.model.build import OUTPUT
from charlm.model.outputs import table
from charlm.model.outputs.softmax import Softmax
from charlm.text.vocabulary.vocabulary import Inventory

DIM = 6


@pytest.fixture
def output(build: Callable[..., Softmax], inventory: Inventory) -> Softmax:
    return build(OUTPUT, {"type": "softmax"}, leading=[DIM, inventory, None])


def test_log_probabilities_are_those_of_a_loop_over_words(output: Softmax) -> None:
    h = np.random.default_rng(1).normal(size=(3, DIM))
    weight, bias = (t.double().numpy() for t in output.state_dict().values())
    expected = []
    for row in h:
        scores = [float(np.dot(row, w)) + b for w, b in zip(weight, bias, strict=True)]
        total = sum(np.exp(score) for score in scores)
        expected.append([score - np.log(total) for score in scores])
    found = output.log_probs(torch.tensor(h, dtype=torch.float32))
    np.testing.assert_allclose(found.detach().numpy(), expected, atol=1e-5)


def test_the_gradient_of_a_score_is_the_probability_less_1_at_the_word(output: Softmax) -> None:
    h = torch.randn(2, DIM, generator=torch.Generator().manual_seed(2))
    words = torch.tensor([4, 0])
    output.nll(h, words).sum().backward()
    p = output.log_probs(h).detach().exp()
    p[[0, 1], words] -= 1
    torch.testing.assert_close(output.words.bias.grad, p.sum(dim=0))
    torch.testing.assert_close(output.words.weight.grad, p.T @ h)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_scores_of_thousands_overflow_nothing(output: Softmax, precision: str) -> None:
    with torch.no_grad():
        output.words.bias[3] = 8192.0  # exact in bf16
    h = torch.zeros(2, DIM, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        nll = output.nll(h, torch.tensor([3, 5]))
    nll.sum().backward()
    assert nll[0].item() == 0.0
    assert nll[1].item() == pytest.approx(8192.0, abs=1.0)
    assert output.log_z(h).tolist() == [8192.0, 8192.0]
    with torch.no_grad():
        assert output.log_z(h).tolist() == [8192.0, 8192.0]
    assert h.grad is not None
    assert bool(h.grad.isfinite().all())


def test_without_a_bias_and_with_a_projection_scores_are_two_products(
    build: Callable[..., Softmax], inventory: Inventory
) -> None:
    settings = {"type": "softmax", "bias": False, "projection": 2}
    output = build(OUTPUT, settings, leading=[DIM, inventory, None])
    h = torch.randn(3, DIM, generator=torch.Generator().manual_seed(3))
    state = output.state_dict()
    assert {name: tuple(tensor.shape) for name, tensor in state.items()} == {
        "projection.weight": (2, DIM),
        "words.weight": (inventory.n_words, 2),
    }
    expected = h @ state["projection.weight"].T @ state["words.weight"].T
    torch.testing.assert_close(output.scores(h), expected)


def test_by_default_it_holds_what_trained_runs_hold(output: Softmax, inventory: Inventory) -> None:
    shapes = {name: tuple(tensor.shape) for name, tensor in output.state_dict().items()}
    assert shapes == {"words.weight": (inventory.n_words, DIM), "words.bias": (inventory.n_words,)}


@pytest.mark.parametrize("at_once", [1, 3 * 7, 1 << 26])
def test_without_gradients_positions_are_scored_a_few_at_a_time(
    at_once: int, output: Softmax, inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    h, words = torch.randn(7, output.words.in_features), torch.arange(-1, 6) % inventory.n_words
    words[0] = -1
    expected = output.nll(h, words).detach()
    sizes: list[int] = []
    linear = torch.nn.functional.linear

    def counted(x: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        sizes.append(len(x))
        scores: torch.Tensor = linear(x, *others)
        return scores

    monkeypatch.setattr(table, "SCORES_AT_ONCE", at_once)
    monkeypatch.setattr(torch.nn.functional, "linear", counted)
    with torch.no_grad():
        torch.testing.assert_close(output.nll(h, words), expected)
        assert len(output.nll(h[:0], words[:0])) == 0
    most = max(1, at_once // inventory.n_words)
    assert sum(sizes) == 7 and max(sizes) == min(7, most)
