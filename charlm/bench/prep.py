"""Text: preparing it, counting its vocabulary and encoding it, against merely reading its words.

Everything runs in one process, so that times are comparable. Splitting lines one by one is the cost
of a Python loop before it looks at a word; counting and encoding work on blocks of lines, and can
be faster than that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from charlm.bench.bench_options import PrepBenchOptions
from charlm.bench.text import text_of
from charlm.bench.timing import Measured, in_turns
from charlm.interface.options import keywords
from charlm.text.corpus.preparation.prepare import prep
from charlm.text.corpus.sentences import split_path
from charlm.text.vocabulary.counts import count_file
from charlm.text.vocabulary.encoding import encode_text
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of

PREP, VOCAB, ENCODE, READ = "prep", "vocabulary", "encode", "read and split"


@dataclass(frozen=True, kw_only=True)
class PrepBench(Measured):
    data: str  # `generated` if none was given
    n_tokens: int  # of train.txt, </s> counted
    n_words: int


@keywords(PrepBenchOptions)
def bench_prep(options: PrepBenchOptions) -> PrepBench:
    """Measure text handling on train.txt.

    Preparing lower-cases, tokenises and writes numbers as one word, as the demonstration does.

    Raises:
        ConfigError: a length beside a corpus.
        DataError: a corpus that is not what was expected.
    """
    with text_of(options) as folder, TemporaryDirectory() as work:
        train = split_path(folder, "train")
        text = count_file(train, threads=1)
        inventory = inventory_of(text)
        timings = in_turns(_paths(train, Path(work), inventory), repetitions=options.repetitions)
        return PrepBench(
            data="generated" if options.data is None else str(options.data),
            n_tokens=text.n_words + text.n_sentences,
            n_words=inventory.n_words,
            timings=timings,
        )


def _paths(text: Path, work: Path, inventory: Inventory) -> dict[str, Callable[[], object]]:
    def prepare() -> None:
        with TemporaryDirectory(dir=work) as out:
            prep(text, out=Path(out) / "corpus", lower=True, tokenise="simple", numbers=True)

    def read() -> int:
        with text.open("rb") as file:
            return sum(len(line.decode().split()) for line in file)

    return {
        PREP: prepare,
        VOCAB: lambda: inventory_of(count_file(text, threads=1)),
        ENCODE: lambda: encode_text(text, inventory, stem=work / "train", threads=1),
        READ: read,
    }
