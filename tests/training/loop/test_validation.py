"""Validation divided among processes reads together what one process reads."""

from pathlib import Path

import numpy as np
import pytest

import charlm
from charlm.run.stored_weights import load_run
from charlm.scoring.likelihood.nll import nll_sums, validation_perplexity
from charlm.text.vocabulary.encoding import EncodedText, FormIds, encode_sentences
from charlm.training.loop.validation import validation_chunks
from charlm.training.ranks import Ranks
from charlm.training.recipe.recipe import build_recipe

SENTENCES = [words.split() for words in ("the cat sat", "", "a dog looked at the cat", "mats", "a")]


@pytest.mark.parametrize("batching", ["streams", "sentences"])
@pytest.mark.parametrize("size", [2, 4])
def test_the_shares_of_the_processes_are_the_text(batching: str, size: int, tiny_run: Path) -> None:
    run = load_run(tiny_run)
    settings = {"batching": {"type": batching}, "batch_size": 4, "oov_input": run.oov_input}
    recipe, _ = build_recipe(settings)
    form_ids = FormIds(run.inventory)
    ids = np.concatenate(encode_sentences(SENTENCES, form_ids))
    text = EncodedText(ids, tuple(form_ids.spellings), len(SENTENCES), "")

    def chunks(columns: slice) -> list[tuple[np.ndarray, np.ndarray]]:
        found = validation_chunks(
            run.model, text, inventory=run.inventory, recipe=recipe, columns=columns
        )
        return list(found)

    whole = chunks(Ranks().columns)
    sums = [nll_sums(chunks(Ranks(rank, size).columns)) for rank in range(size)]
    total, n_tokens = nll_sums(whole)
    assert n_tokens == len(ids) == sum(n for _, n in sums)
    assert max(n for _, n in sums) < n_tokens
    assert sum(each for each, _ in sums) == pytest.approx(total, rel=1e-6)
    assert validation_perplexity(whole) == pytest.approx(np.exp(total / n_tokens))
    alone = charlm.load(tiny_run, device="cpu").score_many(map(" ".join, SENTENCES))
    log10_prob = sum(each.log10_prob for each in alone)
    assert (total == pytest.approx(-log10_prob * np.log(10))) == (batching == "sentences")
