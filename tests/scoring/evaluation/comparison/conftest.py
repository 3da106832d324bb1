"""A corpus of single letters, and comparisons with shortcuts to their figures."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from charlm.scoring.evaluation.comparison.compare_kn import compare_kn
from charlm.scoring.evaluation.comparison.results import Comparison, Group, System


class Compared(Comparison):
    """A comparison, with shortcuts to what tests look at."""

    @property
    def only_group(self) -> Group:
        (group,) = self.groups
        return group

    def system(self, name: str) -> System:
        (found,) = (s for group in self.groups for s in group.systems if s.name == name)
        return found

    def ppl(self, name: str, state: Any = "sentence") -> float:
        found = self.system(name).by_state[state].perplexity.ppl
        assert found is not None
        return found


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    """A corpus of single letters; a test may rewrite its texts."""
    folder = tmp_path / "letters"
    folder.mkdir()
    texts = {"train": "a a a b b <unk>\n", "valid": "a b\nb b\n", "test": "a b\nzz\n"}
    for split, text in texts.items():
        (folder / f"{split}.txt").write_text(text)
    return folder


@pytest.fixture(scope="session")
def compared() -> Callable[..., Compared]:
    """Kneser–Ney, of unigrams unless told otherwise, against runs."""

    def compare(data: Path, *models: Path, **options: Any) -> Compared:
        chosen = {"order": 1, "device": "cpu", "samples": 100, **options}
        return Compared(**vars(compare_kn(data, model=models, **chosen)))

    return compare
