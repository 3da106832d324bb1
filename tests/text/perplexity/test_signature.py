"""Signatures name everything on which a perplexity depends, and nothing that does not apply."""

import pytest

from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.perplexity.signature import joined_signature, normalisation_name


def test_parts_that_do_not_apply_are_left_out_of_a_signature() -> None:
    told = {"model": "abc", "split": "", "state": "carried"}
    assert joined_signature(told) == "model:abc|state:carried"


@pytest.mark.parametrize(
    ("normalisation", "name"),
    [
        (None, "raw"),
        (Normalisation(), "NFC"),
        (Normalisation(unicode="none"), "none"),
        (Normalisation(True, "NFKC", "simple", True), "NFKC+lower+simple+numbers"),
        (Normalisation(lower=True, dotless_i=True), "NFC+lower+dotless-i"),
        (Normalisation(split_hyphens=True, punctuation="drop"), "NFC+hyphens+punctuation"),
        (Normalisation(map=(("one", "1"),)), "NFC+map-421a50002c84"),
    ],
)
def test_a_normalisation_is_named_by_its_steps(
    normalisation: Normalisation | None, name: str
) -> None:
    assert normalisation_name(normalisation) == name
