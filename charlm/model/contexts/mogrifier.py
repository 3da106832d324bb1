"""The Mogrifier LSTM (Melis et al., 2020): input and state scale each other before each step."""

from typing import Annotated

import torch
from torch import Tensor, nn

from charlm.model.contexts.recurrence import Cell, Drop, Leaves, Times, drawn
from charlm.model.contexts.stacked_context import StackedContext
from charlm.settings import Dim, Layers, Meaning


class MogrifierCell(Cell):
    """One step of an LSTM, after `rounds` in which x and h scale each other.

    In the odd rounds x = 2 σ(B A h) ⊙ x, in the even ones h = 2 σ(B A x) ⊙ h. Each round has its
    own A, of `rank` rows, and its own B.
    """

    def __init__(
        self,
        input_dim: int,
        dim: int,
        *,
        rounds: Annotated[Layers, Meaning("times that input or state is scaled before a step")] = 5,
        rank: Annotated[Dim, Meaning("rank of the matrices that compute the scales")] = 96,
        forget_bias: Annotated[float, Meaning("constant added to the forget gate's bias")] = 0.0,
    ) -> None:
        super().__init__()
        self.forget_bias = forget_bias
        self.weight_ih_l0 = drawn(4 * dim, input_dim, dim=dim)
        self.weight_hh_l0 = drawn(4 * dim, dim, dim=dim)
        self.bias_ih_l0 = drawn(4 * dim, dim=dim)
        read, scaled = [dim, input_dim] * rounds, [input_dim, dim] * rounds
        self.narrow = nn.ParameterList(drawn(rank, width, dim=width) for width in read[:rounds])
        self.broad = nn.ParameterList(drawn(width, rank, dim=rank) for width in scaled[:rounds])
        self.set_norms(False)

    def project(self, x_TBE: Tensor) -> Tensor:
        """x itself, as no product with it can be computed before the step."""
        return x_TBE

    def matrices(self) -> list[Tensor]:
        """The gates' matrix on h."""
        return [self.weight_hh_l0]

    def whole_matrices(self) -> list[Tensor]:
        """The gates' matrix on x, and those of the rounds."""
        return [self.weight_ih_l0, *self.narrow, *self.broad]

    def step(self, x_BG: Tensor, state: Leaves, *, times: Times, drop: Drop) -> Leaves:
        h_BH, c_BH = state
        pair = [x_BG, h_BH]
        rounds = len(self.narrow)
        for number in range(rounds):
            read = times(2 + number, pair[1 - number % 2])
            scale = 2 * torch.sigmoid(times(2 + rounds + number, read))
            pair[number % 2] = scale * pair[number % 2]
        sums_BG = times(1, pair[0]) + times(0, pair[1]) + self.bias_ih_l0
        i, f, g, o = sums_BG.to(c_BH.dtype).chunk(4, dim=-1)
        c_BH = torch.sigmoid(f + self.forget_bias) * c_BH + torch.sigmoid(i) * drop(torch.tanh(g))
        return torch.sigmoid(o) * torch.tanh(c_BH), c_BH


class Mogrifier(StackedContext):
    """The Mogrifier LSTM (Melis et al., 2020): input and state scale each other before a step."""

    name = "mogrifier"
    n_leaves = 2  # h and c
    lacks = ()
    layer = MogrifierCell
