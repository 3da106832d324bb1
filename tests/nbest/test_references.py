"""References: every form gives the same, and a file of another set is never taken for plain."""

from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.references import own_references, read_references

IDS = ["utt-1", "utt-2", "utt-3"]
WANTED = {"utt-1": ("we", "know"), "utt-2": (), "utt-3": ("the\u00a0end", "(laughs)")}
FORMS = {
    "tsv": "utt-3\tthe\u00a0end (laughs)\nutt-1\twe know\nutt-2\t\n",
    "kaldi": "utt-1 we know\nutt-2\nutt-3 the\u00a0end (laughs)\n",
    "trn": "we know (utt-1)\n(utt-2)\nthe\u00a0end (laughs) (utt-3)\n",
    "jsonl": '{"id": "utt-1", "ref": "we know"}\n{"utt": "utt-2", "text": ""}\n'
    '{"utt_id": "utt-3", "reference": "the\u00a0end (laughs)"}\n',
    "plain": "we know\n\nthe\u00a0end (laughs)\n",
}


def written(folder: Path, text: str) -> Path:
    path = folder / "refs"
    path.write_text(text)
    return path


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_references(form: str, tmp_path: Path) -> None:
    found = read_references(written(tmp_path, FORMS[form]), IDS)
    assert found == WANTED
    assert list(found) == IDS


def test_numbers_as_ids_of_a_json_line_are_ids_like_others(tmp_path: Path) -> None:
    path = written(tmp_path, '{"id": 0, "ref": "a"}\n')
    assert read_references(path, ["0"]) == {"0": ("a",)}


def test_missing_and_surplus_ids_are_one_line_with_the_first_of_them(tmp_path: Path) -> None:
    text = "".join(f"u{number} a\n" for number in range(5, 20))
    with pytest.raises(DataError) as caught:
        read_references(written(tmp_path, text), [f"u{number}" for number in range(14)])
    assert str(caught.value) == (
        f"{tmp_path}/refs: no reference for 5 of 14 lists ('u0', 'u1', 'u2', …) and "
        "6 references for no list ('u14', 'u15', 'u16', …); expected the ids of the lists; "
        "--allow-missing leaves such out"
    )


def test_who_allows_missing_ones_gets_those_that_both_have(tmp_path: Path) -> None:
    path = written(tmp_path, "u1 a\nu2 b\n")
    assert read_references(path, ["u2", "u3"], allow_missing=True) == {"u2": ("b",)}


@pytest.mark.parametrize("form", ["tsv", "kaldi", "trn"])
def test_a_file_with_the_ids_of_another_set_is_not_taken_for_plain(
    form: str, tmp_path: Path
) -> None:
    path = written(tmp_path, FORMS[form])
    with pytest.raises(DataError, match=r"3 references for 3 lists, 0 with an id of theirs; "):
        read_references(path, ["spk-1", "spk-2", "spk-3"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "refs: empty; expected references"),
        ("utt-1 a\nutt-2 b\nutt-1 c\n", "refs:3: a second reference for 'utt-1'"),
        ("utt-1\ta b\nb\n", "refs:2: 'b'; expected utt TAB text"),
        ("a (utt-1)\nb\n", "refs:2: 'b'; expected text (utt)"),
        ('{"id": "utt-1"}\n', "refs:1: {'id': 'utt-1'}; expected {\"id\": …, \"ref\": …}"),
        ('{"id": \n', "refs:1: not valid JSON"),
        ("one\ntwo\n", "2 references for 3 lists, 0 with an id of theirs"),
    ],
)
def test_what_is_no_file_of_references_is_refused_with_its_place(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as caught:
        read_references(written(tmp_path, text), IDS)
    assert message in str(caught.value)


def test_a_list_that_holds_no_reference_of_its_own_is_named() -> None:
    hypotheses = (Hypothesis(("a",), {}, "x:1"),)
    lists = [NbestList("u1", hypotheses, reference=("b",)), NbestList("u2", hypotheses)]
    assert own_references(lists[:1]) == {"u1": ("b",)}
    with pytest.raises(DataError, match=r"^list 'u2': no reference in it; give a file with --refs"):
        own_references(lists)
