"""The options of the questions that `charlm nn` answers: shared ones, and those of each question.

Every option is declared once: the command has the options of all questions, a function its own.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from charlm.interface.options import Device, Model, OnStage, Opt, Threads

Tap = str | Sequence[str] | None
Paths = str | Path | Sequence[str | Path]

WORDS = Opt("Words of the vocabulary, or any other spelling.", metavar="WORD", is_argument=True)
K = Opt("Number of nearest words shown for each word.", least=1, flags=("-k",))
ANALOGY = Opt("Words nearest to this sum of words, in quotes.", metavar="'A - B + C'")
VECTORS = Opt(
    "File to write in word2vec's text format: the vectors of the vocabulary, </s> and <unk> first, "
    "or of the given WORDs alone.",
    flags=("--vectors",),
)
MEASURES = "Measures"
EDIT_DISTANCE = Opt(
    "Mean edit distance between the N most frequent words made of letters and their nearest words, "
    "at every point but gates unless --at names some: table 6 of Kim et al. as a number.",
    MEASURES,
    least=1,
    flags=("--edit-distance",),
)
FILES = Opt("Files of questions, or of pairs of words.", MEASURES, metavar="FILE...")


@dataclass(frozen=True, kw_only=True)
class TapOptions:
    """Which model is asked, and at which of its points."""

    model: Model = None
    at: Annotated[
        Tap,
        Opt(
            "Points of the model whose vectors are compared: char-cnn is before and highway after "
            "the highway layers, output is the output layer, all is every point but gates. `charlm "
            "info` lists those of a run; the encoder's last if not given.",
            metavar="TAP,...",
        ),
    ] = None
    device: Device = "auto"
    threads: Threads = None
    on_stage: OnStage = None


@dataclass(frozen=True, kw_only=True)
class VectorsOptions(TapOptions):
    """The vectors that a question is about, and how words are read."""

    raw: Annotated[
        bool, Opt("Words as they stand, without the run's normalisation.", "How words are read")
    ] = False
    lower: Annotated[
        bool, Opt("Convert words to lower case, also those of files.", "How words are read")
    ] = False


@dataclass(frozen=True)
class NeighboursOptions(VectorsOptions):
    """The words nearest to words."""

    words: Annotated[str | Sequence[str], WORDS]
    _: KW_ONLY
    k: Annotated[int, K] = 10


@dataclass(frozen=True)
class AnalogyOptions(VectorsOptions):
    """The words nearest to a sum of words."""

    expression: Annotated[str, ANALOGY]
    _: KW_ONLY
    k: Annotated[int, K] = 10


@dataclass(frozen=True)
class MeasureOptions(VectorsOptions):
    """What is measured over files."""

    files: Annotated[Paths, FILES]


@dataclass(frozen=True)
class SpellingDistanceOptions(TapOptions):
    """How near in spelling the nearest words are."""

    n_words: Annotated[int, EDIT_DISTANCE]
    _: KW_ONLY
    k: Annotated[int, K] = 10


@dataclass(frozen=True)
class WriteVectorsOptions(VectorsOptions):
    """A file of vectors."""

    path: Annotated[str | Path, VECTORS]
    words: Annotated[str | Sequence[str], WORDS] = ()


@dataclass(frozen=True)
class NnOptions(VectorsOptions):
    """One of these questions: words, or one of the options in their place."""

    words: Annotated[
        Sequence[str],
        Opt(
            "Words of the vocabulary, or any other spelling; after an option that takes FILE..., "
            "further files.",
            metavar="WORD",
            is_argument=True,
        ),
    ] = ()
    _: KW_ONLY
    k: Annotated[int, K] = 10
    analogy: Annotated[str | None, ANALOGY] = None
    vectors: Annotated[str | Path | None, VECTORS] = None
    analogies: Annotated[
        Sequence[Path],
        Opt(
            "Questions, four words a line (Google's layout): the share answered correctly, by "
            "section.",
            MEASURES,
            metavar="FILE...",
        ),
    ] = ()
    similarity: Annotated[
        Sequence[Path],
        Opt(
            "Word pairs with scores, separated by TABs: Spearman's rho of scores and cosines.",
            MEASURES,
            metavar="FILE...",
        ),
    ] = ()
    normalise: Annotated[
        Sequence[Path],
        Opt(
            "Pairs of a noisy and a normal word, separated by TAB: how often the normal one is "
            "among the 1, 5 and 10 nearest.",
            MEASURES,
            metavar="FILE...",
        ),
    ] = ()
    edit_distance: Annotated[int | None, EDIT_DISTANCE] = None


def shared(options: TapOptions, kind: type[TapOptions]) -> dict[str, Any]:
    """The values of those options that `kind` has, by name."""
    return {field.name: getattr(options, field.name) for field in fields(kind)}
