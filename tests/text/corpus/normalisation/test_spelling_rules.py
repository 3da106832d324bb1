"""Which options are advised: those that make unknown words known and leave known ones alone."""

from collections import Counter
from collections.abc import Set

import pytest

from charlm.text.corpus.normalisation.spelling_rules import options_advised

TOKENISED = frozenset(
    ("the", "cat", "do", "n't", "it", "'s", "N", "well", "known", "sat", ".", ",")
)
SPOKEN = TOKENISED - {".", ","}


@pytest.mark.parametrize(
    ("text", "vocabulary", "advice"),
    [
        ("The Cat", TOKENISED, "--lower: The > the, Cat > cat"),
        ("The sat.", TOKENISED, "--lower --tokenise simple: The > the, sat. > sat ."),
        ("The sat. .", SPOKEN, "--lower --punctuation drop: sat. > sat, The > the"),
        ("well-known", SPOKEN, "--split-hyphens: well-known > well known"),
        ("don't", SPOKEN, "--map FILE with `*n't TAB * n't`, `*'s TAB * 's` and so on: don't > d"),
        ("cat’s", {"cat's"}, "--map FILE with `*’s TAB *'s` and so on: cat’s > cat's"),
        ("Cat’s", {"cat's"}, "--lower --map FILE with `*’s TAB *'s` and so on: Cat’s > cat's"),
        ("cat’s", {"cat's", "dog’s"}, ""),  # both are words
        ("don’t", SPOKEN, "--map FILE with `*n’t TAB * n't`, `*’s TAB * 's` and so on: don’t > d"),
        (
            "don’t don't",
            SPOKEN,
            "--map FILE with `*n’t TAB * n't`, `*’s TAB * 's`, `*n't TAB * n't`, `*'s TAB * 's` "
            "and so on: don’t > do n't, don't > do n't",
        ),
        (  # one file of rules cannot do both
            "it’s sat’s o’clock",
            SPOKEN | {"o'clock"},
            "--map FILE with `*n’t TAB * n't`, `*’s TAB * 's` and so on: it’s > it 's, sat’s > ",
        ),
        ("12", SPOKEN, "--numbers: 12 > N"),
        ("12", TOKENISED | {"11"}, ""),  # other numbers are words
        ("The", TOKENISED | {"Cat"}, ""),  # and so are capitals
        ("well-known", TOKENISED | {"sat-nav"}, ""),
        ("zebra zebras", TOKENISED, ""),
        ("The Zebra Zebras", TOKENISED, ""),  # one word of three
        ("The Cat Sat Zebra Zebras Apes Apes", TOKENISED, "--lower: The > the, Cat > cat, Sat > "),
        ("<unk> The", TOKENISED, "--lower: The > the"),
        ("The", frozenset(), ""),  # of a KenLM binary
        ("", TOKENISED, ""),
    ],
)
def test_options_are_advised_that_suit_the_vocabulary(
    text: str, vocabulary: Set[str], advice: str
) -> None:
    unknown = Counter(word for word in text.split() if word not in vocabulary)
    told = options_advised(unknown, vocabulary)
    assert told.partition("known by ")[2].startswith(advice)
    assert bool(told) == bool(advice)


def test_few_of_many_unknown_words_are_chance() -> None:
    few = Counter({"The": 1, "Cat": 1, "Sat": 1, **{f"zebra{n}": 1 for n in range(10)}})
    assert options_advised(few, TOKENISED) == ""
    del few["zebra0"]
    assert options_advised(few, TOKENISED).startswith("25% of the unknown words would be known by")


def test_of_very_many_unknown_words_the_frequent_are_looked_at() -> None:
    many = Counter({"The": 9000} | {f"Zebra{n}": 1 for n in range(4000)})
    told = options_advised(many, TOKENISED)
    assert told == "at least 69% of the unknown words would be known by --lower: The > the"


def test_the_share_is_that_of_the_tokens() -> None:
    told = options_advised(Counter({"The": 3, "zebra": 1}), TOKENISED)
    assert told == "75% of the unknown words would be known by --lower: The > the"


def test_known_words_that_an_option_would_lose_are_told() -> None:
    words = {**dict.fromkeys(f"word{n}" for n in range(20)), "mr.": None, "cat": None}
    told = options_advised(Counter({"cat,": 3}), words)
    assert told == (
        "100% of the unknown words would be known by --punctuation drop: cat, > cat; "
        "known words, as mr., would be lost"
    )
