"""The rules of the house that a machine can check: who imports whom, what is loaded, how long.

Imports inside functions count too: a function is where an import that points upwards hides.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import charlm

ROOT = Path(__file__).resolve().parents[1]
HOUSE = ROOT / "charlm"

FLOORS = [
    *("version", "errors", "options", "settings", "arguments", "presets", "text", "ngram", "nbest"),
    *("runtime", "processes", "model", "run", "scoring", "training"),
    *("insight", "bench", "loaded", "cli"),
]
TORCHLESS = {*FLOORS[: FLOORS.index("nbest") + 1], "cli"}
TOP_LEVEL = {"pyproject.toml", "README.md", "charlm", "tests", "recipes", "LICENSE"}
MAX_LINES = 450
MAX_FUNCTION_LINES = 40
MAX_POSITIONAL = 2

FILES = sorted(HOUSE.rglob("*.py"))
SUITE = sorted((ROOT / "tests").rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def floor_of(path: Path) -> str:
    """`charlm/text/files.py` → text; `charlm/errors.py` → errors; `charlm/__init__.py` → charlm."""
    first = path.relative_to(HOUSE).parts[0].removesuffix(".py")
    return {"__init__": "charlm", "__main__": "cli"}.get(first, first)


def imported_modules(tree: ast.AST) -> Iterator[str]:
    """Dotted names of what is imported; `from charlm import text` gives charlm.text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module == "charlm":
                yield from (f"charlm.{alias.name}" for alias in node.names)
            elif node.module:
                yield node.module


def upward_imports(source: str, floor: str) -> list[str]:
    """What a file on `floor` imports from floors that do not stand above it, or do not exist."""
    wrong = []
    for module in imported_modules(ast.parse(source)):
        package, _, rest = module.partition(".")
        if package != "charlm":
            continue
        target = rest.partition(".")[0]
        if target not in FLOORS or FLOORS.index(target) > FLOORS.index(floor):
            wrong.append(module)
    return wrong


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_folder_imports_only_from_folders_above_it(path: Path) -> None:
    floor = floor_of(path)
    if floor == "charlm":
        pytest.skip("the public names come from every floor")
    assert floor in FLOORS
    assert upward_imports(path.read_text(), floor) == []


@pytest.mark.parametrize(
    ("source", "floor", "wrong"),
    [
        ("import charlm.model.build", "text", ["charlm.model.build"]),
        ("def f():\n    from charlm.training import loop", "scoring", ["charlm.training"]),
        ("from charlm import train", "model", ["charlm.train"]),
        ("from charlm import scoring, text", "run", ["charlm.scoring"]),
        ("from charlm import __version__", "run", ["charlm.__version__"]),
        ("from charlm.version import __version__\nimport charlm.text.files", "run", []),
        ("from charlm.model.forms import Forms\nimport torch", "model", []),
    ],
)
def test_the_walk_sees_imports_that_point_upwards(
    source: str, floor: str, wrong: list[str]
) -> None:
    assert upward_imports(source, floor) == wrong


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_nothing_above_the_torch_line_nor_a_command_imports_torch(path: Path) -> None:
    if floor_of(path) not in TORCHLESS:
        pytest.skip("below the line")
    modules = {module.partition(".")[0] for module in imported_modules(ast.parse(path.read_text()))}
    assert "torch" not in modules


def loaded_after(statement: str) -> set[str]:
    """The modules that a fresh Python has loaded after `statement`."""
    program = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.split())


def test_importing_the_command_line_loads_neither_torch_nor_numpy() -> None:
    loaded = loaded_after("import charlm.cli")
    assert "charlm.cli" in loaded
    assert loaded.isdisjoint({"torch", "numpy", "rich"})


def test_importing_charlm_loads_nothing_else_of_it() -> None:
    loaded = loaded_after("import charlm; dir(charlm)")
    assert {module for module in loaded if module.startswith("charlm")} == {"charlm"}


def test_loading_everything_above_the_torch_line_leaves_torch_alone() -> None:
    above = [path for path in FILES if floor_of(path) in TORCHLESS and path.name != "__main__.py"]
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in above]
    loaded = loaded_after("import " + ", ".join(m.removesuffix(".__init__") for m in modules))
    assert "torch" not in loaded


@pytest.mark.parametrize("path", [*FILES, *SUITE], ids=name_of)
def test_a_file_is_not_longer_than_one_idea_needs(path: Path) -> None:
    assert len(path.read_text().splitlines()) < MAX_LINES


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    tree = ast.parse(path.read_text())
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_function_is_shorter_than_40_lines(path: Path) -> None:
    lengths = {node.name: body_lines(node) for node in functions(path)}
    assert {name: n for name, n in lengths.items() if n >= MAX_FUNCTION_LINES} == {}


def body_lines(node: ast.FunctionDef) -> int:
    """Lines of code after the signature and the docstring: a command has a parameter an option."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return (node.end_lineno or 0) - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_public_function_takes_at_most_two_positional_parameters(path: Path) -> None:
    counts = {}
    for node in functions(path):
        if node.name.startswith("_"):
            continue  # a constructor takes what its place dictates; the rest is its file's matter
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        counts[node.name] = len([name for name in names if name not in ("self", "cls")])
    assert {name: n for name, n in counts.items() if n > MAX_POSITIONAL} == {}


def test_the_class_behind_a_public_name_has_it_alone() -> None:
    nodes = [node for path in FILES for node in ast.parse(path.read_text()).body]
    classes = [node.name for node in nodes if isinstance(node, ast.ClassDef)]
    public = [name for name in charlm.__all__ if name[0].isupper()]
    assert sorted(name for name in classes if name in public) == sorted(public)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_module_says_what_it_owns(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_the_top_level_holds_nothing_but_what_the_design_names() -> None:
    def git(*arguments: str) -> list[str]:
        command = ["git", "-C", str(ROOT), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return []
        return done.stdout.splitlines()

    if git("rev-parse", "--show-toplevel") != [str(ROOT)]:
        pytest.skip("not a git checkout: what is tracked is not known")
    top = {name.partition("/")[0] for name in git("ls-files")}
    assert {name for name in top if not name.startswith(".")} <= TOP_LEVEL
