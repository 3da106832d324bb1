"""The English text of a small fake Python installation, and of the one that runs the tests."""

import subprocess
import sys
import sysconfig
from itertools import islice
from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.text.corpus.preparation import embedded
from charlm.text.corpus.preparation.embedded import pydoc_sentences


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(embedded, "LEAST_SENTENCES", 5)
    files = {
        "b.py": (
            '"""The module that is called b.\n\nIt has two sentences."""\n'
            'raise SystemExit("imported")\n'
            'class A:\n    """A class of things.\\d"""\n'
            "    async def f(self):\n"
            "        '''Wait for the end.'''\n"
        ),
        "a/__init__.py": '"""The package that comes first."""\ndef f():\n  "One or two."\n',
        "a/tests/test_a.py": '"""The tests are not taken."""',
        "site-packages/c.py": '"""The packages of others are not taken."""',
        "pydoc_data/topics.py": "topics = {'b': 'The topic of words.\\n', 'a': 'One more topic.'}",
        "broken.py": "def f(:\n",
        "notes.txt": "The notes are not taken.",
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path


def test_docstrings_and_topics_come_in_the_order_of_their_paths(library: Path) -> None:
    assert list(pydoc_sentences(library)) == [
        "The module that is called b.",
        "It has two sentences.",
        "Wait for the end.",
        "The package that comes first.",
        "One or two.",
        "The topic of words.",
        "One more topic.",
    ]


def test_an_installation_without_docstrings_gets_one_line_that_says_what_to_do(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "LEAST_SENTENCES", 8)
    with pytest.raises(DataError) as caught:
        list(pydoc_sentences(library))
    assert str(caught.value) == (
        f"{library}: found 7 English sentences in Python's own documentation; expected 8 or more; "
        "install Python's full standard library with its sources, or prepare a text of yours with "
        "`charlm prep FILE`"
    )


def test_a_missing_library_is_one_without_docstrings(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="found 0 English sentences"):
        list(pydoc_sentences(tmp_path / "missing"))


FIRST = (
    "from itertools import islice;"
    "from charlm.text.corpus.preparation.embedded import pydoc_sentences;"
    "print(*islice(pydoc_sentences(), 300), sep='\\n')"
)


def test_the_corpus_depends_on_neither_the_hash_seed_nor_the_optimiser() -> None:
    outputs = [
        subprocess.run(
            [sys.executable, *options, "-c", FIRST],
            capture_output=True,
            check=True,
            cwd=Path(__file__).parents[3],
            env={"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
        ).stdout
        for seed, options in (("1", []), ("2", ["-OO"]))
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].count(b"\n") == 300


def test_nothing_of_the_library_is_imported() -> None:
    if not Path(sysconfig.get_path("stdlib"), "__future__.py").is_file():
        pytest.skip("this Python has no sources")
    before = set(sys.modules)
    assert len(list(islice(pydoc_sentences(), 2000))) == 2000
    assert set(sys.modules) <= before
