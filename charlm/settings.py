"""Settings: JSON objects that name model parts and their options, merged, checked and filled in.

A part is a class. The keyword-only parameters of its constructor, with their annotations and
defaults, *are* its schema. `{"type": "highway", "encoder": {"type": "char-cnn"}}` becomes an object
and the same settings with every default written out. A run stores the latter, so that no default
is ever looked up again.
"""

import inspect
import json
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from charlm.errors import ConfigError, UnknownPartError

Settings = dict[str, Any]


class Range(NamedTuple):
    """The least and the greatest value of a number, or of every number in a list."""

    low: float
    high: float


class Meaning(NamedTuple):
    """A setting's description in a few words, as `charlm train --list NAME` shows it."""

    text: str


# Bounds keep an untrusted run.json from asking for a billion layers before anything is checked.
Dim = Annotated[int, Range(1, 65_536)]
Layers = Annotated[int, Range(1, 64)]
Count = Annotated[int, Range(0, 1_000_000_000)]
Probability = Annotated[float, Range(0.0, 0.999)]
# A file that is read when a model is built for training. Afterwards the option says STORED: the
# content is kept with the weights, and a path in an untrusted run.json is never opened.
STORED = "stored"
InputFile = Annotated[str, STORED]
BARE_POINT = re.compile(r"(?<![\w.])\.(?=\d)")  # the point of .5, which JSON writes as 0.5
MAX_LIST = 64
LARGEST = 3e38  # value that fits in a float32, as torch wants it
MOST_HINTS = 4  # names that end alike: of more, as of all that end in `type`, a list is no help
MAX_DEPTH = 16  # of parts within parts
MAX_NESTING = 64  # of JSON values: far below Python's recursion limit


@dataclass(frozen=True)
class Family:
    """The parts that can stand in one place: `noun` for messages, `table` from name to class.

    An option annotated with `contract` takes a part of this family; `contract | None` makes the
    part optional. `inner` lists further families whose parts the options may take, each with the
    positions of the outer part's leading arguments that are passed to the inner part.
    """

    noun: str
    contract: type
    table: Mapping[str, Callable[..., Any]]
    inner: Sequence[tuple["Family", slice]] = ()


def build_part(
    family: Family,
    settings: Any,
    *,
    leading: Sequence[Any] = (),
    may_read: bool = False,
    place: str = "",
) -> tuple[Any, Settings]:
    """The part that `settings` describe, and the settings with all defaults filled in.

    `leading` are the positional arguments of every part in this place; parts inside the part get
    the same ones. `may_read`: the settings are the user's own, and files that they name are read.
    `place` is the part's name in `--set`, if that is not the noun of its family.

    Raises:
        ConfigError: an unknown part or option, or a value of the wrong type or out of range.
    """
    place = place or family.noun
    name, part = _named_part(family, settings, place)
    schema = options_of(part)
    arguments: dict[str, Any] = {}
    resolved: Settings = {"type": name}
    _refuse_unknown(family, settings, place=place)
    for option, (annotation, default) in schema.items():
        where = f"option {option!r} of {family.noun} {name!r}"
        value = settings.get(option, default)
        inner, is_optional = inner_family(annotation, family)
        if value is inspect.Parameter.empty:
            mend = f"expected a part; add {place}.{option}.type" if inner else "it has no default"
            raise ConfigError(f"{where} is missing; {mend}")
        if is_optional and value is None:
            arguments[option] = resolved[option] = None
        elif inner is not None:
            arguments[option], resolved[option] = build_part(
                inner[0],
                value,
                leading=leading[inner[1]],
                may_read=may_read,
                place=f"{place}.{option}",
            )
        else:
            fitted = checked(value, annotation, where=where, default=default)
            arguments[option] = fitted
            resolved[option] = list(fitted) if isinstance(fitted, tuple) else fitted
            if STORED in get_args(annotation):
                _check_file(value, may_read=may_read, where=where)
    built = part(*leading, **arguments)
    if hasattr(built, "settings_to_store"):  # of a part that is stored as it was not built
        resolved = built.settings_to_store(resolved)
    return built, resolved


def _named_part(family: Family, settings: Any, place: str) -> tuple[str, Callable[..., Any]]:
    noun = family.noun
    if not isinstance(settings, dict) or not isinstance(settings.get("type"), str):
        is_name = isinstance(settings, str) and settings in family.table
        mend = f"; say {place}.type={settings}" if is_name else ""
        raise ConfigError(f"{noun}: found {shown(settings)}; expected an object with a type{mend}")
    if place.count(".") > MAX_DEPTH:
        raise ConfigError(f"{noun}: parts nested more than {MAX_DEPTH} deep; expected fewer")
    name = settings["type"]
    if name not in family.table:
        raise UnknownPartError(
            f"unknown {noun} {shown(name)}; {hint(name, family.table)}"
            f"expected one of {', '.join(family.table)}"
        )
    return name, family.table[name]


