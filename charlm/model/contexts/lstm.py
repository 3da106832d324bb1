"""The stacked LSTM: one oneDNN or cuDNN call a layer.

One module a layer, not `nn.LSTM(num_layers=…)`: its dropout leaves out the last layer's output, and
a stack of modules is the ground for what stands between layers later.
"""

from torch import Tensor, nn
from torch.nn import functional

from charlm.model.contract import Context, State
from charlm.settings import Dim, Layers, Probability


class LSTM(Context):
    """Hochreiter and Schmidhuber's LSTM with a forget gate, eq. 3 of Kim et al. (2016).

    Dropout follows every layer, the last one included (Zaremba et al., 2014), and never stands on
    the recurrent path; Kim et al. put none on what goes into the first layer. Both affine maps of
    a gate have a bias, as in their code. The initial state is zero.
    """

    def __init__(
        self, input_dim: int, *, dim: Dim = 300, layers: Layers = 2, dropout: Probability = 0.5
    ) -> None:
        super().__init__()
        self.dim = dim
        self.dropout = dropout
        widths = [input_dim, *[dim] * (layers - 1)]
        self.layers = nn.ModuleList(nn.LSTM(width, dim) for width in widths)

    def initial_state(self, n_streams: int) -> State:
        """Zeros: a pair (h, c) a layer, each (B, H)."""
        zero_BH = next(self.parameters()).new_zeros(n_streams, self.dim)
        return tuple((zero_BH, zero_BH) for _ in self.layers)

    def forward(self, x_TBE: Tensor, state: State) -> tuple[Tensor, State]:
        """h_TBH, and a pair (h, c) a layer, in the parameters' precision."""
        after = []
        h_TBH = x_TBE
        for layer, (h_BH, c_BH) in zip(self.layers, state, strict=True):
            h_TBH, (h_1BH, c_1BH) = layer(h_TBH, (h_BH[None], c_BH[None]))
            after.append((h_1BH[0].to(h_BH.dtype), c_1BH[0].to(c_BH.dtype)))
            h_TBH = functional.dropout(h_TBH, self.dropout, self.training)
        return h_TBH, tuple(after)
