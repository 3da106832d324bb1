"""A text as form ids cached on disk: used if complete, else encoded again."""

import json
from functools import partial
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from charlm.errors import DataError
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.sentences import read_sentences
from charlm.text.io.files import sha256_of
from charlm.text.vocabulary import encoding
from charlm.text.vocabulary.encoding import FormIds, encode_sentences, encode_text
from charlm.text.vocabulary.vocabulary import inventory_of

reopen_text = partial(encode_text, reopen=True)

INVENTORY = inventory_of([["a", "a", "b", "b", "<unk>"]])  # </s> 0, <unk> 1, a 2, b 3; V = 4


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_bytes(b"a zz b\n\nb <unk> zz <unk>:qq\n")
    return path


def test_a_form_outside_the_vocabulary_gets_one_id_from_v_on_and_keeps_its_spelling() -> None:
    form_ids = FormIds(INVENTORY)
    tokens = ["a", "zz", "<unk>", "qq", "zz", "<unk>:a", "<unk>:"]
    assert [form_ids[token] for token in tokens] == [2, 4, 1, 5, 4, 6, 7]
    assert form_ids.spellings == ["zz", "qq", "a", "<unk>:"]


def test_encoded_sentences_end_in_the_end_of_sentence() -> None:
    encoded = encode_sentences([["b", "zz"], []], FormIds(INVENTORY))
    assert [ids.tolist() for ids in encoded] == [[3, 4, 0], [0]]
    assert encoded[0].dtype == np.int32


def test_an_encoded_text_is_one_array_with_its_spellings(text: Path, tmp_path: Path) -> None:
    encoded = encode_text(text, INVENTORY, stem=tmp_path / "kept")
    assert encoded.ids.tolist() == [2, 4, 3, 0, 0, 3, 1, 4, 5, 0]
    assert encoded.spellings == ("zz", "qq")
    assert encoded.n_sentences == 3
    assert encoded.sha256 == sha256_of(text)
    raw = (tmp_path / "kept.ids").read_bytes()
    assert raw[:8] == b"\x02\0\0\0\x04\0\0\0"


@pytest.mark.parametrize(
    ("content", "max_tokens", "note"),
    [("", 0, ""), ("a b c\n", 3, ", the first of at most 3 tokens")],
)
def test_a_text_without_a_sentence_is_refused(
    tmp_path: Path, content: str, max_tokens: int, note: str
) -> None:
    path = tmp_path / "text.txt"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        encode_text(path, INVENTORY, stem=tmp_path / "kept", max_tokens=max_tokens)
    assert str(caught.value) == f"{path}: no sentence; expected one a line{note}"


@pytest.mark.parametrize("max_tokens", [0, 3])
def test_a_text_is_encoded_by_the_rules_of_its_vocabulary(tmp_path: Path, max_tokens: int) -> None:
    path, rules = tmp_path / "train.txt", Normalisation(lower=True)
    path.write_text("Cafe\u0301 caf\u00e9\n")
    inventory = inventory_of(read_sentences(path, normalisation=rules), normalisation=rules)
    encoded = encode_text(path, inventory, stem=tmp_path / "text", max_tokens=max_tokens)
    assert inventory.words[2:] == ("caf\u00e9",)
    assert encoded.ids.tolist() == [2, 2, 0]


def test_a_text_that_was_encoded_before_is_mapped_and_not_written_again(
    text: Path, tmp_path: Path
) -> None:
    stem = tmp_path / "kept"
    encode_text(text, INVENTORY, stem=stem)
    before = stem.with_suffix(".ids").stat().st_mtime_ns
    again = reopen_text(text, INVENTORY, stem=stem)
    assert again.ids.tolist() == [2, 4, 3, 0, 0, 3, 1, 4, 5, 0]
    assert (again.spellings, again.n_sentences) == (("zz", "qq"), 3)
    assert stem.with_suffix(".ids").stat().st_mtime_ns == before


def test_another_text_vocabulary_or_limit_is_encoded_anew(text: Path, tmp_path: Path) -> None:
    stem = tmp_path / "kept"
    encode_text(text, INVENTORY, stem=stem)
    assert reopen_text(text, INVENTORY, stem=stem, max_tokens=5).ids.tolist() == [2, 4, 3, 0, 0]
    larger = inventory_of([["zz", "zz", "a", "a"]])
    assert reopen_text(text, larger, stem=stem).ids.tolist()[:2] == [2, 3]
    text.write_text("b\n")
    assert reopen_text(text, larger, stem=stem).ids.tolist() == [4, 0]


