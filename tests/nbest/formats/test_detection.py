"""The format of a list: detected from its beginning, or given by the user."""

import io
import os
import sys
from pathlib import Path

import pytest

from charlm.errors import ConfigError, DataError
from charlm.nbest.formats import FORMATS, detect, format_of, open_lists
from charlm.nbest.reading.format import Sample, Source


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (["utt-A-1 we know", "utt-A-2 we do know", "utt-A-3"], "kaldi"),
        (["1272-128104-0000 mister quilter", "1272-128104-0001 nor is"], None),
        (["utt-2 we know", "utt-3 we do"], None),
        (['{"alternatives": [{"confidence": 1, "text": "a"}]}'], "vosk"),
        (['{"id": "u", "sequences": [["a"]], "sequences_ids": [[1]]}'], "ctranslate2"),
        (['{"source": "x", "combinedRecognizedPhrases": [{"lexical": "a b'], "azure"),  # cut off
        (['{"jobName": "j", "results": {"transcripts": [{"transcript": "a"}], "items": [{'], "aws"),
        (['[{"input": ["a b", "c d'], "hyporadise"),  # cut off after 64 KiB
        (['{"input": ["a b", "a c"]}', '{"input": ["b"]}'], "hyporadise"),  # no references
        (['{"id": "u", "sequences": ["alternative", "alternatives"]'], "huggingface"),
        (['[{"input": ["result", "results", "beams"], "output": "results"}]'], "hyporadise"),
        (["NBestList1.0", "(-15234) i think"], "nbestlist1"),
        (["2 cats sat", "on the mat", "the end"], "text"),
        (["{lip-smack} the cat sat", "{laugh}"], "text"),
        (["u-1 we know", "u-2 we do", "lost key"], None),
        ([";; made today", "we know (s-1)", "", "(s-2) "], "trn"),
        (["we know (s-1)"], "text"),  # of a single line nobody can tell
        (["we know (s-1)", "we do (s-1)"], "text"),
        (["we know (s-1)", "we do (s-2"], "text"),
        (["we know (laughs)", "we do (coughs)"], "text"),
        (["alien (1979)", "psycho (1960)"], "text"),
        (["we know\t(s-1)", "we do\t(s-2)"], "tsv"),
        (["news-1 ||| das ist ||| lm= -5 ||| -7", "news-2 ||| ja ||| lm= -1 ||| -1"], None),
        (['{"weights": [1, 2]}'], None),
        (["[", " 1,", " 2"], None),
        (["we know", '{"id": "u"} a brace', "and no more"], "text"),
    ],
)
def test_an_odd_or_cut_beginning_shows_its_format(lines: list[str], name: str | None) -> None:
    sample = Sample("a.list", tuple(lines), ())
    claims = [each for each in FORMATS if FORMATS[each]().claims(sample)]
    if name is None:
        assert "kaldi" not in claims
        assert set(claims) <= {"text", "tsv"}
    else:
        assert detect(sample).name == name


@pytest.mark.parametrize(
    ("names", "name"),
    [
        (("acwt", "lmwt", "words.txt"), "kaldi"),
        (("ali", "lmwt.nolm", "words_text.gz"), "kaldi"),
        (("asr.log", "logdir/output.1/1best_recog/text"), "espnet"),
    ],
)
def test_the_names_in_a_folder_show_its_format(
    names: tuple[str, ...], name: str, tmp_path: Path
) -> None:
    for each in names:
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / each).touch()
    assert detect(Sample(tmp_path, (), names)).name == name


def test_what_two_formats_claim_is_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("moses", "srilm"):
        monkeypatch.setattr(FORMATS[name], "claims", lambda self, sample: True)
    with pytest.raises(ConfigError) as caught:
        detect(Sample("a.list", ("x",), ()))
    assert str(caught.value) == (
        "a.list: found what could be moses or srilm; expected one; name it with --format"
    )


def test_lines_h_of_fairseqs_alone_could_be_a_table() -> None:
    with pytest.raises(ConfigError, match=r"found what could be fairseq or tsv; expected one"):
        detect(Sample("a.list", ("H-3\t-0.3\twe know", "H-3\t-0.4\twe do"), ()))


def test_lines_above_a_table_or_json_do_not_make_sentences_of_it() -> None:
    for above in ("# made today", "", " "):
        with pytest.raises(DataError, match=r"a: looks like CSV \(begins 'id;am;text'\)"):
            detect(Sample("a", (above, "id;am;text", "u;-1;we know"), ()))
    hypotheses = [f'{{"id": "u", "text": "{text}"}}' for text in ("we know", "we do")]
    with pytest.raises(DataError, match="a: found the beginning of no format of lists"):
        detect(Sample("a", ("loading a model", *hypotheses), ()))


