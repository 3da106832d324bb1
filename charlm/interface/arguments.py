"""Checks the arguments of public functions against the functions' own annotations.

The command line passes the right types; a Python caller may pass a list for a string, None or a
generator. Values whose meaning is plain are accepted: a single value for a list, any iterable for
a list, NumPy numbers. Anything else raises ConfigError before the function begins, instead of a
TypeError deep inside it.
"""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from charlm.errors import ConfigError
from charlm.runtime import own_modes
from charlm.settings import shown

P = ParamSpec("P")
R = TypeVar("R")

NOUNS = {
    str: "a string",
    Path: "a path",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    NoneType: "None",
}
TOO_LARGE = 2**63  # for torch's int64
MISFIT = object()  # stands for a value that does not fit its annotation


@cache  # pickle insists on finding the very same object
def public_function(function: Callable[..., Any], *, module: str) -> Callable[..., Any]:
    """`function` with its arguments checked, shown under the name of a public module."""
    checked = checked_call(function)
    checked.__module__ = module
    return checked


def checked_call(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, but an argument of the wrong type raises ConfigError.

    It computes in its own modes, whatever those of the caller.
    """
    parameters = inspect.signature(function).parameters
    # Python itself refuses a value behind these.
    names = [each.name for each in parameters.values() if each.kind is not each.KEYWORD_ONLY]
    takes_options = "__signature__" in vars(function)  # its annotations are types, not strings
    kinds = get_type_hints(function)
    options: Any = vars(function).get("options_class", ())  # which may be given as one object
    if takes_options:
        kinds = {name: parameter.annotation for name, parameter in parameters.items()}

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or not isinstance(args[0], options):
            own = [_checked(value, kinds, name) for name, value in zip(names, args, strict=False)]
            args = (*own, *args[len(names) :])
            kwargs = {name: _checked(value, kinds, name) for name, value in kwargs.items()}
        with own_modes():
            return function(*args, **kwargs)

    return checked


def _checked(value: Any, kinds: Mapping[str, Any], name: str) -> Any:
    if name not in kinds:  # self, or a name that Python itself will refuse
        return value
    fitted = _fitted(value, kinds[name])
    if fitted is MISFIT:
        noun = _noun(kinds[name])
        if isinstance(value, list | tuple) and " list " not in noun:
            noun += ", not several"
        where = _first_misfit(value, kinds[name])
        raise ConfigError(f"{name}: found {shown(value)}{where}; expected {noun}")
    return fitted


def _fitted(value: Any, kind: Any) -> Any:
    """`value` converted to the annotated type, or MISFIT."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if Path in inner and isinstance(value, str | Path) and not _can_name_a_file(value):
            return MISFIT
        return next((v for v in (_fitted(value, k) for k in inner) if v is not MISFIT), MISFIT)
    if origin in (Sequence, Iterable):
        return _several(value, inner[0])
    if origin is Mapping and isinstance(value, Mapping):
        pairs = [(_fitted(key, inner[0]), _fitted(each, inner[1])) for key, each in value.items()]
        # `in` would compare arrays.
        return MISFIT if any(each is MISFIT for pair in pairs for each in pair) else dict(pairs)
    if kind in (int, float):
        return _number(value, kind)
    if kind is bool and str(getattr(value, "dtype", "")) == "bool" and not value.shape:  # NumPy's
        return bool(value)
    if kind is str and isinstance(value, str):
        return str.__str__(value)  # a plain one, as results are to hold
    if origin is Literal:
        fits = isinstance(value, str) and value in inner
    elif origin is Callable:
        fits = callable(value)
    else:
        fits = isinstance(value, origin or kind)
    return value if fits else MISFIT


def _several(values: Any, kind: Any) -> Any:
    if kind is str and type(values) in (list, tuple) and set(map(type, values)) == {str}:
        return tuple(values)  # decoders give hundreds of words at each step
    one = _fitted(values, kind)
    if one is not MISFIT:
        return (one,)
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        return MISFIT
    if getattr(values, "ndim", 1) != 1:  # an array of one value, or a table, which gives its head
        return MISFIT
    fitted = tuple(_fitted(value, kind) for value in values)
    return MISFIT if any(each is MISFIT for each in fitted) else fitted


def _first_misfit(values: Any, kind: Any) -> str:
    """Which of several values does not fit, if others do: one of ten thousand is not seen."""
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    inner = [get_args(each)[0] for each in kinds if get_origin(each) in (Sequence, Iterable)]
    is_list = isinstance(values, Sequence) or getattr(values, "ndim", 0) == 1  # not one read once
    if not inner or not is_list or isinstance(values, str | bytes):
        return ""
    wrong = [(i, each) for i, each in enumerate(values) if _fitted(each, inner[0]) is MISFIT]
    if not 0 < len(wrong) < len(values):
        return ""
    index, value = wrong[0]
    return f", in which [{index}] is {shown(value)}"


def _can_name_a_file(path: str | Path) -> bool:
    try:
        name = os.fsencode(path)
        return bool(name) and b"\0" not in name  # Path would take "" for "."
    except UnicodeEncodeError:  # half a surrogate pair
        return False


def _number(value: Any, kind: type) -> Any:
    if isinstance(value, bool) or not isinstance(value, Integral if kind is int else Real):
        return MISFIT
    if isinstance(value, Integral) and abs(int(value)) >= TOO_LARGE:
        return MISFIT
    return kind(value)


def _noun(kind: Any) -> str:
    """What an annotation accepts, in words, for messages."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        nouns = [_noun(each) for each in inner if each is not str or Path not in inner]
        return " or ".join(nouns)
    if origin is Literal:
        return f"one of {', '.join(map(repr, inner))}"
    if origin in (Sequence, Iterable):
        return f"a list of {_noun(inner[0]).removeprefix('a ')}s"
    if origin is Callable:
        return "a function"
    if origin is Mapping:
        of = "" if inner[1] is object else f" of {_noun(inner[1]).removeprefix('a ')}s"
        return f"a dict{of}"
    return NOUNS.get(kind) or f"a {kind.__name__}"
