"""Results as JSON: the object that --json prints of a dataclass."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, ClassVar

# Fields that have another name in the object, whatever the class.
NAMES = {"tap": "at", "is_known": "known", "sizes": "n_ngrams"}


class JsonResult:
    """A dataclass that is the object of its fields, and of the properties named in `derived`."""

    derived: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        facts = _fields_of(self) | {name: plain(getattr(self, name)) for name in self.derived}
        return {NAMES.get(name, name): value for name, value in facts.items()}


def plain(value: Any) -> Any:
    """A value as JSON has it: a dataclass or named tuple is an object, a path a string."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return _fields_of(value)
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return str(value) if isinstance(value, Path) else value


def _fields_of(value: Any) -> dict[str, Any]:
    return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