@pytest.mark.parametrize(
    "damage",
    [
        {"spellings": 7},
        {"spellings": [1]},
        {"n_sentences": "3"},
        {"n_ids": 10.0},
        {"crc32": None},
        b"[]",
        b"",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b'{"n_ids": NaN}',
    ],
)
def test_a_damaged_description_is_made_anew(
    text: Path, tmp_path: Path, damage: dict[str, object] | bytes
) -> None:
    stem = tmp_path / "kept"
    whole = encode_text(text, INVENTORY, stem=stem)
    path = stem.with_suffix(".json")
    if isinstance(damage, dict):
        damage = json.dumps(json.loads(path.read_text()) | damage).encode()
    path.write_bytes(damage)
    again = reopen_text(text, INVENTORY, stem=stem)
    assert (again.spellings, again.n_sentences) == (whole.spellings, whole.n_sentences)


def array(*ids: int) -> bytes:
    return np.array(ids, "<i4").tobytes()


@pytest.mark.parametrize(
    "content",
    [
        array(2, 4, 3, 0, 0),
        array(2, 4, 3, 0, 0, 3, 1, 4, 5, 0)[:-1],
        array(2, 4, 3, 0, 0, 3, 1, 4, 5, 0) + b"\0",
        array(2, 4, 3, 0, 0, 3, 1, 4, -1, 0),
        array(2, 4, 3, 0, 0, 3, 1, 4, 6, 0),  # four words and two spellings: 5 is the last
        array(2, 4, 3, 0, 0, 3, 1, 5, 5, 0),  # as many tokens, each with a word or spelling
        b"",
    ],
    ids=["halved", "cut", "longer", "negative", "too large", "changed", "empty"],
)
def test_ids_that_are_not_those_that_were_written_are_made_anew(
    text: Path, tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "BLOCK", 3)
    stem = tmp_path / "kept"
    encode_text(text, INVENTORY, stem=stem)
    stem.with_suffix(".ids").write_bytes(content)
    assert reopen_text(text, INVENTORY, stem=stem).ids.tolist() == [2, 4, 3, 0, 0, 3, 1, 4, 5, 0]


@pytest.mark.parametrize("number", [-1, 6])  # 5 is the last
def test_ids_without_a_spelling_are_made_anew_though_their_checksum_is_right(
    text: Path, tmp_path: Path, number: int
) -> None:
    stem = tmp_path / "kept"
    encode_text(text, INVENTORY, stem=stem)
    content = array(2, 4, 3, 0, 0, 3, 1, 4, number, 0)
    stem.with_suffix(".ids").write_bytes(content)
    description = json.loads(stem.with_suffix(".json").read_text())
    stem.with_suffix(".json").write_text(json.dumps({**description, "crc32": crc32(content)}))
    assert reopen_text(text, INVENTORY, stem=stem).ids.tolist() == [2, 4, 3, 0, 0, 3, 1, 4, 5, 0]


def test_a_description_of_an_earlier_charlm_is_made_anew(text: Path, tmp_path: Path) -> None:
    stem = tmp_path / "kept"
    encode_text(text, INVENTORY, stem=stem)
    path = stem.with_suffix(".json")
    whole = json.loads(path.read_text())
    path.write_text(json.dumps({k: v for k, v in whole.items() if k not in ("n_ids", "oov_input")}))
    reopen_text(text, INVENTORY, stem=stem)
    assert json.loads(path.read_text()) == whole


def test_where_unk_goes_in_no_spelling_is_kept(text: Path, tmp_path: Path) -> None:
    encoded = encode_text(text, INVENTORY, stem=tmp_path / "kept", oov_input="unk")
    assert encoded.ids.tolist() == [2, 1, 3, 0, 0, 3, 1, 1, 1, 0]
    assert encoded.spellings == ()
    assert json.loads((tmp_path / "kept.json").read_text())["spellings"] == []


def test_the_other_choice_of_what_goes_in_is_encoded_anew(text: Path, tmp_path: Path) -> None:
    stem = tmp_path / "kept"
    encode_text(text, INVENTORY, stem=stem, oov_input="unk")
    assert reopen_text(text, INVENTORY, stem=stem).spellings == ("zz", "qq")
    again = reopen_text(text, INVENTORY, stem=stem, oov_input="unk")
    assert again.ids.tolist() == [2, 1, 3, 0, 0, 3, 1, 1, 1, 0]


def test_new_ids_never_stand_beside_an_old_description(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stem = tmp_path / "kept"
    encode_text(text, INVENTORY, stem=stem)

    def fail(*_: object) -> None:
        raise OSError("no more")

    monkeypatch.setattr(encoding, "write_json", fail)
    with pytest.raises(OSError, match="no more"):
        encode_text(text, INVENTORY, stem=stem, max_tokens=5)
    assert not stem.with_suffix(".json").exists()
