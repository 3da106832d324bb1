"""Which rule would make which unknown words known, in texts, lists and references."""

import io
import sys
from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.nbest.references.unknown_words import unknown_words
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.normalisation.spelling_rules import RULES, Remedy, explained
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of

WORDS = (
    "the cat don't well-known café N нет , . armor bearer naïve ends ışık iyi كتاب ספר בית תל־אביב "
    "пʼять oʻzbek ești دیگر"
)


@pytest.fixture
def inventory() -> Inventory:
    return inventory_of([WORDS.split()] * 2, normalisation=Normalisation(unicode="none"))


def rules(inventory: Inventory, text: str, path: Path) -> dict[str, tuple[tuple[str, str], ...]]:
    path.write_text(text)
    return {each.rule: each.examples for each in unknown_words(inventory, [path]).remedies}


@pytest.mark.parametrize(
    ("word", "rule", "known"),
    [
        ("The", "case", "the"),
        ("IŞIK", "dotless i", "ışık"),
        ("İYİ", "dotless i", "iyi"),
        ("cafe\u0301", "Unicode form", "café"),
        ("don\u2019t", "apostrophes", "don't"),
        ("don\u02bct", "apostrophes", "don't"),
        ("п'ять", "apostrophes", "п\u02bcять"),
        ("o\u2018zbek", "apostrophes", "o\u02bbzbek"),
        ("well\u2010known", "hyphens", "well-known"),
        ("תל-אביב", "hyphens", "תל\u05beאביב"),
        ("1,000", "numbers", "N"),
        ("na\xadïve", "unseen characters", "naïve"),
        ("don't\x01", "unseen characters", "don't"),
        ("cafÃ©", "encoding", "café"),
        ("كِتَـابٌ", "vowel points", "كتاب"),
        ("סֵפֶר", "vowel points", "ספר"),
        ("нeт", "look-alike letters", "нет"),
        ("e\u015fti", "characters of a letter", "e\u0219ti"),
        ("د\u064aگر", "characters of a letter", "د\u06ccگر"),
        ("cat,", "punctuation", "cat ,"),
        ("armor-bearer", "compounds", "armor bearer"),
        ("בית\u05beספר", "compounds", "בית ספר"),
        ("Don\u2019t", "case + apostrophes", "don't"),
        ("1,000,", "punctuation + numbers", "N ,"),
        ("CAFÃ‰", "encoding + case", "café"),
        ("19\u201020", "hyphens + numbers", "N"),
    ],
)
def test_a_rule_makes_a_word_known(
    inventory: Inventory, tmp_path: Path, word: str, rule: str, known: str
) -> None:
    assert rules(inventory, f"the cat {word}\n", tmp_path / "t") == {rule: ((word, known),)}


def test_what_no_rule_makes_known_is_told_with_its_count(
    inventory: Inventory, tmp_path: Path
) -> None:
    (tmp_path / "t").write_text("the zzz zzz yyy <unk>\n")
    found = unknown_words(inventory, [tmp_path / "t"])
    assert found.remedies == ()
    assert found.unexplained == (("zzz", 2), ("yyy", 1))
    assert (found.n_tokens, found.n_unknown, found.n_unknown_types) == (4, 3, 2)


def test_a_rule_is_advised_for_a_habit_and_not_for_chance(
    inventory: Inventory, tmp_path: Path
) -> None:
    (tmp_path / "few").write_text("The Cat\n" + "zzz " * 9)
    (tmp_path / "many").write_text("The Cat Café\n" + "zzz " * 9)
    (tmp_path / "split").write_text("armor-ends cat-bearer the-cat\n")
    (tmp_path / "both").write_text("Armor-Ends Cat-Bearer The-Cat\n")
    advised = [
        [each.is_advised for each in unknown_words(inventory, [tmp_path / name]).remedies]
        for name in ("few", "many", "split", "both")
    ]
    assert advised == [[False], [True], [False], [False]]


