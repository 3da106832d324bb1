"""`charlm.neighbours`: the words nearest to words, in a run's vectors or an exported model's."""

from charlm.insight.vectors.exported_neighbours import exported_neighbours
from charlm.insight.vectors.neighbourhood import Neighbourhood
from charlm.insight.vectors.nn_options import NeighboursOptions
from charlm.interface.options import keywords
from charlm.run.exported_folder import is_exported
from charlm.run.onnx_model import OnnxModel
from charlm.run.which import which_run


@keywords(NeighboursOptions)
def neighbours(options: NeighboursOptions) -> tuple[Neighbourhood, ...]:
    """The `k` words of the vocabulary nearest to each of `words`, without itself, `</s>`, `<unk>`.

    Without `model` it is $CHARLM_MODEL's, else the newest finished run under exp/. Several taps are
    given as a list or separated by commas; answers come tap by tap, each in the order of the words.
    An exported model only has the encoder's last vectors.

    >>> cat, dog = charlm.neighbours(["cat", "dog"], model="exp/first", k=3)
    >>> len(cat.nearest)
    3

    Raises:
        ConfigError: no such tap, `k` < 1, not a single word, or a word outside the vocabulary that
            cannot be read by its spelling: at no tap, or because all its characters are unknown.
        DataError: a run that is not what was expected.
    """
    path = which_run(options.model)
    if is_exported(path):
        return exported_neighbours(OnnxModel(path, threads=options.threads), options)
    from charlm.insight.vectors.inputs import open_vectors
    from charlm.insight.vectors.run_neighbours import neighbours_in

    return neighbours_in(open_vectors(options), options.words, k=options.k)
