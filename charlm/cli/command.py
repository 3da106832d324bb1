"""A command of the command line, made from the dataclass of its options.

Typer reads a function's signature: here one is made of the fields, so that no option is written
down twice. `--json` is every command's own and no option of its Python function.
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Protocol, TypeVar, get_args, get_origin

import typer

from charlm.options import Field, fields_of, shown_range

Options = TypeVar("Options")
Options_contra = TypeVar("Options_contra", contravariant=True)
Json = Annotated[
    bool, typer.Option("--json", help="One JSON object on stdout instead of text for the eye.")
]


# An option that may stand alone or with a name, and is answered in the place of the command.
LISTED = "--list"


class Listing(Protocol):
    """What `--list NAME` prints; the name is empty where none is given."""

    def __call__(self, name: str, /, *, as_json: bool) -> None: ...


class Body(Protocol[Options_contra]):
    """What a command does with its options."""

    def __call__(self, options: Options_contra, /, *, as_json: bool) -> None: ...


def command(
    options: Callable[..., Options], *, listing: tuple[str, Listing] | None = None
) -> Callable[[Body[Options]], Callable[..., None]]:
    """Makes what Typer calls of a function that takes the options as one object.

    `listing`: the help of --list, and what answers it; no other option need be given then.
    """
    assert isinstance(options, type)
    fields = [field for field in fields_of(options) if not field.opt.is_for_python]

    def decorate(body: Body[Options]) -> Callable[..., None]:
        def call(*, as_json: bool, listed: str | None = None, **given: Any) -> None:
            assert listed is None
            chosen = {
                field.name: field.default
                if _is_left_out(given[field.name], field)
                else given[field.name]
                for field in fields
            }
            body(options(**chosen), as_json=as_json)

        parameters = [_parameter(field) for field in fields]
        by_name = inspect.Parameter.KEYWORD_ONLY
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


def _is_left_out(value: object, field: Field) -> bool:
    """Whether an option that may come again did not come: Typer says None, Python ()."""
    return value is None and field.default is not inspect.Parameter.empty


def _parameter(field: Field) -> inspect.Parameter:
    opt, kind = field.opt, field.opt.cli_type or field.type
    default: Any = field.default
    if list in (get_origin(kind), *(get_origin(each) for each in get_args(kind))):
        # It may come again, and Typer says None where it does not come at all.
        default = default if default is inspect.Parameter.empty else None
    # Typer's own ranges are refused in four lines and status 2, the library's in one and status 1.
    has_range = opt.least is not None or opt.most is not None
    shown = f"{opt.help} [{shown_range(opt)}]" if has_range else opt.help
    said: dict[str, Any] = {"help": shown, "metavar": opt.metavar}
    if opt.is_argument:
        info: Any = typer.Argument(**said)
    else:
        flags = opt.flags or ((opt.flag(field.name),) if kind is bool else ())
        info = typer.Option(*flags, rich_help_panel=opt.group or None, **said)
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, info],
    )
