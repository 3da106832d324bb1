"""Training a run's speller on the spellings of words outside the vocabulary, each counted once.

The speller uses its own random generator, so a training with a speller ends with the same weights
as one without. A tenth of the spellings is held out to decide when to stop.
"""

import copy
import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

from charlm.errors import ConfigError, DataError
from charlm.model.build import without_memory
from charlm.model.speller import BEYOND, Speller
from charlm.run.folder import RUN, RunInfo
from charlm.run.stored_speller import (
    SpellerInfo,
    empty_speller,
    is_trained,
    save_speller,
    speller_info,
)
from charlm.scoring.likelihood.open_vocabulary import known_mass
from charlm.text.corpus.sentences import read_sentences, split_path
from charlm.text.corpus.tokens import UNK_WORD, form_of
from charlm.text.io.files import display_name
from charlm.text.vocabulary.vocabulary import Inventory
from charlm.training.planning.plan import Plan
from charlm.training.train_options import TrainOptions

HELD_OUT = 10  # one type in this many is held out
MAX_EPOCHS = 40
MAX_STEPS = 20_000  # some minutes; the epoch that reaches them is the last
PATIENCE = 3  # epochs without a better held-out figure; each halves the rate
BATCH = 64
POOL = 16 * BATCH  # types that are drawn together and batched by length
RATE = 5e-3  # Adam; 2e-3 needs half as many epochs more, 1e-2 gains nothing
DROPOUT = 0.2
CLIP = 1.0
LONGEST = 200  # characters of a word that is learned; longer strings are no words and take memory
SETTINGS = {"type": "lstm"}


@dataclass(frozen=True)
class Spellings:
    """The types that a speller is to learn, each once, sorted."""

    types: tuple[str, ...]
    text: str  # the name of the file
    n_too_long: int  # number of types that are left out

    @property
    def sha256(self) -> str:
        """Hash of the types, independent of the text that they come from."""
        return hashlib.sha256("\n".join(self.types).encode()).hexdigest()


def read_spellings(path: str | Path, inventory: Inventory, *, max_tokens: int = 0) -> Spellings:
    """The types of a text outside a vocabulary; `<unk>:form` counts as its form.

    Raises:
        DataError: there are none.
    """
    rules = inventory.normalisation
    types: set[str] = set()
    for words in read_sentences(path, normalisation=rules, max_tokens=max_tokens):
        types.update(words)
    forms = {form_of(token) for token in types} - inventory.word_ids.keys()
    kept = sorted(form for form in forms if len(form) <= LONGEST)
    name = display_name(path)
    if not kept:
        held = f" but {UNK_WORD}, unspelled" if UNK_WORD in types else ""
        raise DataError(
            f"{name}: no word outside the vocabulary{held}; expected some for --speller to learn; "
            "leave it out, or give a text that has some with --spellings"
        )
    return Spellings(tuple(kept), Path(name).name, len(forms) - len(kept))


def wanted_spellings(
    options: TrainOptions, inventory: Inventory, *, plan: Plan
) -> Spellings | None:
    """The spellings that a speller has yet to learn; None if none is wanted, or it is trained.

    A speller is wanted if this call or an earlier one of the run asked for it.

    Raises:
        ConfigError: the run has a speller of other spellings.
        DataError: there is nothing to learn.
    """
    about = speller_info(plan.folder, plan.stored) if plan.stored else None
    is_there = about is not None and is_trained(plan.folder, about)
    is_asked = options.speller or options.spellings is not None
    if not is_asked and (about is None or is_there):
        return None
    if options.spellings is not None:
        spellings = read_spellings(options.spellings, inventory)
    else:
        path = split_path(plan.data, "train")
        spellings = read_spellings(path, inventory, max_tokens=plan.max_tokens)
    if about and about.types_sha256 != spellings.sha256:
        raise ConfigError(
            f"{plan.folder / RUN}: tells of a speller of {about.n_types} words of {about.text}, "
            f"not of the {len(spellings.types)} of {spellings.text}; give that text with "
            "--spellings"
        )
    return None if is_there else spellings


