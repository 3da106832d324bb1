"""Lattices as text, with the scores that rescoring gave them."""

from charlm.nbest.format import Piece
from charlm.nbest.lattices import kaldi, slf
from charlm.nbest.lattices.expanded import RescoredLattice
from charlm.nbest.lattices.kaldi import KaldiOriginal
from charlm.nbest.lattices.new_scores import NewScores
from charlm.nbest.lattices.slf import SlfOriginal


def rescored_text(rescored: RescoredLattice) -> Piece:
    """The expanded lattice with new language scores; at `decoder_scales` its best path is the same.

    Raises:
        ConfigError: weights that a decoder's scales cannot express.
        DataError: a lattice of probabilities, which cannot hold such scores.
    """
    expanded = rescored.expanded
    scores = NewScores(expanded)
    original = expanded.lattice.original
    if isinstance(original, KaldiOriginal):
        return Piece("", kaldi.with_new_scores(expanded, scores))
    assert isinstance(original, SlfOriginal)
    text = slf.with_new_scores(expanded, scores, note=how_it_was_made(rescored))
    return Piece(original.file, text)


def decoder_scales(rescored: RescoredLattice) -> dict[str, float]:
    """The scales at which a decoder must read the written lattice, by the names of its options."""
    if isinstance(rescored.lattice.original, SlfOriginal):
        return dict(slf.DECODER_SCALES)
    return kaldi.decoder_scales(NewScores(rescored.expanded))


def how_it_was_made(rescored: RescoredLattice) -> str:
    """Models, recombination, beam and weights, on one line."""
    expanded = rescored.expanded
    weights = " ".join(f"{name}={value:.6g}" for name, value in expanded.weighing.weights.items())
    return (
        f"charlm: {' '.join(expanded.models)} recombine={expanded.recombine} "
        f"beam={expanded.beam:g} merged={expanded.n_merged} "
        f"pruned={expanded.n_pruned} weights: {weights}"
    )