@pytest.mark.parametrize(
    "lines",
    [
        ["one egg", "2 cups of milk", "3 spoons of sugar", "stir", "5 minutes"],  # no line is wrong
        ["# made today", "1 we know", "1 we do", "2 yes"],  # nor is the second line here
        ["-12.3 the cat", "-11.2 a cat"],
        ["u1 ||| know", "u2 ||| do"],
    ],
)
def test_what_no_format_claims_is_refused_with_the_names(lines: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        detect(Sample("a.list", tuple(lines), ()))
    assert str(caught.value).startswith(
        "a.list: found the beginning of no format of lists or lattices; expected slf or "
        "kaldi-lattice of lattices, or of lists one of kaldi, espnet,"
    )


def test_sentences_behind_what_may_be_ids_are_neither_text_nor_lists() -> None:
    lines = ("1272-128104-0001 mister quilter", "1272-128104-0000 is the apostle")  # Kaldi's text
    with pytest.raises(DataError) as caught:
        detect(Sample("a.list", lines, ()))
    assert str(caught.value).startswith(
        "a.list: found lines that begin with what may be ids (1272-128104-0001) and hold no TAB; "
        "expected a format of lists; give --format kaldi-text if each id has one line, kaldi if "
    )
    assert str(caught.value).endswith("text if all of a line is words")


@pytest.mark.parametrize("name", ["utt", "utt-1"])  # a sentence, or the id of one
def test_a_list_of_files_is_no_list_of_sentences(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("-1 -2 1 a\n")
    with pytest.raises(
        DataError, match=f"^files: found names of files .*{name}.*name their folder"
    ):
        detect(Sample("files", (str(path), "", str(path)), ()))
    with pytest.raises(DataError, match="begin with what may be ids"):
        detect(Sample("files", (f"{path}-2 a", str(path)), ()))


@pytest.mark.parametrize(
    "lines", [("u-1 1 0.50 0.25 we", "u-1 1 0.75 0.5 know"), (";; by us", "", "talk A 1.5 .1 we 1")]
)
def test_words_with_times_are_no_sentences(lines: tuple[str, ...]) -> None:
    said = (
        r"^a\.ctm: found words with times, as NIST's CTM has them; .*trn, or give --format text if"
    )
    with pytest.raises(DataError, match=said):
        detect(Sample("a.ctm", lines, ()))


@pytest.mark.parametrize(
    ("lines", "form"),
    [
        (("u 1 0.5 0.5 we", "so we know"), "text"),
        (("a 3 0.5 0.5 we", "b 3 0.5 0.5 we"), "text"),
        (("we 1 0.5 so know", "it 1 0.5 so is"), "text"),
        ((";; made today", "we know (s-1)", "", "(s-2) "), "trn"),
    ],
)
def test_sentences_with_numbers_are_no_words_with_times(lines, form) -> None:
    assert detect(Sample("a.list", lines, ())).name == form


def test_the_one_tab_among_sentences_is_named() -> None:
    with pytest.raises(DataError, match=r"a\.list:3: found a TAB, which no line before has; .*--f"):
        detect(Sample("a.list", ("a man runs", "the dog", "u\tone"), ()))


def test_an_ngram_model_is_not_taken_for_sentences_with_a_tab() -> None:
    lines = ("\\data\\", "ngram 1=2", "", "\\1-grams:", "-1\t<unk>", "-1\t</s>", "", "\\end\\")
    with pytest.raises(DataError, match="found the beginning of no format"):
        detect(Sample("lm.arpa", lines, ()))


@pytest.mark.parametrize("lines", [("1 2 3", "12 7"), ("1 2 3 0", "4 5 6 0", "7 8 9")])
def test_sentences_of_digits_are_not_taken_for_a_broken_list(lines: tuple[str, ...]) -> None:
    with pytest.raises(DataError, match=r"a\.list: found nothing but numbers; .*--format text if"):
        detect(Sample("a.list", lines, ()))


@pytest.mark.parametrize(
    ("lines", "number", "name"),
    [
        (["u\t-1\twe know", "# best", "u\t-2\twe", "v\t-1"], 4, "tsv"),
        (["u-1 we know", "u-2 we do", "v-1", "lost key", "w-1 yes"], 4, "kaldi"),
        (["0 ||| a ||| lm= -1 ||| -1", "0 ||| a ||| lm= x ||| -1"], 2, "moses"),
        (["-1 -2 1 we", "-1 two 1 we", "-1 -2 1 we"], 2, "srilm"),
    ],
)
def test_a_line_that_is_not_as_those_above_it_is_named(
    lines: list[str], number: int, name: str
) -> None:
    with pytest.raises(DataError) as caught:
        detect(Sample("a.list", tuple(lines), ()))
    assert str(caught.value) == (
        f"a.list:{number}: found a line that does not go with those above it, which could be "
        f"{name}; expected one format of lists; mend the line, or give --format {name}, which says "
        "what is wrong with it"
    )


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (['{"a":', " [1,", "  x]}"], "a.json:3: not valid JSON (Expecting value at column 3); exp"),
        (['[{"a": 1}, {"b" 2}]'], "a.json:1: not valid JSON (Expecting ':' delimiter at column 17"),
        (['{"a": 1,', '"b": []}', '{"c"'], "a.json: found JSON whose first object has 'a', 'b'; e"),
        (
            ['[{"instruction": "a", "input": "b", "output": "c"}]'],
            "a.json: found JSON whose first object has 'instruction', 'input', 'output'; expected",
        ),
        ([f'{{"a": {"1" * 5000}}}'], "a.json: found JSON whose first object has 'a'; expected"),
        (['[[{"a": "b c"}, {"a": "d"}]]'], "a.json: found JSON whose first object has 'a'; expec"),
        (['[["a b", null, -1]]'] * 2, "a.json: found JSON whose first object has no member; exp"),
        (["[[1], [2]]"], "a.json: found JSON whose first object has no member; expected a format"),
        (["[", *['{"a": 1},'] * 5000], "a.json: found the beginning of no format"),  # cut, perhaps
        (['{"text": "' + "a b " * 5000], "a.json: found the beginning of no format"),
        (['{"text": "' + r"\u0645" * 5000 + r"\u06"], "a.json: found the beginning of no format"),
        (['{"a": [' + "true, " * 5000 + "tru"], "a.json: found the beginning of no format"),
        (['{"text": "a b'], "a.json:1: not valid JSON (Unterminated string"),
        (["[", "{", *['{"a": 1},'] * 5000], "a.json:3: not valid JSON (Expecting property name"),
    ],
)
def test_json_that_is_broken_or_of_no_format_is_told_so(lines: list[str], told: str) -> None:
    with pytest.raises(DataError) as caught:
        detect(Sample("a.json", tuple(lines), ()))
    assert str(caught.value).startswith(told)


