"""The line that goes with a perplexity: everything that could change it, in sacrebleu's manner."""

import hashlib
import json
from collections.abc import Mapping

from charlm.text.corpus.hashed_text import ReadText
from charlm.text.corpus.normalisation import Normalisation
from charlm.text.corpus.tokens import END_WORD
from charlm.version import __version__

HASH_DIGITS = 12  # of a SHA-256


def signature(
    text: ReadText,
    *,
    model_sha256: str,
    vocabulary_sha256: str,
    split: str,
    state: str,
    oov_input: str,
    precision: str,
    speller_sha256: str = "",
) -> str:
    """That of a neural model's perplexity of a text which it has read to the end.

    `split` is empty where files were given. A carried state means one stream over the whole text.
    """
    told = {
        "charlm": __version__,
        "model": model_sha256[:HASH_DIGITS],
        "vocab": vocabulary_sha256[:HASH_DIGITS],
        "data": text.sha256[:HASH_DIGITS],
        "split": split,
        "streams": "1" if state == "carried" else "",
        "state": state,
        "start": END_WORD,
        "oov_input": oov_input,
        "norm": normalisation_name(text.normalisation),
        "precision": precision,
        "open-vocabulary": speller_sha256[:HASH_DIGITS],
    }
    return joined_signature(told)


def joined_signature(told: Mapping[str, str]) -> str:
    """What is told, in its order; what is empty does not apply."""
    return "|".join(f"{key}:{value}" for key, value in told.items() if value)


def normalisation_name(normalisation: Normalisation | None) -> str:
    """A text normalisation in a word, as `NFC+lower`; `raw` where there is none."""
    if normalisation is None:
        return "raw"
    rules = hashlib.sha256(json.dumps(normalisation.map).encode()).hexdigest()
    steps = [
        normalisation.unicode,
        "lower" if normalisation.lower else "",
        "dotless-i" if normalisation.dotless_i else "",
        normalisation.tokenise if normalisation.tokenise != "none" else "",
        "hyphens" if normalisation.split_hyphens else "",
        "punctuation" if normalisation.punctuation == "drop" else "",
        f"map-{rules[:HASH_DIGITS]}" if normalisation.map else "",
        "numbers" if normalisation.numbers else "",
    ]
    return "+".join(step for step in steps if step)
