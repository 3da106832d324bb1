"""Broken lists never end in a traceback, or in words that come from elsewhere.

CHARLM_MUTATIONS is the number per format; CHARLM_TEST_DATA is a folder with real lists to break as
well.
"""

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

from charlm.nbest.format import Source
from charlm.nbest.formats import FORMATS, open_lists

N_MUTATIONS = int(os.environ.get("CHARLM_MUTATIONS", "300"))


@pytest.fixture(scope="module")
def mutations() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "mutations", Path(__file__).with_name("mutations.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", FORMATS)
def test_a_broken_list_is_refused_in_one_line_or_read_as_it_stands(
    name: str, mutations: ModuleType, tmp_path: Path
) -> None:
    outcomes = []
    for number in range(N_MUTATIONS):
        files = mutations.broken(name, number)
        path = mutations.stored(files, tmp_path)
        outcomes.append(mutations.outcome(name, path, files))
    assert set(outcomes) == {"read", "refused"}  # else the mutations break too much or too little


@pytest.mark.parametrize("name", FORMATS)
def test_a_whole_list_is_of_its_own_format_and_read(
    name: str, mutations: ModuleType, tmp_path: Path
) -> None:
    for number, files in enumerate(mutations.seeds(name)):
        path = mutations.stored(
            {file: text.encode() for file, text in files.items()}, tmp_path / str(number)
        )
        with open_lists(Source(path)) as (chosen, lists):
            assert chosen.name == name
            assert list(lists)
