"""Settings: JSON objects that name parts and their options, merged, checked and filled in.

A part is a class; the keyword-only parameters of its constructor, with their annotations and
defaults, *are* its schema. `{"type": "highway", "encoder": {"type": "char-cnn"}}` becomes an object
and the same settings with every default written out: what a run stores is never looked up again.
"""

import inspect
import json
import re
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Protocol,
    get_args,
    get_origin,
    runtime_checkable,
)

from charlm.errors import ConfigError

Settings = dict[str, Any]


class Range(NamedTuple):
    """The least and the greatest value of a number, or of every number of a list."""

    low: float
    high: float


class Meaning(NamedTuple):
    """What a setting is, in a few words, as `charlm train --list NAME` shows it."""

    text: str


# Bounds keep a stranger's run.json from asking for a billion layers before anything is checked.
Dim = Annotated[int, Range(1, 65_536)]
Layers = Annotated[int, Range(1, 64)]
Count = Annotated[int, Range(0, 1_000_000_000)]
Probability = Annotated[float, Range(0.0, 0.999)]
# A file that is read when a model is made for training. Afterwards the option says STORED: what was
# read stands with the weights, and the path in a stranger's run.json is never opened.
STORED = "stored"
InputFile = Annotated[str, STORED]
BARE_POINT = re.compile(r"(?<![\w.])\.(?=\d)")  # of .5, which JSON would have as 0.5
MAX_LIST = 64
MAX_DEPTH = 16  # of parts within parts
MAX_NESTING = 64  # of JSON values: far from where Python's own recursion ends


@dataclass(frozen=True)
class Family:
    """The parts that can stand in one place: `noun` for messages, `table` from name to class.

    `contract` is the annotation by which an option says that it takes a part of this family, or
    with `| None` that it may. `inner` are further families whose parts its options may take, each
    with the positions of the outer part's leading arguments that the inner part gets.
    """

    noun: str
    contract: type
    table: Mapping[str, Callable[..., Any]]
    inner: Sequence[tuple["Family", slice]] = ()


@runtime_checkable
class StoresOtherwise(Protocol):
    """A part that needs other settings to be rebuilt than those that it was built with."""

    def settings_to_store(self, settings: Settings) -> Settings:
        """Settings that build this part again, from those that built it with all defaults."""


def build_part(
    family: Family,
    settings: Any,
    *,
    leading: Sequence[Any] = (),
    may_read: bool = False,
    depth: int = 0,
) -> tuple[Any, Settings]:
    """The part that `settings` describe, and the settings with all defaults filled in.

    `leading` are the positional arguments that the part's place dictates; parts within the part
    get the same ones. `may_read`: the settings are the user's own, and files in them are read.

    Raises:
        ConfigError: an unknown part or option, or a value of the wrong type or out of range.
    """
    name, part = _named_part(family, settings, depth)
    schema = options_of(part)
    arguments: dict[str, Any] = {}
    resolved: Settings = {"type": name}
    _refuse_unknown(settings, schema, where=f"{family.noun} {name!r}")
    for option, (annotation, default) in schema.items():
        where = f"option {option!r} of {family.noun} {name!r}"
        value = settings.get(option, default)
        inner, is_optional = inner_family(annotation, family)
        if value is inspect.Parameter.empty:
            hint = f"expected a part; add its {option}.type" if inner else "it has no default"
            raise ConfigError(f"{where} is missing; {hint}")
        if is_optional and value is None:
            arguments[option] = resolved[option] = None
        elif inner is not None:
            arguments[option], resolved[option] = build_part(
                inner[0],
                value,
                leading=leading[inner[1]],
                may_read=may_read,
                depth=depth + 1,
            )
        else:
            fitted = checked(value, annotation, where=where, default=default)
            arguments[option] = fitted
            resolved[option] = list(fitted) if isinstance(fitted, tuple) else fitted
            if STORED in get_args(annotation):
                _check_file(value, may_read=may_read, where=where)
    built = part(*leading, **arguments)
    if isinstance(built, StoresOtherwise):
        resolved = built.settings_to_store(resolved)
    return built, resolved


def _named_part(family: Family, settings: Any, depth: int) -> tuple[str, Callable[..., Any]]:
    noun = family.noun
    if not isinstance(settings, dict) or not isinstance(settings.get("type"), str):
        is_name = isinstance(settings, str) and settings in family.table
        mend = f"; say its type: ….type={settings}" if is_name else ""
        raise ConfigError(f"{noun}: found {shown(settings)}; expected an object with a type{mend}")
    if depth > MAX_DEPTH:
        raise ConfigError(f"{noun}: parts nested more than {MAX_DEPTH} deep; expected fewer")
    name = settings["type"]
    if name not in family.table:
        raise ConfigError(
            f"unknown {noun} {shown(name)}; expected one of {', '.join(family.table)}"
        )
    return name, family.table[name]


def inner_family(annotation: Any, family: Family) -> tuple[tuple[Family, slice] | None, bool]:
    """The family whose part an option takes, with its leading arguments, and if it may be none."""
    kinds = get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    for inner, leading in ((family, slice(None)), *family.inner):
        if inner.contract in kinds:
            return (inner, leading), type(None) in kinds
    return None, False