@pytest.mark.parametrize(
    ("rule", "n_types", "share", "is_advised"),
    [("case", 3, 0.05, True), ("case", 3, 0.049, False), ("case", 2, 0.9, False)]
    + [("hyphens", 3, 0.001, True)],
)
def test_a_twentieth_of_the_unknown_words_is_a_habit_and_another_hyphen_always(
    rule: str, n_types: int, share: float, is_advised: bool
) -> None:
    assert Remedy(rule, "--so", 5, n_types, share, ()).is_advised is is_advised


@pytest.mark.parametrize(
    "text",
    [
        "utt1\tthe The\nutt2\tcat Cat\n",  # references
        "utt1 the The\nutt2 cat Cat\n",
        "0 ||| the The ||| lm= -1 ||| -1\n0 ||| cat Cat ||| lm= -2 ||| -2\n",  # Moses
        "u-1 [noise] the The\nu-2 <UNK> cat Cat -pau-\n",  # Kaldi, with what no model reads
        "u\n0 1 the 1,2\n0 1 The\n1 2 cat\n1 2 Cat\n1 2 <eps>\n1 2 [noise]\n2 1,0\n\n",  # lattices
        "VERSION=1.0\nN=2 L=4\nI=0\nI=1\n"
        + "".join(f"J={i} S=0 E=1 W={w}\n" for i, w in enumerate(["the", "The", "cat", "Cat"])),
        "1 the The\n1 cat Cat\n",  # the RNNLM toolkit
        '{"id": "u", "hyps": [{"text": "the The"}, {"text": "cat Cat"}]}\n',
        '{"id": "u", "hyps": [{"text": "the The"}], "ref": "cat Cat"}\n',
        'id,ref\nutt1,"the The"\nutt2,cat Cat\n',
        "id\tref\tspeaker\nutt1\tthe The\tann\nutt2\tcat Cat\tbob\n",
        ";; of the hall\nthe The (spk-utt1)\ncat Cat (spk-utt2)\n",
        "utt1 A ann 0.0 1.5 <o> the The\nutt2 A ann 1.5 2 <o> cat Cat\n"
        "utt3 A ann 2 3 <o> IGNORE_TIME_SEGMENT_IN_SCORING\n",
        '{"id": "utt1", "ref": "the The"}\n{"id": "utt2", "ref": "cat Cat"}\n',
        "the The\ncat Cat\n",
        "<s> the The </s>\n<s> cat Cat </s>\n",
        '{"id": "utt1", "ref": "<s> the The </s>"}\n{"id": "utt2", "ref": "cat Cat"}\n',
    ],
)
def test_lists_and_references_are_read_as_what_they_are(
    inventory: Inventory, tmp_path: Path, text: str
) -> None:
    (tmp_path / "t").write_text(text)
    found = unknown_words(inventory, [tmp_path / "t"])
    assert (found.n_tokens, found.n_unknown) == (4, 2)


def test_noise_is_known_in_the_case_of_the_vocabulary(tmp_path: Path) -> None:
    inventory = inventory_of([["a", "[laugh]"]] * 2, normalisation=Normalisation(lower=True))
    (tmp_path / "t").write_text('{"id": "u", "hyps": [{"text": "A [LAUGH] [COUGH]"}]}\n')
    found = unknown_words(inventory, [tmp_path / "t"])
    assert (found.n_tokens, found.n_unknown) == (2, 0)


