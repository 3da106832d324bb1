"""The speller of a run: speller.safetensors, and its entry in run.json.

run.json holds the speller's settings, and the weights file holds the share of the known words. The
two come from one training if they name the same spellings. A run without the file has no speller
yet.
"""

from dataclasses import dataclass, fields
from pathlib import Path

from charlm.errors import ConfigError, DataError
from charlm.model.build import without_memory
from charlm.model.speller import SPELLER, Speller
from charlm.run.folder import RUN, SPELLER_WEIGHTS, RunInfo, wrong_field
from charlm.run.stored_weights import load_weights, read_meta, write_tensors
from charlm.settings import Settings, build_part
from charlm.text.io.files import sha256_of
from charlm.text.vocabulary.vocabulary import Inventory


@dataclass(frozen=True)
class SpellerInfo:
    """A speller's entry in run.json."""

    settings: Settings  # all defaults filled in
    text: str  # the name of the file whose words it learned; for readers
    n_types: int
    types_sha256: str  # of these words


@dataclass(frozen=True)
class RunSpeller:
    """A trained speller, and the probability that it gives to the words of the vocabulary."""

    speller: Speller
    known_mass: float  # of all words but </s> and <unk>; 0 ≤ known_mass < 1
    sha256: str  # of the file


def speller_info(folder: Path, info: RunInfo) -> SpellerInfo | None:
    """The speller's entry in run.json; None if the run is to have no speller.

    Raises:
        DataError: the entry is not a `SpellerInfo`.
    """
    if info.speller is None:
        return None
    value, names = info.speller, {each.name for each in fields(SpellerInfo)}
    if value.keys() != names or wrong_field(SpellerInfo, value):
        raise DataError(f"{folder / RUN}: says of its speller what charlm does not; it is damaged")
    return SpellerInfo(**value)


def empty_speller(settings: Settings, inventory: Inventory) -> tuple[Speller, Settings]:
    """An untrained speller, and its settings with all defaults filled in.

    Raises:
        ConfigError: the settings are invalid.
    """
    speller, resolved = build_part(SPELLER, settings, leading=[inventory])
    assert isinstance(speller, Speller)
    return speller, resolved


def save_speller(
    folder: Path,
    speller: Speller,
    *,
    about: SpellerInfo,
    known_mass: float,
    bits_per_character: float,
) -> None:
    """Write speller.safetensors, atomically; run.json must already hold `about`."""
    meta = {
        "types_sha256": about.types_sha256,
        "known_mass": known_mass,
        "bits_per_character": bits_per_character,
    }
    write_tensors(folder / SPELLER_WEIGHTS, speller.state_dict(), meta=meta)


def is_trained(folder: Path, about: SpellerInfo) -> bool:
    """Whether the run holds the complete speller that run.json describes, and not another."""
    try:
        return read_meta(folder / SPELLER_WEIGHTS).get("types_sha256") == about.types_sha256
    except DataError:
        return False


def load_speller(folder: Path, info: RunInfo, *, inventory: Inventory) -> RunSpeller:
    """The speller of a run, checked against its settings before anything is allocated.

    Raises:
        ConfigError: the run has no speller.
        DataError: it is cut, damaged or hostile, or learned other spellings than run.json says.
    """
    path = folder / SPELLER_WEIGHTS
    about = speller_info(folder, info)
    if about is None or not path.is_file():
        raise ConfigError(
            f"{folder}: the run has no speller; expected one for an open vocabulary; add it with "
            "`charlm train --resume --speller`"
        )
    try:
        with without_memory():
            speller, _ = empty_speller(about.settings, inventory)
    except ConfigError as error:
        raise DataError(f"{folder / RUN}: {error}") from None
    meta = load_weights(speller, path)
    mass, bits = (meta.get(key) for key in ("known_mass", "bits_per_character"))
    if type(mass) is not float or type(bits) is not float or not 0 <= mass < 1:
        raise DataError(
            f"{path}: known words' mass {mass!r:.60}; expected a number from 0 up to 1, and bits "
            "per character; the run is damaged"
        )
    if meta.get("types_sha256") != about.types_sha256:
        raise DataError(
            f"{path}: learned other spellings than {RUN} says; the run is damaged; train it again "
            "with `charlm train --resume --speller`"
        )
    return RunSpeller(speller.eval(), mass, sha256_of(path))
