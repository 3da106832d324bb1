"""The language model: an encoder, a context and an output in a row.

The encoder runs once for each distinct form of a batch; `where` says which form stands at each
position. Whoever has many batches of the same forms encodes them once and calls `continue_from`.
"""

from torch import Tensor, nn

from charlm.model.contract import Context, Encoder, Output, State
from charlm.model.forms import Forms


class LanguageModel(nn.Module):
    """P(word | words before), of three parts that know nothing of each other."""

    def __init__(self, encoder: Encoder, context: Context, output: Output) -> None:
        super().__init__()
        self.encoder = encoder
        self.context = context
        self.output = output

    def forward(
        self, forms: Forms, where_TB: Tensor, *, words_TB: Tensor, state: State
    ) -> tuple[Tensor, State]:
        """nll_TB in nats (0 where the word is -1), and the state after the last position.

        `where_TB` are rows of `forms`: what is fed in. `words_TB` are the words to predict.
        """
        return self.continue_from(self.encoder(forms)[where_TB], words_TB=words_TB, state=state)

    def continue_from(
        self, x_TBE: Tensor, *, words_TB: Tensor, state: State
    ) -> tuple[Tensor, State]:
        """As `forward`, from vectors of the forms that are known already."""
        h_TBH, state = self.context(x_TBE, state)
        nll_N = self.output.nll(h_TBH.flatten(0, 1), words_TB.flatten())
        return nll_N.view(words_TB.shape), state

    def n_parameters_by_part(self) -> dict[str, int]:
        """Trainable numbers of encoder, context and output; a shared one counts once."""
        seen: set[int] = set()
        counts = {}
        for name, part in self.named_children():
            fresh = [p for p in part.parameters() if id(p) not in seen]
            seen.update(map(id, fresh))
            counts[name] = sum(p.numel() for p in fresh)
        return counts