def test_a_mark_within_a_line_is_refused_as_elsewhere(inventory: Inventory, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("the cat\nthe <s> cat\n")
    with pytest.raises(DataError, match="t:2: found <s> within a line; expected one sentence a li"):
        unknown_words(inventory, [tmp_path / "t"])


def test_a_table_below_a_comment_is_no_text(inventory: Inventory, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("# made today\nid;am;text\nu;-1;the cat\n")
    with pytest.raises(DataError, match=r"t: looks like CSV \(begins 'id;am;text'\)"):
        unknown_words(inventory, [tmp_path / "t"])


def test_references_that_go_on_as_something_else_are_refused(
    inventory: Inventory, tmp_path: Path
) -> None:
    line = "utt1 A ann 0.0 1.5 <o> the The\n"
    (tmp_path / "t").write_text(line * 3000 + "cat Cat\n")  # beyond what the detection reads
    with pytest.raises(DataError, match="t: begins as stm and goes on as something else; expect"):
        unknown_words(inventory, [tmp_path / "t"])
    (tmp_path / "t").write_text("{ the The }\n")  # no JSON
    assert unknown_words(inventory, [tmp_path / "t"]).n_tokens == 4


def test_a_table_is_told_which_names_its_columns_want(inventory: Inventory, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("item,cond,sentence\n1,a,the cat\n1,b,the Cat\n")
    with pytest.raises(DataError, match="quotes, or call its columns id and ref in a first line$"):
        unknown_words(inventory, [tmp_path / "t"])


def test_all_of_standard_input_is_read(
    inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"the The\n" * 20_000  # more than the detection reads
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
    found = unknown_words(inventory, ["-"])
    assert (found.n_tokens, found.n_unknown) == (40_000, 20_000)


def test_a_phrase_is_no_remedy_unless_all_its_words_are_known(
    inventory: Inventory, tmp_path: Path
) -> None:
    assert rules(inventory, "the cat cat-zzz zzz,\n", tmp_path / "t") == {}


def test_the_rule_that_makes_most_tokens_known_comes_first_and_a_spelled_unk_is_its_form() -> None:
    unknown = [("The", 3), ("1,000", 2), ("2,000", 2), ("<unk>:Cat", 1), ("zzz", 1)]
    known = {"the", "cat", "N"}.__contains__
    remedies, left = explained(unknown, known, rules=RULES, n_unknown=10)
    assert [(each.rule, each.n_tokens, each.n_types, each.share) for each in remedies] == [
        ("case", 4, 2, 0.4),
        ("numbers", 4, 2, 0.4),
    ]
    assert remedies[0].examples == (("The", "the"), ("<unk>:Cat", "cat"))
    assert left == [("zzz", 1)]
    more = [("The", 3), *((f"{n},000", 2) for n in range(1, 4))]
    found, _ = explained(more, known, rules=RULES, n_unknown=9)
    assert [each.rule for each in found] == ["numbers", "case"]


@pytest.mark.parametrize(("unicode", "kinds"), [("none", ["not in NFC"]), ("NFD", [])])
def test_the_unicode_form_of_the_vocabulary_is_not_odd(
    tmp_path: Path, unicode: str, kinds: list[str]
) -> None:
    words = inventory_of([["cafe\u0301"]] * 2, normalisation=Normalisation(unicode=unicode))
    (tmp_path / "t").write_text("cafe\u0301\n")
    assert [each.kind for each in unknown_words(words, [tmp_path / "t"]).oddities] == kinds


def test_ligatures_want_another_form_than_the_one_prep_takes_by_itself(tmp_path: Path) -> None:
    inventory = inventory_of([["find", "fish", "office"]] * 2, normalisation=Normalisation())
    (tmp_path / "t").write_text("\ufb01nd \ufb01sh o\ufb03ce\n")
    (remedy,) = unknown_words(inventory, [tmp_path / "t"]).remedies
    assert (remedy.n_types, remedy.is_advised) == (3, True)
    assert remedy.advice == "prep --unicode NFKC, for both texts"


def test_a_wrong_encoding_is_recognised_after_lower_casing(tmp_path: Path) -> None:
    inventory = inventory_of([["café"]] * 2, normalisation=Normalisation(lower=True))
    found = rules(inventory, "CafÃ©\n", tmp_path / "t")
    assert found == {"encoding": (("cafã©", "café"),)}


def test_a_text_of_blank_lines_is_not_said_to_lack_lists_alone(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n \n")
    with pytest.raises(DataError, match="text: found nothing in it; expected text, lists, lattice"):
        unknown_words(inventory_of([["a"]]), [tmp_path / "text"])
