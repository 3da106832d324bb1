"""Fingerprints recognise the same lists, also in part; other lists pass."""

import hashlib
from contextlib import nullcontext
from dataclasses import replace

import pytest

from charlm.errors import ConfigError
from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.references.fingerprint import Fingerprint, check_not_reported, fingerprint
from charlm.nbest.references.references import SeveralReferences


def lists_of(numbers: range, *, prefix: str = "u") -> list[NbestList]:
    return [
        NbestList(
            f"{prefix}{number}",
            tuple(Hypothesis((f"w{number}", ending), {}, "x:1") for ending in ("a", "b")),
        )
        for number in numbers
    ]


def references_of(lists: list[NbestList]) -> dict[str, tuple[str, ...]]:
    return {nbest.id: nbest.hypotheses[0].words for nbest in lists}


@pytest.mark.parametrize("numbers", [range(300), range(150), range(60)])
def test_the_lists_of_the_tuning_and_pieces_of_them_are_refused(numbers: range) -> None:
    dev = lists_of(range(300))
    tuned = fingerprint(dev, references_of(dev))
    here = lists_of(numbers)
    with pytest.raises(ConfigError, match=r"^w.json: tuned on lists that are reported on here \("):
        check_not_reported(tuned, here, references=references_of(here), where="w.json")


@pytest.mark.parametrize("n", [0, 1])
def test_one_of_several_references_is_enough(n: int) -> None:
    lists = lists_of(range(300))
    files = [references_of(lists), {nbest.id: ("b",) for nbest in lists}]
    tuned = fingerprint(lists, SeveralReferences(files))
    assert tuned == fingerprint(lists, SeveralReferences(files[::-1]))
    with pytest.raises(ConfigError, match="tuned on lists that are reported on here"):
        check_not_reported(tuned, lists, references=files[n], where="w.json")


def test_prompts_that_others_read_are_other_lists_but_not_to_fingerprints_without_ids() -> None:
    dev, here = lists_of(range(30)), lists_of(range(30), prefix="another-speaker-")
    tuned = fingerprint(dev, references_of(dev))
    check_not_reported(tuned, here, references=references_of(here), where="w.json")
    content = "w0 a\nw0 a\nw0 b"  # the first list: its reference, its texts
    smallest = hashlib.sha256(content.encode()).hexdigest()[:16]
    old = Fingerprint.parse({"n": 1, "sha256": "", "smallest": smallest})
    assert old is not None
    with pytest.raises(ConfigError, match="tuned on lists that are reported on here"):
        check_not_reported(old, here[:1], references=references_of(here), where="w.json")


def test_order_does_not_matter_but_ids_texts_and_references_do() -> None:
    lists = lists_of(range(5))
    references = references_of(lists)
    assert fingerprint(lists, references) == fingerprint(lists[::-1], references)
    turned = lists_of(range(5), prefix="z")
    assert fingerprint(lists, references) != fingerprint(turned, references_of(turned))
    # Reversed, and with a text twice.
    ranked = [replace(each, hypotheses=(each.hypotheses * 2)[:0:-1]) for each in lists]
    assert fingerprint(ranked, references) == fingerprint(lists, references)
    changed = {**references, "u3": ("other",)}
    assert fingerprint(lists, changed).sha256 != fingerprint(lists, references).sha256


def test_a_fingerprint_comes_back_from_json_and_anything_else_does_not() -> None:
    lists = lists_of(range(100))
    found = fingerprint(lists, references_of(lists))
    assert len(found.smallest) == 64
    assert Fingerprint.parse(found.to_dict()) == found
    assert Fingerprint.parse({"n": 1, "sha256": 2, "smallest": ""}) is None
    assert Fingerprint.parse({"n": "1", "sha256": "", "smallest": ""}) is None
    assert Fingerprint.parse([]) is None


@pytest.mark.parametrize(("n_shared", "is_taken"), [(1, True), (2, False)])
def test_one_list_of_twenty_in_common_may_be_chance(n_shared: int, is_taken: bool) -> None:
    dev, here = lists_of(range(20)), lists_of(range(20 - n_shared, 40))
    tuned = fingerprint(dev, references_of(dev))
    with nullcontext() if is_taken else pytest.raises(ConfigError):
        check_not_reported(tuned, here, references=references_of(here), where="w.json")


def test_weights_of_lattices_are_not_reported_on_lists_of_the_same_utterances() -> None:
    lists = lists_of(range(5))
    lattices = [replace(nbest, hypotheses=()) for nbest in lists]
    tuned = fingerprint(lattices, references_of(lists))
    with pytest.raises(ConfigError, match="tuned on lists that are reported on here"):
        check_not_reported(tuned, lists, references=references_of(lists), where="w.json")
