"""The architecture's rules: which files import which, what is loaded, how long code may be.

"Floors" are the folders and files directly in charlm/, "rooms" the subfolders of a floor. In the
graph of imports, a folder without rooms is one node; in a folder with rooms each file is a node.
Imports inside functions count as well, since an upward import could hide there.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

from charlm.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
HOUSE = ROOT / "charlm"

FLOORS = [
    *(
        "version",
        "errors",
        "settings",
        "limits",
        "runtime",
        "interface",
        "presets",
        "text",
        "notebook",
    ),
    *(
        "ngram",
        "nbest",
        "processes",
        "model",
        "run",
        "scoring",
        "training",
        "insight",
        "bench",
        "api",
        "decoders",
        "cli",
    ),
]
TORCHLESS = {*FLOORS[: FLOORS.index("processes")], "cli"}
ROOMS = {  # in the order in which data goes through them
    "text": ("io", "corpus", "vocabulary", "perplexity"),
    "ngram": ("files", "reshaping"),
    "nbest": (
        *("reading", "formats", "lattices", "references", "ranking", "output", "metrics", "tuning"),
        "combination",
    ),
    "scoring": ("likelihood", "adaptation", "evaluation", "rescoring", "decoding", "export"),
    "training": ("recipe", "loop", "planning"),
    "cli": ("printing", "program"),
}
TOP_LEVEL = {"pyproject.toml", "README.md", "charlm", "tests", "recipes", "LICENSE"}
MOST_ENTRIES = 12
MAX_LINES = 450
MAX_FUNCTION_LINES = 40
MAX_POSITIONAL = 2
MAX_PARAMETERS = 8
# Folders with one file per command, part or format; these files may share names.
LISTED = {"cli", "bench", "presets", "encoders", "contexts", "outputs", "formats", "pictures"}

# Modules and calls that execute what they read.
EXECUTING = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "runpy", "shelve", "yaml"}
EXECUTING_CALLS = r"(?<![\w.])(?:eval|exec|torch\.load|torch\.jit\.load)\s*\("

FILES = sorted(HOUSE.rglob("*.py"))
SUITE = sorted((ROOT / "tests").rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def floor_of(path: Path) -> str:
    """`charlm/text/io/files.py` → text; `charlm/errors.py` → errors."""
    first = path.relative_to(HOUSE).parts[0].removesuffix(".py")
    return {"__init__": "charlm", "__main__": "cli"}.get(first, first)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def node_of(path: Path) -> str:
    """The folder, if it has no rooms; else the file itself."""
    has_rooms = any(path.parent.glob("*/__init__.py"))
    return name_of(path if has_rooms else path.parent)


@cache
def imported_modules(source: str) -> tuple[str, ...]:
    """Dotted names of all imports; `from charlm import text` gives charlm.text."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += (f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(names)


def upward_imports(source: str, floor: str) -> list[str]:
    """Imports of a file on `floor` from floors that do not stand above it, or do not exist."""
    wrong = []
    for module in imported_modules(source):
        package, _, rest = module.partition(".")
        target = rest.partition(".")[0]
        if package == "charlm" and (
            target not in FLOORS or FLOORS.index(target) > FLOORS.index(floor)
        ):
            wrong.append(module)
    return wrong


def graph_of_imports(node_of: Callable[[Path], str] = node_of) -> dict[str, set[str]]:
    """Each node with the nodes that it imports from."""
    homes = {module_of(path): path for path in FILES}
    graph: dict[str, set[str]] = {}
    for path in FILES:
        if path == HOUSE / "__init__.py":
            continue  # its public names come from every floor
        for module in imported_modules(path.read_text()):
            home = homes.get(module) or homes.get(module.rpartition(".")[0])
            if home is not None and node_of(home) != node_of(path):
                graph.setdefault(node_of(path), set()).add(node_of(home))
    return graph


def test_a_floor_imports_only_from_floors_above_it() -> None:
    files = [path for path in FILES if floor_of(path) != "charlm"]
    told = "FLOORS here, and the picture in charlm/README.md"
    assert {floor_of(path) for path in files} == set(FLOORS), told
    wrong = {name_of(path): upward_imports(path.read_text(), floor_of(path)) for path in files}
    found = {name: modules for name, modules in wrong.items() if modules}
    assert found == {}, "imports from below, in the picture in charlm/README.md"


@pytest.mark.parametrize("node", [node_of, name_of], ids=["rooms", "files"])
def test_nothing_imports_in_a_circle(node: Callable[[Path], str]) -> None:
    graph = graph_of_imports(node)
    assert len(graph) > len(FLOORS)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {' → '.join(error.args[1])}")


@pytest.mark.parametrize("folder", ROOMS)
def test_a_room_imports_only_from_rooms_before_it(folder: str) -> None:
    rooms, graph = ROOMS[folder], graph_of_imports()
    upward = []
    for place, room in enumerate(rooms):
        later = tuple(f"charlm/{folder}/{other}" for other in rooms[place + 1 :])
        for node, targets in graph.items():
            if node.startswith(f"charlm/{folder}/{room}"):
                upward += [(node, target) for target in targets if target.startswith(later)]
    assert upward == []


