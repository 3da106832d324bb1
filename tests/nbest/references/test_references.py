"""References: all forms give the same, and no file of another set is read as plain text."""

from functools import partial
from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.reading.repairs import Notices
from charlm.nbest.references.references import own_references, read_references

read = partial(read_references, notices=Notices())
IDS = ["utt-1", "utt-2", "utt-3"]
WANTED = {"utt-1": ("we", "know"), "utt-2": (), "utt-3": ("the\u00a0end", "(laughs)")}
FORMS = {
    "tsv": "utt-3\tthe\u00a0end (laughs)\nutt-1\twe know\nutt-2\t\n",
    "kaldi": "utt-1 we know\nutt-2\nutt-3 the\u00a0end (laughs)\n",
    "trn": ";; of the hall\nwe know (utt-1)\n;;\n(utt-2)\nthe\u00a0end (laughs) (utt-3)\n",
    "stm": ";; of the hall\nutt-1 1 ann 0.00 3.2 <o,f0> we know\nutt-2 A bob 0 1.5 <o>\n"
    "utt-3 1\tann 4.5 5 <o,f0>  the\u00a0end (laughs)\n",
    "jsonl": '{"id": "utt-1", "ref": "we know"}\n{"utt": "utt-2", "text": ""}\n'
    '{"utt_id": "utt-3", "reference": "the\u00a0end (laughs)"}\n',
    "csv": 'id,ref\nutt-3,the\u00a0end (laughs)\nutt-1,"we\r\nknow"\nutt-2,\n',
    "plain": "we know\n\nthe\u00a0end (laughs)\n",
}


def written(folder: Path, text: str) -> Path:
    path = folder / "refs"
    path.write_text(text)
    return path


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_references(form: str, tmp_path: Path) -> None:
    found = read(written(tmp_path, FORMS[form]), IDS)
    assert found == WANTED
    assert list(found) == IDS


@pytest.mark.parametrize(
    "text",
    [
        "id\ttext\nu1\twe know\nu2\tyes\n",
        "# by hand\nspeaker\tref\tutt\nann\twe know\tu1\n\nbob\tyes\tu2\n",
        "Utterance,Reference,text\r\nu1,we know,we no\r\nu2,yes,yet\r\n",
        'spk,words,id\n,"we know",u1\n,yes,u2\n',
    ],
)
def test_a_header_says_which_columns_are_meant(text: str, tmp_path: Path) -> None:
    found = read(written(tmp_path, text), ["u1", "u2"])
    assert found == {"u1": ("we", "know"), "u2": ("yes",)}


@pytest.mark.parametrize("second", ["yes", "IGNORE_TIME_SEGMENT_IN_SCORING"])
@pytest.mark.parametrize("label", ["<o>", "<o,f0,male>"])
def test_labels_that_a_segment_of_stm_lacks_are_no_words_of_the_others(
    second: str, label: str, tmp_path: Path
) -> None:
    path = written(tmp_path, f"u1 1 ann 0.0 3.2 {label} we know\nu2 A bob 0 1 {second}\n")
    found = read(path, ["u1", "u2"], allow_missing=True)
    is_word = (label, second) == ("<o>", "yes")  # as <unk> would be
    assert found["u1"] == (("<o>",) if is_word else ()) + ("we", "know")


def test_a_channel_of_stm_has_any_name_where_labels_show_what_it_is(tmp_path: Path) -> None:
    text = "u1 left ann 0.0 3.2 <o,f0> we know\nu2 C bob 0 1 <o> yes\n"
    found = read(written(tmp_path, text), ["u1", "u2"])
    assert found == {"u1": ("we", "know"), "u2": ("yes",)}
    gap = "u3 left gap 3.2 4 ignore_time_segment_in_scoring\n"
    path = written(tmp_path, text + gap)
    assert read(path, ["u1", "u2", "u3"], allow_missing=True) == found
    costs = written(tmp_path, "u1 we paid 3.5 4 dollars\n")
    assert read(costs, ["u1"])["u1"] == ("we", "paid", "3.5", "4", "dollars")


