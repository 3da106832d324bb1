"""A hidden layer over the vectors of any encoder: Kim et al.'s ablation of the highway layers."""

from typing import Annotated

import torch
from torch import Tensor, nn

from charlm.model.contract import Encoder, Wrapper
from charlm.settings import Layers, Meaning
from charlm.text.vocabulary.vocabulary import Inventory


class MLPEncoder(Wrapper):
    """One or more layers z = ReLU(W y + b) of the encoder's width (Kim et al., 2016, table 7)."""

    tap = "mlp"

    def __init__(
        self,
        inventory: Inventory,
        *,
        encoder: Encoder,
        layers: Annotated[Layers, Meaning("number of hidden layers")] = 1,
    ) -> None:
        super().__init__(encoder)
        self.layers = nn.ModuleList(nn.Linear(encoder.dim, encoder.dim) for _ in range(layers))

    def over(self, vectors_NE: Tensor) -> Tensor:
        for layer in self.layers:
            vectors_NE = torch.relu(layer(vectors_NE))
        return vectors_NE
