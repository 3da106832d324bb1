"""A hidden layer over the vectors of any encoder: Kim et al.'s ablation of the highway layers."""

from typing import Annotated

import torch
from torch import Tensor, nn

from charlm.model.contract import Encoder, with_taps
from charlm.model.forms import Forms
from charlm.settings import Layers, Meaning
from charlm.text.vocabulary.vocabulary import Inventory


class MLPEncoder(Encoder):
    """One or more layers z = ReLU(W y + b) of the encoder's width (Kim et al., 2016, table 7)."""

    def __init__(
        self,
        inventory: Inventory,
        *,
        encoder: Encoder,
        layers: Annotated[Layers, Meaning("number of hidden layers")] = 1,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.dim = encoder.dim
        self.reads_spelling = encoder.reads_spelling
        self.layers = nn.ModuleList(nn.Linear(encoder.dim, encoder.dim) for _ in range(layers))

    def forward(self, forms: Forms) -> Tensor:
        return self._over(self.encoder(forms))

    def taps(self, forms: Forms) -> dict[str, Tensor]:
        """The inner encoder's taps, then `mlp`."""
        taps = self.encoder.taps(forms)
        return with_taps(taps, {"mlp": self._over(list(taps.values())[-1])})

    def _over(self, vectors_NE: Tensor) -> Tensor:
        for layer in self.layers:
            vectors_NE = torch.relu(layer(vectors_NE))
        return vectors_NE
