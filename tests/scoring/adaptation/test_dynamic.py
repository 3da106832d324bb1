"""Dynamic evaluation against weights that are copied and moved by hand, in float64."""

import copy

import numpy as np
import pytest
import torch

from charlm.errors import ConfigError
from charlm.model.build import build_model
from charlm.model.contract import detached
from charlm.model.forms import FormTable
from charlm.model.kernels import sparse_rows
from charlm.model.language_model import LanguageModel
from charlm.scoring.adaptation.adapt_options import Rates
from charlm.scoring.adaptation.adaptive_reader import Adaptation, AdaptiveReader
from charlm.scoring.adaptation.dynamic import EPSILON, DynamicWeights
from charlm.scoring.adaptation.mean_squares import MeanSquaredGradients
from charlm.scoring.likelihood.streams import as_words
from charlm.settings import Settings
from charlm.text.corpus.tokens import END, UNK
from charlm.text.vocabulary.encoding import FormIds, Ids, encode_sentences
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of

SENTENCES = [["a", "b", "c"], ["b", "b", "zz", "a"], ["c"]]
SEGMENT = 4
SETTINGS: Settings = {
    "encoder": {"type": "char-cnn", "dim": 3, "widths": [1, 2], "filters": [2, 3]},
    "context": {"type": "lstm", "dim": 4, "layers": 1},
    "output": {"type": "softmax"},
}


def toy(**context: str) -> tuple[LanguageModel, Inventory]:
    inventory = inventory_of([["a", "b", "c"], ["<unk>"]], min_char_count=1)
    model, _ = build_model({**SETTINGS, "context": SETTINGS["context"] | context}, inventory)
    torch.manual_seed(1)
    for parameter in model.parameters():
        torch.nn.init.uniform_(parameter, -1.0, 1.0)
    return model.double().eval(), inventory


def encoded(inventory: Inventory) -> tuple[Ids, list[str]]:
    form_ids = FormIds(inventory)
    return np.concatenate(encode_sentences(SENTENCES, form_ids)), form_ids.spellings


@pytest.mark.parametrize("has_squares", [True, False], ids=["RMS", "plain"])
def test_the_weights_move_as_the_papers_equation_says(has_squares: bool) -> None:
    model, inventory = toy()
    rates = Rates(segment=SEGMENT, rate=1e-3 if has_squares else 0.2, decay=0.1)
    trained = {name: p.detach().clone() for name, p in model.named_parameters()}
    squares = {name: torch.rand_like(each) * 1e-3 for name, each in trained.items()}
    roots = {name: each.sqrt() for name, each in squares.items()}
    n_weights = sum(each.numel() for each in roots.values())
    mean = sum(float(each.sum()) for each in roots.values()) / n_weights
    ids, spellings = encoded(inventory)

    now, expected, inputs = dict(trained), [], np.concatenate([[END], ids[:-1]])
    state = model.context.initial_state(1)
    for first in range(0, len(ids), SEGMENT):
        part = slice(first, first + SEGMENT)
        clone = copy.deepcopy(model)
        clone.load_state_dict(now)
        forms = FormTable(inventory, inventory.words).forms(
            np.where(inputs[part] < inventory.n_words, inputs[part], UNK)
        )
        words = torch.from_numpy(as_words(ids[part], inventory.n_words))
        nll_TB, state = clone.continue_from(
            clone.encoder(forms)[:, None], words_TB=words[:, None], state=detached(state)
        )
        nll_TB.mean().backward()
        expected += nll_TB[:, 0].tolist()
        for name, parameter in clone.named_parameters():
            assert parameter.grad is not None
            back, move = rates.decay * (trained[name] - now[name]), rates.rate * parameter.grad
            if has_squares:
                share = (rates.decay * roots[name] / mean).clamp(max=1)
                back = share * (trained[name] - now[name])
                move = move / (roots[name] + EPSILON)
            now[name] = now[name] + back - move

    kept = MeanSquaredGradients(squares, "") if has_squares else None
    adaptation = Adaptation("dynamic", rates, kept)
    reader = AdaptiveReader(model, inventory, adaptation=adaptation)
    found, _ = reader.continued_nll(ids, spellings=spellings, state=model.context.initial_state(1))
    assert found.tolist() == pytest.approx(expected, rel=1e-6)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.detach(), now[name], rtol=1e-6, atol=1e-7)
        assert not torch.equal(parameter.detach(), trained[name])
    reader.restart()
    assert all(torch.equal(p.detach(), trained[name]) for name, p in model.named_parameters())


