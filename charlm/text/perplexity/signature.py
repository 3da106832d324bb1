"""The line beside a perplexity that names everything that could change it, as in sacrebleu."""

import hashlib
import json
from collections.abc import Mapping

from charlm.text.corpus.normalisation.normalisation import Normalisation

HASH_DIGITS = 12  # of a SHA-256


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
