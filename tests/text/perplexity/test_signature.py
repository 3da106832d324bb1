"""Signatures name everything on which a perplexity depends, and nothing that does not apply."""

import hashlib
from pathlib import Path

import pytest

import charlm
from charlm.text.corpus.hashed_text import ReadText
from charlm.text.corpus.normalisation import Normalisation
from charlm.text.perplexity.signature import normalisation_name, signature

TEXT = b"a b\n"
HASHED = hashlib.sha256(TEXT).hexdigest()[:12]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_bytes(TEXT)
    return path


def made(
    path: Path, *, state: str, split: str = "test", normalisation: Normalisation | None = None
) -> str:
    text = ReadText(path, normalisation=normalisation)
    assert list(text.sentences()) == [["a", "b"]]
    return signature(
        text,
        model_sha256="0123456789abcdef",
        vocabulary_sha256="fedcba9876543210",
        split=split,
        state=state,
        oov_input="unk",
        precision="fp32",
    )


def test_a_signature_names_all_that_a_carried_perplexity_depends_on(text: Path) -> None:
    assert made(text, state="carried", normalisation=Normalisation()) == (
        f"charlm:{charlm.__version__}|model:0123456789ab|vocab:fedcba987654|data:{HASHED}|"
        "split:test|streams:1|state:carried|start:</s>|oov_input:unk|norm:NFC|precision:fp32"
    )


def test_a_signature_of_a_file_by_sentence_has_neither_split_nor_streams(text: Path) -> None:
    assert made(text, state="sentence", split="").endswith(
        f"|data:{HASHED}|state:sentence|start:</s>|oov_input:unk|norm:raw|precision:fp32"
    )


@pytest.mark.parametrize(
    ("normalisation", "name"),
    [
        (None, "raw"),
        (Normalisation(), "NFC"),
        (Normalisation(unicode="none"), "none"),
        (Normalisation(True, "NFKC", "simple", True), "NFKC+lower+simple+numbers"),
        (Normalisation(lower=True, dotless_i=True), "NFC+lower+dotless-i"),
    ],
)
def test_a_normalisation_is_named_by_its_steps(
    normalisation: Normalisation | None, name: str
) -> None:
    assert normalisation_name(normalisation) == name
