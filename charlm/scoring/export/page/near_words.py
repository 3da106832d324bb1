"""The vocabulary's vectors, small enough for a page: turned, cut to a few numbers, in eight bits.

Cosines are kept best by the directions in which vectors of length 1 are longest: no mean is taken
away, since a cosine is from the origin. They name candidates, and the page asks the model itself
for their vectors: of char-small's ten nearest words 64 numbers find five, and 200 candidates nine.
"""

import numpy as np
import numpy.typing as npt

from charlm.run.onnx_model import Vectors

DIM = 64  # 10,000 words are 0.6 MB, and a query's product takes a millisecond


def near_words(vectors_VE: Vectors) -> tuple[npt.NDArray[np.int8], Vectors]:
    """Each as a vector of length 127 or so, (V, D); and (E, D), which brings others among them."""
    norms_V1 = np.linalg.norm(vectors_VE, axis=1, keepdims=True)
    units_VE = vectors_VE / np.maximum(norms_V1, 1e-30)
    values_E, turned_EE = np.linalg.eigh(units_VE.T @ units_VE)
    directions_ED = turned_EE[:, np.argsort(-values_E)[:DIM]].astype(np.float32)
    reduced_VD = units_VE @ directions_ED
    reduced_VD /= np.maximum(np.linalg.norm(reduced_VD, axis=1, keepdims=True), 1e-30)
    return np.round(127 * reduced_VD).astype(np.int8), directions_ED
