"""Whether models read alike, so that what depends on the words alone stands once in a table."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from charlm.scoring.evaluation.surprisal.opened_models import OpenedModels
from charlm.scoring.evaluation.surprisal.token_bits import SentenceBits, TokenModel
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of


class Reading(TokenModel):
    """A model of these words; None: one that lists none, as a KenLM binary."""

    def __init__(self, inventory: Inventory | None) -> None:
        self.inventory = inventory
        self.vocabulary = frozenset(inventory.words if inventory else ())

    def bits(
        self, sentences: Sequence[Sequence[str]], *, is_carried: bool, entropy: bool
    ) -> Iterator[SentenceBits]:
        raise NotImplementedError


ONCE, TWICE, OTHER = (
    inventory_of([words, ["<unk>"]]) for words in (["a", "b"], ["a", "b", "a", "b"], ["a", "c"])
)


@pytest.mark.parametrize(
    ("first", "second", "are_alike"),
    [
        (ONCE, ONCE, True),
        (ONCE, OTHER, False),
        (ONCE, TWICE, False),  # of one list of words, but counted in two texts
        (None, None, False),
        (ONCE, None, False),
    ],
)
def test_models_read_alike_if_words_and_counts_are_known_to_be_the_same(
    first: Inventory | None, second: Inventory | None, are_alike: bool
) -> None:
    opened = OpenedModels((Reading(first), Reading(second)), is_raw=False)
    assert opened.read_alike is are_alike


@pytest.mark.parametrize(("is_raw", "seen"), [(False, (True, False, True)), (True, (None,) * 3)])
def test_a_model_reads_by_its_own_rules_and_one_without_by_those_of_the_first_run(
    is_raw: bool, seen: tuple[bool | None, ...]
) -> None:
    lower = replace(ONCE, normalisation=Normalisation(lower=True))
    models = (Reading(lower), Reading(ONCE), Reading(None))
    opened = OpenedModels(models, is_raw=is_raw)
    rules = [opened.rules(model) for model in models]
    assert tuple(each and each.lower for each in rules) == seen
