"""Functions never write over their inputs, nor over another of their own outputs."""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from charlm.errors import ConfigError

Function = TypeVar("Function", bound=Callable[..., object])
# What lies in a folder that is read: a corpus, or a run.
PARTS = (
    *("train.txt", "valid.txt", "test.txt", "corpus.json"),
    *("run.json", "vocab.json", "log.jsonl"),
    *("model.safetensors", "resume.safetensors", "speller.safetensors"),
)


def refuse_overwrite(*outputs: str) -> Callable[[Function], Function]:
    """Makes a function of one options object refuse, before all else, to overwrite its inputs.

    `outputs` are the options that name files or folders to write. The function raises ConfigError.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def checked(options: Any) -> object:
            given = vars(options)
            for name in outputs:
                others = {other: value for other, value in given.items() if other != name}
                for out in _paths(given[name]):
                    _refuse_input(out, others)
            return function(options)

        return cast(Function, checked)

    return decorate


def require_distinct(outputs: Mapping[str, str | Path | None]) -> None:
    """Refuse two outputs that would go to the same file; None is no output.

    Raises:
        ConfigError: the two options and what they name.
    """
    options: dict[str, str] = {}  # by the file
    for option, path in outputs.items():
        if path is None:
            continue
        other = options.setdefault(os.path.realpath(path), option)
        if other != option:
            raise ConfigError(
                f"{other} {outputs[other]} and {option} {path}: one file for two results; "
                "expected two; choose another"
            )


def _refuse_input(out: Path, others: dict[str, object]) -> None:
    for name, value in others.items():
        if any(_reads(path, out) for path in _paths(value)):
            raise ConfigError(
                f"{out}: would be overwritten, but is also read ({name}); expected another "
                "file; choose a new name"
            )


def _reads(path: Path, out: Path) -> bool:
    """Whether what is read at `path`, a file or a folder, is what `out` would replace."""
    if not out.is_file():
        return out.is_dir() and path.is_dir() and os.path.samefile(path, out)
    places = (path, *(path / name for name in PARTS))
    return any(place.is_file() and os.path.samefile(place, out) for place in places)


def _paths(value: object) -> Iterator[Path]:
    """The possible paths in an option's value: `NAME=PATH` may be one itself."""
    if isinstance(value, Mapping):
        value = [*value.values()]
    if isinstance(value, list | tuple):
        for each in value:
            yield from _paths(each)
    elif isinstance(value, str | Path) and str(value):
        yield Path(value)
        _, equals, path = str(value).partition("=")
        if equals and path:
            yield Path(path)
