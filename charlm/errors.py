"""Errors that a user can cause: the only exceptions that the command line shows as one line.

A message reads `WHERE: what was found; what was expected; what to do`, lower case, on one line.
Bugs in charlm itself raise ValueError or AssertionError and keep their traceback.
"""

import re
from collections.abc import Sequence


class CharlmError(Exception):
    """An error that the user can fix; its message is one line."""

    def __str__(self) -> str:
        return on_one_line(super().__str__())  # file names may contain newlines


class DataError(CharlmError):
    """A file or text is not what was expected; the message starts with its path."""


class ConfigError(CharlmError):
    """An option, preset or model part does not exist or does not fit."""


class UnknownPartError(ConfigError, DataError):
    """A model part of an option or of a run.json is not known to this program."""


class TrainingError(CharlmError):
    """Training cannot start or go on: NaN, a locked run, or a run that already exists."""


class ProcessError(CharlmError):
    """One of several cooperating processes ended early or never started."""


def broken_model(source: object, *, mend: str = "train it again") -> DataError:
    """The error for a model whose log probabilities are NaN or infinite."""
    return DataError(
        f"{source}: the model is broken: log probabilities are NaN or infinite; expected numbers; "
        f"{mend}"
    )


def first_few(names: Sequence[str], *, most: int = 3) -> str:
    """The first names, and how many more there are: `a, b, c and 2 more`."""
    n_more = len(names) - most
    return ", ".join(names[:most]) + (f" and {n_more} more" if n_more > 0 else "")


def on_one_line(message: str) -> str:
    """The message with each line break replaced by a space."""
    return re.sub(r"\s*\n\s*", " ", message.strip())
