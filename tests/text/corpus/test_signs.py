"""Signs that a text was not prepared, and what only looks like them."""

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from charlm.text.corpus.signs import (
    CUT_INTO_CHARACTERS,
    signs_of_dotless_i,
    signs_of_raw_text,
    signs_of_repetition,
)


def signs(text: str) -> list[str]:
    return signs_of_raw_text(Counter(text.split()).most_common())


def test_a_text_of_toolbox_is_told_how_to_give_its_lines_of_text() -> None:
    text = "\\ref 1 \\tx kari na mai \\mb kari na mai \\ge say REAL come"
    assert signs(text) == [
        "29% of the words are field markers (\\ref \\tx \\mb), as of Toolbox: the text is marked "
        "up; sed -n 's/^\\\\tx *//p' FILE takes its lines of text"
    ]


def test_other_markers_and_those_that_a_tokeniser_split_off_are_told_too() -> None:
    assert signs("\\v 1 kari na \\c 2 mai")[0].endswith(
        "(\\v \\c), as of Toolbox: the text is marked up; take the lines of text from it first"
    )
    assert signs("\\ v kari na mai \\ c")[0].startswith("29% of the words are field markers (\\), ")


@pytest.mark.parametrize("text", ["&quot; it &apos;s", "& quot ; it & apos ; s", "r & amp ; b"])
def test_entities_are_told_and_are_no_marks_at_words(text: str) -> None:
    (told,) = signs(text)
    assert "are written with entities, as Moses' tokeniser escapes signs" in told


def test_marks_that_stand_at_words_are_told_where_they_are_many() -> None:
    assert signs("«Hello,» Hello, said she, “yes?”") == [
        "60% of the words end in a mark (Hello, she, “yes?”) and are others than without it; "
        "`charlm prep --tokenise simple` sets marks apart"
    ]
    assert len(signs("one, " + "word " * 99)) == 1
    assert signs("one, " + "word " * 100) == []


@pytest.mark.parametrize("text", ["क्या हाल है?", "यह दुनिया।", "مرحباً، يا صديقي"])
def test_a_mark_behind_a_vowel_sign_is_a_mark(text: str) -> None:
    (sign,) = signs(text)
    assert "end in a mark" in sign


def test_wide_blanks_separate_no_words_and_are_told() -> None:
    assert signs_of_raw_text([("私は\u3000水を", 1), ("水を", 1)]) == [
        "50% of the words hold a no-break or wide blank (私は<3000>水を), and space and TAB alone "
        "separate words: `charlm prep --tokenise simple` separates at every blank"
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("我们明天早上一起去北京看天安门。 好", "我们明天早上一起去北京看"),
        ("วันนี้อากาศดีมากเราไปเดินเล่นกันเถอะ ดี", "วันนี้อากาศด"),
        ("我们昨天喜欢水。 。", "我们昨天喜欢水。"),
        ("昨日はコンビニでパンを買った 。", "昨日はコンビニでパンを買"),
        ("昨日はｺﾝﾋﾞﾆで買った物 。", "昨日はｺﾝﾋﾞﾆで買った"),
    ],
)
def test_a_text_without_blanks_is_told_what_cuts_it(text: str, shown: str) -> None:
    assert signs(text) == [
        f"50% of the words are whole phrases ({shown}…), written without blanks, and words are "
        "what stands between blanks: cut them with a tool of the language (jieba, MeCab, "
        "PyThaiNLP), or into characters with their marks, perl -CSD -lpe 's/\\X/$& /g' FILE"
    ]


def test_however_much_katakana_stands_together_it_is_read_once() -> None:
    assert signs("カ" * 300_000 + " 。") == []  # again at each character would take an hour


@pytest.mark.skipif(shutil.which("perl") is None, reason="needs perl")
def test_the_cut_into_characters_is_right_in_any_locale(tmp_path: Path) -> None:
    (tmp_path / "FILE").write_text("น้ำดี\n我们\n", "utf-8")
    done = subprocess.run(
        CUT_INTO_CHARACTERS,
        shell=True,
        cwd=tmp_path,
        env=os.environ | {"LC_ALL": "C"},
        capture_output=True,
        check=True,
    )
    lines = done.stdout.decode().splitlines()
    assert [line.split() for line in lines] == [["น้ำ", "ดี"], ["我", "们"]]


@pytest.mark.parametrize(
    "text",
    ["Hello , said she ; yes ?", "Mr. Smith of the U.S. Inc.", "ka: !ka ka! na:mi", "1,5 3;4", ""]
    + [
        "我们 明天 早上 一起 去 阿塞拜疆共和国",
        "インターネットコミュニケーション",
        "กระทรวงศึกษาธิการ ไทย",
    ],
)
def test_marks_apart_abbreviations_and_letters_of_orthographies_are_no_sign(text: str) -> None:
    assert signs(text) == []


def test_turkish_is_told_by_its_letter() -> None:
    (sign,) = signs_of_dotless_i(Counter(["ilk", "ışık", "iğdir", "kızıl"]))
    assert sign.startswith("50% of the words have ı, as in Turkish, whose I became i, another lett")
    assert not signs_of_dotless_i(Counter({"diyarbakır": 1, "town": 100}))
    assert not signs_of_dotless_i(Counter())


def test_a_split_that_repeats_much_of_train_is_a_sign() -> None:
    (sign,) = signs_of_repetition({"valid": 0.049, "test": 0.0825})
    assert sign.startswith("8% of the words of test.txt stand in lines that train.txt has, too: ")


@pytest.mark.parametrize(
    "text", ["<s id='1'>le chat </s> a.", "the<i>cat</i> sat", "< s > le < / s >"]
)
def test_tags_are_a_sign_of_markup(text: str) -> None:
    (sign,) = signs(text)
    assert "as of XML or HTML: the text is marked up; take the lines of text from it" in sign


@pytest.mark.parametrize("text", ["so <br /><br />it", "so < br / > it", "< i > so < / i >"])
def test_tags_are_told_cut_or_not(text: str) -> None:
    (told,) = signs(text)
    assert "hold tags" in told


@pytest.mark.parametrize("text", ["< num > of them", "a < b", "love < 3", "<num> of <noise> them"])
def test_labels_and_signs_are_no_tags(text: str) -> None:
    assert signs(text) == []


@pytest.mark.parametrize("text", ["<laugh> yes <unk> <unk>:form", "i <3 you ->"])
def test_noises_and_smileys_are_no_tags(text: str) -> None:
    assert signs(text) == []