def with_speller(
    folder: Path,
    info: RunInfo,
    *,
    spellings: Spellings,
    inventory: Inventory,
    note: Callable[[str], None],
    check_lock: Callable[[], None],
    is_stopped: Callable[[], bool],
) -> RunInfo:
    """Train a speller and save it with a run; returns the run's description with its entry.

    If a user stops it, it is trained from the beginning when the training is resumed. --max-time
    does not stop it, since otherwise short sessions would never finish it.
    """
    with without_memory():  # else it would use the model's random generator
        _, settings = empty_speller(SETTINGS, inventory)
    about = SpellerInfo(settings, spellings.text, len(spellings.types), spellings.sha256)
    info = replace(info, speller=asdict(about))
    info.save(folder)
    left_out = f"; {spellings.n_too_long:,} of more than {LONGEST} characters left out"
    note(
        f"speller: learning the {about.n_types:,} words of {about.text} outside the vocabulary"
        + (left_out if spellings.n_too_long else "")
    )
    try:
        speller, bits = train_speller(
            spellings.types, inventory, seed=info.seed, is_stopped=is_stopped
        )
    except SpellerStoppedError:
        again = "" if spellings.text == "train.txt" else ", with --spellings again"
        note(f"speller: stopped; --resume learns it from its beginning{again}")
        return info
    mass = known_mass(speller, inventory)
    check_lock()
    save_speller(folder, speller, about=about, known_mass=mass, bits_per_character=bits)
    note(
        f"speller: {bits:.2f} bits a character of words held out; it gives {mass:.2%} to the known "
        "words, which is taken out"
    )
    return info


class SpellerStoppedError(Exception):
    """The user stopped a training before its speller was trained."""


def train_speller(
    types: Sequence[str],
    inventory: Inventory,
    *,
    seed: int,
    is_stopped: Callable[[], bool] = lambda: False,
) -> tuple[Speller, float]:
    """A speller trained on these types, on the CPU, and its bits per character on held-out types.

    It is the same for the same seed and number of threads.

    Raises:
        SpellerStoppedError: `is_stopped`, which is asked before each step, returned True.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # `torch.manual_seed` would also seed the GPU's
        speller, _ = empty_speller(SETTINGS, inventory)
        order = [types[i] for i in torch.randperm(len(types)).tolist()]
        n_held = len(types) // HELD_OUT
        bits = _fit(speller, order[n_held:], held=order[:n_held] or order, is_stopped=is_stopped)
    return speller.eval(), bits


def _fit(
    speller: Speller, types: Sequence[str], *, held: Sequence[str], is_stopped: Callable[[], bool]
) -> float:
    """Train until `held` stops improving; keep the best weights and return their figure."""
    optimiser = torch.optim.Adam(speller.parameters(), lr=RATE)
    best, weights, n_worse = math.inf, speller.state_dict(), 0
    for _ in range(min(MAX_EPOCHS, math.ceil(MAX_STEPS * BATCH / len(types)))):
        for batch in _batches(types):
            if is_stopped():
                raise SpellerStoppedError
            symbols_LN = speller.encoded(batch)
            loss = speller.nll(symbols_LN, dropout=DROPOUT).sum() / (symbols_LN != BEYOND).sum()
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(speller.parameters(), CLIP)
            optimiser.step()
        bits, n_worse = bits_per_character(speller, held), n_worse + 1
        if bits < best:
            best, weights, n_worse = bits, copy.deepcopy(speller.state_dict()), 0
        elif n_worse == PATIENCE:
            break
        else:
            optimiser.param_groups[0]["lr"] /= 2
    speller.load_state_dict(weights)
    return best


def _batches(types: Sequence[str]) -> Iterator[list[str]]:
    """All types once, in a new random order, with types of similar length together."""
    for rows in torch.randperm(len(types)).split(POOL):
        pool = sorted((types[row] for row in rows.tolist()), key=len)
        firsts = range(0, len(pool), BATCH)
        for number in torch.randperm(len(firsts)).tolist():
            yield pool[firsts[number] : firsts[number] + BATCH]


def bits_per_character(speller: Speller, spellings: Sequence[str]) -> float:
    """Bits per character, over all characters and the end of each word."""
    total = -math.fsum(speller.log_probs(spellings).tolist())
    return total / math.log(2) / sum(len(each) + 1 for each in spellings)