def test_a_label_of_noise_above_is_no_json(tmp_path: Path) -> None:
    path = written(tmp_path, "{breath} we know\nyes\n")
    found = read(path, ["u1", "u2"])
    assert found == {"u1": ("{breath}", "we", "know"), "u2": ("yes",)}


def test_digits_that_people_said_are_no_times(tmp_path: Path) -> None:
    costs = written(tmp_path, "u1 it costs 3.5 4 dollars\n")
    assert read(costs, ["u1"]) == {"u1": ("it", "costs", "3.5", "4", "dollars")}
    path = written(tmp_path, "u1 1 2 3 4\nu2 5 6 7 8 9\n")
    assert read(path, ["u1", "u2"]) == {"u1": ("1", "2", "3", "4"), "u2": ("5", "6", "7", "8", "9")}


def test_times_of_stm_may_be_whole_seconds_and_a_word_in_brackets_is_a_word(tmp_path: Path) -> None:
    text = ";; three\nu1 1 s 0.00 1.50 <unk> a\nu2 A s 1e-1 3 b\nu3 1 s 4 6 IGNORE_TIME_SEGMENT_"
    path = written(tmp_path, f"{text}IN_SCORING\n")
    notices = Notices()
    found = read(path, ["u1", "u2", "u3"], allow_missing=True, notices=notices)
    assert notices.passed_over["segments that are not to be scored"] == 1
    assert found == {"u1": ("<unk>", "a"), "u2": ("b",)}
    with pytest.raises(DataError, match="refs:2: 'good day'; expected STM, as other lines begin"):
        read(written(tmp_path, ";; one\ngood day\n"), ["u1"])


def test_further_columns_are_no_words_of_the_reference(tmp_path: Path) -> None:
    path = written(tmp_path, "u1\tann\twe know\nu2\tbob\tyes\n")
    with pytest.raises(DataError, match="refs:1: found 3 fields between TABs; expected utt TAB te"):
        read(path, ["u1", "u2"])
    for text in ("u1\twe\tknow\nu2\tyes\n", "u1\twe know\t\nu2\tyes\t \n"):
        found = read(written(tmp_path, text), ["u1", "u2"])
        assert found == {"u1": ("we", "know"), "u2": ("yes",)}


@pytest.mark.parametrize("confidence", ["", " 0.98"])
def test_words_with_their_times_are_no_references(confidence: str, tmp_path: Path) -> None:
    text = f"utt-1 1 0.00 0.3 yes{confidence}\nutt-2 A 1.25 .4 no{confidence}\n"
    with pytest.raises(DataError, match=r"refs: each line is a word with its times \(CTM\)"):
        read(written(tmp_path, text), ["utt-1", "utt-2"])
    price = read(written(tmp_path, "u1 costs 3.50 4 dollars\n"), ["u1"])
    assert price["u1"] == ("costs", "3.50", "4", "dollars")


def test_quotes_in_a_field_are_not_of_the_reference(tmp_path: Path) -> None:
    path = written(tmp_path, '\ufeffid,ref\nu1,"yes, ""so"" she\nsaid"\n')
    assert read(path, ["u1"]) == {"u1": ("yes,", '"so"', "she", "said")}


def test_numbers_as_ids_of_a_json_line_are_ids_like_others(tmp_path: Path) -> None:
    path = written(tmp_path, '{"id": 0, "ref": "a"}\n')
    assert read(path, ["0"]) == {"0": ("a",)}


def test_missing_and_surplus_ids_are_one_line_with_the_first_of_them(tmp_path: Path) -> None:
    text = "".join(f"u{number} a\n" for number in range(5, 20))
    with pytest.raises(DataError) as caught:
        read(written(tmp_path, text), [f"u{number}" for number in range(14)])
    assert str(caught.value) == (
        f"{tmp_path}/refs: no reference for 5 of 14 lists ('u0', 'u1', 'u2' and 2 more) and "
        "6 references for no list ('u14', 'u15', 'u16' and 3 more); expected the ids of the lists; "
        "--allow-missing leaves such out"
    )