def test_a_folder_of_no_format_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("a\n")
    with pytest.raises(DataError, match="is a folder that no format of lists knows; .*; name a fi"):
        detect(Sample(tmp_path, (), ("notes.txt",)))


def test_a_file_beside_the_lists_that_cannot_be_read_is_told_where_no_other_can(
    tmp_path: Path,
) -> None:
    notes = tmp_path / "Notes.txt"  # stands before the others
    notes.write_text("we know\n", encoding="utf-16")
    with pytest.raises(DataError, match=r"Notes\.txt:1: looks like UTF-16"):
        detect(Sample(tmp_path, (), ("Notes.txt",)))
    (tmp_path / "words_text").write_text("u-1 we know\n")
    (tmp_path / "acwt").write_text("u-1 1\n")
    with open_lists(Source(tmp_path)) as (chosen, lists):
        assert (chosen.name, [nbest.id for nbest in lists]) == ("kaldi", ["u"])


@pytest.mark.parametrize("lines", [(), ("", " \t")])
def test_an_empty_list_is_refused(lines: tuple[str, ...]) -> None:
    with pytest.raises(DataError, match="standard input: found nothing in it; expected lists"):
        detect(Sample("-", lines, ()))


def test_a_binary_archive_is_refused_with_a_way_out() -> None:
    with pytest.raises(DataError, match=r"a.ark:1: found a NUL byte; .*\(ark,t:-\)"):
        detect(Sample("a.ark", ("utt-1 \0BCM",), ()))


def test_a_format_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(ConfigError, match="format 'srlm': no such format; expected one of kaldi,"):
        format_of("srlm")


@pytest.mark.parametrize("name", ["", "kaldi"])
def test_a_pipe_is_detected_and_read_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BufferedReader(io.BytesIO(b"u-1 we know\nu-2 we\n"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
    with open_lists(Source("-"), name=name) as (chosen, lists):
        assert chosen.name == "kaldi"
        (found,) = lists
    assert [hypothesis.words for hypothesis in found.hypotheses] == [("we", "know"), ("we",)]


def test_a_pipe_in_a_folder_of_lists_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "utt1").write_text("-1 -2 1 yes\n")
    os.mkfifo(tmp_path / "control")
    with (
        pytest.raises(DataError, match="control: is no file; expected a folder of files"),
        open_lists(Source(tmp_path)) as (_, lists),
    ):
        list(lists)
