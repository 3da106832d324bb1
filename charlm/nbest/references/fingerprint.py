"""Fingerprints of lists, to detect weights that are evaluated on the lists they were tuned on.

Each list has a hash of its id, its texts and its reference, whatever their format and order; a
fingerprint keeps the 64 smallest hashes. Two sets that share a fifth or half of their lists have
about that share of the 64 in common, so a copy in another format, a re-ranked copy and a part of a
file are all detected. The id is hashed because several people who read the same prompt well give
the same list. Lists of lattices are given without their hypotheses: which paths they hold depends
on the weights of the search, and so the hash is of the id and the reference alone.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from charlm.errors import ConfigError
from charlm.nbest.hypotheses import NbestList
from charlm.nbest.references.references import References, by_file

KEPT = 64  # of which 4 must be found: a tenth in common is missed with 11 %, a fifth with 0.05 %
DIGITS = 16  # of each hash: 64 bits
# Short utterances may have the same hypotheses in two sets that share nothing else.
CHANCE = 0.05


@dataclass(frozen=True)
class Fingerprint:
    """The fingerprint of a set of lists with their references."""

    n_lists: int
    sha256: str  # of the hashes of all lists, sorted
    smallest: tuple[str, ...]  # hashes of lists
    has_ids: bool = True  # whether the hashes include the ids; those of charlm 0.1 did not

    def to_dict(self) -> dict[str, object]:
        return {
            "n": self.n_lists,
            "sha256": self.sha256,
            "smallest": " ".join(self.smallest),
            "ids": self.has_ids,
        }

    @classmethod
    def parse(cls, value: object) -> "Fingerprint | None":
        """The fingerprint that `to_dict` wrote; None if the value is anything else."""
        if not isinstance(value, dict):
            return None
        n_lists, sha256, smallest = (value.get(key) for key in ("n", "sha256", "smallest"))
        has_ids = value.get("ids", False)
        if isinstance(n_lists, int) and isinstance(sha256, str) and isinstance(smallest, str):
            return cls(n_lists, sha256, tuple(smallest.split()), bool(has_ids))
        return None


def fingerprint(lists: Sequence[NbestList], references: References) -> Fingerprint:
    """The fingerprint of these lists, with each of several references; no order matters."""
    hashes = sorted(chain(*(_hashes(lists, each, has_ids=True) for each in by_file(references))))
    sha256 = hashlib.sha256("\n".join(hashes).encode()).hexdigest()
    return Fingerprint(len(lists), sha256, tuple(dict.fromkeys(hashes))[:KEPT])


def check_not_reported(
    tuned: Fingerprint, lists: Sequence[NbestList], *, references: References, where: str
) -> None:
    """Refuse a report on lists that the weights were tuned on; `where` names the weights.

    Raises:
        ConfigError: more of the tuning lists are among these than chance would explain.
    """
    bare = [replace(nbest, hypotheses=()) for nbest in lists]  # the weights may be of lattices
    here = set(_hashes([*lists, *bare], references, has_ids=tuned.has_ids))
    found = sum(each in here for each in tuned.smallest)
    if found > CHANCE * len(tuned.smallest):
        raise ConfigError(
            f"{where}: tuned on lists that are reported on here ({found} of {len(tuned.smallest)} "
            "looked for); expected others, or the rate is too good; give other lists, or "
            "--allow-test-tuning"
        )


def _hashes(lists: Sequence[NbestList], references: References, *, has_ids: bool) -> list[str]:
    return [_hash(nbest, references.get(nbest.id, ()), has_id=has_ids) for nbest in lists]


def _hash(nbest: NbestList, reference: Sequence[str], *, has_id: bool) -> str:
    # Sorted and without duplicates, so that re-ranking or merging does not change the hash.
    texts = [reference, *sorted({hypothesis.words for hypothesis in nbest.hypotheses})]
    content = "\n".join([nbest.id] * has_id + [" ".join(words) for words in texts])
    return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()[:DIGITS]