def test_steps_that_leave_no_numbers_are_refused_by_the_rate() -> None:
    model, inventory = toy()
    adaptation = Adaptation("dynamic", Rates(segment=1, rate=1e38))
    reader = AdaptiveReader(model.float(), inventory, adaptation=adaptation)
    ids, spellings = encoded(inventory)
    state = model.context.initial_state(1)
    with pytest.raises(ConfigError, match="steps of rate 1e.38 leave no numbers.*rate=NUMBER"):
        reader.continued_nll(ids, spellings=spellings, state=state)


def test_a_learned_start_stays_as_it_was_trained() -> None:
    # Its mean square is 0, so that a single step would throw it as far as the rate goes.
    model, inventory = toy(initial_state="learned")
    trained = {name: p.detach().clone() for name, p in model.named_parameters()}
    reader = AdaptiveReader(model, inventory, adaptation=Adaptation("dynamic", Rates(rate=0.1)))
    ids, spellings = encoded(inventory)
    for _ in range(2):
        reader.continued_nll(ids, spellings=spellings, state=model.context.initial_state(1))
    stays = {name for name, p in model.named_parameters() if torch.equal(p, trained[name])}
    assert stays == {"context.start.leaves.0", "context.start.leaves.1"}


def test_weights_that_no_text_moves_stay_as_they_are() -> None:
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    squares = {"weight": torch.zeros(2)}  # as if all units were dead
    moved = DynamicWeights({"weight": weight}, rates=Rates(decay=0.1), squares=squares)
    moved.step(0 * weight.sum())
    assert weight.tolist() == [1.0, -2.0]


@pytest.mark.parametrize("has_squares", [True, False], ids=["RMS", "plain"])
def test_the_rows_of_a_large_table_move_as_those_of_a_small_one(
    has_squares: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for large in (sparse_rows.LARGE, 1):
        monkeypatch.setattr(sparse_rows, "LARGE", large)
        table = torch.nn.Parameter(torch.arange(12.0).view(6, 2))
        squares = {"table": torch.arange(12.0).view(6, 2)} if has_squares else None
        moved = DynamicWeights({"table": table}, rates=Rates(decay=0.1), squares=squares)
        for rows in ([1, 4], [4, 0]):
            moved.step(sparse_rows.rows_of(table, torch.tensor(rows)).square().sum())
        found.append(table.tolist())
    assert found[0] == found[1]


def test_a_weight_goes_back_to_its_trained_value_at_most() -> None:
    weight = torch.nn.Parameter(torch.tensor([1.0, 1.0, 1.0]))
    squares = {"weight": torch.tensor([1.0, 4.0, 9.0])}  # roots 1, 2, 3, of mean 2
    moved = DynamicWeights({"weight": weight}, rates=Rates(decay=0.8), squares=squares)
    with torch.no_grad():
        weight.add_(2)
    moved.step(0 * weight.sum())
    assert weight.tolist() == pytest.approx([3 - 2 * 0.4, 3 - 2 * 0.8, 1.0])


def test_what_a_segment_does_not_use_goes_back_without_a_step() -> None:
    used, unused = (torch.nn.Parameter(torch.tensor([1.0])) for _ in range(2))
    rates = Rates(rate=0.25, decay=0.5)
    moved = DynamicWeights({"used": used, "unused": unused}, rates=rates, squares=None)
    with torch.no_grad():
        used.add_(2)
        unused.add_(2)
    moved.step(3 * used.sum())
    assert (used.item(), unused.item()) == (3 - 1 - 0.75, 3 - 1)


def test_autocast_computes_with_the_weights_of_the_last_step_and_not_with_copies() -> None:
    layer = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(layer.weight)
    moved = DynamicWeights(dict(layer.named_parameters()), rates=Rates(rate=0.5), squares=None)
    found = []
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(2):
            output = layer(torch.ones(1, 1))
            found.append(output.item())
            moved.step(output.sum())
        moved.restore(None)
        found.append(layer(torch.ones(1, 1)).item())
    assert found == [1.0, 0.5, 1.0]