@pytest.mark.parametrize(
    ("source", "floor", "wrong"),
    [
        ("import charlm.model.build", "text", ["charlm.model.build"]),
        ("def f():\n    from charlm.training import loop", "scoring", ["charlm.training.loop"]),
        ("from charlm import train", "model", ["charlm.train"]),
        ("from charlm import __version__", "run", ["charlm.__version__"]),
        ("from charlm.version import __version__\nimport charlm.text.io.files", "run", []),
    ],
)
def test_the_walk_sees_imports_that_point_upwards(
    source: str, floor: str, wrong: list[str]
) -> None:
    assert upward_imports(source, floor) == wrong


def loaded_after(statement: str) -> set[str]:
    """The modules that a fresh Python has loaded after `statement`."""
    program = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.split())


def test_nothing_above_the_torch_line_nor_a_command_imports_torch() -> None:
    above = [path for path in FILES if floor_of(path) in TORCHLESS and path.name != "__main__.py"]
    plain = [path for path in above if floor_of(path) != "runtime"]  # it imports torch when asked
    direct = [
        name_of(path)
        for path in plain
        if any(m.partition(".")[0] == "torch" for m in imported_modules(path.read_text()))
    ]
    assert direct == [], "import torch, above the line in charlm/README.md"
    rooms = ["charlm.scoring", "charlm.training", "charlm.insight"]  # parents of option files
    rooms += ["charlm.insight.info_choice"]  # what `charlm info` without a run needs
    assert "torch" not in loaded_after("import " + ", ".join([*map(module_of, above), *rooms]))


def test_importing_all_commands_loads_neither_torch_nor_numpy() -> None:
    loaded = loaded_after("from charlm import cli; [*map(cli.command_named, cli.COMMANDS)]")
    assert loaded.isdisjoint({"torch", "numpy", "rich"})
    files = {f"charlm.cli.{name.replace('-', '_')}" for name in COMMANDS}
    assert files <= loaded
    assert files.isdisjoint(loaded_after("import charlm.cli"))  # each waits until it is called


def test_importing_charlm_loads_nothing_else_of_it() -> None:
    loaded = loaded_after("import charlm; dir(charlm)")
    assert {module for module in loaded if module.startswith("charlm")} == {"charlm"}


class Function(NamedTuple):
    name: str
    positional: int
    parameters: int
    body_lines: int  # after the signature and the docstring


@cache
def functions(path: Path) -> list[Function]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return [function_of(node) for node in nodes if isinstance(node, ast.FunctionDef)]


def function_of(node: ast.FunctionDef) -> Function:
    first = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    n_first = len([name for name in first if name not in ("self", "cls")])
    body = node.body[1:] if ast.get_docstring(node) else node.body
    n_lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
    return Function(node.name, n_first, n_first + len(node.args.kwonlyargs), n_lines)


def test_files_and_functions_are_no_longer_than_one_idea_needs() -> None:
    lines = {name_of(path): len(path.read_text().splitlines()) for path in (*FILES, *SUITE)}
    long = {name: n for name, n in lines.items() if n > MAX_LINES}
    assert long == {}, f"files of more than {MAX_LINES} lines"
    bodies = {f"{name_of(p)}:{f.name}": f.body_lines for p in FILES for f in functions(p)}
    long = {name: n for name, n in bodies.items() if n >= MAX_FUNCTION_LINES}
    assert long == {}, f"functions whose bodies have {MAX_FUNCTION_LINES} lines or more"


def test_a_function_takes_two_positional_parameters_and_eight_in_all() -> None:
    positional, all_of_them = {}, {}
    for path in FILES:
        for function in functions(path):
            name = f"{name_of(path)}:{function.name}"
            if not function.name.startswith("_"):  # nor __init__, whose arguments vary
                positional[name] = function.positional
            is_part = function.name == "__init__"  # a part's keyword-only options are its schema
            if not is_part:
                all_of_them[name] = function.parameters
    many = {name: n for name, n in positional.items() if n > MAX_POSITIONAL}
    assert many == {}, f"more than {MAX_POSITIONAL} positional parameters; others stand behind *"
    many = {name: n for name, n in all_of_them.items() if n > MAX_PARAMETERS}
    assert many == {}, f"more than {MAX_PARAMETERS} parameters; some belong together, in an object"


def test_a_module_says_what_it_owns() -> None:
    without = [name_of(path) for path in FILES if not path.read_text().startswith('"""')]
    assert without == [], "files without a docstring at their beginning"


def test_no_two_files_bear_one_name() -> None:
    names = Counter(
        path.name
        for path in FILES
        if not path.name.startswith("__") and path.parent.name not in LISTED
    )
    assert {name: n for name, n in names.items() if n > 1} == {}, "files of one name"


def test_a_folder_shows_at_most_a_dozen_entries() -> None:
    folders = {path.parent for path in FILES} - {HOUSE}
    shown = {
        name_of(folder): sum(
            not path.name.startswith("__") for path in (*folder.glob("*.py"), *folder.glob("*/"))
        )
        for folder in folders
        if folder.name not in LISTED
    }
    assert {name: n for name, n in shown.items() if n > MOST_ENTRIES} == {}, "folders without rooms"


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


def test_nothing_is_read_in_a_way_that_could_execute_a_strangers_code() -> None:
    importing = {
        name_of(path)
        for path in FILES
        if any(m.partition(".")[0] in EXECUTING for m in imported_modules(path.read_text()))
    }
    assert importing == {"charlm/text/corpus/ranges.py"}  # between processes of one command
    calls = {name_of(path): re.findall(EXECUTING_CALLS, path.read_text()) for path in FILES}
    assert {name: found for name, found in calls.items() if found} == {}
