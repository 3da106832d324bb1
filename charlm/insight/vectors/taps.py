"""Words read as forms, and the vectors of forms at every tap: the encoder's points, and `output`.

`output` is the word's vector in the output layer, if that has one for each word; a form outside the
vocabulary has none there. At a tap of an encoder's word side such a form has the vector of `<unk>`,
which says nothing about the form: `Vectors.reads` tells whether a vector is a form's own.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from charlm.errors import ConfigError
from charlm.insight.vectors.neighbourhood import token_of
from charlm.insight.vectors.nn_options import Tap
from charlm.model.forms import FormTable
from charlm.run.stored_weights import LoadedRun
from charlm.scoring.likelihood.nll import form_slices
from charlm.text.corpus.tokens import UNK, UNK_WORD, form_of

Ids = npt.NDArray[np.int64]

OUTPUT = "output"
ALL = "all"
N_PROBES = 8
GATES = re.compile(r"(.*\.)?(transform|gate)(\.\d+)?")  # shares between 0 and 1: no directions


@dataclass(frozen=True)
class ReadWord:
    """A word as it was given, and the form that it is read as."""

    word: str
    form: str
    number: int  # the word's id; that of `<unk>` for a form outside the vocabulary
    is_known: bool

    @property
    def identity(self) -> tuple[str, int]:
        """What decides its vectors: `<unk>:cat` is spelled like the word `cat`, but is not it."""
        return self.form, self.number


def are_known(readings: Iterable[ReadWord | None]) -> bool:
    """Whether all could be read and are words of the vocabulary."""
    return all(each is not None and each.is_known for each in readings)


class Reader:
    """Reads words as a run does: by its text normalisation, then by its vocabulary or spelling."""

    def __init__(self, run: LoadedRun, *, raw: bool = False, lower: bool = False) -> None:
        self.run = run
        self.raw = raw
        self.lower = lower
        self._letters = frozenset(run.inventory.characters)

    def read(self, word: str) -> ReadWord:
        """The word as a form.

        Raises:
            ConfigError: not one word, or one that the model cannot read.
        """
        inventory = self.run.inventory
        token = token_of(word, inventory.normalisation, raw=self.raw, lower=self.lower)
        number = inventory.word_ids.get(token)
        if number is not None:
            return ReadWord(word, token, number, is_known=True)
        form = form_of(token)
        if not self.run.model.encoder.reads_spelling:
            raise ConfigError(
                f"word {form!r}: not in the vocabulary of {self.run.path}, which does "
                f"not read spellings; expected one of its {inventory.n_words:,} words, or a run "
                f"with a character encoder{self._case_hint(word)}"
            )
        if self._letters.isdisjoint(form):
            raise ConfigError(
                f"word {form!r}: the model of {self.run.path} knows none of its characters; "
                f"expected a spelling in the {len(self._letters)} that it knows"
                f"{self._case_hint(word)}"
            )
        return ReadWord(word, form, UNK, is_known=False)

    def _case_hint(self, word: str) -> str:
        """What a message adds about a word that is known in lower case."""
        inventory = self.run.inventory
        token = token_of(word, inventory.normalisation, raw=self.raw, lower=True)
        return f"; it knows {token!r}, in lower case" if token in inventory.word_ids else ""

    def try_to_read(self, word: str) -> ReadWord | None:
        """As `read`, but None for a word that cannot be read."""
        try:
            return self.read(word)
        except ConfigError:
            return None


class Vectors:
    """The vectors of any forms at the taps of a run's model."""

    def __init__(self, run: LoadedRun) -> None:
        self.run = run
        # Words as if they were none: where they all are what `<unk>` is, no spelling is read.
        # One at a time, since a product's last bits may depend on the row.
        unk, *others = (
            self._encoded([form], np.array([UNK]))
            for form in (UNK_WORD, *run.inventory.words[UNK + 1 :][:N_PROBES])
        )
        self.widths = {tap: vectors_1E.shape[1] for tap, vectors_1E in unk.items()}
        self.last = list(self.widths)[-1]
        self._spelled = {
            tap for tap in unk if any(not torch.equal(each[tap], unk[tap]) for each in others)
        }
        if run.model.output.vector_dim:
            self.widths[OUTPUT] = run.model.output.vector_dim
        self.units: dict[str, Tensor] = {}  # of all words at a tap, once they were searched

    def taps(self, at: Tap = None, *, directed: bool = False) -> list[str]:
        """The chosen taps: names, several separated by commas, or `all` except gates.

        Without any, the encoder's last. `directed` refuses a tap of one number.

        Raises:
            ConfigError: no such tap, or one number where a direction is needed.
        """
        listed = [at] if isinstance(at, str) else list(at or [self.last])
        chosen: dict[str, None] = {}
        for name in (name.strip() for each in listed for name in each.split(",")):
            if name == ALL:
                chosen |= dict.fromkeys(t for t in self.widths if not GATES.fullmatch(t))
            elif name in self.widths:
                chosen[name] = None
            else:
                raise ConfigError(f"at: found {name!r}; expected one of {', '.join(self.widths)}")
        for name in chosen:
            if directed and self.widths[name] == 1:
                raise ConfigError(
                    f"at: {name!r} is one number a form, which has no direction; expected a tap "
                    "of vectors; leave it out for the last"
                )
        return list(chosen)

    def encoded(self, readings: Sequence[ReadWord], *, taps: Sequence[str]) -> dict[str, Tensor]:
        """The vectors of some forms at some taps, (N, E) each, fp32, on the CPU.

        Raises:
            ConfigError: a form outside the vocabulary at `output`.
        """
        numbers = np.array([each.number for each in readings], np.int64)
        result = {}
        if set(taps) - {OUTPUT}:
            result = self._encoded([each.form for each in readings], numbers)
        if OUTPUT in taps:
            for each in readings:
                if not each.is_known:
                    raise ConfigError(self.refusal(each, OUTPUT))
            result[OUTPUT] = self.of_words(numbers, tap=OUTPUT)
        return {tap: result[tap] for tap in taps}

    def of_words(self, numbers: Ids, *, tap: str) -> Tensor:
        """The vectors of words of the vocabulary at a tap, (N, E), fp32, on the CPU."""
        if tap == OUTPUT:
            return self.output_vectors[torch.from_numpy(numbers)].float().cpu()
        words = self.run.inventory.words
        return self._encoded([words[number] for number in numbers.tolist()], numbers)[tap]

    def reads(self, reading: ReadWord, *, tap: str) -> bool:
        """Whether a form has a vector of its own at a tap, and not that of `<unk>`."""
        return reading.is_known or tap in self._spelled

    def refusal(self, reading: ReadWord, tap: str) -> str:
        """The message for a form that has no vector of its own at a tap."""
        return (
            f"word {reading.form!r}: not in the vocabulary of {self.run.path}, and {tap!r} "
            f"reads no spellings; expected one of its {self.run.inventory.n_words:,} words, or "
            "another tap"
        )

    @cached_property
    def output_vectors(self) -> Tensor:
        """The words' vectors in the output layer, (V, E)."""
        model = self.run.model
        with torch.no_grad():
            h_0H = next(model.parameters()).new_empty(0, model.context.dim)
            return model.output.expected_vectors(h_0H)[0].detach()

    @torch.no_grad()
    def _encoded(self, forms: Sequence[str], numbers: Ids) -> dict[str, Tensor]:
        encoder = self.run.model.encoder.eval()
        device = next(encoder.parameters()).device
        # Of these forms alone: a table of the vocabulary takes seconds where words are many.
        table = FormTable(self.run.inventory, forms, ids=numbers)
        blocks: list[dict[str, Tensor]] = []
        for part in form_slices(table.lengths):
            taps = encoder.taps(table.forms(np.arange(part.start, part.stop)).to(device))
            blocks.append({tap: each.flatten(1).float().cpu() for tap, each in taps.items()})
        return {tap: torch.cat([block[tap] for block in blocks]) for tap in blocks[0]}
