"""The character LSTM (C2W): a form's letters read in both directions, the last states combined.

The last state is the one after a form's own last letter; padding comes later and is never used.
For the second direction the letters are reversed within each form, not within the padded row. Drawn
from ±0.05 like Kim et al.'s models, it hardly begins to learn; its cells need `xavier`.
"""

from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from charlm.model.contract import Encoder
from charlm.model.forms import Forms
from charlm.settings import Dim, Meaning
from charlm.text.vocabulary.vocabulary import PAD, Inventory

# Groups of forms of similar length, each padded to its longest, with one call per direction and
# group. The 306 forms of 700 tokens of PTB, 200 wide, one thread, forward and backward, took in
# fp32 / bf16: all padded to the longest 241 / 101 ms, 3 groups 126 / 64 ms, 4 groups 105 / 64 ms,
# 6 groups 112 / 69 ms, one group per length 126 / 111 ms, `pack_padded_sequence` 130 / 82 ms.
N_BUCKETS = 4


class CharLSTM(Encoder):
    """x = W_f h_f + W_b h_b + b over the last states of two LSTMs (Ling et al., 2015).

    Eq. 2 of Miyamoto and Cho (2016). Their code has a table of letters for each direction
    (`tables` separate) and no characters that mark a word's start and end (`markers` false).
    Differs from their code: a gate has two biases, as in torch.
    """

    reads_spelling = True

    def __init__(
        self,
        inventory: Inventory,
        *,
        dim: Annotated[Dim, Meaning("dimension of the word vectors")] = 200,
        letter_dim: Annotated[Dim, Meaning("dimension of the character vectors")] = 200,
        hidden_dim: Annotated[Dim, Meaning("dimension of each LSTM's hidden state")] = 200,
        tables: Annotated[
            Literal["shared", "separate"],
            Meaning("one table of character vectors for both directions, or one for each"),
        ] = "shared",
        markers: Annotated[
            bool, Meaning("extra characters mark the start and end of a word")
        ] = True,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.markers = markers
        n_tables = 1 if tables == "shared" else 2
        # The padding's vector never reaches a state that is used, so its gradient is 0.
        self.letters = nn.ModuleList(
            nn.Embedding(inventory.n_characters, letter_dim) for _ in range(n_tables)
        )
        self.readers = nn.ModuleList(nn.LSTM(letter_dim, hidden_dim) for _ in range(2))
        self.combination = nn.Linear(2 * hidden_dim, dim)

    def forward(self, forms: Forms) -> Tensor:
        vectors_NE: Tensor = self.combination(self._states(forms))
        return vectors_NE

    def _states(self, forms: Forms) -> Tensor:
        """Both directions' last states, (N, 2H)."""
        letters_NL, lengths_N = self._spelled(forms)
        places_L = torch.arange(letters_NL.shape[1], device=lengths_N.device)
        turned_NL = letters_NL.gather(1, (lengths_N[:, None] - 1 - places_L).clamp(min=0))
        # In an export to ONNX lengths are not known yet; on a GPU the host would have to wait.
        if torch.compiler.is_exporting() or lengths_N.is_cuda:
            return self._last_states(letters_NL, turned_NL, lengths_N)
        order_N = torch.argsort(lengths_N, stable=True)
        states = []
        for rows in order_N.tensor_split(min(N_BUCKETS, len(order_N))):
            longest = int(lengths_N[rows[-1]])
            read, turned = letters_NL[rows, :longest], turned_NL[rows, :longest]
            states.append(self._last_states(read, turned, lengths_N[rows]))
        return torch.cat(states)[torch.argsort(order_N)]

    def _spelled(self, forms: Forms) -> tuple[Tensor, Tensor]:
        """The letters to read, and their number in each form; at least one, even if padding."""
        lengths_N = (forms.letters_NL != PAD).sum(dim=1)
        if self.markers:
            return forms.letters_NL, lengths_N.clamp(min=1)
        return forms.letters_NL[:, 1:], (lengths_N - 2).clamp(min=1)

    def _last_states(self, letters_NL: Tensor, turned_NL: Tensor, lengths_N: Tensor) -> Tensor:
        """Both directions' states after a form's last letter, (N, 2H)."""
        places_N = torch.arange(lengths_N.shape[0], device=lengths_N.device)
        states = []
        for direction, read_NL in enumerate((letters_NL, turned_NL)):
            x_NLE = self.letters[direction % len(self.letters)](read_NL)
            h_LNH, _ = self.readers[direction](x_NLE.transpose(0, 1))
            states.append(h_LNH[lengths_N - 1, places_N])
        return torch.cat(states, dim=1)

    def taps(self, forms: Forms) -> dict[str, Tensor]:
        """`forward` and `backward`: the last states; `char-lstm`: the vectors."""
        states_NE = self._states(forms)
        forward_NH, backward_NH = states_NE.chunk(2, dim=1)
        vectors_NE = self.combination(states_NE)
        return {"forward": forward_NH, "backward": backward_NH, "char-lstm": vectors_NE}
