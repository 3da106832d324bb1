"""The stacked simple recurrent network.

There is no candidate beside the state, hence no recurrent dropout.
"""

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
    run_fused,
)
from charlm.model.contract import Context, State
from charlm.settings import Dim, Layers, Probability


class RNNCell(Cell):
    """One step: h = f(W x + b + U h + d)."""

    n_leaves = 1

    def __init__(
        self, input_dim: int, dim: int, *, activation: Activation, layer_norm: bool
    ) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.weight_ih_l0 = drawn(dim, input_dim, dim=dim)
        self.weight_hh_l0 = drawn(dim, dim, dim=dim)
        self.bias_ih_l0 = drawn(dim, dim=dim)
        self.bias_hh_l0 = drawn(dim, dim=dim)
        self.norms = norms_for(layer_norm, [dim])
        self.norm_x = LayerNorm(dim) if layer_norm else nn.Identity()

    def project(self, x_TBE: Tensor) -> Tensor:
        """W x with both biases, shape (T, B, H)."""
        x_TBH: Tensor = self.norm_x(functional.linear(x_TBE, self.weight_ih_l0))
        return x_TBH + (self.bias_ih_l0 + self.bias_hh_l0)

    def matrices(self) -> list[Tensor]:
        """The matrix on h."""
        return [self.weight_hh_l0]

    def step(self, x_BG: Tensor, state: Leaves, *, times: Times, drop: Drop) -> Leaves:
        """(h,) after the step."""
        return (self.activation(x_BG + times(0, state[0])),)


class RNN(Context):
    """Elman's network as Koehn's section 4.4 (sigmoid) and Straka's slides (tanh) have it.

    `layers` of more than one are Koehn's deep stacked network, 4.17. Our own loop runs with
    `activation="sigmoid"`, `layer_norm` or `zoneout`; else it is one call a layer.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        dim: Dim = 300,
        layers: Layers = 2,
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
            "rnn",
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
        in_steps = activation == "sigmoid" or layer_norm or self.noise.falls_on_steps
        self.layers = nn.ModuleList(
            RNNCell(*pair, activation=activation, layer_norm=layer_norm)
            if in_steps
            else nn.RNN(*pair, nonlinearity=activation)
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
        if isinstance(layer, Cell):
            return run_cell(layer, x_TBE, state=state, noise=self.noise)
        assert isinstance(layer, nn.RNN)
        return run_fused(layer, x_TBE, state=state, weight_drop=self.noise.weight_drop)
