"""Sentences found in Python documentation."""

import pytest

from charlm.text.corpus.preparation.docstrings import is_english, sentences

DOCSTRING = """\
Return the ``name`` of :class:`~a.b.Thing`, or *nothing* at all.

It is wrapped over
several lines, in a well-
known way.  Two blanks end a sentence, e.g. this one. Now see this [1]_.

    >>> thing.name()
    'this output is not prose'

Parameters:

    name -- the name of the thing
    age: how old it may be,
        in years

 * The first item of a list,
   which hangs.
 * The second item of a list.

It is used like this::

    this is code that looks like prose
      and so is this

+------+-----------------------+
| this | is a row of the table |
+------+-----------------------+

A title over a line
===================

The end of `old style' quotes and **bold** words.
"""


def test_sentences_are_joined_freed_of_markup_and_without_code_or_tables() -> None:
    assert list(sentences(DOCSTRING)) == [
        "Return the name of a.b.Thing, or nothing at all.",
        "It is wrapped over several lines, in a well-known way.",
        "Two blanks end a sentence, e.g. this one.",
        "Now see this.",
        "the name of the thing",
        "how old it may be, in years",
        "The first item of a list, which hangs.",
        "The second item of a list.",
        "It is used like this:",
        "A title over a line",
        "The end of old style quotes and bold words.",
    ]


def test_a_list_of_definitions_is_cut_at_each() -> None:
    text = "digits -- all decimal digits\nascii_letters -- all letters of ASCII"
    assert list(sentences(text)) == ["all decimal digits", "all letters of ASCII"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n \n",
        "import this and that",
        "x = the value of y",
        "a_b c_d e.f.g (h) of the",
        "augassign ::= target augop the expression",
        "see http://example.org/ for more of it",
        "$ run the program with this",
        "Traceback (most recent call last):\n  this was not expected",
        "Name",
    ],
)
def test_what_is_not_english_prose_is_left_out(text: str) -> None:
    assert list(sentences(text)) == []


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Return the list of names.", True),
        ("Call foo.bar() with the given name, or None.", True),
        ("Close it.", False),  # too short to decide
        ("self.a b_c d[e] f(g) to the", False),
        ("It is padded with b'\0' so that it has a length.", False),
        ("It is written as '\ud800' in the text of a file.", False),
    ],
)
def test_english_is_mostly_plain_words(sentence: str, expected: bool) -> None:
    assert is_english(sentence) == expected
