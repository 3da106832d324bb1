"""Written words and their tokens: every word has its row, and every token one word."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from charlm.errors import DataError
from charlm.scoring.evaluation.surprisal.written_words import WordSplitter
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.io.lines import split_words

CUTTING = Normalisation(lower=True, unicode="NFKC", tokenise="simple", numbers=True)
ODD = [
    *("missing.", "...", "U.S.", "don't", "\u0301", "e\u0301"),
    *("\u00a0", "\ufeff", "\u200b", "👩\u200d🔬"),
    *("<unk>", "<unk>:x", "a\u00a0b", "\u00b4", "\r", "3.14", "(", "日本", "\u3000", "--", '"'),
]
lines = st.lists(st.sampled_from(ODD) | st.text(max_size=4), max_size=6).map(" ".join)
lines = lines.filter(lambda line: not {"<s>", "</s>"} & set(CUTTING(line).split()))


@settings(max_examples=150)
@given(line=lines.map(lambda line: line.replace("\n", "").replace("\0", "")))
@pytest.mark.parametrize("rules", [None, Normalisation(), CUTTING])
def test_words_are_those_written_and_tokens_those_of_the_line(
    rules: Normalisation | None, line: str
) -> None:
    found = WordSplitter(rules)(line)
    assert list(found.words) == split_words(line)
    assert list(found.tokens) == split_words(line if rules is None else rules(line))
    spans = found.spans()
    assert len(spans) == len(found.words)
    assert [k for first, last in spans for k in range(first, last)] == list(
        range(len(found.tokens))
    )


def test_a_full_stop_belongs_to_the_word_that_it_was_written_with() -> None:
    found = WordSplitter(CUTTING)("The cat (a big one) is missing.")
    parts = [found.tokens[first:last] for first, last in found.spans()]
    assert parts[-1] == ("missing", ".")
    assert parts[2:5] == [("(", "a"), ("big",), ("one", ")")]


@pytest.mark.parametrize(
    ("phrase", "read", "tokens"),
    [
        ("you know that", "", [(), (), ()]),
        ("you know that", "yes", [("yes",), (), ()]),
        ("you know that", "do you know that now", [("do",), ("you",), ("know", "that", "now")]),
    ],
)
def test_words_beside_a_phrase_that_is_read_otherwise_keep_their_tokens(
    phrase: str, read: str, tokens: list[tuple[str, ...]]
) -> None:
    found = WordSplitter(Normalisation(map=((phrase, read),)))(f"so {phrase} is {phrase}")
    parts = [found.tokens[first:last] for first, last in found.spans()]
    assert parts == [("so",), *tokens, ("is",), *tokens]


def test_a_long_line_is_not_read_again_for_each_of_its_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n_read = 0
    plain = Normalisation.__call__

    def counting(rules: Normalisation, line: str) -> str:
        nonlocal n_read
        n_read += len(split_words(line))
        return plain(rules, line)

    monkeypatch.setattr(Normalisation, "__call__", counting)
    splitter = WordSplitter(Normalisation(map=(("new york city", "nyc"),)))
    found = splitter(" ".join(["in new york city"] * 300))
    assert found.ends == tuple(n for k in range(0, 600, 2) for n in (k + 1, k + 2, k + 2, k + 2))
    assert n_read < 100 * len(found.words)


def test_marks_at_the_ends_have_rows_and_no_tokens() -> None:
    found = WordSplitter(CUTTING)("<s> A b. </s>")
    assert found.tokens == ("a", "b", ".")
    assert found.spans() == [(0, 0), (0, 1), (1, 3), (3, 3)]


def test_a_mark_within_is_refused() -> None:
    with pytest.raises(DataError, match=r"x:3: found </s> within a line"):
        WordSplitter(None)("a </s> b", where="x:3")