def inner_family(annotation: Any, family: Family) -> tuple[tuple[Family, slice] | None, bool]:
    """The family whose part an option takes, its leading arguments, and whether None is allowed."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    kinds = get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    for inner, leading in ((family, slice(None)), *family.inner):
        if inner.contract in kinds:
            return (inner, leading), type(None) in kinds
    return None, False


def options_of(part: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """The keyword-only parameters of `part`: name to (annotation, default)."""
    return {each.name: (each.annotation, each.default) for each in keyword_only(part)}


@cache
def keyword_only(part: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    """The parameters of a class or function that are given by name."""
    parameters = inspect.signature(part).parameters.values()
    return tuple(each for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY)


def option_names(family: Family, settings: Settings, *, place: str) -> Iterator[str]:
    """The names in `--set` of the options of a part and of those within it, wrong ones left out."""
    yield f"{place}.type"
    name = settings.get("type")
    part = family.table.get(name) if isinstance(name, str) else None
    for option, (annotation, _) in (options_of(part) if part else {}).items():
        yield f"{place}.{option}"
        inner, _ = inner_family(annotation, family)
        value = settings.get(option)
        if inner and isinstance(value, dict) and place.count(".") < MAX_DEPTH:
            yield from option_names(inner[0], value, place=f"{place}.{option}")


def hint(wrong: object, names: Iterable[str]) -> str:
    """`did you mean context.dropout? `, if a name's last part is this one, or like it; else ""."""
    by_last: dict[str, list[str]] = {}
    for name in names:
        by_last.setdefault(_plain(name.rpartition(".")[2]), []).append(name)
    plain = _plain(str(wrong)[:60])
    near = [plain] if plain in by_last else get_close_matches(plain, by_last, n=1)
    found = by_last[near[0]] if near else []
    return f"did you mean {' or '.join(found)}? " if 0 < len(found) <= MOST_HINTS else ""


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def _refuse_unknown(family: Family, settings: Settings, *, place: str) -> None:
    name = settings["type"]
    schema = options_of(family.table[name])
    for option in settings:
        if option != "type" and option not in schema:
            likely = hint(option, option_names(family, settings, place=place))
            takes = f"it takes {', '.join(schema)}" if schema else "it takes none"
            raise ConfigError(
                f"{family.noun} {name!r} has no option {shown(option)}; {likely}{takes}"
            )


def _check_file(value: Any, *, may_read: bool, where: str) -> None:
    if not may_read and value not in ("", STORED):
        raise ConfigError(f"{where} is {shown(value)}; expected {STORED!r} in a run")
    if may_read and value == STORED:
        raise ConfigError(
            f"{where} is {STORED!r}, which a run says of what it has read; expected a file; "
            f"write ./{STORED} for one of that name"
        )


def checked(value: Any, annotation: Any, *, where: str, default: Any = ()) -> Any:
    """`value` as the type that `annotation` asks for; `default` is the example for a list.

    Raises:
        ConfigError: the type is wrong, or the value out of range.
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
    if not abs(value) <= LARGEST:  # JSON allows NaN and Infinity, Python also 10**400
        raise ConfigError(f"{where} is {shown(value)}; expected a finite number up to {LARGEST:g}")
    return float(value)


def shown(value: Any) -> str:
    """A value as messages show it: on one line, cut if it is long."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deep, or an integer of too many digits
        return "a value too large to show"
    return text if len(text) <= 60 else text[:57] + "..."


def merged(base: Settings, changes: Settings, *, depth: int = 0) -> Settings:
    """`base` overridden by `changes`, with objects merged key by key; neither is altered.

    Where a change names another `type`, the options of the old type are dropped; options given
    without a type apply to whichever type is named.

    Raises:
        ConfigError: the settings are nested too deep.
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


def as_assignments(said: Sequence[str] | Mapping[str, object]) -> list[str]:
    """`name=value` for each item of a dict, as the command line has them; a list as it is.

    Raises:
        ConfigError: a value that is no text, number, truth value, list or dict.
    """
    if not isinstance(said, Mapping):
        return list(said)
    return [f"{name}={_as_text(value, of=name)}" for name, value in said.items()]


def _as_text(value: object, *, of: str) -> str:
    """A text as it is, and anything else as JSON; NumPy's numbers and arrays as Python's."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, default=lambda each: each.tolist())
    except (AttributeError, TypeError, ValueError, RecursionError):
        raise ConfigError(
            f"{of}: found {shown(value)}; expected a text, a number, or a list or dict of them"
        ) from None


def overridden(changes: Settings, overrides: Sequence[str] | Mapping[str, object]) -> Settings:
    """`changes` merged with each `--set`, before any of it is merged into a preset.

    An option therefore also applies to a part whose type is named after it.

    Raises:
        ConfigError: as `parse_override`.
    """
    for text in as_assignments(overrides):
        changes = merged(changes, parse_override(text))
    return changes


def parse_override(text: str) -> Settings:
    """`encoder.widths=1,2,3` as `{"encoder": {"widths": [1, 2, 3]}}`.

    A value is read as JSON if possible (numbers, including .5; true; lists; objects), else as a
    string.

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
