"""Copies of the tiny run, to be damaged."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def copied_run(tiny_run: Path, tmp_path: Path) -> Path:
    """A run that a test may change."""
    return Path(shutil.copytree(tiny_run, tmp_path / "run"))