def options_of(part: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """The keyword-only parameters of `part`: name to (annotation, default)."""
    return {
        name: (parameter.annotation, parameter.default)
        for name, parameter in inspect.signature(part).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def _refuse_unknown(settings: Settings, schema: Mapping[str, Any], *, where: str) -> None:
    for option in settings:
        if option != "type" and option not in schema:
            takes = f"it takes {', '.join(schema)}" if schema else "it takes none"
            raise ConfigError(f"{where} has no option {shown(option)}; {takes}")


def _check_file(value: Any, *, may_read: bool, where: str) -> None:
    if not may_read and value not in ("", STORED):
        raise ConfigError(f"{where} is {shown(value)}; expected {STORED!r} in a run")
    if may_read and value == STORED:
        raise ConfigError(
            f"{where} is {STORED!r}, which a run says of what it has read; expected a file; "
            f"write ./{STORED} for one of that name"
        )


def checked(value: Any, annotation: Any, *, where: str, default: Any = ()) -> Any:
    """`value` as the type that `annotation` asks for; of a list, `default` shows how one looks.

    Raises:
        ConfigError: another type, or out of range.
    """
    bounds: Range | None = None
    if get_origin(annotation) is Annotated:
        annotation, *extras = get_args(annotation)
        bounds = next((extra for extra in extras if isinstance(extra, Range)), None)
    if get_origin(annotation) is Literal:
        choices = get_args(annotation)
        if value not in choices:
            listed = ", ".join(map(repr, choices))
            raise ConfigError(f"{where} is {shown(value)}; expected one of {listed}")
        return value
    if get_origin(annotation) is tuple:
        if not isinstance(value, list | tuple) or len(value) > MAX_LIST:
            example = list(default) if isinstance(default, tuple) and default else [1, 2]
            raise ConfigError(
                f"{where} is {shown(value)}; expected a list of at most {MAX_LIST}, as {example}"
            )
        item = get_args(annotation)[0]
        return tuple(_checked_scalar(each, item, bounds, where) for each in value)
    if isinstance(annotation, types.UnionType):
        raise TypeError(f"{where}: unions are no schema")
    return _checked_scalar(value, annotation, bounds, where)


def _checked_scalar(value: Any, kind: type, bounds: Range | None, where: str) -> Any:
    nouns = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}
    fits = isinstance(value, kind) or (kind is float and isinstance(value, int))
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise ConfigError(f"{where} is {shown(value)}; expected {nouns[kind]}")
    if bounds is not None and not bounds.low <= value <= bounds.high:
        raise ConfigError(f"{where} is {shown(value)}; expected {bounds.low} to {bounds.high}")
    if kind is not float:
        return value
    if not abs(value) <= sys.float_info.max:  # JSON knows NaN and Infinity, Python also 10**400
        raise ConfigError(f"{where} is {shown(value)}; expected a finite number")
    return float(value)


def shown(value: Any) -> str:
    """A value as messages show it: on one line, and not all of a long one."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deep, or a number of too many digits
        return "a value too large to show"
    return text if len(text) <= 60 else text[:57] + "..."


def merged(base: Settings, changes: Settings, *, depth: int = 0) -> Settings:
    """`base` with `changes` applied, objects merged key by key; neither is altered.

    If a change names another `type`, the options of the old one are dropped; options without a type
    so far are for whichever type is named.

    Raises:
        ConfigError: nested too deep.
    """
    old_type = base.get("type", changes.get("type"))
    result: Settings = _copied(base, depth) if changes.get("type", old_type) == old_type else {}
    for key, value in changes.items():
        old = result.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            result[key] = merged(old, value, depth=depth + 1)
        else:
            result[key] = _copied(value, depth + 1)
    return result


def _copied(value: Any, depth: int) -> Any:
    if depth > MAX_NESTING:
        raise ConfigError(f"settings nested more than {MAX_NESTING} deep; expected fewer")
    if isinstance(value, dict):
        return {key: _copied(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(each, depth + 1) for each in value]
    return value


def overridden(changes: Settings, overrides: Sequence[str]) -> Settings:
    """`changes` with those of each `--set` added, before all are applied to a preset.

    So an option also holds for a part whose type is set after it.

    Raises:
        ConfigError: as `parse_override`.
    """
    for text in overrides:
        changes = merged(changes, parse_override(text))
    return changes


def parse_override(text: str) -> Settings:
    """`encoder.widths=1,2,3` as `{"encoder": {"widths": [1, 2, 3]}}`.

    A value is JSON if it parses as JSON (numbers, also as .5, true, lists, objects), else a word.

    Raises:
        ConfigError: no `=` or an empty name.
    """
    path, equals, value = text.partition("=")
    names = path.strip().split(".")
    if not equals or not all(names):
        raise ConfigError(
            f"--set {shown(text)}: expected PART.OPTION=VALUE, as encoder.widths=1,2,3"
        )
    parsed = _parse_value(value.strip())
    for name in reversed(names):
        parsed = {name: parsed}
    assert isinstance(parsed, dict)
    return parsed


def _parse_value(text: str) -> Any:
    plain = BARE_POINT.sub("0.", text)
    for candidate in (text, f"[{text}]", plain, f"[{plain}]") if "," in text else (text, plain):
        try:
            return json.loads(candidate)
        except (ValueError, RecursionError):
            continue
    return text
