"""The two maps of the page, in little space: places in ten thousandths, neighbours by number.

Neighbours are sought among the words on the map, which are the most frequent: `charlm nn` seeks in
the whole vocabulary.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from charlm.insight.pictures.subject import Subject
from charlm.insight.report.tables import Json
from charlm.insight.vectors.projection import KINDS, Floats, Plane

MOST_NGRAMS = 40_000  # of those on the picture, the ones that stand in most words
N_NEIGHBOURS = 8
N_PLACES = 10_000  # of a coordinate: more than any screen has
BLOCK = 512  # words whose neighbours are sought at once
MOST_BYTES = 700_000  # of the words of one map: a language of long words has fewer on it


def ngrams_as_json(subject: Subject) -> Json:
    """Character n-grams with their kinds."""
    found = subject.ngrams
    n_shown = how_many(found.ngrams[:MOST_NGRAMS])
    numbers = {kind: str(number) for number, kind in enumerate(KINDS)}
    return {
        "forms": list(found.ngrams[:n_shown]),
        "counts": list(found.n_words[:n_shown]),
        "kinds": "".join(numbers[kind] for kind in found.kinds[:n_shown]),
        "kind_names": list(KINDS),
        "n_all": len(found.ngrams) + found.n_left_out,
        **_plane(found.plane, n_shown),
    }


def words_as_json(subject: Subject) -> Json:
    """Words with their nearest neighbours."""
    found = subject.words
    n_shown = how_many(found.words)
    return {
        "forms": list(found.words[:n_shown]),
        "counts": list(found.counts[:n_shown]),
        "neighbours": nearest(found.units_NE[:n_shown], k=N_NEIGHBOURS).tolist(),
        "tap": found.tap,
        "n_all": subject.run.inventory.n_words - 2,  # less </s> and <unk>
        **_plane(found.plane, n_shown),
    }


def how_many(forms: Sequence[str]) -> int:
    """The number of forms, from the first on, that the page has room for."""
    sizes_N = np.cumsum([len(form.encode()) + 3 for form in forms])
    return int(np.searchsorted(sizes_N, MOST_BYTES, side="right"))


def _plane(plane: Plane, n_shown: int) -> Json:
    return {
        "places": places(plane.points_N2[:n_shown]).flatten().tolist(),
        "shares": list(plane.shares),
    }


def places(points_N2: Floats) -> npt.NDArray[np.int64]:
    """Points as whole numbers from 0 to 9,999, one scale for both axes, (N, 2); y grows upwards."""
    low_2 = points_N2.min(axis=0, initial=np.inf)
    span = float(np.ptp(points_N2, axis=0).max(initial=0)) if len(points_N2) else 0.0
    scaled_N2: Floats = (points_N2 - low_2) * ((N_PLACES - 1) / span if span else 0.0)
    return scaled_N2.round().astype(np.int64)


def nearest(units_NE: npt.NDArray[np.float32], *, k: int) -> Tensor:
    """The rows nearest to each row by cosine, the nearest first, (N, k) or as many as there are."""
    k = max(0, min(k, len(units_NE) - 1))
    all_NE, results = torch.from_numpy(units_NE), [torch.empty(0, k, dtype=torch.int64)]
    for first in range(0, len(units_NE), BLOCK):
        cosines_BN = all_NE[first : first + BLOCK] @ all_NE.T
        cosines_BN.diagonal(first).fill_(-torch.inf)  # each is nearest to itself
        results.append(cosines_BN.topk(k).indices)
    return torch.cat(results)
