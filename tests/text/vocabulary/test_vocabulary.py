"""Words and characters of a text: ids, counts, spellings, and the file that stores them."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from charlm.errors import ConfigError, DataError
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.tokens import END, UNK, is_spelled_unk
from charlm.text.vocabulary.counts import count_text
from charlm.text.vocabulary.morphs import MorphModel
from charlm.text.vocabulary.vocabulary import (
    END_LETTER,
    UNK_LETTER,
    UNKNOWN_LETTER,
    WORD_END,
    WORD_START,
    Inventory,
    inventory_of,
    load_inventory,
    vocabulary_at,
)

# b 3, a and c 2 (in this order, by alphabet), d and é 1
PLAIN = [["b", "c", "a", "b"], ["a", "b", "c"], ["d", "é"]]


def test_ids_go_by_falling_count_and_then_by_alphabet() -> None:
    inventory = inventory_of([["b", "b"], ["é", "a", "é", "a"], ["c", "c", "c"]])
    assert inventory.words == ("</s>", "<unk>", "c", "a", "b", "é")
    assert inventory.counts == (3, 0, 3, 2, 2, 2)
    assert (inventory.word_ids["</s>"], inventory.word_ids["<unk>"]) == (END, UNK)


@pytest.mark.parametrize(
    ("extra", "options", "words", "n_unk"),
    [
        ([], {}, ["b", "a", "c"], 2),  # no <unk> in the text: types seen once become it
        ([["<unk>"]], {}, ["b", "a", "c", "d", "é"], 1),  # <unk> in the text: all types are words
        ([["<unk>:xy"]], {}, ["b", "a", "c", "d", "é"], 1),  # <unk>:form counts as <unk>
        ([], {"min_count": 1}, ["b", "a", "c", "d", "é"], 0),
        ([["<unk>"]], {"min_count": 3}, ["b"], 7),
        ([], {"size": 4}, ["b", "a"], 4),
        ([], {"size": 100}, ["b", "a", "c", "d", "é"], 0),  # a size admits rare words
        ([], {"size": 100, "min_count": 2}, ["b", "a", "c"], 2),
    ],
)
def test_the_words_follow_the_rule_of_unk_or_size_and_count(
    extra: list[list[str]], options: dict[str, int], words: list[str], n_unk: int
) -> None:
    inventory = inventory_of(PLAIN + extra, **options)  # type: ignore[arg-type]  # they are ints
    assert list(inventory.words[2:]) == words
    assert inventory.counts[UNK] == n_unk
    assert sum(inventory.counts) == sum(len(words) + 1 for words in PLAIN + extra)


def test_a_text_that_was_counted_before_gives_the_same_inventory() -> None:
    assert inventory_of(count_text(PLAIN)) == inventory_of(PLAIN)


def test_rare_characters_are_read_as_the_unknown_one() -> None:
    inventory = inventory_of([["aab", "é", "<unk>"], ["cb", "cb"]], min_char_count=3)
    assert inventory.characters == ("b",)  # 3; a and c come twice, é once
    assert inventory.n_characters == 6 + 1
    b = 6
    assert inventory.spelling("abé") == [WORD_START, UNKNOWN_LETTER, b, UNKNOWN_LETTER, WORD_END]


def test_the_letters_of_unk_and_of_spelled_unk_do_not_count_as_characters() -> None:
    inventory = inventory_of([["ab", "ba", "<unk>", "<unk>:xx", "<unk>:yy"]])
    assert inventory.characters == ("a", "b")


@pytest.mark.parametrize(
    ("form", "letters"),
    [
        ("<unk>", [UNK_LETTER]),
        ("</s>", [END_LETTER]),
        ("a", [6]),
        ("ba", [7, 6]),
        ("", []),
        ("aabb", [6, 6, 7]),  # cut at 3 characters
    ],
)
def test_a_form_is_spelled_between_start_and_end(form: str, letters: list[int]) -> None:
    inventory = inventory_of([["a", "a", "a", "b", "b"]], max_word_length=3)
    assert inventory.spelling(form) == [WORD_START, *letters, WORD_END]


@pytest.mark.parametrize(
    ("token", "is_one"),
    [("<unk>:form", True), ("<unk>:", False), ("<unk>", False), ("x<unk>:a", False)],
)
def test_a_spelled_unk_needs_a_form(token: str, is_one: bool) -> None:
    assert is_spelled_unk(token) is is_one


@pytest.mark.parametrize(
    "other",
    [
        inventory_of(PLAIN, min_count=1),
        inventory_of(PLAIN, min_char_count=1),
        inventory_of(PLAIN, max_word_length=64),
        inventory_of(PLAIN, normalisation=Normalisation(lower=True)),
    ],
)
def test_the_hash_tells_apart_what_gives_ids_another_meaning(other: Inventory) -> None:
    assert other.sha256 != inventory_of(PLAIN).sha256


def test_counts_have_a_hash_of_their_own_and_are_not_in_the_vocabularys() -> None:
    inventory = replace(inventory_of(PLAIN), counts=(4, 1, 3, 2, 2))
    other = replace(inventory, counts=(4, 1, 2, 2, 3))
    assert other.sha256 == inventory.sha256
    assert inventory.counts_sha256 == hashlib.sha256(b"[4, 1, 3, 2, 2]").hexdigest()
    assert other.counts_sha256 != inventory.counts_sha256


@pytest.mark.parametrize(("n_words", "n_unk", "n_told"), [(2000, 1, 1), (2000, 10, 0), (50, 1, 0)])
def test_a_stray_unk_is_told_where_it_makes_rare_words_known(
    n_words: int, n_unk: int, n_told: int
) -> None:
    text = [["the"] * n_words, ["once"], ["<unk>"] * n_unk]
    assert len(inventory_of(text).signs) == n_told
    assert not inventory_of(text, min_count=2).signs  # this makes the rare word <unk>


def test_few_unknown_words_are_told_as_they_are_where_the_text_has_no_unk() -> None:
    (sign,) = inventory_of([["the"] * 3000, ["once"], ["twice"], ["thrice"]], size=4).signs
    assert sign.startswith("<unk> is 2 of 3007 tokens of train.txt, and words that stand once are ")
    assert "choose fewer words" in sign


def test_the_share_of_words_that_are_phrases_is_of_words_alone() -> None:
    phrase = "วันนี้อากาศดีมากเราไปเดินเล่นกันเถอะ"
    text = [*([[phrase, "ดี"]] * 3), *([[word] for word in "abcdef"])]
    (sign,) = inventory_of(text).signs  # nine </s> and six <unk> do not count as words
    assert sign.startswith("50% of the words are whole phrases")


def test_without_morphs_hash_and_file_are_those_of_format_1(tmp_path: Path) -> None:
    inventory = inventory_of(PLAIN)
    rules = {"lower": False, "unicode": "NFC", "tokenise": "none", "numbers": False}
    words, characters = ["</s>", "<unk>", "b", "a", "c"], ["b", "a", "c"]
    hashed = json.dumps([words, characters, 65, rules]).encode()
    assert inventory.sha256 == hashlib.sha256(hashed).hexdigest()
    inventory.save(tmp_path / "vocab.json")
    assert json.loads((tmp_path / "vocab.json").read_text()) == {
        "format": 1,
        "max_word_length": 65,
        "normalisation": rules,
        "characters": characters,
        "words": words,
        "counts": [3, 2, 3, 2, 2],
    }


MORPHS = MorphModel(("ab", "a"), (1.5, 2.0), {"b": ("a", "b"), "a": ("a",), "c": ("ab",)})


@pytest.mark.parametrize(("morphs", "number"), [(None, 1), (MORPHS, 2)])
def test_an_inventory_comes_back_from_its_file_as_it_was(
    morphs: MorphModel | None, number: int, tmp_path: Path
) -> None:
    inventory = inventory_of(PLAIN, max_word_length=9, normalisation=Normalisation(lower=True))
    inventory = replace(inventory, morphs=morphs)
    inventory.save(tmp_path / "vocab.json")
    assert json.loads((tmp_path / "vocab.json").read_text())["format"] == number
    loaded = load_inventory(tmp_path / "vocab.json")
    assert loaded == inventory
    assert loaded.sha256 == inventory.sha256


@pytest.mark.parametrize(
    "other",
    [
        None,
        replace(MORPHS, morphs=("a", "ab")),
        replace(MORPHS, costs=(1.5, 2.5)),
        replace(MORPHS, segmentations={**MORPHS.segmentations, "b": ("ab",)}),
    ],
)
def test_the_hash_tells_apart_vocabularies_of_other_morphs(other: MorphModel | None) -> None:
    plain = inventory_of(PLAIN)
    assert replace(plain, morphs=other).sha256 != replace(plain, morphs=MORPHS).sha256


def test_morphs_of_a_form_are_read_as_far_as_its_spelling_but_for_words() -> None:
    morphs = MorphModel(("ab", "a", "c"), (1.0, 1.0, 1.0), {"aabbc": ("ab", "c")})
    inventory = inventory_of([["aabbc"] * 2], max_word_length=2)
    inventory = replace(inventory, morphs=morphs)
    assert inventory.morph_ids("aabbc") == [3, 5]
    assert inventory.morph_ids("aaccc") == [4]
    assert inventory.morph_ids("<unk>") == [1]
    assert inventory.morph_ids("</s>") == [2]
    cut = {form: inventory.segment(form) for form in ("aabbc", "aaccc", "<unk>", "</s>")}
    assert list(cut.values()) == [("ab", "c"), ("a", "a"), ("<unk>",), ("</s>",)]
    assert inventory_of(PLAIN).morph_ids("a") == []
    assert inventory_of(PLAIN).segment("a") == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"size": 2},
            "size: found 2; expected 3 or more (</s> and <unk> count), or 0 for no limit",
        ),
        (
            {"size": -1},
            "size: found -1; expected 3 or more (</s> and <unk> count), or 0 for no limit",
        ),
        (
            {"min_count": 5},
            "min_count: found 5; expected 3 or less, since no word of the text occurs more often",
        ),
    ],
)
def test_a_number_that_makes_no_vocabulary_is_refused(
    options: dict[str, int], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        inventory_of(PLAIN, **options)  # type: ignore[arg-type]  # they are ints
    assert str(caught.value) == message


@pytest.mark.parametrize("sentences", [[], [[], []]])
def test_a_text_without_a_word_is_refused(sentences: list[list[str]]) -> None:
    with pytest.raises(DataError) as caught:
        inventory_of(sentences)
    assert str(caught.value) == (
        "train.txt: no word in it; expected text, one sentence a line, words between blanks"
    )


def write(path: Path, **changes: Any) -> Path:
    """A vocabulary's file with some keys changed."""
    inventory_of(PLAIN).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "1"}, "not a vocabulary; expected what `charlm vocab` writes"),
        ({"format": True}, "not a vocabulary; expected what `charlm vocab` writes"),
        (
            {"format": 3},
            "format 3; this charlm reads formats 1 and 2; use the charlm that wrote it, or a newer "
            "one",
        ),
        ({"words": "ab"}, "words: found 'ab'; expected a list of words"),
        ({"words": ["</s>", "<unk>", ""]}, "words: found ''; expected a list of words"),
        ({"words": ["</s>", "<unk>", "a", "a"]}, "words: found 'a' twice; expected each once"),
        ({"words": ["</s>"]}, "5 counts for 1 words; expected as many"),
        ({"words": list("abcde")}, "words begin with 'a b'; expected </s> <unk>"),
        *(
            (
                {"words": ["</s>", "<unk>", "a", "b", word]},
                f"words: found {word!r}; expected such as stand in a text, without blanks, none of "
                "them <s>",
            )
            for word in ("<s>", "x y", "x\ty", "x\ny")
        ),
        ({"counts": [1, 2, 3, 4, -1]}, "counts: found -1; expected a list of whole numbers"),
        ({"counts": [1, 2, 3, 4, True]}, "counts: found True; expected a list of whole numbers"),
        ({"counts": 3}, "counts: found 3; expected a list of whole numbers"),
        (
            {"counts": [0, 0, 0, 0, 10**400]},
            f"counts: found 1{'0' * 56}... tokens; expected 1e+15 or fewer",
        ),
        ({"characters": ["ab"]}, "characters: found 'ab'; expected one code point each"),
        ({"format": 2}, "morphs: found None; expected an object, as `charlm vocab` writes"),
        ({"characters": [1]}, "characters: found 1; expected a list of characters"),
        ({"max_word_length": 10**9}, "max_word_length 1000000000; expected 1 to 10000"),
        ({"max_word_length": None}, "max_word_length None; expected 1 to 10000"),
        (
            {"normalisation": []},
            "found list; expected the keys lower, unicode, tokenise, numbers",
        ),
    ],
)
def test_a_file_that_is_no_vocabulary_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = write(tmp_path / "vocab.json", **changes)
    with pytest.raises(DataError) as caught:
        load_inventory(path)
    assert str(caught.value) == f"{path}: {message}"


