"""The one place where an error becomes a line on stderr and an exit status.

Typer's `main` exits instead of returning and turns Ctrl-C into status 130 on its own, so the
boundary stands around it: what comes through is SystemExit, or an error that Typer does not know.
An option that comes twice, of which Typer takes the last in silence, is refused here, too.
Our own mistakes (ValueError, AssertionError, ...) keep their traceback; CHARLM_TRACEBACK=1 shows
that of every error.
"""

import os
import re
import shlex
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from charlm.cli import output
from charlm.cli.command import LISTED
from charlm.cli.signals import EndedBySignal
from charlm.errors import CharlmError, ConfigError

FAILED = 1
INTERRUPTED = 130
PYDANTIC = "Value error, "  # stands before what Typer itself says of a value
ENCODING = "no --encoding here, it reads UTF-8; `charlm prep --encoding NAME` converts a text"
TWICE = "found twice; expected once: the first would be dropped"
# Of a RuntimeError; torch has a class for a GPU's memory only, and loading it here costs seconds.
OUT_OF_MEMORY = re.compile("out of memory|can't allocate memory")


TEXT_ELSEWHERE = (
    "a file is named without an option, and a sentence comes by a pipe: echo 'the cat' | charlm "
    "COMMAND -"
)
# Options that people try and a command does not have, and what there is instead.
GUESSED_OPTIONS = {
    "score": {
        "--tune": "is a command of its own now: charlm tune DEV --refs REFS --out weights.json "
        "finds weights, and charlm score LIST --weights weights.json takes them",
        "--serve": "is a command of its own now: charlm serve answers JSON lines",
        "--text": TEXT_ELSEWHERE,
    },
    "surprisal": {
        "--spillover": "--previous N gives the values of the N words before",
        "--text": TEXT_ELSEWHERE,
    },
    "eval": {"--text": TEXT_ELSEWHERE},
    "export": {"--out": "say what goes there instead: --arpa FILE, --onnx DIR or --page FILE"},
}
# The commands as --help lists them; one that stands nowhere comes under the last heading.
HEADINGS = {
    "Text": ("prep", "vocab"),
    "Train": ("train",),
    "Measure": ("eval", "surprisal", "ngram", "mix", "compare-kn", "table"),
    "Use": ("score", "tune", "serve", "sample"),
    "Look": ("nn", "info", "report"),
    "More": ("export", "bench"),
}
ALSO_CALLED = {"neighbors": "nn", "neighbours": "nn"}
MOST = 1000  # characters of a command's first sentence: all of them


class Commands(TyperGroup):
    """Typer's group of commands, with the boundary around it."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """As Typer's; by a second name, too."""
        return super().get_command(ctx, ALSO_CALLED.get(cmd_name, cmd_name))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As Typer's; `help COMMAND` and `version` as other tools have them, too."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, ["--version"] if args == ["version"] else args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """As Typer's, but under headings, and with first sentences that are not cut."""
        names = self.list_commands(ctx)
        listed = {name for group in HEADINGS.values() for name in group}
        others = tuple(name for name in names if name not in listed)
        for heading, group in HEADINGS.items():
            shown = (*group, *others) if heading == "More" else group
            rows = [
                (name, self.commands[name].get_short_help_str(MOST))
                for name in shown
                if name in names
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command and exit: 0 done, 1 impossible, 2 not understood, 130 Ctrl-C."""
        try:
            try:
                return super().main(*args, **kwargs)
            finally:
                output.flush()
        except EndedBySignal as stop:
            if stop.code != INTERRUPTED:
                signal.signal(stop.number, signal.SIG_DFL)
                signal.raise_signal(stop.number)  # so that the caller sees what ended it
            raise
        except (KeyboardInterrupt, SystemExit) as stop:
            if isinstance(stop, SystemExit) and stop.code != INTERRUPTED:
                raise
            message, status = "interrupted", INTERRUPTED
        except (CharlmError, OSError, MemoryError, RuntimeError) as error:
            line = error_line(error)
            if line is None or os.environ.get("CHARLM_TRACEBACK") == "1":
                raise
            message, status = line, FAILED
        _tell(message)
        raise SystemExit(status)