def test_who_allows_missing_ones_gets_those_that_both_have(tmp_path: Path) -> None:
    path = written(tmp_path, "u1 a\nu2 b\n")
    assert read(path, ["u2", "u3"], allow_missing=True) == {"u2": ("b",)}


@pytest.mark.parametrize("form", ["tsv", "kaldi", "trn"])
def test_a_file_with_the_ids_of_another_set_is_not_taken_for_plain(
    form: str, tmp_path: Path
) -> None:
    path = written(tmp_path, FORMS[form])
    with pytest.raises(DataError, match=r"3 references( in 5 lines)? for 3 lists, 0 with an id "):
        read(path, ["spk-1", "spk-2", "spk-3"])


@pytest.mark.parametrize("others", ["u1\tyes\nu2\tno\n", ""])
def test_ids_that_differ_in_their_unicode_form_are_told(tmp_path: Path, others: str) -> None:
    path = written(tmp_path, f"e\u0301\tyes\n{others}")
    with pytest.raises(DataError, match=r"; some differ in Unicode form alone \(NFC, NFD\): write"):
        read(path, ["\xe9", "u1", "u2"])
    with pytest.raises(DataError, match=r"--allow-missing leaves such out$|for each list$"):
        read(path, ["\xe8", "u1", "u2"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "refs: empty; expected references"),
        ("utt-1 a\nutt-2 b\nutt-1 c\n", "refs:3: a second reference for 'utt-1'"),
        ("utt-1\ta b\nb\n", "refs:2: 'b'; expected utt TAB text"),
        ("a (utt-1)\nb\n", "refs:2: 'b'; expected text (utt)"),
        ('{"id": "utt-1"}\n', 'refs:1: {"id": "utt-1"}; expected {"id": …, "ref": …}'),
        ("id,ref\nutt-1,a,b\n", "refs:2: found 3 fields between commas; expected 2 (id,ref)"),
        ("id\tref\nutt-1\n", "refs:2: found 1 fields between TABs; expected 2 (id,ref)"),
        ('id,ref\nutt-1,"a\n', "refs:2: unexpected end of data; expected fields between c"),
        ("id,ref\n,a\n", "refs:2: found an empty id; expected the name of an utterance"),
        ("id,ref\nutt-1,a\nutt-1,b\n", "refs:3: a second reference for 'utt-1'"),
        ("id,utt,ref\nutt-1,1,a\n", "refs:1: found the column 'utt' twice"),
        (
            "id;ref\nutt-1;a\n",
            "refs: looks like CSV (begins 'id;ref'); expected references; write a header above it "
            "that calls its columns id and ref, with commas between, or save it as utt TAB text",
        ),
        ("utt-1 1 a 0.5 1 a\nutt-1 1 a 1.5 2 b\n", "refs:2: a second reference for 'utt-1'"),
        ("a1 1 a 0.5 1 a\na2 1 a 0.5 1 b\na3 1 a 0.5 1 b\n", "no reference for 3 of 3 lists"),
        ("utt-1 1 a 0 1 <o> { um / @ } a\n", "refs:1: '{ um / @ } a'; expected one text, and no "),
        ("{ um / @ } a (utt-1)\n", "refs:1: '{ um / @ } a'; expected one text, and no "),
        ("b (utt-2)\na { um / @ } (utt-1)\n", "refs:2: 'a { um / @ }'; expected one text, and no "),
        (
            "utt-1 1 a 0 1 <o> IGNORE_TIME_SEGMENT_IN_SCORING\n",
            "refs:1: 'IGNORE_TIME_SEGMENT_IN_SCORING'; expected the words that were said",
        ),
        ('{"id": \n', "refs:1: not valid JSON (Expecting value at character 8); expected a value "),
        ('{"id": "utt-1", "ref": "a", "ref": "b"}\n', "refs:1: found the key 'ref' twice"),
        ("one\ntwo\n", "refs: 2 references for 3 lists, 0 with an id of theirs; expected ids su"),
        ("one\ntwo\nthree\n\n", "refs: 3 references in 4 lines for 3 lists, 0 with an id of"),
    ],
)
def test_what_is_no_file_of_references_is_refused_with_its_place(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as caught:
        read(written(tmp_path, text), IDS)
    assert message in str(caught.value)


def test_a_list_that_holds_no_reference_of_its_own_is_named_or_left_out() -> None:
    hypotheses = (Hypothesis(("a",), {}, "x:1"),)
    lists = [NbestList("u1", hypotheses, reference=("b",)), NbestList("u2", hypotheses)]
    assert own_references(lists[:1]) == {"u1": ("b",)}
    with pytest.raises(DataError, match=r"^list 'u2': no reference in it; give a file with --refs"):
        own_references(lists)
    assert own_references(lists, allow_missing=True) == {"u1": ("b",)}


@pytest.mark.parametrize(
    ("ids", "hint"),
    [
        (["0", "2"], "-v0 REFS writes them, and"),
        (["1", "3"], "-v1 REFS writes them, and"),
        (["0", "1"], "-v0 REFS writes them, and"),
        (["1", "2"], "-v0 REFS writes them (-v1 if they count from 1), and"),
        (["7", "8"], ""),
    ],
)
def test_lines_of_which_some_have_no_list_are_to_be_numbered_as_the_lists_are(
    tmp_path: Path, ids: list[str], hint: str
) -> None:
    with pytest.raises(DataError, match="or a line for each list") as caught:
        read(written(tmp_path, "a b\n\nc d\n"), ids)
    assert ("; if the ids are numbers of lines" in str(caught.value)) == bool(hint)
    assert hint in str(caught.value)


def test_lines_without_ids_are_no_references_of_numbered_lists_in_another_order(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, "".join(f"{word}\n" for word in "abcdefghijkl"))
    with pytest.raises(DataError, match=r"refs: a line for each list, whose ids are 0 to 11 in an"):
        read(path, sorted(map(str, range(12))))
    with pytest.raises(DataError, match=r"or references with ids \(nl -ba -w1 -v1 REFS\)$"):
        read(path, sorted(map(str, range(1, 13))))
    assert read(path, [*map(str, range(12))])["2"] == ("c",)
    assert read(path, [*map(str, range(50, 38, -1))])["50"] == ("a",)


@pytest.mark.parametrize(
    "text",
    [
        "u1 <s> we know </s>\nu2 yes </s>\n",
        "<s> we know </s> (u1)\nyes (u2)\n",
        "<s> we know </s>\nyes </s>\n",
        '{"id": "u1", "ref": "<s> we know </s>"}\n{"id": "u2", "ref": "yes"}\n',
    ],
)
def test_marks_at_the_ends_are_no_words_and_counted(text: str, tmp_path: Path) -> None:
    notices = Notices()
    found = read(written(tmp_path, text), ["u1", "u2"], notices=notices)
    assert found == {"u1": ("we", "know"), "u2": ("yes",)}
    assert notices.passed_over == {"<s> or </s> at the ends of references": text.count("</s>")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("u1 we </s> know\nu2 yes\n", "refs:1: found </s> within a line; expected one sentence"),
        ("one\ntwo <s> three\n", "refs:2: found <s> within a line"),
        (
            '{"id": "u1", "ref": "we know\\n"}\n{"id": "u2", "ref": "yes"}\n',
            "refs:1: found a line end or NUL in a sentence; expected one line",
        ),
    ],
)
def test_what_is_more_than_a_sentence_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(written(tmp_path, text), ["u1", "u2"])
    assert message in str(caught.value)
