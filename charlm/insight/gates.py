"""Gates: how much of a word's vector is transformed (highway) or comes from its spelling (mixture).

Both are functions of the form alone, so one pass over the vocabulary shows everything. `</s>` and
`<unk>` have no spelling and no rank: they are left out, and `<unk>` is reported separately.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from charlm.insight.encoded_pieces import (
    part_of,
    require_numbers,
    require_words,
    vocabulary_blocks,
)
from charlm.insight.vectors.measures.similarity import spearman
from charlm.model.encoders.gate import GateEncoder
from charlm.model.encoders.highway import HighwayEncoder
from charlm.model.forms import Forms
from charlm.run.stored_weights import LoadedRun
from charlm.text.corpus.tokens import UNK

N_BINS = 40
FREQUENT = 1000  # words of which Miyamoto and Cho tell the norms
CLOSED, OPEN = 0.1, 0.9  # below and above, a gate carries or transforms nearly all

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TransformGate:
    """The transform gate of one highway layer over all words and dimensions."""

    layer: int  # from 1
    counts_B: npt.NDArray[np.int64]  # values in each of equal bins of 0 … 1
    mean: float
    n_dimensions: int
    n_switching: int  # dimensions closed on some word and open on another

    @property
    def edges(self) -> Floats:
        """The edges of the bins."""
        return np.linspace(0, 1, len(self.counts_B) + 1)


@dataclass(frozen=True)
class GateProfile:
    """The gate of a mixture by word frequency, and the norms of both its sides."""

    words: tuple[str, ...]  # by rank, the most frequent first
    gates_N: Floats  # the share of the spelling
    word_norms_N: Floats
    char_norms_N: Floats
    correlation: float | None  # Spearman's, of rank and gate; None where all gates are equal
    correlation_frequent: float | None  # the same over the most frequent words
    unk_gate: float
    unk_percentile: float  # per cent of the words whose gate lies below that of <unk>

    @property
    def ranks(self) -> npt.NDArray[np.int64]:
        """1 for the most frequent word."""
        return np.arange(1, len(self.words) + 1)

    @property
    def n_frequent(self) -> int:
        """The number of words that `correlation_frequent` is over."""
        return min(FREQUENT, len(self.words))

    def to_dict(self) -> dict[str, object]:
        """As JSON, less the words."""
        return {
            "n_words": len(self.words),
            "n_frequent": self.n_frequent,
            "gate_rank_spearman": self.correlation,
            "gate_rank_spearman_frequent": self.correlation_frequent,
            "gate_mean": float(self.gates_N.mean()),
            "unk_gate": self.unk_gate,
            "unk_percentile": self.unk_percentile,
            "word_norm_mean": float(self.word_norms_N.mean()),
            "char_norm_mean": float(self.char_norms_N.mean()),
        }


@torch.no_grad()
def transform_gates(run: LoadedRun) -> tuple[TransformGate, ...]:
    """The transform gate of each highway layer, over all words but `</s>` and `<unk>`."""
    encoder = part_of(run, HighwayEncoder, what="highway layers", wanted="highway")
    require_words(run)
    tallies = [_Tally(encoder.dim) for _ in encoder.layers]
    names = [f"transform.{n}" for n in range(1, len(tallies))] + ["transform"]
    for block, forms in vocabulary_blocks(run, part=encoder):
        taps = encoder.taps(forms)
        skipped = max(0, UNK + 1 - block.start)
        for name, tally in zip(names, tallies, strict=True):
            gates_NE = taps[name][skipped:].float().cpu()
            require_numbers(run, gates_NE.numpy())
            tally.add(gates_NE)
    return tuple(tally.result(layer) for layer, tally in enumerate(tallies, 1))


class _Tally:
    """Sums over a gate's values, of which there may be too many to keep."""

    def __init__(self, dim: int) -> None:
        self.counts_B = np.zeros(N_BINS, np.int64)
        self.least_E, self.most_E = torch.ones(dim), torch.zeros(dim)
        self.total = 0.0

    def add(self, gates_NE: Tensor) -> None:
        if not len(gates_NE):
            return
        self.counts_B += np.histogram(gates_NE.numpy(), bins=N_BINS, range=(0, 1))[0]
        self.least_E = torch.minimum(self.least_E, gates_NE.amin(dim=0))
        self.most_E = torch.maximum(self.most_E, gates_NE.amax(dim=0))
        self.total += float(gates_NE.sum(dtype=torch.float64))

    def result(self, layer: int) -> TransformGate:
        switching = (self.least_E < CLOSED) & (self.most_E > OPEN)
        return TransformGate(
            layer=layer,
            counts_B=self.counts_B,
            mean=self.total / max(1, int(self.counts_B.sum())),
            n_dimensions=len(switching),
            n_switching=int(switching.sum()),
        )


@torch.no_grad()
def gate_profile(run: LoadedRun) -> GateProfile:
    """The share of the spelling in every word's vector (Miyamoto and Cho, 2016, figure 2).

    The norms are of both sides before they are mixed. A correlation above 0 means that the rarer a
    word is, the more of its vector comes from its spelling.
    """
    what = "gate between words and characters"
    encoder = part_of(run, GateEncoder, what=what, wanted="gate")
    require_words(run)
    columns = [_gates_and_norms(encoder, f) for _, f in vocabulary_blocks(run, part=encoder)]
    gates_V, word_norms_V, char_norms_V = (
        torch.cat(each).numpy() for each in zip(*columns, strict=True)
    )
    require_numbers(run, np.stack([gates_V, word_norms_V, char_norms_V]))
    counts = run.inventory.counts[UNK + 1 :]
    gates_N, unk_gate = gates_V[UNK + 1 :], float(gates_V[UNK])
    return GateProfile(
        words=run.inventory.words[UNK + 1 :],
        gates_N=gates_N,
        word_norms_N=word_norms_V[UNK + 1 :],
        char_norms_N=char_norms_V[UNK + 1 :],
        correlation=rank_correlation(gates_N, counts),
        correlation_frequent=rank_correlation(gates_N[:FREQUENT], counts[:FREQUENT]),
        unk_gate=unk_gate,
        unk_percentile=float(100 * (gates_N < unk_gate).mean()),
    )


def _gates_and_norms(encoder: GateEncoder, forms: Forms) -> tuple[Tensor, Tensor, Tensor]:
    word_NE, char_NE = encoder.vectors_of_sides(forms)
    gates_N = encoder.mix(word_NE, char_NE)["gate"].flatten()
    norms = (side.float().norm(dim=1) for side in (word_NE, char_NE))
    return tuple(each.double().cpu() for each in (gates_N, *norms))


def rank_correlation(values_N: Floats, counts: Sequence[int]) -> float | None:
    """Spearman's ρ of values and frequency ranks; None if it is not defined.

    Words of equal counts share their rank. Above 0, values rise as words become rarer.
    """
    found = spearman(np.array(counts), values_N)
    return None if found is None else -found
