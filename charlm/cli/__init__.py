"""The program `charlm`: its commands, one file each, and its entry point.

A command parses, calls one public function of the library and prints; it imports that function in
its body, so that `charlm --help` loads neither torch nor NumPy. A command's own file is imported
when it is called, or shown: to import them all takes as long as Python and Typer do.
"""

import atexit
import gc
import logging
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import chain
from typing import Annotated, Any

import typer

from charlm.cli.printing import output
from charlm.cli.program.signals import die_of_closed_pipes, tidy_up_when_ended
from charlm.cli.program.usage import Command, Commands
from charlm.runtime import prepare_torch
from charlm.version import __version__

# The commands under the headings of --help; each has a file of its name.
HEADINGS = {
    "Text": ("prep", "vocab"),
    "Train": ("train",),
    "Measure": ("eval", "surprisal", "ngram", "mix", "compare-kn", "table"),
    "Use": ("score", "tune", "combine", "serve", "sample", "next"),
    "Look": ("nn", "info", "report"),
    "More": ("export", "bench"),
}
COMMANDS = tuple(chain.from_iterable(HEADINGS.values()))


def command_named(name: str) -> Any:
    """The function of a command, or the group of commands, imported."""
    word = name.replace("-", "_")
    found = vars(import_module(f"charlm.cli.{word}"))
    return found[word if word in found else f"{word}_command"]  # eval and next are Python's


@cache
def built(name: str) -> Any:
    """A command as Typer calls it."""
    found = command_named(name)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(name, cls=Command)(found)
        found = alone
    return typer.main.get_command(found)


class WhenAsked(Mapping[str, Any]):
    """The commands by name, each built when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        return built(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class AllCommands(Commands):
    """The commands of charlm."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": WhenAsked()})

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """As Typer's, but under headings."""
        for heading, listed in HEADINGS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, built(name).get_short_help_str()) for name in listed])


app = typer.Typer(
    cls=AllCommands,
    name="charlm",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # else words in brackets are eaten from the help
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        output.write(f"charlm {__version__}")
        raise typer.Exit


@app.callback()
def charlm(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "-V", "--version", callback=_print_version, is_eager=True, help="The version."
        ),
    ] = False,
) -> None:
    """Word-level language models that read words by their spelling.

    Raw text becomes a model and its answers in four steps: prep, train, eval, nn.
    `charlm COMMAND --help` describes each.
    """


def main() -> None:
    """Run the command line of this process; always exits."""
    output.prepare_streams()
    prepare_torch()
    die_of_closed_pipes()
    tidy_up_when_ended()
    # Importing torch makes 165,000 objects that stay. Looking for cycles among them, again and
    # again and once more at the end, took 0.6 of the 1.7 s of `charlm info`.
    gc.set_threshold(20_000, 20, 20)
    atexit.register(gc.freeze)
    logging.getLogger("matplotlib").addFilter(_is_not_of_a_folder)
    app()


def _is_not_of_a_folder(record: logging.LogRecord) -> bool:
    """Filter out that HOME cannot be written, as in containers; charlm itself needs none."""
    said = record.getMessage()
    begins = ("mkdir -p failed", "Matplotlib created a temporary")
    return not (said.startswith(begins) or said.endswith(" is not a writable directory"))
