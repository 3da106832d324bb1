"""Broken lists never end in a traceback, or in words that come from elsewhere.

CHARLM_MUTATIONS is the number per format; CHARLM_TEST_DATA is a folder with real lists to break as
well.
"""

import os
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import pytest

from charlm.nbest.formats import FORMATS

N_MUTATIONS = int(os.environ.get("CHARLM_MUTATIONS", "300"))
MUTATIONS = SimpleNamespace(**run_path(str(Path(__file__).with_name("mutations.py"))))


@pytest.mark.parametrize("name", FORMATS)
def test_a_broken_list_is_refused_in_one_line_or_read_as_it_stands(
    name: str, tmp_path: Path
) -> None:
    outcomes = []
    for number in range(N_MUTATIONS):
        files = MUTATIONS.broken(name, number)
        path = MUTATIONS.stored(files, tmp_path)
        outcomes.append(MUTATIONS.outcome(name, path, files))
    assert set(outcomes) == {"read", "refused"}  # else the mutations break too much or too little
