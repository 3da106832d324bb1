"""Nearest words under an exported model, by the encoder's last vectors and without torch."""

import numpy as np
import numpy.typing as npt

from charlm.errors import ConfigError
from charlm.insight.vectors.neighbourhood import (
    DECIMALS,
    Neighbour,
    Neighbourhood,
    asked_words,
    token_of,
)
from charlm.insight.vectors.nn_options import NeighboursOptions
from charlm.run.onnx_model import OnnxModel, Vectors, require_no_torch
from charlm.text.corpus.tokens import END, UNK, UNK_WORD, form_of
from charlm.text.vocabulary.encoding import Ids


def exported_neighbours(model: OnnxModel, options: NeighboursOptions) -> tuple[Neighbourhood, ...]:
    """As `charlm.neighbours`."""
    require_no_torch(model.path, options)
    words, rules = asked_words(options.words), model.inventory.normalisation
    forms = [token_of(word, rules, raw=options.raw, lower=options.lower) for word in words]
    n_words, word_ids = model.inventory.n_words, model.inventory.word_ids
    ids: Ids = np.arange(n_words + len(forms), dtype=np.int32)
    ids[n_words:] = [word_ids.get(form, n_words + k) for k, form in enumerate(forms)]
    vectors = _units(model.spelled_vectors.of(ids, [form_of(form) for form in forms]))
    unknown = _units(model.encode([UNK_WORD]))[0]
    letters = frozenset(model.inventory.characters)
    tap = str(model.info.settings["encoder"]["type"])
    hoods = []
    for word, form, query in zip(words, forms, vectors[n_words:], strict=True):
        is_known, spelling = form in word_ids, form_of(form)
        if not is_known and (letters.isdisjoint(spelling) or np.allclose(query, unknown)):
            raise ConfigError(
                f"word {form!r}: not in the vocabulary of {model.path}, which does not read its "
                f"spelling; expected one of its {n_words:,} words"
            )
        cosines = np.round(vectors[:n_words] @ query, DECIMALS) + 0.0  # never -0
        left_out = (END, UNK, word_ids.get(spelling, UNK))
        ranked = np.argsort(-cosines, kind="stable").tolist()
        order = [k for k in ranked if k not in left_out][: options.k]
        nearest = tuple(Neighbour(model.inventory.words[k], float(cosines[k])) for k in order)
        hoods.append(Neighbourhood(word, spelling, is_known, tap, nearest))
    return tuple(hoods)


def _units(vectors_NE: Vectors) -> npt.NDArray[np.float64]:
    """Of length 1, in fp64; a zero vector stays zero."""
    exact = vectors_NE.astype(np.float64)
    units: npt.NDArray[np.float64] = exact / np.maximum(
        np.linalg.norm(exact, axis=1, keepdims=True), 1e-300
    )
    return units
