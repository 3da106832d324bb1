"""What a command writes is never what it reads: no output replaces a file that was named to it."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from charlm.errors import ConfigError

OUTPUTS = ("out", "arpa", "vectors", "data_out", "weights")
# What lies in a folder that is read: a corpus, or a run.
PARTS = ("train.txt", "valid.txt", "test.txt", "model.safetensors", "resume.safetensors")


class ApartCommand(TyperCommand):
    """A command that refuses to write over its own inputs before it does anything."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command.

        Raises:
            ConfigError: an output is one of the inputs.
        """
        spoken = {param.name: param.opts[0] for param in self.params}
        for name in OUTPUTS:
            for out in _paths(ctx.params.get(name)):
                _refuse_input(out, name, given=ctx.params, spoken=spoken)
        return super().invoke(ctx)


def _refuse_input(
    out: Path, name: str, *, given: Mapping[str, Any], spoken: Mapping[str, str]
) -> None:
    for other, value in given.items():
        if other != name and any(_reads(path, out) for path in _paths(value)):
            said = spoken[other] if spoken[other].startswith("-") else f"argument {spoken[other]}"
            raise ConfigError(
                f"{spoken[name]} {out}: {said} reads that file, which would be lost; expected "
                "another; choose a new name"
            )


def _reads(path: Path, out: Path) -> bool:
    """Whether what is read at `path`, a file or a folder, is a file that `out` would replace."""
    if not out.is_file():
        return False
    places = [path / out.name] if out.name in PARTS else []
    return any(place.is_file() and os.path.samefile(place, out) for place in (path, *places))


def _paths(value: object) -> Iterator[Path]:
    """What may be paths in the value of an option: of `NAME=PATH` both readings."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from _paths(each)
    elif isinstance(value, str | Path) and str(value):
        yield Path(value)
        name, equals, path = str(value).partition("=")
        if equals and path:
            yield Path(path)
