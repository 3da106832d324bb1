"""Highway layers over the vectors of any encoder.

`char-cnn` alone is Kim et al.'s "no highway". The layers are a wrapper because they can also follow
a concatenation of words and characters.
"""

from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.model.contract import Encoder, Wrapper, with_taps
from charlm.model.forms import Forms
from charlm.model.kernels import applied
from charlm.model.kernels.bf16_highway import Bf16Highway
from charlm.model.kernels.tiles import is_bf16_on_cpu, rounded_up
from charlm.settings import Layers, Meaning
from charlm.text.vocabulary.vocabulary import Inventory

CARRY_BIAS = -2.0  # Kim et al. (2016), footnote 5: the gate starts by carrying


class HighwayLayer(nn.Module):
    """z = t ⊙ ReLU(W_H y + b_H) + (1 − t) ⊙ y with t = σ(W_T y + b_T − 2), eq. 8.

    As in Kim et al.'s code, the −2 is a constant added to a bias that is drawn like any other.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.transform = nn.Linear(dim, dim)
        self.gate = nn.Linear(dim, dim)

    def forward(self, y_NE: Tensor) -> Tensor:
        """The mixed vectors, shape (N, E)."""
        if torch.is_grad_enabled() and is_bf16_on_cpu(y_NE):
            mixed_NE: Tensor = applied(
                Bf16Highway,
                y_NE,
                self.transform.weight,
                self.transform.bias,
                self.gate.weight,
                self.gate.bias + CARRY_BIAS,
            )
            return mixed_NE
        t_NE = self.shares(y_NE)
        new_NE = torch.relu(self.transform(y_NE)).to(y_NE.dtype)
        return torch.lerp(y_NE, new_NE, t_NE)

    def shares(self, y_NE: Tensor) -> Tensor:
        """t, the share of each number that is transformed rather than carried, shape (N, E)."""
        t_NE: Tensor = torch.sigmoid(self.gate(y_NE) + CARRY_BIAS)
        return t_NE.to(y_NE.dtype)


class HighwayEncoder(Wrapper):
    """An encoder followed by highway layers of its width (Srivastava et al., 2015)."""

    def __init__(
        self,
        inventory: Inventory,
        *,
        encoder: Encoder,
        layers: Annotated[Layers, Meaning("number of highway layers")] = 1,
    ) -> None:
        super().__init__(encoder)
        self.layers = nn.ModuleList(HighwayLayer(encoder.dim) for _ in range(layers))

    def over(self, vectors_NE: Tensor) -> Tensor:
        n_forms = vectors_NE.shape[0]  # not len(), which an export to ONNX would make constant
        if is_bf16_on_cpu(vectors_NE):
            vectors_NE = functional.pad(vectors_NE, (0, 0, 0, rounded_up(n_forms) - n_forms))
        for layer in self.layers:
            vectors_NE = layer(vectors_NE)
        return vectors_NE[:n_forms]

    def taps(self, forms: Forms) -> dict[str, Tensor]:
        """The inner encoder's taps, then each layer's gate and vectors.

        The names are `transform.1`, `highway.1` …, for the last layer `transform` and `highway`.
        """
        taps = self.encoder.taps(forms)
        own: dict[str, Tensor] = {}
        vectors_NE = list(taps.values())[-1]
        for number, layer in enumerate(self.layers, 1):
            assert isinstance(layer, HighwayLayer)
            suffix = "" if number == len(self.layers) else f".{number}"
            own[f"transform{suffix}"] = layer.shares(vectors_NE)
            own[f"highway{suffix}"] = vectors_NE = layer(vectors_NE)
        return with_taps(taps, own)
