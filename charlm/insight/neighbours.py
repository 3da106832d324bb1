"""Nearest words by cosine similarity, at any tap of an encoder, for words known or never seen.

What is compared are vectors of *forms*: a word outside the vocabulary is read by its spelling,
whatever `oov_input` a model was trained with. What comes out are words of the vocabulary alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from charlm.errors import ConfigError
from charlm.model.contract import Encoder
from charlm.model.forms import FormTable
from charlm.run.store import LoadedRun, load_run
from charlm.run.which import which_run
from charlm.runtime import pick_device
from charlm.scoring.nll import form_slices
from charlm.text.corpus import FormIds
from charlm.text.files import split_words
from charlm.text.inventory import END, UNK, Inventory

DECIMALS = 6  # of a similarity: beyond them a form's vector depends on the block it was computed in

Ids = npt.NDArray[np.int64]
Similarities = npt.NDArray[np.float64]


class Neighbour(NamedTuple):
    """A word of the vocabulary, and the cosine of the angle between its vector and the asked."""

    word: str
    similarity: float


@dataclass(frozen=True)
class Neighbourhood:
    """The words nearest to one form, the most similar first."""

    word: str  # as asked
    form: str  # as read: normalised
    is_known: bool  # whether the form is a word of the vocabulary
    tap: str
    nearest: tuple[Neighbour, ...]

    def to_dict(self) -> dict[str, object]:
        """As JSON."""
        return {
            "word": self.word,
            "form": self.form,
            "known": self.is_known,
            "at": self.tap,
            "nearest": [near._asdict() for near in self.nearest],
        }


def neighbours(
    words: str | Sequence[str],
    *,
    model: str | Path | None = None,
    k: int = 10,
    at: str | None = None,
    raw: bool = False,
    device: str = "auto",
) -> tuple[Neighbourhood, ...]:
    """The `k` words of the vocabulary nearest to each of `words`; `</s>`, `<unk>`, itself left out.

    `model` is a run directory, else $CHARLM_MODEL, else the newest finished run under exp/.
    `at` is a tap of its encoder, the last if not given. The run's text normalisation is applied
    unless `raw`.

    Raises:
        ConfigError: no such tap, `k` < 1, what is not one word, or a word outside the vocabulary
            of a model that does not read spellings.
        DataError: a run that is not what was expected.
    """
    _check_k(k)
    run = load_run(which_run(model), device=pick_device(device))
    return neighbours_in(run, words, k=k, at=at, raw=raw)


def neighbours_in(
    run: LoadedRun,
    words: str | Sequence[str],
    *,
    k: int = 10,
    at: str | None = None,
    raw: bool = False,
) -> tuple[Neighbourhood, ...]:
    """As `neighbours`, in a run that is loaded already."""
    _check_k(k)
    asked = [words] if isinstance(words, str) else list(words)
    queries = _Queries(run, asked, raw=raw)
    inventory = run.inventory
    tap, vectors_QE = queries.vectors(at)
    if vectors_QE.shape[1] == 1:
        raise ConfigError(
            f"at: {tap!r} is one number a form, which has no direction; expected a tap of vectors; "
            "leave it out for the last"
        )
    similarities_QV = _similarities(run.model.encoder, vectors_QE, table=queries.table, tap=tap)
    results = []
    for word, form, number, row in zip(
        asked, queries.forms, queries.ids, similarities_QV, strict=True
    ):
        left_out = {END, UNK, inventory.word_ids.get(form, UNK)}
        near = [
            Neighbour(inventory.words[i], float(row[i]))
            for i in _highest(row, k + len(left_out))
            if i not in left_out
        ]
        is_known = bool(number < inventory.n_words)
        results.append(Neighbourhood(word, form, is_known, tap, tuple(near[:k])))
    return tuple(results)


def vectors_in(
    run: LoadedRun, words: Sequence[str], *, at: str | None = None
) -> npt.NDArray[np.float32]:
    """The vectors of `words` at a tap of the run's encoder, a row each.

    Raises:
        ConfigError: as `neighbours`.
    """
    _, vectors_QE = _Queries(run, words, raw=False).vectors(at)
    return vectors_QE.numpy()


class _Queries:
    """The forms that were asked about, in one table behind the words of the vocabulary."""

    def __init__(self, run: LoadedRun, words: Sequence[str], *, raw: bool) -> None:
        if not words:
            raise ConfigError("words: found none; expected at least one")
        inventory = run.inventory
        self.encoder = run.model.encoder
        tokens = [_one_token(word, inventory, raw=raw) for word in words]
        form_ids = FormIds(inventory)
        self.ids: Ids = np.array([form_ids[token] for token in tokens], np.int64)
        all_forms = (*inventory.words, *form_ids.spellings)
        self.forms = [all_forms[number] for number in self.ids]
        if form_ids.spellings and not self.encoder.reads_spelling:
            raise ConfigError(
                f"word {form_ids.spellings[0]!r}: not in the vocabulary of {run.path}, which does "
                f"not read spellings; expected one of its {inventory.n_words} words"
            )
        self.table = FormTable(inventory, all_forms)

    def vectors(self, at: str | None) -> tuple[str, Tensor]:
        """The name of the tap, and the forms' vectors there, (Q, E), on the CPU."""
        tap, blocks = at, []
        for part in form_slices(self.table.lengths[self.ids]):
            taps = _taps(self.encoder, self.table, self.ids[part])
            tap = list(taps)[-1] if tap is None else tap
            if tap not in taps:
                raise ConfigError(f"at: found {tap!r}; expected one of {', '.join(taps)}")
            blocks.append(taps[tap])
        assert tap is not None
        return tap, torch.cat(blocks)


def _check_k(k: int) -> None:
    if k < 1:
        raise ConfigError(f"k: found {k}; expected 1 or more")


def _one_token(word: str, inventory: Inventory, *, raw: bool) -> str:
    line = word.replace("\n", " ")
    tokens = split_words(line if raw else inventory.normalisation(line))
    if len(tokens) != 1:
        found = f"{len(tokens)} words ({', '.join(tokens)})" if tokens else "nothing"
        raise ConfigError(f"word {word!r}: is read as {found}; expected one word")
    return tokens[0]


@torch.no_grad()
def _taps(encoder: Encoder, table: FormTable, rows: Ids) -> dict[str, Tensor]:
    """The forms' vectors at every tap, (N, E) each, on the CPU."""
    device = next(encoder.parameters()).device
    taps = encoder.eval().taps(table.forms(rows).to(device))
    return {name: vectors.flatten(1).float().cpu() for name, vectors in taps.items()}


def _similarities(
    encoder: Encoder, vectors_QE: Tensor, *, table: FormTable, tap: str
) -> Similarities:
    """Cosines of queries and words, shape (Q, V), rounded; 0 where a vector is zero."""
    units_QE = functional.normalize(vectors_QE, eps=1e-30)
    rows = np.arange(table.n_words)
    blocks = []
    for part in form_slices(table.lengths[rows]):
        words_NE = _taps(encoder, table, rows[part])[tap]
        blocks.append(units_QE @ functional.normalize(words_NE, eps=1e-30).T)
    similarities: Similarities = torch.cat(blocks, dim=1).double().numpy()
    return np.round(similarities, DECIMALS) + 0.0  # never -0


def _highest(row: Similarities, n: int) -> list[int]:
    """The `n` words of the highest similarity; of equal ones the lower id first."""
    order: list[int] = np.argsort(-row, kind="stable")[:n].tolist()
    return order
