"""A command's options, each declared once: a dataclass field with its help text and range.

The command line is built from the fields, and the Python function takes them as keywords. To add
an option, add a field and nothing else. Neither this module nor the files that hold the fields
import typer or torch.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from charlm.errors import ConfigError

MAX_SEED = 2**32 - 1  # the largest seed that NumPy's generators take as one word
MAX_THREADS = 4096  # where OpenMP gets no more, it ends the program by a segmentation fault

P = ParamSpec("P")
Options = TypeVar("Options")
Result = TypeVar("Result")
Options_contra = TypeVar("Options_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


@dataclass(frozen=True)
class Opt:
    """An option's properties besides its name, type and default."""

    help: str
    group: str = ""  # the heading in --help under which it is listed
    least: float | None = None
    most: float | None = None
    metavar: str | None = None  # in --help; by default from the type: N, X, FILE or its choices
    flags: tuple[str, ...] = ()  # on the command line, if not --NAME with hyphens
    cli_type: Any = None  # the type that the command line reads, if not the field's own
    is_argument: bool = False  # positional on the command line
    is_for_python: bool = False  # only in Python, such as a function

    def flag(self, name: str) -> str:
        """The option's name in messages."""
        if self.is_argument:
            return self.metavar or name.upper()
        return self.flags[-1] if self.flags else f"--{name.replace('_', '-')}"


class Field(NamedTuple):
    """An option as a field of its command's dataclass."""

    name: str
    type: Any
    default: Any  # inspect.Parameter.empty: the option is required
    opt: Opt


def fields_of(options: type) -> tuple[Field, ...]:
    """The options of a command, in the order of their definition."""
    hints = get_type_hints(options, include_extras=True)
    found = []
    for name, parameter in inspect.signature(options).parameters.items():
        annotation = hints[name]
        assert get_origin(annotation) is Annotated, f"{options.__name__}.{name}: has no Opt"
        kind, opt, *_ = get_args(annotation)
        found.append(Field(name, kind, parameter.default, opt))
    return tuple(found)


class Function(Protocol[P, Options_contra, Result_co]):
    """A function that takes a command's options, as one object or as keywords."""

    __name__: str

    @overload
    def __call__(self, options: Options_contra, /) -> Result_co: ...

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result_co: ...


def keywords(
    options: Callable[P, Options],
) -> Callable[[Callable[[Options], Result]], Function[P, Options, Result]]:
    """Decorate a function of one options object so that it also takes the options as keywords.

    The decorated function has the signature of `options`, for type checkers and readers, and its
    docstring ends with one line per option. A number out of range raises ConfigError; an unknown
    keyword raises TypeError, as usual in Python.
    """
    kind = cast(type, options)
    fields = fields_of(kind)
    said = zip(inspect.signature(kind).parameters.values(), fields, strict=True)
    names = {
        flag: field.name
        for field in fields
        for flag in field.opt.flags or (field.opt.flag(field.name),)
    }
    # The constructor's signature with plain types in the place of Annotated ones.
    signature = inspect.Signature([each.replace(annotation=field.type) for each, field in said])

    def decorate(function: Callable[[Options], Result]) -> Function[P, Options, Result]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Result:
            if len(args) == 1 and not kwargs and isinstance(args[0], kind):
                chosen = cast(Options, args[0])
            else:
                try:
                    signature.bind(*args, **kwargs)
                except TypeError as error:
                    hint = _hint(kwargs, names) if "unexpected keyword" in str(error) else ""
                    message = f"{function.__name__}(): {error}{hint}"
                    raise TypeError(message) from None
                chosen = options(*args, **kwargs)
            check_ranges(chosen)
            return function(chosen)

        listed = "\n".join(
            f"    {_shown_name(field)}: {_in_python(field.opt.help, names)}" for field in fields
        )
        call.__doc__ = f"{inspect.getdoc(function) or ''}\n\nOptions:\n{listed}\n"
        returns = inspect.signature(function).return_annotation
        vars(call)["__signature__"] = signature.replace(return_annotation=returns)
        vars(call)["options_class"] = kind
        return cast("Function[P, Options, Result]", call)

    return decorate


