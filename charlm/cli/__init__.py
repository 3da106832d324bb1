"""The program `charlm`: its commands, one file each, and its entry point.

A command parses, calls one public function of the library and prints; it imports that function in
its body, so that `charlm --help` loads neither torch nor NumPy.
"""

import atexit
import gc
import logging
from collections.abc import Callable
from typing import Annotated

import typer

from charlm.cli import output
from charlm.cli.bench import bench
from charlm.cli.compare_kn import compare_kn
from charlm.cli.eval import eval_command
from charlm.cli.export import export
from charlm.cli.info import info
from charlm.cli.mix import mix
from charlm.cli.next import next_command
from charlm.cli.ngram import ngram
from charlm.cli.nn import nn
from charlm.cli.prep import prep
from charlm.cli.report import report
from charlm.cli.sample import sample
from charlm.cli.score import score
from charlm.cli.serve import serve
from charlm.cli.signals import die_of_closed_pipes, tidy_up_when_ended
from charlm.cli.surprisal import surprisal
from charlm.cli.table import table
from charlm.cli.train import train
from charlm.cli.tune import tune
from charlm.cli.usage import Command, Commands
from charlm.cli.vocab import vocab
from charlm.runtime import prepare_torch
from charlm.version import __version__

app = typer.Typer(
    cls=Commands,
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


COMMANDS: dict[str, Callable[..., None]] = {
    "prep": prep,
    "vocab": vocab,
    "train": train,
    "eval": eval_command,
    "nn": nn,
    "info": info,
    "report": report,
    "ngram": ngram,
    "compare-kn": compare_kn,
    "table": table,
    "mix": mix,
    "score": score,
    "surprisal": surprisal,
    "tune": tune,
    "serve": serve,
    "sample": sample,
    "next": next_command,
    "export": export,
}

GROUPS: dict[str, typer.Typer] = {"bench": bench}  # of commands of their own

for name, command in COMMANDS.items():
    app.command(name, cls=Command)(command)
for name, group in GROUPS.items():
    app.add_typer(group, name=name)


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
