"""The cross-entropy in each format against `functional.cross_entropy` in float64."""

from typing import NamedTuple

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from charlm.model.kernels import cross_entropy as kernels
from charlm.model.kernels.cross_entropy import Bf16CrossEntropyOnGPU, cross_entropy
from charlm.model.outputs.softmax import Softmax
from charlm.text.vocabulary.vocabulary import Inventory

POSITIONS, WORDS = 70, 513  # one word beyond whole tiles, and beyond CACHED
TOLERANCE = 4e-3  # bf16 keeps 8 bits: half a unit is 2⁻⁹ = 2e-3 of a number


@pytest.fixture(params=[48, 512])
def operands(request: pytest.FixtureRequest) -> list[Tensor]:
    """h, weight and bias, as fp32 numbers that bf16 has: only the computation rounds."""
    random = torch.Generator().manual_seed(1)
    shapes = [(POSITIONS, request.param), (WORDS, request.param), (WORDS,)]
    tensors = [torch.randn(shape, generator=random) * 2 / request.param**0.5 for shape in shapes]
    return [tensor.bfloat16().float().requires_grad_() for tensor in tensors]


@pytest.fixture
def words() -> Tensor:
    """Some words more often than others, three positions without one."""
    words = torch.randint(0, 40, (POSITIONS,), generator=torch.Generator().manual_seed(2))
    words[::9] = WORDS - 1
    words[[5, 20, POSITIONS - 1]] = -1
    return words


FORMATS = {torch.bfloat16: TOLERANCE, torch.float32: 2e-6, torch.float64: 1e-14}


class Products(NamedTuple):
    """What is computed, and where."""

    dtype: torch.dtype
    device: str = "cpu"
    as_on_gpu: bool = False

    @property
    def tolerance(self) -> float:
        return FORMATS[self.dtype]


needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
ALL_PRODUCTS = [
    *map(Products, FORMATS),
    Products(torch.bfloat16, as_on_gpu=True),
    *(pytest.param(Products(dtype, "cuda"), marks=[needs_gpu]) for dtype in FORMATS),
]


