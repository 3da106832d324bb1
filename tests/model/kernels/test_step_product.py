"""A step's products with one gradient for all of them, against plain products."""

import gc
import weakref

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from charlm.model.kernels.step_product import StepProduct

T, B, E, G = 5, 3, 4, 6


@pytest.fixture
def operands() -> tuple[Tensor, Tensor]:
    """x_TBE and weight_GE."""
    generator = torch.Generator().manual_seed(1)
    x_TBE = torch.randn(T, B, E, dtype=torch.float64, generator=generator)
    weight_GE = torch.randn(G, E, dtype=torch.float64, generator=generator)
    return x_TBE.requires_grad_(), weight_GE.requires_grad_()


def products(x_TBE: Tensor, weight_GE: Tensor) -> list[Tensor]:
    times = StepProduct(weight_GE, n_steps=T, n_streams=B)
    return [times(x_BE) for x_BE in x_TBE]


def test_products_and_gradients_are_those_of_a_plain_product(
    operands: tuple[Tensor, Tensor],
) -> None:
    x_TBE, weight_GE = operands
    found, plain = torch.stack(products(x_TBE, weight_GE)), functional.linear(x_TBE, weight_GE)
    torch.testing.assert_close(found, plain)
    gradients = torch.autograd.grad(found.tanh().sum(), operands)
    torch.testing.assert_close(gradients, torch.autograd.grad(plain.tanh().sum(), operands))


def test_gradients_of_some_inputs_and_some_steps_do_not_disturb_later_ones(
    operands: tuple[Tensor, Tensor],
) -> None:
    x_TBE, weight_GE = operands
    found, plain = products(x_TBE, weight_GE), functional.linear(x_TBE, weight_GE)
    torch.autograd.grad(found[-1].sum(), x_TBE, retain_graph=True)
    torch.autograd.grad(found[2].sum(), weight_GE, retain_graph=True)
    (gradient,) = torch.autograd.grad(found[0].sum() + found[3].exp().sum(), weight_GE)
    (expected,) = torch.autograd.grad(plain[0].sum() + plain[3].exp().sum(), weight_GE)
    torch.testing.assert_close(gradient, expected)


def test_a_matrix_that_does_not_learn_is_a_constant(operands: tuple[Tensor, Tensor]) -> None:
    x_TBE, weight_GE = operands
    (found,) = torch.autograd.grad(sum(products(x_TBE, weight_GE.detach())).sum(), x_TBE)
    torch.testing.assert_close(found, weight_GE.detach().sum(dim=0).expand(T, B, E))


@pytest.mark.bf16
def test_in_bf16_the_gradient_is_rounded_once() -> None:
    """The exact sum is 774; bf16 has 768 and 772, so steps of 1.5 would be lost one by one."""
    x_TBE = torch.cat([torch.full((1, B, E), 256.0), torch.full((T - 1, B, E), 0.5)]).bfloat16()
    weight_GE = torch.ones(G, E, dtype=torch.bfloat16, requires_grad=True)
    (found,) = torch.autograd.grad(sum(products(x_TBE, weight_GE)).sum(), weight_GE)
    exact = x_TBE.double().sum(dim=(0, 1)).expand(G, E)
    assert torch.equal(found, exact.bfloat16())


def test_a_graph_that_is_not_used_is_freed_at_once() -> None:
    """What is read is kept for the gradient, but not the products that it came from."""
    weight_GE, h_BG = torch.eye(G, requires_grad=True), torch.ones(B, G)
    gc.disable()
    try:
        times = StepProduct(weight_GE, n_steps=T, n_streams=B)
        for _ in range(T):
            h_BG = times(h_BG.tanh())
        kept = weakref.ref(times.read[-1])
        del times, h_BG
        assert kept() is None
    finally:
        gc.enable()
