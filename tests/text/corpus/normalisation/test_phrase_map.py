"""Phrase rules: which of several applies, what `*` stands for, and which files are refused."""

from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.scoring.rescoring.options.score_options import ScoreOptions
from charlm.text.corpus.normalisation.phrase_map import PhraseMap, rules_of
from charlm.text.corpus.preparation.cleaning import normalisation_of
from charlm.text.corpus.preparation.prep_options import PrepOptions


@pytest.fixture
def rules_path(tmp_path: Path) -> Path:
    return tmp_path / "rules.tsv"


@pytest.mark.parametrize(
    ("words", "read"),
    [
        ("new york city", "nyc"),
        ("new york", "new-york"),
        ("a new", "a new"),
        ("can't won't n't", "ca n't wo n't n't"),
        ("uh a uh", "a"),
        ("do n't", "do n't"),
        ("it 's x", "it's x"),
        ("<unk> 's <unk>:ab 's <unk>n't <unk>:don't", "<unk> 's <unk>:ab 's <unk> n't <unk>:don't"),
    ],
)
def test_the_longest_rule_wins_and_one_without_a_star_before_one_with(
    words: str, read: str
) -> None:
    rules = (("new york", "new-york"), ("new york city", "nyc"), ("*n't", "* n't"))
    rules += (("can't", "ca n't"), ("uh", ""), ("* 's", "*'s"))
    assert " ".join(PhraseMap(rules)(words.split())) == read


@pytest.mark.parametrize("word", ["a", "u", "unk", "<unk>"])  # also what a mark contains
def test_a_mark_beside_the_word_of_the_star_is_like_any_word(word: str) -> None:
    assert PhraseMap((("<unk> *", "*"),))(["<unk>", word]) == [word]


@pytest.mark.parametrize("rule", [{"a\nb": "c"}, {"a": "b\0"}, {"\ud800": "c"}])
def test_a_rule_that_no_line_of_a_text_holds_is_refused(rule: dict[str, str]) -> None:
    with pytest.raises(DataError, match="map: found '.*; expected words, TAB"):
        rules_of(rule)


def test_a_star_stands_for_blanks_that_are_letters_of_a_word() -> None:
    assert PhraseMap((("*km", "* km"),))(["10\u00a0km", "5\u3000x"]) == [
        "10\u00a0",
        "km",
        "5\u3000x",
    ]


def test_a_file_of_rules_is_read_without_its_remarks(rules_path: Path) -> None:
    rules_path.write_text("# a remark\n\n*n't\t* n't\n#\thash\nuh\t\n")
    assert rules_of(rules_path) == (("*n't", "* n't"), ("#", "hash"), ("uh", ""))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b\n", "rules.tsv:1: found 'a b'; expected words, TAB"),
        ("a\tb\tc\n", "rules.tsv:1: found 'a"),
        ("a\tb\n\tb\n", "rules.tsv:2: found "),
        ("*a*\t*b*\n", "rules.tsv:1: found '*a*"),
        ("*\t* x\n", "expected one * on both sides or none"),
        ("a\tb*\n", "expected one * on both sides or none"),
        ("a\tb\na\tc\n", "rules.tsv:2: found a second rule for 'a'; expected one"),
        ("a\tb\nb\tc\n", "'a' becomes 'b', and that 'c' by another rule; "),
    ],
)
def test_what_is_no_rule_or_one_too_many_is_refused(
    rules_path: Path, text: str, message: str
) -> None:
    rules_path.write_text(text)
    with pytest.raises(DataError) as caught:
        rules_of(rules_path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"\u2003": "x"}, "map: found '\\u2003\\tx'; expected words, TAB"),  # it would never end
        ({"\uff0aa\uff0ab": "x"}, "expected one * on both sides or none"),
    ],
)
def test_a_rule_must_be_one_in_the_unicode_form_in_which_it_is_applied(
    rules: dict[str, str], message: str
) -> None:
    rules_of(rules)
    with pytest.raises(DataError) as caught:
        normalisation_of(PrepOptions("raw", out="out", unicode="NFKC", map=rules))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"Can't": "ca n't", "can't": "can not"}, 'map: found a second rule for "can\'t"; '),
        ({"a": "B", "b": "c"}, "map: 'a' becomes 'b', and that 'c' by another rule"),
    ],
)
def test_rules_must_not_collide_in_the_case_in_which_they_are_applied(
    rules: dict[str, str], message: str
) -> None:
    assert rules_of(rules) == tuple(rules.items())
    with pytest.raises(DataError) as caught:
        rules_of(rules, plain=str.lower)
    assert message in str(caught.value)
    with pytest.raises(DataError):
        normalisation_of(PrepOptions("raw", out="out", lower=True, map=rules))
    with pytest.raises(DataError):
        _ = ScoreOptions("lists", lower=True, map=rules).text_rules


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"": "x"}, "map: found '\\tx'; expected words, TAB"),  # would apply before every word
        ({"a": "b", "b": "c"}, "map: 'a' becomes 'b', and that 'c' by another rule"),
    ],
)
def test_rules_that_python_gives_are_checked_like_those_of_a_file(
    rules: dict[str, str], message: str
) -> None:
    with pytest.raises(DataError) as caught:
        rules_of(rules)
    assert message in str(caught.value)
