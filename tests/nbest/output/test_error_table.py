"""The table of errors: rows by hand, and the sums of random ones against the rates."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.metrics.error_rates import CharacterErrorRate, ErrorRate, WordErrorRate
from charlm.nbest.metrics.rates_report import report
from charlm.nbest.output.error_table import write_errors
from charlm.nbest.reading.recordings import recording_by
from charlm.nbest.references.references import References

WORDS = ["a", "b", "ab", "é", '"', "\u00a0"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=5).map(tuple)


def table(
    lists: list[Rescored], references: References, metric: ErrorRate
) -> list[tuple[str, ...]]:
    recording_of = recording_by()
    pieces = write_errors(lists, references, tokens=metric.tokens, recording_of=recording_of)
    rows = csv.reader(io.StringIO("".join(piece.text for piece in pieces)), delimiter="\t")
    return [*map(tuple, rows)]


def one(
    id: str, *texts: tuple[str, ...], recording: str = "", order: tuple[int, ...] = ()
) -> Rescored:
    hypotheses = tuple(Hypothesis(words, {}, "x:1") for words in texts)
    return Rescored(NbestList(id, hypotheses, recording=recording), order=order)


def test_texts_are_aligned_word_by_word() -> None:
    lists = [
        one("s-1", ("no",), ("The", "hat", "it"), order=(1, 0)),
        one("s-2", ("oh", "so", "it")),
        one("alone", ()),
        one("s-3", (), recording="tape"),
    ]
    said = {"s-1": ("the", "hat", "it", "is"), "s-2": ("so", "it"), "alone": (), "s-3": ("a",)}
    assert table(lists, said, WordErrorRate()) == [
        ("id", "recording", "tokens", "correct", "sub", "del", "ins", "ref", "hyp"),
        ("s-1", "s", "4", "2", "1", "1", "0", "the hat it is", "The hat it ***"),
        ("s-2", "s", "2", "2", "0", "0", "1", "*** so it", "oh so it"),
        ("alone", "alone", "0", "0", "0", "0", "0", "", ""),
        ("s-3", "tape", "1", "0", "0", "1", "0", "a", "***"),
    ]


def test_characters_are_aligned_with_the_blanks_between_words() -> None:
    (_, row) = table([one("u", ("a", "cd"))], {"u": ("ab", "c")}, CharacterErrorRate())
    assert row[2:] == ("4", "3", "0", "1", "1", "a b <space> c ***", "a *** <space> c d")


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5), st.sampled_from("wc"))
def test_counts_add_up_to_the_rates_and_columns_are_the_texts(
    pairs: list[tuple[tuple[str, ...], tuple[str, ...]]], kind: str
) -> None:
    metric = WordErrorRate() if kind == "w" else CharacterErrorRate()
    said = {f"r-{n}": reference for n, (reference, _) in enumerate(pairs)}
    lists = [
        one(f"r-{n}", ("z",), hypothesis, order=(1, 0)) for n, (_, hypothesis) in enumerate(pairs)
    ]
    (_, *rows) = table(lists, said, metric)
    rate = report(lists, references=said, metric=metric).rescored
    sums = [sum(int(row[column]) for row in rows) for column in (4, 5, 6, 2)]
    assert sums == [rate.substitutions, rate.deletions, rate.insertions, rate.n_tokens]
    for row, texts in zip(rows, pairs, strict=True):
        sides = [cell.split(" ") if cell else [] for cell in row[7:]]
        assert {len(side) for side in sides} == {sum(map(int, row[3:7]))}
        for side, words in zip(sides, texts, strict=True):
            tokens = [token.replace(" ", "<space>") for token in metric.tokens(" ".join(words))]
            assert [token for token in side if token != "***"] == tokens