@pytest.fixture(params=ALL_PRODUCTS, ids=str)
def products(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Products:
    """Each format on each device; what a GPU computes in bf16 on the CPU, too."""
    found: Products = request.param
    if found.as_on_gpu:
        monkeypatch.setattr(kernels, "Bf16CrossEntropy", Bf16CrossEntropyOnGPU)
    return found


def nll_of(operands: list[Tensor], words: Tensor, products: Products) -> Tensor:
    """On the CPU, wherever it was computed."""
    operands = [tensor.to(products.device) for tensor in operands]
    if products.dtype == torch.float64:
        operands = [tensor.double() for tensor in operands]
    h_NH, weight_VH, bias_V = operands
    is_bf16 = products.dtype == torch.bfloat16
    with torch.autocast(products.device, torch.bfloat16, enabled=is_bf16):
        words = words.to(products.device)
        return cross_entropy(h_NH, words, weight_VH=weight_VH, bias_V=bias_V).cpu()


def truth(operands: list[Tensor], words: Tensor, weights: Tensor) -> tuple[Tensor, list[Tensor]]:
    """nll_N and the gradients of its weighted sum, in float64."""
    precise = [tensor.detach().double().requires_grad_() for tensor in operands]
    scores = functional.linear(*precise)
    nll = functional.cross_entropy(scores, words, ignore_index=-1, reduction="none")
    return nll.detach(), list(torch.autograd.grad(nll @ weights.double(), precise))


def error(found: Tensor, wanted: Tensor) -> float:
    """The relative Frobenius error."""
    return float((found.double() - wanted).norm() / wanted.norm())


WEIGHTS = {
    "equal": torch.full((POSITIONS,), 1 / 20),
    "all different": torch.linspace(0.1, 3.0, POSITIONS),
    "over nine decades": torch.logspace(-6, 3, POSITIONS),
    "of both signs": torch.linspace(-1.0, 1.0, POSITIONS),
}


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_values_and_gradients_are_those_of_float64_as_far_as_the_format_goes(
    operands: list[Tensor], words: Tensor, weights: Tensor, products: Products
) -> None:
    nll = nll_of(operands, words, products)
    found = torch.autograd.grad(nll @ weights.to(nll.dtype), operands)
    expected, wanted = truth(operands, words, weights)
    least = max(products.tolerance, FORMATS[torch.float32])  # gradients of fp32 operands are fp32
    assert nll.dtype == (torch.float64 if products.dtype == torch.float64 else torch.float32)
    assert error(nll.detach(), expected) < products.tolerance
    assert [tensor.dtype for tensor in found] == [torch.float32] * 3
    assert [error(*pair) < least for pair in zip(found, wanted, strict=True)] == [True] * 3


def test_the_gradient_of_a_position_is_as_exact_however_small_its_share(
    operands: list[Tensor], words: Tensor, products: Products
) -> None:
    weights = WEIGHTS["over nine decades"]
    nll = nll_of(operands, words, products)
    found = torch.autograd.grad(nll @ weights.to(nll.dtype), operands)[0]
    wanted = truth(operands, words, weights)[1][0]
    scored = words >= 0
    errors = (found - wanted)[scored].norm(dim=1) / wanted[scored].norm(dim=1)
    assert float(errors.max()) < 2 * max(products.tolerance, FORMATS[torch.float32])


def test_a_word_that_is_all_but_impossible_has_the_nll_of_its_score(
    words: Tensor, products: Products
) -> None:
    h, weight = torch.full((POSITIONS, 1), 16.0), torch.zeros(WORDS, 1)
    weight[0] = 32.0  # 512 above all others, whose probability is 0 in any format
    operands = [tensor.requires_grad_() for tensor in (h, weight, torch.zeros(WORDS))]
    expected, wanted = truth(operands, words, torch.ones(POSITIONS))
    nll = nll_of(operands, words, products)
    torch.testing.assert_close(nll.detach().double(), expected)
    found = torch.autograd.grad(nll.sum(), operands)
    torch.testing.assert_close([grad.double() for grad in found], wanted)


def test_a_position_without_a_word_is_0_and_moves_nothing(
    operands: list[Tensor], words: Tensor, products: Products
) -> None:
    nll = nll_of(operands, words, products)
    h_grad, *others = torch.autograd.grad(nll.sum(), operands)
    unscored = words < 0
    assert not nll[unscored].any()
    assert not h_grad[unscored].any()
    without = [operands[0].detach()[~unscored].requires_grad_(), *operands[1:]]
    nll = nll_of(without, words[~unscored], products)
    torch.testing.assert_close(list(torch.autograd.grad(nll.sum(), without)[1:]), others)


def test_no_word_at_all_gives_zeros_throughout(
    operands: list[Tensor], words: Tensor, products: Products
) -> None:
    nll = nll_of(operands, torch.full_like(words, -1), products)
    assert not nll.any()
    assert [bool(grad.any()) for grad in torch.autograd.grad(nll.sum(), operands)] == [False] * 3


def test_the_softmax_takes_it_for_gradients_alone(
    operands: list[Tensor], words: Tensor, inventory: Inventory
) -> None:
    output = Softmax(operands[0].shape[1], inventory, None)  # type: ignore[arg-type]  # it asks no encoder
    words = words.clamp(max=inventory.n_words - 1)

    def made_by(*, precision: str, gradients: bool) -> set[str]:
        bf16 = precision == "bf16"
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16), torch.set_grad_enabled(gradients):
            nll = output.nll(operands[0].detach(), words)
        steps = [nll.grad_fn, *(step for step, _ in getattr(nll.grad_fn, "next_functions", ()))]
        return {type(step).__name__ for step in steps}

    assert "Bf16CrossEntropyBackward" in made_by(precision="bf16", gradients=True)
    assert "CrossEntropyBackward" in made_by(precision="fp32", gradients=True)
    assert made_by(precision="bf16", gradients=False) == {"NoneType"}
