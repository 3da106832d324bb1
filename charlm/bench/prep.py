"""Text: preparing it, counting its vocabulary and encoding it, against merely reading its words.

Reading and splitting lines in Python is the limit of whatever looks at every word there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from charlm.bench.text import corpus
from charlm.bench.timing import Timing, in_turns
from charlm.text.corpus import encode_text, read_sentences, split_path
from charlm.text.inventory import Inventory, inventory_of
from charlm.text.prep import prepare

MADE_TOKENS = 1_000_000
PREP, VOCAB, ENCODE, READ = "prep", "vocabulary", "encode", "read and split"


@dataclass(frozen=True)
class PrepBench:
    """What was measured of one text."""

    data: str  # `made` if none was given
    n_tokens: int  # of train.txt, </s> counted
    n_words: int
    timings: dict[str, Timing]

    def to_dict(self) -> dict[str, object]:
        """As JSON."""
        own = {k: v for k, v in vars(self).items() if k != "timings"}
        return {**own, "paths": {k: v.to_dict(self.n_tokens) for k, v in self.timings.items()}}


def bench_prep(
    *,
    data: str | Path | None = None,
    tokens: int = MADE_TOKENS,
    repetitions: int = 3,
    seed: int = 0,
) -> PrepBench:
    """Measure text handling on train.txt of `data`, or on a made text of so many tokens.

    Preparing lower-cases, tokenises and writes numbers as one word, as the demonstration does.

    Raises:
        DataError: a corpus that is not what was expected.
    """
    with corpus(data, n_tokens=tokens, seed=seed) as folder, TemporaryDirectory() as work:
        train = split_path(folder, "train")
        inventory = inventory_of(read_sentences(train))
        timings = in_turns(_paths(train, Path(work), inventory), repetitions=repetitions)
        return PrepBench(
            data="made" if data is None else str(data),
            n_tokens=sum(len(words) + 1 for words in read_sentences(train)),
            n_words=inventory.n_words,
            timings=timings,
        )


def _paths(text: Path, work: Path, inventory: Inventory) -> dict[str, Callable[[], object]]:
    def prep() -> None:
        with TemporaryDirectory(dir=work) as out:
            prepare(text, out=Path(out) / "corpus", lower=True, tokenise="simple", numbers=True)

    def read() -> int:
        with text.open("rb") as file:
            return sum(len(line.decode().split()) for line in file)

    return {
        PREP: prep,
        VOCAB: lambda: inventory_of(read_sentences(text)),
        ENCODE: lambda: encode_text(text, inventory, stem=work / "train"),
        READ: read,
    }