@pytest.mark.parametrize(
    "content", ["[]", '{"format": 1, "settings": {}}'], ids=["list", "run.json"]
)
def test_other_json_is_no_vocabulary(content: str, tmp_path: Path) -> None:
    path = tmp_path / "vocab.json"
    path.write_text(content)
    with pytest.raises(DataError, match="not a vocabulary; expected what `charlm vocab` writes"):
        load_inventory(path)


def test_a_missing_vocabulary_is_told_with_what_was_expected(tmp_path: Path) -> None:
    for path, found in ((tmp_path / "v.json", "no such file"), (tmp_path, "is a folder")):
        with pytest.raises(DataError) as caught:
            load_inventory(path)
        assert str(caught.value) == f"{path}: {found}; expected what `charlm vocab` writes"


def test_a_vocabulary_is_found_in_a_file_and_in_a_run(tmp_path: Path) -> None:
    inventory = inventory_of([["a", "b", "a", "b"]])
    inventory.save(tmp_path / "vocab.json")
    assert vocabulary_at(tmp_path) == vocabulary_at(tmp_path / "vocab.json") == inventory
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        DataError, match=r"empty: no vocab.json in it; expected a vocabulary's file"
    ):
        vocabulary_at(tmp_path / "empty")
    with pytest.raises(
        DataError, match="^standard input: expected the name of what `charlm vocab`"
    ):
        vocabulary_at("-")