class Command(TyperCommand):
    """Typer's command; an option that takes one value and gets two is refused."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As Typer's.

        Raises:
            BadParameter: what Typer refuses, or an option that comes twice.
            ConfigError: an option that is called otherwise; with another missing, no such preset.
        """
        self._explain_guesses(ctx, args)
        listing = getattr(self.callback, "listing", None)
        if listing is not None:
            args = _with_empty_name(args)
        is_encoded = any(each.partition("=")[0] == "--encoding" for each in args)
        if is_encoded and not self._has("encoding"):
            raise typer.BadParameter(ENCODING, ctx=ctx)
        given, extra, found = self.make_parser(ctx).parse_args(list(args))  # it empties its list
        for option in found:
            if isinstance(option, TyperOption) and _comes_once(option) and found.count(option) > 1:
                raise typer.BadParameter(TWICE, ctx=ctx, param=option)
        self._refuse_options_as_values(ctx, given)
        if "listed" in given:  # before Typer asks for what is missing
            assert listing is not None
            listing(given["listed"], as_json=bool(given.get("as_json")))
            ctx.exit()
        self._explain_words(ctx, args, given=given, extra=extra)
        if "arch" in given and any(p.required and p.name not in given for p in self.params):
            from charlm.presets import preset

            preset(given["arch"])  # refuses an unknown one before Typer asks for what is missing
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix(PYDANTIC)
            raise

    def _has(self, name: str) -> bool:
        return any(each.name == name for each in self.params)

    def _explain_guesses(self, ctx: Any, args: list[str]) -> None:
        """Raises ConfigError for an option that is called otherwise here."""
        guesses = GUESSED_OPTIONS.get(self.name or "", {})
        if not self._has("out"):
            kept = f"the result goes to standard output; {ctx.command_path} … > FILE keeps it"
            guesses = {"--out": kept} | guesses
        for word in args:
            guess = word.partition("=")[0]
            if guess in guesses:
                answer = guesses[guess].replace("COMMAND", str(self.name))
                raise ConfigError(f"{guess}: {answer}")

    def _refuse_options_as_values(self, ctx: Any, given: dict[str, Any]) -> None:
        """Raises BadParameter for `--onnx --model RUN`: the parser takes --model for the folder."""
        spellings = {spelling for each in self.params for spelling in each.opts}
        for option in self.params:
            value = given.get(option.name or "")
            if isinstance(option, TyperOption) and isinstance(value, str) and value in spellings:
                said = f"found the option {value}; expected {option.metavar or 'a value'}"
                raise typer.BadParameter(said, ctx=ctx, param=option)

    def _explain_words(
        self, ctx: Any, args: list[str], *, given: dict[str, Any], extra: list[str]
    ) -> None:
        """Raises BadParameter for words that lack an option before them, or a pipe."""
        arguments = [each for each in self.params if isinstance(each, TyperArgument)]
        taken = [each.name for each in arguments]
        files = [
            word
            for each in arguments
            if "Path" in str(each.type_descriptor.annotation)
            for word in _as_list(given.get(each.name or ""))
        ]
        if self._has("model"):
            self._explain_files(ctx, args, files=files, extra=extra)
        if extra and not taken:
            word = extra[0]
            flags = [f"{flag} {word}" for flag in self._flags_for(word)]
            if ("--resume", word) in zip(args, args[1:], strict=False):  # which takes no value
                flags = [f"--out {word} --resume"]
            said = f"found {word!r} alone; expected options; say {' or '.join(flags)}"
            raise typer.BadParameter(said, ctx=ctx)
        needs_out = any(each.name == "out" and each.required for each in self.params)
        words = [word for name in taken for word in _as_list(given.get(name or ""))]
        if needs_out and "out" not in given and len(words) > 1:
            said = f"--out is missing; say --out {words[-1]}, if the result is to go there"
            raise typer.BadParameter(said, ctx=ctx)

    def _flags_for(self, word: str) -> list[str]:
        """The options that a word may lack: of a number others than of a name."""
        flags = {each.name: each.opts[0] for each in self.params}
        numbers = [flags[name] for name in ("n", "epochs") if name in flags]
        if word.isdecimal() and numbers:
            return numbers
        return [flags[name] for name in ("arch", "data", "model", "out") if name in flags]

    def _explain_files(
        self, ctx: Any, args: list[str], *, files: list[str], extra: list[str]
    ) -> None:
        """Raises BadParameter for a run or a sentence in the place of a file."""
        from charlm.run.folder import EXPORT, RUN

        # Not Path.exists, which raises where a sentence is too long for a name.
        words = [*files, *extra]
        for word in words:
            if any(os.path.isfile(os.path.join(word, name)) for name in (RUN, EXPORT)):
                said = f"found the model {word!r} without its option; say --model {word}"
                raise typer.BadParameter(said, ctx=ctx)
        sentence = " ".join(words)
        may_be_files = any(os.path.exists(each) or Path(each).suffix for each in words)
        if files and " " in sentence and not may_be_files:
            others = shlex.join(each for each in args if each not in words)
            piped = f"echo {shlex.quote(sentence)} | {ctx.command_path} - {others}".rstrip()
            said = f"{sentence!r}: no such file; expected one; a sentence comes so: {piped}"
            raise typer.BadParameter(said, ctx=ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """As Typer's, but each group of options under a heading of its own.

        Typer's panels need rich, which takes a third of the time that --help takes without it.
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
        for heading, records in sorted(groups.items(), key=lambda group: group[0] == "Machine"):
            with formatter.section(heading):
                formatter.write_dl(records)


def _with_empty_name(args: list[str]) -> list[str]:
    """`--list` alone as `--list ""`: Typer has no option whose value may be left out."""
    followed = zip(args, [*args, "-"][1:], strict=True)
    return [f"{each}=" if each == LISTED and after[:1] == "-" else each for each, after in followed]


def _as_list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


def _comes_once(option: TyperOption) -> bool:
    """Whether who gives it twice means two things: runs, files, words, parts of a corpus.

    A number, a choice or --out that comes again replaces the first: scripts put "$@" behind theirs.
    """
    if option.multiple or "--out" in option.opts:
        return False
    kind = option.type_descriptor
    return kind.annotation in (Path, str) or "test" in (kind.choices or ())


def error_line(error: BaseException) -> str | None:
    """The line for an error that a user can cause; None for a mistake of ours."""
    if isinstance(error, CharlmError):
        return str(error)
    if isinstance(error, OSError):
        return _system_error(error)
    if isinstance(error, MemoryError) or OUT_OF_MEMORY.search(str(error)):
        amount = re.search(r"allocate ([0-9.]+ \w+)", str(error))
        wanted = f" ({amount[1]} asked for)" if amount else ""
        return f"out of memory{wanted}; a smaller batch, model or vocabulary needs less"
    return None


def _system_error(error: OSError) -> str:
    if not error.strerror:
        return str(error)
    reason = error.strerror[0].lower() + error.strerror[1:]
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    return f"{' -> '.join(names)}: {reason}" if names else reason


def _tell(message: str) -> None:
    if sys.stderr is None:
        return
    line = output.escape(re.sub(r"\s*\n\s*", " ", message.strip()))
    with suppress(OSError):
        sys.stderr.write(f"charlm: {line}\n")
