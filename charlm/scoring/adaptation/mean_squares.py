"""The mean squared gradient of every weight over the training text, kept with the run.

The file stands beside the model and records the hashes of model and training text. So a run that
was trained further is never adapted with older squares, and the squares of another text are never
taken for those of the training text.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from charlm.errors import DataError
from charlm.model.contract import detached
from charlm.run.stored_weights import LoadedRun, read_tensors, write_tensors
from charlm.runtime import without_cudnn
from charlm.scoring.likelihood.nll import ChunkVectors
from charlm.scoring.likelihood.streams import Streams, as_words
from charlm.text.io.files import sha256_of, write_if_possible
from charlm.text.vocabulary.encoding import TextEncoder

FILE = "mean-squares.safetensors"
MOST_READ = 1 << 24  # most tokens of a text; their ids are held in memory
# Krause et al. read 100 streams to the end, in chunks as long as their segments. Here 100 chunks,
# from the beginnings of the 100 streams, are enough.
N_STREAMS, STEPS, MOST_CHUNKS = 100, 20, 100


@dataclass(frozen=True)
class MeanSquaredGradients:
    """The mean squared gradients of a run's model over its training text."""

    tensors: dict[str, Tensor]  # by parameter name
    train_sha256: str


def mean_squared_gradients(
    run: LoadedRun, *, train: Path | None, tell: Callable[[str], object]
) -> MeanSquaredGradients | None:
    """The squares kept with the run, or computed from its training text; None: neither is there."""
    kept = _kept(run)
    if kept is not None or train is None or not train.is_file():
        return kept
    sha256 = sha256_of(train)
    about = run.info.corpus.get("train")
    if not isinstance(about, dict) or about.get("sha256") != sha256:
        return None
    path = run.path / FILE
    tell(f"{path}: mean squared gradients, made once, of {train}")
    made = MeanSquaredGradients(_made(run, train), sha256)
    with write_if_possible(path, tell):
        write_tensors(path, made.tensors, meta={**_wanted(run), "train": sha256})
    return made


def _wanted(run: LoadedRun) -> dict[str, object]:
    """The metadata that a kept file must have to be used."""
    most = _most_read(run)
    limit = {"max_tokens": most} if most < MOST_READ else {}
    return {"model": run.weights_sha256, "chunks": MOST_CHUNKS, **limit}


def _most_read(run: LoadedRun) -> int:
    """Most tokens to read: what `charlm train --max-tokens` left out is another text."""
    most = run.info.corpus.get("max_tokens")
    return min(most, MOST_READ) if isinstance(most, int) and most > 0 else MOST_READ


def _kept(run: LoadedRun) -> MeanSquaredGradients | None:
    """The squares kept with the run; None where the file is missing, stale or damaged."""
    if not (run.path / FILE).is_file():
        return None
    try:
        tensors, meta = read_tensors(run.path / FILE)
    except DataError:
        return None
    shapes = {name: each.shape for name, each in run.model.named_parameters()}
    is_ours = (
        all(meta.get(name) == value for name, value in _wanted(run).items())
        and isinstance(meta.get("train"), str)
        and {name: each.shape for name, each in tensors.items()} == shapes
        and all(
            each.dtype == torch.float32 and bool((each >= 0).all()) for each in tensors.values()
        )
    )
    return MeanSquaredGradients(tensors, meta["train"]) if is_ours else None


def _made(run: LoadedRun, train: Path) -> dict[str, Tensor]:
    """Squared gradients of a chunk's mean nll, averaged over chunks from all over a text."""
    encoder = TextEncoder(run.inventory, oov_input=run.oov_input)
    pieces = [ids for ids, _ in encoder.pieces(train, max_tokens=_most_read(run))]
    streams = Streams(ids := np.concatenate(pieces), n_streams=min(N_STREAMS, len(ids)))
    model, vectors = run.model, ChunkVectors(run.model, run.inventory, oov_input=run.oov_input)
    named = dict(model.named_parameters())
    sums = {name: torch.zeros_like(each, dtype=torch.float32) for name, each in named.items()}
    state = model.context.initial_state(len(streams.starts))
    firsts = range(0, streams.length, STEPS)[:MOST_CHUNKS]
    for first in firsts:
        inputs, targets = streams.chunk(first, first + STEPS)
        words_TB = torch.from_numpy(as_words(targets, run.inventory.n_words)).to(vectors.device)
        with without_cudnn():
            x_TBE = vectors.of(inputs, encoder.spellings)
            nll_TB, state = model.continue_from(x_TBE, words_TB=words_TB, state=detached(state))
            loss = nll_TB.sum() / (words_TB >= 0).sum()
        gradients = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
        for name, gradient in zip(sums, gradients, strict=True):
            if gradient is not None:
                sums[name] += gradient.float() ** 2
    return {name: square / len(firsts) for name, square in sums.items()}