def _shown_name(field: Field) -> str:
    """`split (A,B,C)`: the name with the format of its text, which Python shows nowhere else."""
    form = field.opt.metavar
    if form and any(get_origin(each) is Mapping for each in get_args(field.type)):
        form += ", or a dict"
    return f"{field.name} ({form})" if form else field.name


def _in_python(text: str, names_of_flags: Mapping[str, str]) -> str:
    """A help whose options have their names in Python; commands in `…` stay."""
    return re.sub(
        r"`[^`]*`|(?<![\w-])--?[a-z][a-z0-9-]*",
        lambda found: names_of_flags.get(found[0], found[0]),
        text,
    )


def _hint(given: Mapping[str, object], names_of_flags: Mapping[str, str]) -> str:
    """A suggestion for the first unknown keyword, which may be the option's name as a flag."""
    names = list(names_of_flags.values())
    wrong = next((name for name in given if name not in names), "")
    flag = f"--{wrong.replace('_', '-')}"
    near = (
        [names_of_flags[flag]] if flag in names_of_flags else get_close_matches(wrong, names, n=1)
    )
    return f"; did you mean {near[0]!r}?" if near else ""


def check_ranges(options: object) -> None:
    """Raise ConfigError if a number is outside the range of its option."""
    for name, _, _, opt in fields_of(type(options)):
        value = getattr(options, name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if value != value and opt.least is opt.most is None:
            raise ConfigError(f"{opt.flag(name)} {value}: expected a number")  # it is NaN
        is_low = opt.least is not None and not value >= opt.least
        if is_low or (opt.most is not None and not value <= opt.most):
            raise ConfigError(f"{opt.flag(name)} {value}: expected {shown_range(opt)}")


def as_names(names: str | Sequence[str], *, option: str) -> tuple[str, ...]:
    """The names in `a,b` or in a list; a comma at the end counts for nothing.

    Raises:
        ConfigError: an empty name: to leave it out would give the names behind it its place.
    """
    split = names.removesuffix(",").split(",") if isinstance(names, str) else names
    found = tuple(name.strip() for name in split)
    if names and not all(found):
        raise ConfigError(f"{option} {names!r:.60}: found an empty name; expected names, as a,b")
    return found if names else ()


def several(paths: str | Path | Sequence[str | Path] | None) -> list[str | Path]:
    """The paths of an option that takes one path or several; none for None."""
    return [paths] if isinstance(paths, str | Path) else list(paths or ())


def beyond_cpu(options: Any) -> str:
    """The option that asks for what only runs can use, a GPU or bf16; "" if none does."""
    if options.device not in ("auto", "cpu"):
        return f"--device {options.device}"
    return "--precision bf16" if getattr(options, "precision", "auto") == "bf16" else ""


def require_cpu(options: Any) -> None:
    """Raise ConfigError if options without a run ask for what only runs can use."""
    if beyond := beyond_cpu(options):
        raise ConfigError(f"{beyond}: found no --model, and only models use it; drop it")


def require_data(data: str | Path | None, split: str | None) -> None:
    """Raise ConfigError for a split of no corpus directory."""
    if data is None and split is not None:
        raise ConfigError(f"--split {split}: expected --data DIR, of which it is a part; drop it")


def require_one_stdin(paths: Iterable[object]) -> None:
    """Raise ConfigError if standard input is named twice: it can be read only once."""
    if [str(path) for path in paths].count("-") > 1:
        raise ConfigError("standard input: named twice; expected it once, since it is read once")


def shown_range(opt: Opt) -> str:
    """`1 or more`, `at most 6`, or `1 to 6`."""
    if opt.most is None:
        return f"{opt.least:g} or more"
    return f"at most {opt.most:.15g}" if opt.least is None else f"{opt.least:g} to {opt.most:.15g}"


# Options that several commands share, so that each has the same name everywhere.
OnStage = Annotated[
    Callable[[str], object] | None,
    Opt("Called with each message on the work, such as the start of a stage.", is_for_python=True),
]
Data = Annotated[
    str | Path, Opt("Corpus directory with train.txt, valid.txt and test.txt.", metavar="DIR")
]
DataOrFiles = Annotated[
    str | Path | None, Opt("Corpus directory to read instead of files.", metavar="DIR")
]
Split = Annotated[
    Literal["train", "valid", "test"] | None,
    Opt("Part of the corpus directory; test if not given."),
]
Files = Annotated[
    str | Path | Sequence[str | Path],
    Opt("Texts, one sentence a line: plain, gz, bz2 or xz; - is standard input.", is_argument=True),
]
Raw = Annotated[bool, Opt("Text as it stands, without the run's normalisation.")]
Encoding = Annotated[
    str,
    Opt(
        "Encoding of all text that is read, such as latin-1 or cp1251; maps, vocabularies and runs "
        "are always UTF-8.",
        metavar="NAME",
    ),
]
TextMap = Annotated[
    str | Path | Mapping[str, str] | None,
    Opt(
        "File of replacements, one a line: a word or phrase, TAB, what is read instead. They apply "
        "after case and punctuation have been normalised; * stands for the rest of a word on both "
        "sides.",
        "Normalisation",
    ),
]
Lower = Annotated[
    bool, Opt("Lower-case what the models read, not what is written.", "Normalisation")
]
Tokenise = Annotated[
    Literal["none", "simple"],
    Opt(
        "Tokeniser: none takes words as blanks separate them, simple also splits punctuation off "
        "them.",
        "Normalisation",
        flags=("--tokenise", "--tokenize"),
    ),
]
Numbers = Annotated[bool, Opt("Replace every number by N.", "Normalisation")]
SplitHyphens = Annotated[
    bool, Opt("Split words at hyphens: well-known, twenty-one.", "Normalisation")
]
Punctuation = Annotated[
    Literal["keep", "drop"],
    Opt(
        "What becomes of punctuation at the ends of words, and of signs that stand alone.",
        "Normalisation",
    ),
]
HOW_READ = Opt(
    "How the text is read: as one stream whose state is carried on (carried), or every sentence "
    "from the initial state (sentence)."
)
StateChoice = Annotated[Literal["both", "carried", "sentence"], HOW_READ]
Model = Annotated[
    str | Path | None,
    Opt(
        "Run directory of the model; if not given, $CHARLM_MODEL, else the newest finished run in "
        "exp/.",
        metavar="RUN",
    ),
]
Models = Annotated[
    str | Path | Sequence[str | Path],
    Opt(
        "Run directory or exported folder; may be repeated. If neither it nor --lm is given: "
        "$CHARLM_MODEL, else the newest finished run in exp/.",
        metavar="RUN",
    ),
]
ModelSaid = Annotated[
    str | Path | None, Opt("Run directory of the model; $CHARLM_MODEL if not given.", metavar="RUN")
]
Order = Annotated[
    int, Opt("Order of the Kneser-Ney model: the length of its longest n-grams.", least=1, most=9)
]
Prune = Annotated[
    str | Sequence[int],
    Opt(
        "Largest count at which n-grams are left out, by order; the last number also holds for "
        "longer n-grams.",
        metavar="0,0,1",
        cli_type=str,
    ),
]
Seed = Annotated[int, Opt("Seed of the random numbers.", least=0, most=MAX_SEED)]
Device = Annotated[
    str, Opt("Where the model runs; auto prefers a GPU.", "Machine", metavar="auto|cpu|cuda[:N]")
]
Precision = Annotated[
    Literal["auto", "fp32", "bf16"],
    Opt("Number format of matrix products; auto takes the fastest that is safe.", "Machine"),
]
Threads = Annotated[
    int | None,
    Opt(
        "Number of CPU threads; if not given, one a core that it may use (a container may limit "
        "them).",
        "Machine",
        least=1,
        most=MAX_THREADS,
    ),
]
Gpus = Annotated[
    str | None,
    Opt("GPUs that share the work, one process each.", "Machine", metavar="0,1,…"),
]
Processes = Annotated[
    int | None,
    Opt(
        "Number of processes that share the work on the CPU, each with its share of the cores.",
        "Machine",
        least=1,
    ),
]
