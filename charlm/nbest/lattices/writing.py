"""Lattices as text: as they were read, or with the scores that rescoring gave them."""

from charlm.nbest.contract import Piece
from charlm.nbest.lattices import kaldi_writing, slf_writing
from charlm.nbest.lattices.expanded import RescoredLattice
from charlm.nbest.lattices.kaldi import KaldiOriginal
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.new_scores import Keeping, NewScores
from charlm.nbest.lattices.slf import SlfOriginal


def unchanged(lattice: Lattice) -> Piece:
    """The lattice, byte for byte; of a folder its own file."""
    original = lattice.original
    assert isinstance(original, (KaldiOriginal, SlfOriginal))
    name = original.file if isinstance(original, SlfOriginal) else ""
    return Piece(name, "".join(line.raw for line in original.lines))


def rescored_text(rescored: RescoredLattice, *, keeping: Keeping = "auto") -> Piece:
    """The expanded lattice with its new scores.

    `field`: a further field `charlm` (HTK). `replace`: in place of the old language model's score.
    `mix`: in its place the mean of old and new ones by their weights, so that the lattice's own
    scales rank its paths as here, counts of words aside. `auto` is `field` for HTK, which has a
    place for it, and `mix` for Kaldi; there the old score is the whole graph score unless an old
    model was taken out of it.

    Raises:
        ConfigError: a way that the format has no place for.
    """
    expanded = rescored.expanded
    scores = NewScores(expanded, keeping)
    original = expanded.lattice.original
    if isinstance(original, KaldiOriginal):
        return Piece("", kaldi_writing.written(expanded, scores))
    assert isinstance(original, SlfOriginal)
    text = slf_writing.written(expanded, scores, note=how_it_was_made(rescored, scores.keeping))
    return Piece(original.file, text)


def how_it_was_made(rescored: RescoredLattice, keeping: Keeping) -> str:
    """Models, where their scores are, recombination, beam and weights, in a line."""
    expanded = rescored.expanded
    options = expanded.options
    weights = " ".join(f"{name}={value:.6g}" for name, value in expanded.weighing.weights.items())
    return (
        f"charlm: {' '.join(expanded.models)} score={keeping} recombine={options.recombine} "
        f"beam={options.beam:g} merged={expanded.n_merged} "
        f"pruned={expanded.n_pruned + expanded.n_refused} weights: {weights}"
    )
