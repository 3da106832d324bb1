"""The speller: a character LSTM that gives every spelling a probability.

It is a distribution over all non-empty strings of Unicode characters, so words of the vocabulary
also have a share, which `open_vocabulary` removes. Its symbols are not the encoder's letters, and
it reads a spelling to its end, however long.
"""

import math
from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
import torch
from torch import Tensor, nn

from charlm.model.forms import bounded_slices
from charlm.settings import Dim, Family
from charlm.text.vocabulary.vocabulary import Inventory

MARK, ESCAPE = 0, 1  # MARK is the start of a word in the input, and its end as a prediction
N_SPECIAL = 2
N_SCALARS = 1_112_064  # possible characters: Unicode's code points without the surrogates
BEYOND = -1  # after a spelling's end
SPELLINGS_AT_ONCE = 512
SYMBOLS_AT_ONCE = 1 << 20  # padding included, since one very long word pads all others
LONGEST_DRAWN = 200  # characters
STEPS_AT_ONCE = 256  # a word may be as long as a line, and a line as long as a file

LSTMState = tuple[Tensor, Tensor]


class Speller(nn.Module):
    """s(w), a product over characters and the end of the word; never the empty word.

    A character outside the inventory is *escaped*: the probability of the escape symbol is shared
    evenly among the `n_escaped` characters that the inventory lacks.
    """

    def __init__(self, inventory: Inventory, *, dim: Dim = 32, hidden_dim: Dim = 128) -> None:
        super().__init__()
        self.symbols = {letter: n for n, letter in enumerate(inventory.characters, N_SPECIAL)}
        self.n_symbols = N_SPECIAL + len(self.symbols)
        self.n_escaped = N_SCALARS - len(self.symbols)
        self.letters = nn.Embedding(self.n_symbols, dim)
        self.reader = nn.LSTM(dim, hidden_dim)
        self.next = nn.Linear(hidden_dim, self.n_symbols)

    def encoded(self, spellings: Sequence[str]) -> Tensor:
        """The symbols to predict: letters, then the end of the word, then BEYOND; shape (L, N)."""
        lists = [[*(self.symbols.get(c, ESCAPE) for c in each), MARK] for each in spellings]
        rows = [*zip_longest(*lists, fillvalue=BEYOND)]
        return torch.tensor(rows, dtype=torch.int64).view(len(rows), len(lists))

    def nll(self, symbols_LN: Tensor, *, dropout: float = 0.0) -> Tensor:
        """The nll of each symbol in nats, (L, N); 0 after a word's end, infinite for an empty word.

        `dropout` falls on the letters' vectors and on the LSTM's output.
        """
        before_1N = symbols_LN.new_full((1, symbols_LN.shape[1]), MARK)
        nll_LN, _ = self._continued(symbols_LN, before_1N, state=None, dropout=dropout)
        return nll_LN

    def _continued(
        self, symbols_LN: Tensor, before_1N: Tensor, *, state: LSTMState | None, dropout: float
    ) -> tuple[Tensor, LSTMState]:
        """As `nll`; `before_1N` are the preceding symbols, `state` None at the start of words."""
        read_LN = torch.cat([before_1N, symbols_LN[:-1]]).clamp(min=MARK)
        x_LNE = nn.functional.dropout(self.letters(read_LN), dropout, training=dropout > 0)
        h_LNH, after = self.reader(x_LNE, state)
        scores_LNS = self.next(nn.functional.dropout(h_LNH, dropout, training=dropout > 0))
        if state is None:
            no_end_S = scores_LNS.new_zeros(self.n_symbols)
            no_end_S[MARK] = -math.inf
            scores_LNS = torch.cat([scores_LNS[:1] + no_end_S, scores_LNS[1:]])
        flat = nn.functional.cross_entropy(
            scores_LNS.flatten(0, 1), symbols_LN.flatten(), ignore_index=BEYOND, reduction="none"
        )
        nll_LN = flat.view(symbols_LN.shape) + (symbols_LN == ESCAPE) * math.log(self.n_escaped)
        return nll_LN, after

    @torch.no_grad()
    def log_probs(self, spellings: Sequence[str], *, are_whole: bool = True) -> Tensor:
        """log s(w) of each spelling, in nats, float64, shape (N,), independent of the others.

        If they are not whole, each is a prefix, and the result is for all words that begin with it.
        """
        log_probs_N = torch.zeros(len(spellings), dtype=torch.float64)
        lengths = np.array([len(each) + 1 for each in spellings], np.int64)
        order = lengths.argsort(kind="stable")
        for part in bounded_slices(
            lengths[order], most_rows=SPELLINGS_AT_ONCE, most_places=SYMBOLS_AT_ONCE
        ):
            rows = order[part].tolist()
            symbols_LN = self.encoded([spellings[row] for row in rows])
            if not are_whole:
                symbols_LN[symbols_LN == MARK] = BEYOND
            log_probs_N[rows] = -self._total(symbols_LN)
        return log_probs_N

    def _total(self, symbols_LN: Tensor) -> Tensor:
        """The total nll of each spelling, float64, shape (N,), read some steps at a time."""
        total_N = torch.zeros(symbols_LN.shape[1], dtype=torch.float64)
        before_1N = symbols_LN.new_full((1, symbols_LN.shape[1]), MARK)
        state: LSTMState | None = None
        for part_LN in symbols_LN.split(STEPS_AT_ONCE):
            nll_LN, state = self._continued(part_LN, before_1N, state=state, dropout=0.0)
            total_N += nll_LN.double().sum(0)
            before_1N = part_LN[-1:]
        return total_N

    @torch.no_grad()
    def draw(self, generator: np.random.Generator) -> str:
        """Draw a word of the inventory's characters; if longer than LONGEST_DRAWN, it was cut."""
        letters = list(self.symbols)
        symbol, state, word = MARK, None, ""
        while len(word) <= LONGEST_DRAWN:
            h_1H, state = self.reader(self.letters(torch.tensor([symbol])), state)
            scores_S = self.next(h_1H)[0].double()
            scores_S[ESCAPE] = -math.inf  # it does not say which of a million characters it is
            if not word:
                scores_S[MARK] = -math.inf
            below_S = scores_S.softmax(0).cumsum(0).numpy()
            place = np.searchsorted(below_S, generator.random() * below_S[-1], side="right")
            symbol = int(place)
            if symbol == MARK:
                break
            word += letters[symbol - N_SPECIAL]
        return word


SPELLER = Family("speller", nn.Module, {"lstm": Speller})
