"""README.md and the recipes' pages are right: what they name, show and link to exists and runs."""

import ast
import inspect
import re
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import charlm
from charlm.cli import COMMANDS, command_named
from charlm.cli.bench import BENCHES
from charlm.model.contract import Encoder
from charlm.model.forms import Forms, FormTable
from charlm.nbest.formats import FORMATS
from charlm.presets import PRESETS
from charlm.settings import Dim, Family, Meaning, build_part
from charlm.text.vocabulary.vocabulary import Inventory

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
CONTRIBUTORS = (ROOT / "charlm/README.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", README + CONTRIBUTORS, re.DOTALL)
RECIPES = sorted(ROOT.glob("recipes/**/*.md"))
PAGES = [README, *(path.read_text() for path in RECIPES)]
NAMES = ["README.md", *(str(path.relative_to(ROOT)) for path in RECIPES)]
LINKING = [ROOT / "README.md", ROOT / "charlm/README.md", *ROOT.glob(".github/*.md"), *RECIPES]


def test_the_readme_has_at_most_170_lines_outside_its_tables() -> None:
    lines = [line for line in README.splitlines() if not line.startswith("|")]
    assert len(lines) <= 170, "what one data set needs stands in its recipe, the rest in --help"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_nothing_is_left_to_fill_in(page: str) -> None:
    assert not re.search(r"@@\w+@@", page)


def test_every_command_has_its_row_and_no_other() -> None:
    named = set(re.findall(r"\*\*`charlm ([a-z-]+)", README))
    assert named == set(COMMANDS), "rows of the table in README.md, and commands"


def test_every_command_stands_beside_its_function() -> None:
    functions = dict(re.findall(r"^\| \*\*`charlm ([a-z-]+)[^|]*\| `charlm\.(\w+)`", README, re.M))
    assert set(functions) == set(COMMANDS) - {"bench"}
    assert set(functions.values()) <= set(charlm.__all__)


def shown_in(page: str) -> list[tuple[str, str]]:
    """The commands of a page, in its sentences and in its scripts, with what follows them."""
    scripts = "".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL)).replace("\\\n", " ")
    inline = re.findall(r"(?:`|\$ )charlm ([a-z][a-z-]*)([^`\n]*)", page)
    return [*inline, *re.findall(r"^charlm ([a-z][a-z-]*)([^#\n]*)", scripts, re.MULTILINE)]


def test_commands_of_scripts_are_among_those_shown() -> None:
    assert shown_in("```sh\ncharlm nn a \\\n  --k 3  # near\n```") == [("nn", " a    --k 3  ")]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_options_kept_in_a_variable_are_several_words_in_zsh_as_well(page: str) -> None:
    for script in re.findall(r"```sh\n(.*?)```", page, re.DOTALL):
        expanded = re.sub(r"'[^']*'", "", script)
        assert re.findall(r'(?<!")\$\w+', expanded) == [], 'zsh makes one word: "${name[@]}"'


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_command_that_is_shown_exists(page: str) -> None:
    assert {name for name, _ in shown_in(page)} <= set(COMMANDS)


def test_every_recipe_shows_commands() -> None:
    folders = {
        name.rpartition("/")[0] for name, page in zip(NAMES, PAGES, strict=True) if shown_in(page)
    }
    assert folders >= {str(path.parent.relative_to(ROOT)) for path in RECIPES}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_option_of_a_shown_command_exists(page: str) -> None:
    for name, line in shown_in(page):
        function = BENCHES.get(line.split()[0]) if name == "bench" else command_named(name)
        if function is None:  # several commands of a group at once, as `bench train|eval`
            continue
        known = set(inspect.signature(function).parameters) | {
            "set",
            "format",
            "json",
            "for",
            "range",
        }
        for option in re.findall(r"(?<=\s)--([a-z0-9-]+)", line):
            assert option.replace("-", "_") in known, f"charlm {name} --{option}"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_an_export_that_is_shown_says_what_it_writes(page: str) -> None:
    for line in re.findall(r"charlm export (--[^`\n]*--[^`\n]*)", page):
        assert re.search(r"--(arpa|onnx|page) [\w.-]+", line), line


def anchors_of(page: str) -> list[str]:
    """What GitHub makes of the headings of a page."""
    prose = re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)", prose, re.MULTILINE)
    return [re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles]


def test_anchors_are_those_of_github() -> None:
    page = "# Against Kneser–Ney\n```sh\n# no heading\n```\n## Miyamoto & Cho's 100,000 `a_b`\n"
    assert anchors_of(page) == ["against-kneserney", "miyamoto--chos-100000-a_b"]


@pytest.mark.parametrize("path", LINKING, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^()\s]+)\)", path.read_text()):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        assert file.exists(), target
        assert not anchor or anchor in anchors_of(file.read_text()), target


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("README.md")])
def test_every_page_of_a_recipe_is_one_click_from_its_readme(name: str) -> None:
    _, recipe, page = name.split("/", 2)
    assert f"]({page}" in (ROOT / "recipes" / recipe / "README.md").read_text()


def test_every_format_of_lists_is_named_and_counted() -> None:
    name = "recipes/rescoring/guide/formats.md"
    page = (ROOT / name).read_text()
    told = page.partition("\n## Formats\n")[2].partition("The formats are ")[2].partition(";")[0]
    assert set(re.findall(r"`([a-z0-9-]+)`", told)) == set(FORMATS), name
    assert f"[{len(FORMATS)} formats]({name})" in README


def test_every_preset_that_is_shown_exists() -> None:
    assert set(re.findall(r"--arch ([a-z][a-z0-9-]*)", README)) <= set(PRESETS)


def attributes_used_of(name: str) -> set[str]:
    return {
        node.attr
        for block in PYTHON
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
    }


def test_the_names_used_from_python_exist() -> None:
    names = attributes_used_of("charlm")
    assert names
    assert names <= set(charlm.__all__)


def test_what_is_asked_of_a_model_is_in_the_type_that_load_says() -> None:
    assert inspect.signature(charlm.load).return_annotation is charlm.LoadedModel
    names = attributes_used_of("model")
    assert "neighbours" in names
    assert names <= set(dir(charlm.LoadedModel))


def test_the_example_encoder_works() -> None:
    (example,) = [block for block in PYTHON if "Encoder" in block]
    names = {"Encoder": Encoder, "Inventory": Inventory, "Dim": Dim, "nn": nn}
    names |= {"Annotated": Annotated, "Meaning": Meaning}
    namespace = {**names, "Forms": Forms, "Tensor": Tensor, "torch": torch}
    exec(example, namespace)  # trusted: it is this repository's page
    inventory = Inventory(("</s>", "<unk>", "ab", "b"), (1, 1, 1, 1), ("a", "b"))
    family = Family("encoder", Encoder, {"letter-bag": namespace["LetterBag"]})
    encoder, settings = build_part(family, {"type": "letter-bag"}, leading=[inventory])
    together = encoder(FormTable(inventory, ["ab", "b"]).forms(np.array([0, 1])))
    forms = FormTable(inventory, ["b"]).forms(np.array([0]))
    alone = encoder(forms)
    assert list(encoder.taps(forms)) == ["letter-bag"]
    assert settings == {"type": "letter-bag", "dim": 50}
    torch.testing.assert_close(together[1], alone[0])
