"""A command of the command line, made from the dataclass of its options.

Typer reads a function's signature: here one is made from the fields, so that no option is written
down twice. `--json` belongs to the command line and is no option of a Python function.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import GenericAlias, UnionType
from typing import (
    Annotated,
    Any,
    Concatenate,
    Literal,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import typer

from charlm.cli.printing import output
from charlm.errors import ConfigError
from charlm.interface.options import Field, fields_of, shown_range

Options = TypeVar("Options")
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of text for people.")
]
# An option that may stand alone or with a name, and is answered in the place of the command.
LISTED = "--list"
METAVARS = {int: "N", float: "X", str: "TEXT", Path: "FILE"}  # where an option says none


class Result(Protocol):
    """What --json prints."""

    def to_dict(self) -> object: ...


Results = Iterator[Result]  # one, or none from a process that does not print
Body = Callable[Concatenate[Options, ...], Results | None]


def command(
    options: Callable[..., Options],
    *,
    listing: tuple[str, Callable[..., None]] | None = None,
    has_json: bool = True,
) -> Callable[[Body[Options]], Callable[..., None]]:
    """Turns a function that takes the options as one object into one that Typer can call.

    The function yields its result, then tells people about it: with --json the result is printed
    and the rest does not run. A function that also needs to know this, or that prints a JSON of its
    own, takes `as_json`.

    `listing`: the help of --list, and what answers `--list NAME`, called with the name ("" if there
    is none) and the values of the other options, `given`; none of these is then required.
    `has_json`: whether the command has --json.
    """
    assert isinstance(options, type)
    fields = [field for field in fields_of(options) if not field.opt.is_for_python]

    def decorate(body: Body[Options]) -> Callable[..., None]:
        takes_json = "as_json" in inspect.signature(body).parameters

        def call(*, as_json: bool = False, listed: str | None = None, **given: Any) -> None:
            assert listed is None
            chosen = {
                field.name: given[field.name]
                for field in fields
                # Typer gives None for a repeatable option that was not given; Python has ().
                if given[field.name] is not None or field.default is inspect.Parameter.empty
            }
            flags = {"as_json": as_json} if takes_json else {}
            with _options_as_typed(fields):
                for result in body(options(**chosen), **flags) or ():
                    if as_json:
                        output.write_json(result.to_dict())
                        return

        parameters = [_parameter(field) for field in fields]
        by_name = inspect.Parameter.KEYWORD_ONLY
        if has_json:
            parameters.append(inspect.Parameter("as_json", by_name, default=False, annotation=Json))
        if listing is not None:
            vars(call)["listing"] = listing[1]
            said = typer.Option(LISTED, help=listing[0], metavar="[NAME]")
            kind = Annotated[str | None, said]
            parameters.append(inspect.Parameter("listed", by_name, default=None, annotation=kind))
        vars(call)["__signature__"] = inspect.Signature(parameters)
        call.__doc__ = body.__doc__
        return call

    return decorate


@contextmanager
def _options_as_typed(fields: Sequence[Field]) -> Iterator[None]:
    """In an error about an option by its name in Python, the option by its name here."""
    try:
        yield
    except ConfigError as error:
        name, colon, rest = str(error).partition(": ")
        typed = {field.name: field.opt.flag(field.name) for field in fields}
        if name not in typed:
            raise
        raise ConfigError(typed[name] + colon + rest) from error


def _parameter(field: Field) -> inspect.Parameter:
    opt, default = field.opt, field.default
    kind = opt.cli_type or _read_type(field.type)
    if get_origin(kind) is list and default is not inspect.Parameter.empty:
        kind, default = kind | None, None  # a repeatable option: Typer gives None if there is none
    # Typer's own ranges are refused in four lines and status 2, the library's in one and status 1.
    has_range = opt.least is not None or opt.most is not None
    shown = f"{opt.help} [{shown_range(opt)}]" if has_range else opt.help
    # Typer would ask for the right to read, of a file that is written, too: the library opens it.
    said: dict[str, Any] = {
        "help": shown,
        "metavar": opt.metavar or _metavar(kind),
        "readable": False,
    }
    if opt.is_argument:
        info: Any = typer.Argument(**said)
    else:
        flags = opt.flags or ((opt.flag(field.name),) if kind is bool else ())
        if field.name == "arch":  # the one option of names that charlm itself knows, and many
            said["autocompletion"] = _presets_from
        info = typer.Option(*flags, rich_help_panel=opt.group or None, **said)
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, info],
    )


def _presets_from(incomplete: str) -> list[str]:
    from charlm.presets import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def _read_type(kind: Any) -> Any:
    """The type that the command line reads where Python takes several: paths, and lists."""
    kinds = _alternatives(kind)
    for each in kinds:
        if get_origin(each) is Sequence:
            return GenericAlias(list, (_read_type(get_args(each)[0]),))
    if Path not in kinds:
        return kind
    return Path | None if type(None) in kinds else Path


def _metavar(kind: Any) -> str | None:
    """`N`, `FILE` or `auto|fp32|bf16`: what --help shows for a type; None for a flag."""
    for each in _alternatives(kind):
        if get_origin(each) is Literal:
            return "|".join(get_args(each))
        if get_origin(each) is list:
            return _metavar(get_args(each)[0])
        if each in METAVARS:
            return METAVARS[each]
    return None


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
