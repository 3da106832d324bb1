"""Errors that a user can cause: the only exceptions that the command line turns into one line.

A message reads `WHERE: what was found; what was expected; what to do`, lower case, on one line.
Our own mistakes stay ValueError or AssertionError and keep their traceback.
"""

import re


class CharlmError(Exception):
    """An error that the user can fix; the message is one line."""

    def __str__(self) -> str:
        return on_one_line(super().__str__())  # names of files may hold line ends


class DataError(CharlmError):
    """A file or a text that is not what was expected; the message starts with its path."""


class ConfigError(CharlmError):
    """An option, a preset or a part that does not exist or does not fit."""


class TrainingError(CharlmError):
    """A training that cannot go on: NaN, a locked run, a run that already exists."""


class ProcessError(CharlmError):
    """One of several processes that work together ended too early, or never started."""


def broken_model(source: object, *, mend: str = "train it again") -> DataError:
    """The error for a model whose outputs are not finite numbers."""
    return DataError(
        f"{source}: the model is broken: log probabilities are NaN or infinite; expected numbers; "
        f"{mend}"
    )


def on_one_line(message: str) -> str:
    """A message with a blank for each line end in it."""
    return re.sub(r"\s*\n\s*", " ", message.strip())
