"""The softmax whose word vectors an encoder composes: tied, char and morph outputs in one layer.

The encoder is the model's own input encoder unless another is given. The output then adds only a
bias (and, if asked for, a free vector per word) to the parameters that are counted and saved.
"""

from typing import Annotated

import torch
from torch import Tensor, nn

from charlm.errors import ConfigError
from charlm.model.contract import Encoder, Side
from charlm.model.encoders.sides import Mixture
from charlm.model.encoders.type_dropout import without_type_dropout
from charlm.model.outputs.table import TableOutput, WordTable
from charlm.model.outputs.vocabulary import VocabularyVectors
from charlm.settings import Meaning
from charlm.text.vocabulary.vocabulary import Inventory


class ComposedSoftmax(TableOutput):
    """P(w | h) ∝ exp(h·(e(w) + r_w) + b_w), where e(w) is the encoder's vector of w.

    With the input's word table as encoder this is tying (Press and Wolf, 2017; Inan et al., 2017).
    With a char-CNN of its own it is the CNN softmax of Józefowicz et al. (2016), who found that it
    needs r_w (`free`; theirs are narrower and mapped to the width). With words and morphs it is
    Botha and Blunsom's (2014), whose tables at the output are not those at the input. `project`
    first maps h to the width of the vectors. If the input reads words and letters, `side=word` ties
    only the word table, so that no step reads the letters of the whole vocabulary.

    Raises:
        ConfigError: h and the vectors differ in width, and h is not projected; or a side is given
            for an encoder that does not have two.
    """

    def __init__(
        self,
        input_dim: int,
        inventory: Inventory,
        input_encoder: Encoder,
        *,
        encoder: Annotated[
            Encoder | None, Meaning("encoder of the word vectors; null: that of the input")
        ] = None,
        side: Annotated[
            Side, Meaning("which side of a two-sided encoder gives the word vectors")
        ] = "both",
        free: Annotated[
            bool, Meaning("each word also has a vector of its own, added to the encoder's")
        ] = False,
        bias: Annotated[bool, Meaning("each word has a bias in the output")] = True,
        project: Annotated[
            bool, Meaning("the context vector is projected to the dimension of the word vectors")
        ] = False,
    ) -> None:
        super().__init__()
        place = "encoder" if encoder is None else "output.encoder"
        source = _side_of(encoder or input_encoder, side, place=place)
        dim = source.dim
        if dim != input_dim and not project:
            mend = f"make the context {dim} wide (context.dim, or context.last_dim where given)"
            if encoder is not None:  # some contexts are as wide as the input, and have no `dim`
                mend = f"make output.encoder {input_dim} wide"
            raise ConfigError(
                f"output 'composed': the context's vectors are {input_dim} wide and the words' "
                f"{dim}; expected equal widths; {mend}, or set output.project=true"
            )
        self.vector_dim = dim
        self.encoder = encoder
        self.free = nn.Embedding(inventory.n_words, dim) if free else None
        self.projection = nn.Linear(input_dim, dim, bias=False) if project else None
        self.bias = nn.Parameter(torch.zeros(inventory.n_words)) if bias else None
        self.vectors = VocabularyVectors(source, inventory, free=self.free)

    def table(self) -> WordTable:
        return WordTable(self.vectors.of_all(), self.bias)

    def rows(self, words_K: Tensor) -> WordTable:
        bias_K = None if self.bias is None else self.bias[words_K]
        return WordTable(self.vectors.of(words_K), bias_K)

    @torch.no_grad()
    def start_from(self, log_probs_V: Tensor) -> None:
        if self.bias is not None:
            self.bias.copy_(log_probs_V)

    def score_parameters(self) -> list[nn.Parameter]:
        """The map of h, and the biases; empty without a map, since the vectors are an encoder's."""
        if self.projection is None:
            return []
        return [*self.projection.parameters(), *([] if self.bias is None else [self.bias])]

    def after_step(self) -> None:
        """Passed on to the output's own encoder; the training loop calls that of the input."""
        if self.encoder is not None:
            self.encoder.after_step()


def _side_of(encoder: Encoder, side: Side, *, place: str) -> Encoder:
    if side == "both":
        return encoder
    encoder = without_type_dropout(encoder)
    if not isinstance(encoder, Mixture):
        raise ConfigError(
            f"output 'composed' has side={side}, but its {place} has no two sides; expected a "
            f"mixture, as {place}.type=add; leave output.side out, or set it to 'both'"
        )
    one = encoder.sides[side]
    assert isinstance(one, Encoder)
    return one
