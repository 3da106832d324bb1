"""Class files as three tools write them, and the errors for broken ones."""

from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.model.outputs.class_files import classes_of_words, read_classes

WORDS = ("</s>", "<unk>", "the", "a", "dog")
FILES = {
    "pairs": "the\tDET\na\tDET\ndog\tN\ncat\tN\n",
    "pairs with blank lines and CRLF": "the\tDET\r\n\r\na\tDET\r\ndog\tN\r\n",
    "brown": "0010\tthe\t120\n0010\ta\t99\n11\tdog\t3\n",
    "srilm": "DET the\nDET a\nN dog\n",
    "srilm with probabilities": "DET 0.7 the\nDET 3e-1 a\nN 1 dog\n",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "classes.txt"


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_every_kind_of_file_gives_words_their_classes_as_first_met(text: str, path: Path) -> None:
    path.write_text(text)
    assert classes_of_words(str(path), WORDS) == [0, 1, 2, 2, 3]


def test_the_two_words_that_no_text_holds_may_have_classes_in_the_file(path: Path) -> None:
    path.write_text("the\tA\n</s>\tA\n<unk>\tA\na\tB\ndog\tB\n")
    assert classes_of_words(str(path), WORDS) == [0, 0, 0, 1, 1]


def test_a_class_may_have_the_name_of_a_word_that_has_one_of_its_own(path: Path) -> None:
    path.write_text("the\t</s>\na\t<unk>\ndog\t</s>\n")
    assert classes_of_words(str(path), WORDS) == [0, 1, 2, 3, 2]


def test_a_number_that_is_a_word_is_no_probability(path: Path) -> None:
    path.write_text("NUM 0.5\nNUM 7\n")
    assert read_classes(str(path)) == {"0.5": "NUM", "7": "NUM"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("the\tDET\na DET\n", "2: found 'a DET'; expected WORD TAB CLASS, as the first line"),
        ("the\tDET\na\t\n", "2: found 'a\\t'; expected WORD TAB CLASS, as the first line"),
        (
            "01\tthe\t3\n02\ta\t3\n",
            "2: found '02\\ta\\t3'; expected PATH TAB WORD TAB COUNT, as the first line",
        ),
        (
            "01\tthe\tmany\n",
            "1: found '01\\tthe\\tmany'; expected PATH TAB WORD TAB COUNT, as the first line",
        ),
        (
            "DET the\nNP the dog\n",
            "2: found 'NP the dog'; expected CLASS [PROBABILITY] WORD, one word a line "
            "(or WORD TAB CLASS in the whole file)",
        ),
        (
            "the\n",
            "1: found 'the'; expected CLASS [PROBABILITY] WORD, one word a line "
            "(or WORD TAB CLASS in the whole file)",
        ),
        (
            "the\tDET\nthe\tN\n",
            "2: 'the' is in class 'N' and in 'DET'; expected one class a word",
        ),
    ],
)
def test_a_line_that_is_no_class_is_refused_with_its_number(
    text: str, line: str, path: Path
) -> None:
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_classes(str(path))
    assert str(caught.value) == f"{path}:{line}"


def test_words_without_a_class_are_counted_and_the_first_is_named(path: Path) -> None:
    path.write_text("the\tDET\n")
    with pytest.raises(DataError) as caught:
        classes_of_words(str(path), WORDS)
    assert str(caught.value) == (
        f"{path}: 2 of 5 words have no class, the first is 'a'; expected a class for each; "
        "add them, or leave them out of the vocabulary (charlm vocab)"
    )
