"""How results and runs look in Python's interpreter: always one line.

A plain dataclass would show all settings and weights of a model, or every word of a text. Here long
values are cut, and values of several lines are shown as their class name; `to_dict()` has
everything.
"""

from dataclasses import fields
from pathlib import Path
from reprlib import Repr
from typing import Any

LONGEST = 200  # characters of a whole repr
LONGEST_VALUE = 60
MOST_ITEMS = 3  # of a list


class _Cut(Repr):
    """`reprlib`'s way of cutting, except that an object is never cut in the middle."""

    def __init__(self) -> None:
        super().__init__()
        self.maxtuple = self.maxlist = self.maxdict = self.maxset = self.maxfrozenset = MOST_ITEMS
        self.maxstring = self.maxlong = LONGEST_VALUE

    def repr_instance(self, x: Any, level: int) -> str:
        text = repr(str(x) if isinstance(x, Path) else x)
        is_short = len(text) <= LONGEST_VALUE and "\n" not in text
        return text if is_short else f"{type(x).__name__}(...)"


CUT = _Cut()


class ShortRepr:
    """A dataclass whose repr is one line of at most `LONGEST` characters."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__repr__ = ShortRepr.__repr__  # type: ignore[method-assign]  # a dataclass keeps its own

    def __repr__(self) -> str:
        found = fields(self)  # type: ignore[arg-type]  # it is a dataclass
        named = ", ".join(f"{each.name}={CUT.repr(getattr(self, each.name))}" for each in found)
        text = f"{type(self).__name__}({named})"
        return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]}...)"
