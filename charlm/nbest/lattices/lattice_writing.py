"""Lattices as text, with the scores that rescoring gave them."""

from charlm.nbest.format import Piece
from charlm.nbest.lattices import kaldi, slf
from charlm.nbest.lattices.expanded import RescoredLattice
from charlm.nbest.lattices.new_scores import NewScores
from charlm.nbest.lattices.slf import SlfOriginal


def rescored_text(rescored: RescoredLattice) -> Piece:
    """The expanded lattice with new language scores; at `decoder_scales` its best path is the same.

    Raises:
        ConfigError: weights that a decoder's scales cannot express.
        DataError: a lattice of probabilities, which cannot hold such scores.
    """
    scores, original = NewScores(rescored.expanded), rescored.lattice.original
    if isinstance(original, SlfOriginal):
        return Piece(original.file, slf.with_new_scores(scores))
    return Piece("", kaldi.with_new_scores(scores))


def decoder_scales(rescored: RescoredLattice) -> dict[str, float]:
    """The scales at which a decoder must read the written lattice, by the names of its options."""
    if isinstance(rescored.lattice.original, SlfOriginal):
        return dict(slf.DECODER_SCALES)
    return kaldi.decoder_scales(NewScores(rescored.expanded))
