"""Options are defined once: the function's signature, its help and its checks come from them."""

import inspect
import os
import shutil
import textwrap
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Literal

import pytest
from mypy import api as mypy

import charlm
from charlm.errors import ConfigError
from charlm.interface.options import Opt, as_names, fields_of, keywords


@dataclass(frozen=True)
class ToyOptions:
    """Options of a toy."""

    lists: Annotated[str | None, Opt("Lists.", is_argument=True, metavar="LIST")] = None
    _: KW_ONLY
    beam: Annotated[float, Opt("Width.", least=0)] = 16.0
    n_best: Annotated[int, Opt("Paths.", least=1, most=9, flags=("-n", "--n-best"))] = 3
    metric: Annotated[Literal["wer", "cer"], Opt("Rate of --n-best, of `eval --beam`.")] = "wer"
    overrides: Annotated[str, Opt("Settings.", flags=("--set",))] = ""


@keywords(ToyOptions)
def toy(options: ToyOptions) -> ToyOptions:
    """Give back what was asked."""
    return options


def test_a_function_takes_its_options_as_keywords_or_as_one_object() -> None:
    assert toy("x", beam=2.0) == ToyOptions("x", beam=2.0)
    assert toy(ToyOptions("y")) == ToyOptions("y")
    assert toy() == ToyOptions()


def test_a_functions_signature_and_help_are_those_of_its_options() -> None:
    signature = inspect.signature(toy)
    assert list(signature.parameters.values()) == [
        inspect.Parameter(name, kind, default=default, annotation=annotation)
        for name, kind, default, annotation in (
            ("lists", inspect.Parameter.POSITIONAL_OR_KEYWORD, None, str | None),
            ("beam", inspect.Parameter.KEYWORD_ONLY, 16.0, float),
            ("n_best", inspect.Parameter.KEYWORD_ONLY, 3, int),
            ("metric", inspect.Parameter.KEYWORD_ONLY, "wer", Literal["wer", "cer"]),
            ("overrides", inspect.Parameter.KEYWORD_ONLY, "", str),
        )
    ]
    assert signature.return_annotation is ToyOptions
    assert inspect.getdoc(toy) == (
        "Give back what was asked.\n\nOptions:\n"
        "    lists (LIST): Lists.\n    beam: Width.\n    n_best: Paths.\n"
        "    metric: Rate of n_best, of `eval --beam`.\n    overrides: Settings."
    )


def test_a_keyword_that_does_not_exist_names_the_function() -> None:
    with pytest.raises(TypeError, match=r"^toy\(\): got an unexpected keyword argument 'xyz'$"):
        toy(xyz=1.0)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"keyword argument 'bem'; did you mean 'beam'\?$"):
        toy(bem=1.0)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"keyword argument 'set'; did you mean 'overrides'\?$"):
        toy(set="a=b")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"multiple values for argument 'lists'$"):
        toy(["a"], lists=["b"], bem=1.0)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"beam": -1.0}, "--beam -1.0: expected 0 or more"),
        ({"beam": float("nan")}, "--beam nan: expected 0 or more"),
        ({"n_best": 10}, "--n-best 10: expected 1 to 9"),
    ],
)
def test_a_number_out_of_its_range_is_one_line(option: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        toy(**option)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_names_with_commas_are_refused_only_where_one_is_empty() -> None:
    assert as_names("", option="--tuned") == as_names((), option="--tuned") == ()
    assert (
        as_names(" am, nn,", option="--tuned") == as_names(["am", "nn "], option="") == ("am", "nn")
    )
    for names in (",", " ", "id,,text", ["id", "", "text"]):
        with pytest.raises(ConfigError) as caught:
            as_names(names, option="--columns")
        assert (
            str(caught.value) == f"--columns {names!r}: found an empty name; expected names, as a,b"
        )


def test_the_fields_are_in_the_order_in_which_they_are_written_down() -> None:
    expected = ["lists", "beam", "n_best", "metric", "overrides"]
    assert [field.name for field in fields_of(ToyOptions)] == expected


def test_a_type_checker_knows_the_keywords_and_their_types(tmp_path: Path) -> None:
    source = inspect.getsource(inspect.getmodule(ToyOptions) or inspect)
    toy_source = source[source.index("@dataclass") : source.index("def test_a_function_takes")]
    calls = """
        toy("x", beam=1.0, metric="cer")
        toy(beam="wide")
        toy(bem=1.0)
        toy(metric="ter")
        """
    package = tmp_path / "charlm"  # the whole one would be checked, too, for minutes
    for folder in (package, package / "interface"):
        folder.mkdir()
        (folder / "__init__.py").touch()
    for name in ("interface/options.py", "errors.py"):
        shutil.copy(Path(charlm.__path__[0], name), package / name)
    program = tmp_path / "calls.py"
    program.write_text(
        "from dataclasses import KW_ONLY, dataclass\nfrom typing import Annotated, Literal\n"
        "from charlm.interface.options import Opt, keywords\n" + toy_source + textwrap.dedent(calls)
    )
    last = len(program.read_text().splitlines())
    out, _, _ = mypy.run(["--strict", "--cache-dir", os.devnull, str(package), str(program)])
    wrong = [line.split(":")[:2] for line in out.splitlines() if ": error:" in line]
    assert {(Path(file).name, int(line)) for file, line in wrong} == {
        ("calls.py", line) for line in (last - 2, last - 1, last)
    }
