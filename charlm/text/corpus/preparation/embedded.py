"""The embedded corpus `pydoc`: English that every full installation of Python brings along.

It is made of the docstrings of the standard library and of the topics of the language reference,
which pydoc shows. Sources are parsed and never imported: importing runs code (`antigravity` opens a
browser), and an installation run with -OO has no docstrings to show.
"""

import ast
import os
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

from charlm.errors import DataError
from charlm.text.corpus.preparation.docstrings import sentences

TOPICS = "pydoc_data/topics.py"
# Tests are missing from many installations; what generates code pages says the same 80 times.
SKIPPED = frozenset(("site-packages", "dist-packages", "test", "tests", "idle_test", "encodings"))
LEAST_SENTENCES = 1000  # a full installation has more than ten times as many

Documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def pydoc_sentences(library: str | Path | None = None) -> Iterator[str]:
    """Sentences in the order of the sources' paths, the same ones for the same installation.

    `library` is the folder of the standard library; that of the running Python if not given.

    Raises:
        DataError: an installation without sources or docstrings; after the last sentence.
    """
    folder = Path(library or sysconfig.get_path("stdlib"))
    n_sentences = 0
    for path in _sources(folder):
        for text in _documentation(path, is_topics=path == folder / TOPICS):
            for sentence in sentences(text):
                n_sentences += 1
                yield sentence
    if n_sentences < LEAST_SENTENCES:
        raise DataError(
            f"{folder}: found {n_sentences} English sentences in Python's own documentation; "
            f"expected {LEAST_SENTENCES} or more; install Python's full standard library with its "
            "sources, or prepare a text of yours with `charlm prep FILE`"
        )


def _sources(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        yield from (Path(parent, name) for name in sorted(names) if name.endswith(".py"))


def _documentation(path: Path, *, is_topics: bool) -> Iterator[str]:
    try:
        with warnings.catch_warnings(action="ignore"):  # of escapes such as "\d" in the source
            # Not ast.parse, which leaves docstrings out under -OO from Python 3.14 on.
            tree = compile(path.read_bytes(), path, "exec", ast.PyCF_ONLY_AST, True, optimize=0)
    except (SyntaxError, ValueError):
        return  # a template, or a sample of an error
    if is_topics:
        constants = (node for node in ast.walk(tree) if isinstance(node, ast.Dict))
        values = (value for node in constants for value in node.values)
        yield from (
            v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str)
        )
    else:
        documented = (node for node in ast.walk(tree) if isinstance(node, Documented))
        texts = (ast.get_docstring(node) for node in documented)
        yield from (text for text in texts if text)
