"""The deep transitional network: several layers between one state and the next.

Unlike in a stack only the last of them is remembered; `layers` stacks whole such transitions.
"""

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional

from charlm.model.contexts.layers import InitialState, LastDim, OutputDropout, Start, Wiring
from charlm.model.contexts.recurrence import (
    ACTIVATIONS,
    Activation,
    Cell,
    Drop,
    LayerNorm,
    Leaves,
    Noise,
    Times,
    drawn,
    norms_for,
    run_cell,
)
from charlm.model.contract import Context, State
from charlm.settings import Dim, Layers, Probability


class TransitionCell(Cell):
    """One step: a₁ = f(W x + U₁ h + b₁), aᵢ = f(Uᵢ aᵢ₋₁ + bᵢ), and the last a is the new h.

    `weight_hh_l0` is U₁, `weight_hh_l1` U₂, and so on.
    """

    n_leaves = 1

    def __init__(
        self, input_dim: int, dim: int, *, depth: int, activation: Activation, layer_norm: bool
    ) -> None:
        super().__init__()
        self.depth = depth
        self.activation = ACTIVATIONS[activation]
        self.weight_ih_l0 = drawn(dim, input_dim, dim=dim)
        for number in range(depth):
            self.register_parameter(f"weight_hh_l{number}", drawn(dim, dim, dim=dim))
            self.register_parameter(f"bias_ih_l{number}", drawn(dim, dim=dim))
        self.norms = norms_for(layer_norm, [dim] * depth)
        self.norm_x = LayerNorm(dim) if layer_norm else nn.Identity()

    def project(self, x_TBE: Tensor) -> Tensor:
        """W x + b₁, shape (T, B, H)."""
        x_TBH: Tensor = self.norm_x(functional.linear(x_TBE, self.weight_ih_l0))
        return x_TBH + self.get_parameter("bias_ih_l0")

    def matrices(self) -> Sequence[Tensor]:
        """U₁, U₂ …"""
        return [self.get_parameter(f"weight_hh_l{number}") for number in range(self.depth)]

    def step(self, x_BG: Tensor, state: Leaves, *, times: Times, drop: Drop) -> Leaves:
        """(h,) after the step."""
        a_BH = self.activation(x_BG + times(0, state[0]))
        for number in range(1, self.depth):
            bias_H = self.get_parameter(f"bias_ih_l{number}")
            a_BH = self.activation(times(number, a_BH) + bias_H)
        return (a_BH,)


class DeepTransition(Context):
    """Koehn's 4.18 with feed-forward layers for fᵢ (Pascanu et al., 2014: DT-RNN); our own loop.

    With `depth=1` it is the simple recurrent network. Weight drop falls on every Uᵢ.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        dim: Dim = 300,
        depth: Layers = 2,
        layers: Layers = 1,
        last_dim: LastDim = 0,
        activation: Activation = "tanh",
        layer_norm: bool = False,
        dropout: Probability = 0.5,
        input_dropout: Probability = 0.0,
        output_dropout: OutputDropout = -1.0,
        variational: bool = False,
        zoneout: Probability = 0.0,
        weight_drop: Probability = 0.0,
        residual: bool = False,
        sum_layers: bool = False,
        initial_state: Start = "zero",
    ) -> None:
        super().__init__()
        self.wiring = Wiring(
            "deep-transition",
            [input_dim, *[dim] * (layers - 1), last_dim or dim],
            dropout=dropout,
            input_dropout=input_dropout,
            output_dropout=output_dropout,
            variational=variational,
            residual=residual,
            sum_layers=sum_layers,
        )
        self.dim = self.wiring.widths[-1]
        self.noise = Noise(zoneout=(zoneout,), weight_drop=weight_drop)
        self.layers = nn.ModuleList(
            TransitionCell(*pair, depth=depth, activation=activation, layer_norm=layer_norm)
            for pair in self.wiring.pairs
        )
        self.start = InitialState(self.wiring.widths[1:], n_leaves=1, start=initial_state)

    def initial_state(self, n_streams: int) -> State:
        """A tuple (h,) a layer, (B, H)."""
        return self.start.of(n_streams, like=next(self.parameters()))

    def forward(self, x_TBE: Tensor, state: State) -> tuple[Tensor, State]:
        """h_TBH, and a tuple (h,) a layer, in the parameters' precision."""
        return self.wiring.run(x_TBE, state, layers=self.layers, run=self._run)

    def _run(self, layer: nn.Module, x_TBE: Tensor, state: Leaves) -> tuple[Tensor, Leaves]:
        assert isinstance(layer, Cell)
        return run_cell(layer, x_TBE, state=state, noise=self.noise)
