"""Signatures name what a perplexity depends on, and leave out what does not apply."""

import pytest

import charlm
from charlm.text.corpus.normalisation import Normalisation
from charlm.text.perplexity.signature import normalisation_name, signature


def made(*, state: str, split: str = "test", normalisation: Normalisation | None = None) -> str:
    return signature(
        model_sha256="0123456789abcdef",
        vocabulary_sha256="fedcba9876543210",
        data_sha256="00112233445566",
        split=split,
        state=state,
        oov_input="unk",
        normalisation=normalisation,
        precision="fp32",
    )


def test_a_signature_names_all_that_a_carried_perplexity_depends_on() -> None:
    assert made(state="carried", normalisation=Normalisation()) == (
        f"charlm:{charlm.__version__}|model:0123456789ab|vocab:fedcba987654|data:001122334455|"
        "split:test|streams:1|state:carried|start:</s>|oov_input:unk|norm:NFC|precision:fp32"
    )


def test_a_signature_of_a_file_by_sentence_has_neither_split_nor_streams() -> None:
    assert made(state="sentence", split="").endswith(
        "|data:001122334455|state:sentence|start:</s>|oov_input:unk|norm:raw|precision:fp32"
    )


@pytest.mark.parametrize(
    ("normalisation", "name"),
    [
        (None, "raw"),
        (Normalisation(), "NFC"),
        (Normalisation(unicode="none"), "none"),
        (Normalisation(True, "NFKC", "simple", True), "NFKC+lower+simple+numbers"),
    ],
)
def test_a_normalisation_is_named_by_its_steps(
    normalisation: Normalisation | None, name: str
) -> None:
    assert normalisation_name(normalisation) == name
