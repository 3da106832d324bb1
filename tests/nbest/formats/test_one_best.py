"""Best hypotheses alone, as compute-wer and sclite take them."""

from pathlib import Path

import pytest

import charlm
from charlm.errors import DataError
from charlm.nbest.formats.one_best import KaldiTextFormat, TrnFormat

KALDI = "\ufeffutt1 we know\nutt2\n\n  utt3\tit  is {laugh}\r\n;; <s> yes </s>"
TRN = ";; utt0 (utt0)\nwe (do) know (utt1)\n(utt2)\n\n ** it  is( utt3 )\t\r\n<s> yes </s> (())"


def test_kaldis_text_has_the_id_first(read, write) -> None:
    found = read(KaldiTextFormat(), KALDI)
    assert [(each.id, *(h.words for h in each.hypotheses)) for each in found] == [
        ("utt1", ("we", "know")),
        ("utt2", ()),
        ("utt3", ("it", "is", "{laugh}")),
        (";;", ("yes",)),
    ]
    assert write(KaldiTextFormat(), found) == KALDI


def test_sclites_trn_has_the_id_last_and_comments(read, write) -> None:
    found = read(TrnFormat(), TRN.replace("(())", "(a b)"))
    assert [(each.id, *(h.words for h in each.hypotheses)) for each in found] == [
        ("utt1", ("we", "(do)", "know")),
        ("utt2", ()),
        ("utt3", ("**", "it", "is")),
        ("a b", ("yes",)),
    ]
    assert write(TrnFormat(), found) == TRN.replace("(())", "(a b)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("we know (u1)\nyes\n", "a.list:2: 'yes'; expected text (utt)"),
        ("we know (u1)\nyes ()\n", "a.list:2: 'yes ()'; expected text (utt)"),
        ("we know (u1\n", "a.list:1: 'we know (u1'; expected text (utt)"),
        (
            "we { um / uh } know (u1)\n",
            "a.list:1: 'we { um / uh } know'; expected one text, and no",
        ),
        ("a </s> b (u1)\n", "a.list:1: found </s> within a line"),
        (
            "a (u1)\nb (u2)\nc (u1)\n",
            "a.list:3: found the id 'u1' again; expected one line for each id; --format rnnlm take",
        ),
        (";; a (u1)\n", "a.list: found no hypothesis"),
    ],
)
def test_what_is_no_best_hypothesis_is_refused(text: str, message: str, read) -> None:
    with pytest.raises(DataError) as caught:
        read(TrnFormat(), text)
    assert str(caught.value).startswith(message)


def test_an_id_of_kaldis_has_one_line(read) -> None:
    with pytest.raises(DataError, match=r"^a\.list:2: found the id 'u1' again; expected one line"):
        read(KaldiTextFormat(), "u1 a\nu1 b\n")


@pytest.mark.parametrize(("layout", "said"), [("kaldi", "kaldi-text"), ("trn", "auto")])
def test_what_is_written_for_the_tools_is_read_again_and_measured(
    layout: str, said: str, tmp_path: Path
) -> None:
    lists, hyps, again = (tmp_path / name for name in ("lists.tsv", "hyps", "again"))
    lists.write_text("u1\twe do know\nu2\t\nu3\t;; no yes\n")
    charlm.score(lists, write=layout, out=hyps)
    refs = tmp_path / "refs"
    refs.write_text("u1 we know\nu2 so\nu3 ;; no yes\n")
    result = charlm.score(hyps, format=said, refs=refs, write=layout, out=again)
    assert again.read_bytes() == hyps.read_bytes()
    assert result.report is not None
    first = result.report.first
    assert (first.insertions, first.deletions, first.substitutions) == (1, 1, 0)
    # The same file as references, of itself.
    same = charlm.score(hyps, format=said, refs=hyps, write="none")
    assert same.report is not None
    assert same.report.first.error == 0


def test_scores_are_a_log10_a_line(tmp_path: Path, scorer: charlm.FunctionScorer) -> None:
    hyps, out = tmp_path / "hyps", tmp_path / "scores"
    hyps.write_text("u1 we know\n\nu2\n")
    charlm.score(hyps, format="kaldi-text", scorer=scorer, out=out)
    assert out.read_text() == "-3.000000\n-1.000000\n"


@pytest.fixture
def scorer() -> charlm.FunctionScorer:
    """ln 0.1 for each word and for the end."""
    return charlm.FunctionScorer(lambda texts: [[-2.302585093] * (len(t) + 1) for t in texts])
