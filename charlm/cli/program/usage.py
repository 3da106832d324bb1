"""Typer's commands and their --help, with additions for people.

An option for a run, a file or words is refused if it is given twice: Typer silently takes the last.
"""

import os
import sys
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from charlm.cli.program.boundary import boundary
from charlm.cli.program.build_command import LISTED
from charlm.cli.program.guesses import (
    GUESSED_COMMANDS,
    explain_options,
    explain_values,
    explain_words,
)

PYDANTIC = "Value error, "  # stands before what Typer itself says of a value
TWICE = "found twice; expected once: the first would be dropped"
ALSO_CALLED = {"neighbors": "nn", "neighbours": "nn", "predict": "next"}
PLACES = {"Arguments": -2, "Options": -1, "Machine": 1}  # of a command's headings; 0 for others


class Commands(TyperGroup):
    """Typer's group of commands, with the boundary around it."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """As Typer's, but also by a second name."""
        return super().get_command(ctx, ALSO_CALLED.get(cmd_name, cmd_name))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As Typer's, but programs of other tools are told by what does the same here."""
        if args[0] not in self.commands and args[0] in GUESSED_COMMANDS:
            ctx.fail(f"No such command {args[0]!r}; it is charlm {GUESSED_COMMANDS[args[0]]}")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As Typer's, but also `help COMMAND` and `version`, which other tools have."""
        if ctx.resilient_parsing:
            # At TAB. Rich folds a long help; fish then offers its further lines as words.
            os.environ["COLUMNS"] = str(sys.maxsize)
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        if args[:1] in (["--install-completion"], ["--show-completion"]):
            ctx.info_name = self.name  # shells complete commands of one word: no `python -m charlm`
        if args[:1] in (["-help"], ["-version"]):  # as SRILM has them
            args = [f"-{args[0]}", *args[1:]]
        return super().parse_args(ctx, ["--version"] if args == ["version"] else args)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """As Typer's, within the boundary."""
        with boundary():
            return super().main(*args, **kwargs)


class Command(TyperCommand):
    """Typer's command; an option that takes one value and gets two is refused."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As Typer's.

        Raises:
            BadParameter: what Typer refuses, or an option that comes twice.
            ConfigError: an option with another name; where an option is missing, no such preset.
        """
        if ctx.resilient_parsing:  # a line to be completed at TAB is not finished
            return super().parse_args(ctx, args)
        explain_options(ctx, args)
        listing = getattr(self.callback, "listing", None)
        if listing is not None:
            args = _with_empty_name(args)
        given, extra, found = self.make_parser(ctx).parse_args(list(args))  # it empties its list
        for option in found:
            if isinstance(option, TyperOption) and _comes_once(option) and found.count(option) > 1:
                raise typer.BadParameter(TWICE, ctx=ctx, param=option)
        explain_values(ctx, given)
        try:
            if "listed" in given:  # before Typer asks for what is missing
                assert listing is not None
                names = {option.name or "": option for option in found}
                read = {name: each.process_value(ctx, given[name]) for name, each in names.items()}
                listing(given["listed"], given=read)
                ctx.exit()
            explain_words(ctx, args, given=given, extra=extra)
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix(PYDANTIC)
            raise

    def get_short_help_str(self, limit: int = 0) -> str:
        """As Typer's, but never cut."""
        return super().get_short_help_str(limit=len(self.help or ""))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """As Typer's, but without braces around what is required."""
        return [
            piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)
        ]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """As Typer's, but each group of options under a heading of its own.

        Typer's panels need rich, whose import would add a third to the time of --help.
        """
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                is_word = parameter.param_type_name == "argument"
                if is_word:  # Typer would show its type, too
                    record = (record[0].partition(" <")[0], record[1])
                named = getattr(parameter, "rich_help_panel", None)
                heading = "Arguments" if is_word else named or "Options"
                groups.setdefault(heading, []).append(record)
        for heading, records in sorted(groups.items(), key=lambda group: PLACES.get(group[0], 0)):
            with formatter.section(heading):
                formatter.write_dl(records)


def _with_empty_name(args: list[str]) -> list[str]:
    """`--list` without a value as `--list ""`: Typer has no options with optional values."""
    followed = zip(args, [*args, "-"][1:], strict=True)
    return [f"{each}=" if each == LISTED and after[:1] == "-" else each for each, after in followed]


def _comes_once(option: TyperOption) -> bool:
    """Whether giving an option twice means two things: runs, files, words, parts of a corpus.

    A second number, choice or --out replaces the first: scripts append "$@" to their options.
    """
    if option.multiple or "--out" in option.opts:
        return False
    kind = option.type_descriptor
    return kind.annotation in (Path, str) or "test" in (kind.choices or ())
