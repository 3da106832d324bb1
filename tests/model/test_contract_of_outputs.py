"""What every output promises, over every entry of OUTPUTS."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from charlm.model.build import ENCODER, OUTPUT
from charlm.model.contract import Encoder, Output
from charlm.model.outputs import OUTPUTS
from charlm.run.weights import load_weights, write_tensors
from charlm.settings import build_part
from charlm.text.inventory import Inventory

INPUT_DIM = 6
ARGUMENTS: dict[str, dict[str, Any]] = {}
WORDS = torch.tensor([3, 0, -1, 12, 3, -1, 7, 1])


def settings_of(name: str) -> dict[str, Any]:
    return {**ARGUMENTS.get(name, {}), "type": name}


@pytest.fixture(scope="module")
def leading(build: Callable[..., Encoder], inventory: Inventory) -> list[Any]:
    return [INPUT_DIM, inventory, build(ENCODER, {"type": "word", "dim": 4}, leading=[inventory])]


@pytest.fixture(params=OUTPUTS)
def output(
    request: pytest.FixtureRequest, build: Callable[..., Output], leading: list[Any]
) -> Output:
    return build(OUTPUT, settings_of(request.param), leading=leading)


@pytest.fixture(name="h_NH")
def fixture_h() -> Tensor:
    return torch.randn(len(WORDS), INPUT_DIM, generator=torch.Generator().manual_seed(4)) * 2


def test_the_probabilities_of_all_words_sum_to_1(
    output: Output, h_NH: Tensor, inventory: Inventory
) -> None:
    log_probs = output.log_probs(h_NH)
    assert log_probs.shape == (len(h_NH), inventory.n_words)
    assert log_probs.dtype == torch.float32
    totals = log_probs.double().exp().sum(dim=1)
    torch.testing.assert_close(totals, torch.ones_like(totals), rtol=0, atol=1e-5)


def test_nll_is_the_negative_log_probability_of_the_word(output: Output, h_NH: Tensor) -> None:
    nll = output.nll(h_NH, WORDS)
    scored = WORDS >= 0
    expected = -output.log_probs(h_NH)[scored, WORDS[scored]]
    assert nll.dtype == torch.float32
    torch.testing.assert_close(nll[scored], expected, rtol=0, atol=1e-5)


def test_where_the_word_is_minus_1_nll_is_0_and_has_no_gradient(
    output: Output, h_NH: Tensor
) -> None:
    h_NH.requires_grad_()
    nll = output.nll(h_NH, WORDS)
    nll.sum().backward()
    assert h_NH.grad is not None
    unscored = WORDS < 0
    assert nll[unscored].tolist() == [0.0, 0.0]
    assert not h_NH.grad[unscored].any()
    assert bool(h_NH.grad[~unscored].any(dim=1).all())


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_nothing_to_predict_gives_zeros_and_zero_gradients(
    output: Output, h_NH: Tensor, precision: str
) -> None:
    h_NH.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        nll = output.nll(h_NH, torch.full_like(WORDS, -1))
    nll.sum().backward()
    assert nll.tolist() == [0.0] * len(WORDS)
    assert h_NH.grad is not None
    assert not h_NH.grad.any()


def gradients(output: Output, h_NH: Tensor, nll: Tensor) -> list[Tensor]:
    weights = torch.linspace(0.5, 2.0, len(WORDS), dtype=nll.dtype)
    inputs = [h_NH, *output.parameters()]
    grads = torch.autograd.grad((nll * weights)[WORDS >= 0].sum(), inputs)
    return [grad.float() for grad in grads]


def in_float64(
    output: Output, h_NH: Tensor, monkeypatch: pytest.MonkeyPatch
) -> tuple[Tensor, list[Tensor]]:
    """nll_N by `log_probs`, and its gradients, where `.float()` too means float64."""
    precise, h_NH = copy.deepcopy(output).double(), h_NH.detach().double().requires_grad_()
    with monkeypatch.context() as patch:
        patch.setattr(Tensor, "float", Tensor.double)
        log_probs = precise.log_probs(h_NH)
    assert log_probs.dtype == torch.float64
    nll = -log_probs[torch.arange(len(WORDS)), WORDS.clamp(min=0)]
    return nll.where(WORDS >= 0, 0.0), gradients(precise, h_NH, nll)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("bf16", 3e-2)])
def test_nll_and_its_gradients_match_a_float64_reference(
    output: Output,
    h_NH: Tensor,
    precision: str,
    tolerance: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected, expected_gradients = in_float64(output, h_NH, monkeypatch)
    h_NH.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        nll = output.nll(h_NH, WORDS)
    torch.testing.assert_close(nll.double(), expected, rtol=tolerance, atol=tolerance)
    for found, wanted in zip(gradients(output, h_NH, nll), expected_gradients, strict=True):
        assert float((found - wanted).norm() / wanted.norm()) < tolerance


def test_over_all_words_every_parameter_of_an_output_has_a_gradient(
    output: Output, inventory: Inventory
) -> None:
    h_NH = torch.randn(inventory.n_words, INPUT_DIM, generator=torch.Generator().manual_seed(6))
    output.nll(h_NH, torch.arange(inventory.n_words)).sum().backward()
    without = [n for n, p in output.named_parameters() if p.grad is None or not p.grad.any()]
    assert without == []


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_that_was_saved_and_loaded_scores_alike(
    name: str, leading: list[Any], h_NH: Tensor, tmp_path: Path
) -> None:
    torch.manual_seed(1)
    saved, resolved = build_part(OUTPUT, settings_of(name), leading=leading)
    write_tensors(tmp_path / "weights", saved.state_dict(), meta={})
    torch.manual_seed(2)
    with torch.device("meta"):
        loaded, resolved_again = build_part(OUTPUT, resolved, leading=leading)
    load_weights(loaded, tmp_path / "weights")
    loaded.check_loaded()
    assert resolved_again == resolved
    assert torch.equal(loaded.nll(h_NH, WORDS), saved.nll(h_NH, WORDS))
    assert torch.equal(loaded.log_probs(h_NH), saved.log_probs(h_NH))
