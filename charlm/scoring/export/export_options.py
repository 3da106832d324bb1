"""The options of `charlm export`."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated

from charlm.interface.options import Device, ModelSaid, OnStage, Opt, Precision, Seed, Threads
from charlm.ngram.ngram_options import EntropyPrune


@dataclass(frozen=True)
class ExportOptions:
    """Which model is exported, in which form; for ARPA, which n-grams approximate it."""

    model: ModelSaid = None
    _: KW_ONLY
    arpa: Annotated[
        str | Path | None,
        Opt("ARPA file to write, compressed if the name ends in .gz, .bz2 or .xz; needs --data."),
    ] = None
    onnx: Annotated[
        str | Path | None,
        Opt(
            "Folder for the model itself, which onnxruntime runs without torch: step.onnx, "
            "encode.onnx, vocab.json, export.json.",
            metavar="DIR",
        ),
    ] = None
    page: Annotated[
        str | Path | None,
        Opt(
            "HTML file that holds the model in eight bits and runs it offline: type a sentence and "
            "see surprisals, next words, near words. Takes a run with the parts of char-small, or "
            "a folder made of one with --int8."
        ),
    ] = None
    int8: Annotated[
        bool, Opt("Write the networks of --onnx in eight bits, a quarter as large.")
    ] = False
    data: Annotated[
        str | Path | None,
        Opt("Corpus directory with train.txt and valid.txt, for --arpa.", metavar="DIR"),
    ] = None
    tokens: Annotated[
        int, Opt("Tokens of text drawn from the model, each </s> included.", "N-grams", least=1)
    ] = 1_000_000
    # Unigrams have no context, and KenLM refuses a model of them alone.
    order: Annotated[int, Opt("Length of the longest n-grams.", "N-grams", least=2, most=6)] = 5
    prune: Annotated[
        str | Sequence[int] | None,
        Opt(
            "Largest count at which n-grams of the drawn text are left out, by order; the last "
            "number also holds for longer n-grams; 0,0,1 if not given.",
            "N-grams",
            metavar="0,0,1",
            cli_type=str | None,
        ),
    ] = None
    followers: Annotated[
        int,
        Opt(
            "Number of next words drawn at each position of both texts, whose n-grams are added; 0 "
            "adds none.",
            "N-grams",
            least=0,
        ),
    ] = 16
    entropy_prune: EntropyPrune = 0.0
    seed: Seed = 1
    device: Device = "auto"
    precision: Precision = "fp32"
    threads: Threads = None
    on_stage: OnStage = None
