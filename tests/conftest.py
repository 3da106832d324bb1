"""A corpus of a few sentences and a run trained on it, tiny, made once for all tests.

Nothing may write into either: who needs to change a file works on a copy.
"""

import os
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when a test imports torch

TRAIN = """\
the cat sat on the mat
the dog sat on the log
a cat looked at a dog
the dog looked at the cat
a look at the mat is a look at the log
the cats and the dogs sat on mats
cats looked at dogs and dogs looked at cats
a misinformed cat sat on a log
"""
VALID = """\
the cat looked at the mat
a bird sat on the log
"""
TEST = """\
a dog sat on the mat
the birds looked at the dogs
"""
TINY = [
    "encoder.encoder.dim=4",
    "encoder.encoder.widths=1,2,3",
    "encoder.encoder.filters=4,4,8",
    "context.dim=8",
]


@pytest.fixture(autouse=True)
def _no_model_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHARLM_MODEL", raising=False)


@pytest.fixture(scope="session")
def corpus_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """train.txt, valid.txt and test.txt; words seen once in train.txt become `<unk>`."""
    folder = tmp_path_factory.mktemp("corpus") / "tiny"
    folder.mkdir()
    for split, text in (("train", TRAIN), ("valid", VALID), ("test", TEST)):
        (folder / f"{split}.txt").write_text(text)
    return folder


@pytest.fixture(scope="session")
def tiny_run(corpus_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A char-small of tiny sizes after one epoch, fp32, one thread."""
    from charlm.training.train import train

    run = tmp_path_factory.mktemp("runs") / "tiny"
    train(
        data=corpus_dir,
        out=run,
        epochs=1,
        batch_size=4,
        bptt=5,
        overrides=TINY,
        threads=1,
        device="cpu",
        precision="fp32",
    )
    return run
