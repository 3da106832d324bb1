"""The line beside a perplexity that names everything that could change it, as in sacrebleu."""

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
    """The signature of a neural model's perplexity of a text, once that has been read to its end.

    `split` is empty if files were given. A carried state means one stream over the whole text.
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
    """The given parts in their order; empty ones do not apply and are left out."""
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
