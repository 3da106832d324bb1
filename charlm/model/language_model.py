"""The language model: an encoder, a context and an output in sequence.

The encoder runs once for each distinct form of a batch; `where` says which form stands at each
position. For many batches of the same forms, encode these once and call `continue_from`.
"""

import torch
from torch import Tensor, nn

from charlm.model.contract import Context, Encoder, Output, State, merge_states
from charlm.model.forms import Forms
from charlm.model.kernels.sparse_rows import spread


class LanguageModel(nn.Module):
    """P(word | words before), computed by three independent parts."""

    def __init__(self, encoder: Encoder, context: Context, output: Output) -> None:
        super().__init__()
        self.encoder = encoder
        self.context = context
        self.output = output

    def continue_from(
        self, x_TBE: Tensor, *, words_TB: Tensor, state: State
    ) -> tuple[Tensor, State]:
        """nll_TB in nats (0 where the word is -1), and the state after the last position.

        `x_TBE` are the vectors of the input forms, `words_TB` the words to predict.
        """
        h_TBH, state = self.context(x_TBE, state)
        nll_N = self.output.nll(h_TBH.flatten(0, 1), words_TB.flatten())
        return nll_N.view(words_TB.shape), state

    def read(
        self,
        forms: Forms,
        where_TB: Tensor,
        *,
        state: State,
        resets_TB: Tensor | None = None,
        keep_TB: Tensor | None = None,
    ) -> tuple[Tensor, State]:
        """h_TBH, the input of the output, and the state after the last position.

        `where_TB` are rows of `forms`: the input. Where `resets_TB` is set, the state is reset to
        the initial one before that position is read, and so it is where `keep_TB` is 0. The former
        cuts the batch into pieces whose number and length differ from batch to batch; dropout masks
        that hold for a piece there hold for the whole batch under `keep_TB`.
        """
        x_TBE = spread(self.encoder(forms), where_TB)
        return self.in_context(x_TBE, state=state, resets_TB=resets_TB, keep_TB=keep_TB)

    def in_context(
        self, x_TBE: Tensor, *, state: State, resets_TB: Tensor | None, keep_TB: Tensor | None
    ) -> tuple[Tensor, State]:
        """As `read`, from the vectors of the positions on."""
        if keep_TB is not None:
            return self.context.forward_masked(x_TBE, state, keep_TB=keep_TB)
        if resets_TB is None:
            h_TBH, state = self.context(x_TBE, state)
            return h_TBH, state
        pieces = []
        firsts = [t for t, row in enumerate(resets_TB.any(dim=1).tolist()) if row or t == 0]
        for first, last in zip(firsts, [*firsts[1:], len(x_TBE)], strict=True):
            begun = self.context.initial_state(x_TBE.shape[1])
            state = merge_states(begun, state, where_B=resets_TB[first].to(x_TBE.device))
            h_TBH, state = self.context(x_TBE[first:last], state)
            pieces.append(h_TBH)
        return torch.cat(pieces), state

    def n_parameters_by_part(self) -> dict[str, int]:
        """The number of parameters of encoder, context and output; shared ones count once."""
        seen: set[int] = set()
        counts = {}
        for name, part in self.named_children():
            fresh = [p for p in part.parameters() if id(p) not in seen]
            seen.update(map(id, fresh))
            counts[name] = sum(p.numel() for p in fresh)
        return counts
