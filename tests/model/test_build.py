"""From settings to a model, and the model as the composition of its parts."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from charlm.errors import ConfigError
from charlm.model.build import build_model
from charlm.model.contexts.lstm import LSTM
from charlm.model.encoders import ENCODERS
from charlm.model.encoders.word import WordLookup
from charlm.model.forms import FormTable
from charlm.model.outputs.softmax import Softmax
from charlm.presets import PRESETS
from charlm.settings import options_of
from charlm.text.vocabulary.vocabulary import Inventory

TINY: dict[str, Any] = {
    "encoder": {"type": "word", "dim": 4},
    "context": {"type": "lstm", "dim": 3, "layers": 1, "dropout": 0},
    "output": {"type": "hierarchical"},
}


@pytest.mark.parametrize("name", PRESETS)
def test_the_resolved_settings_of_a_preset_rebuild_the_same_model(
    name: str, inventory: Inventory
) -> None:
    with torch.device("meta"):
        model, resolved = build_model(PRESETS[name], inventory)
        again, resolved_again = build_model(resolved, inventory)
    assert resolved_again == resolved
    shapes = {key: tensor.shape for key, tensor in model.state_dict().items()}
    assert {key: tensor.shape for key, tensor in again.state_dict().items()} == shapes


def test_all_defaults_are_filled_in(inventory: Inventory) -> None:
    parts = {"encoder": {"type": "word"}, "context": {"type": "lstm"}}
    _, resolved = build_model({**parts, "output": {"type": "hierarchical"}}, inventory)
    assert resolved["encoder"] == {"type": "word", "dim": 200}
    assert resolved["context"].keys() == {"type", *options_of(LSTM)}
    assert resolved["output"] == {"type": "hierarchical", "clusters": 0, "assignment": "random"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoder": None}, "encoder: found None; expected an object with a type"),
        (
            {"context": "lstm"},
            "context: found 'lstm'; expected an object with a type; say context.type=lstm",
        ),
        (
            {"encoder": {"type": "wrod"}},
            f"unknown encoder 'wrod'; did you mean word? expected one of {', '.join(ENCODERS)}",
        ),
        (
            {"encoder": {"type": "word", "dmi": 3}},
            "encoder 'word' has no option 'dmi'; did you mean encoder.dim? it takes dim",
        ),
        (
            {"ouptut": {"type": "softmax"}},
            "unknown part 'ouptut'; did you mean output? "
            "expected one of encoder, context, output, or recipe",
        ),
        ({5: 3}, "unknown part 5; expected one of encoder, context, output, or recipe"),
        (
            {"dim": 3},
            "unknown part 'dim'; did you mean encoder.dim or context.dim? "
            "expected one of encoder, context, output, or recipe",
        ),
        (
            {"lr": 3, "recipe": {"optimiser": {"type": "sgd", "lr": 1.0}}},
            "unknown part 'lr'; did you mean recipe.optimiser.lr? "
            "expected one of encoder, context, output, or recipe",
        ),
        (
            {"type": 3, "recipe": {name: {"type": "x"} for name in ("optimiser", "schedule")}},
            "unknown part 'type'; expected one of encoder, context, output, or recipe",
        ),
        (
            {"q": 3, "recipe": None},
            "unknown part 'q'; expected one of encoder, context, output, or recipe",
        ),
    ],
    ids=str,
)
def test_what_makes_no_model_is_refused_in_one_line(
    inventory: Inventory, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught, torch.device("meta"):
        build_model({**TINY, **changes}, inventory)
    assert str(caught.value) == message


def test_the_model_feeds_the_form_that_stands_at_each_position(inventory: Inventory) -> None:
    torch.manual_seed(1)
    model = build_model(TINY, inventory)[0].eval()
    forms = FormTable(inventory, inventory.words).forms(np.array([5, 2, 0]))
    where = torch.tensor([[0, 2], [1, 1], [0, 0]])
    words = torch.tensor([[3, -1], [1, 4], [0, 2]])
    start = model.context.initial_state(2)
    nll, state = model.continue_from(model.encoder(forms)[where], words_TB=words, state=start)
    vectors = model.encoder(forms)
    for stream in range(2):
        x = torch.stack([vectors[row] for row in where[:, stream]])[:, None]
        h, after = model.context(x, model.context.initial_state(1))
        expected = model.output.nll(h[:, 0], words[:, stream])
        torch.testing.assert_close(nll[:, stream], expected)
        torch.testing.assert_close(state[0][0][stream], after[0][0][0])


def test_a_parameter_that_two_parts_share_is_counted_once(inventory: Inventory) -> None:
    tied, _ = build_model(
        {**TINY, "context": {"type": "lstm", "dim": 4}, "output": {"type": "softmax"}}, inventory
    )
    n_words = inventory.n_words
    before = tied.n_parameters_by_part()
    assert (before["encoder"], before["output"]) == (4 * n_words, 4 * n_words + n_words)
    output, encoder = tied.output, tied.encoder
    assert isinstance(output, Softmax)
    assert isinstance(encoder, WordLookup)
    output.words.weight = encoder.table.weight
    after = tied.n_parameters_by_part()
    assert (after["encoder"], after["output"]) == (4 * n_words, n_words)


IN_A_FRESH_PROCESS = """
import sys, warnings
from charlm.model.build import build_model, without_memory
from charlm.presets import PRESETS
from charlm.text.vocabulary.vocabulary import Inventory
for name in ("char-small", "miyamoto-gate", "nnlm-5gram", "word-char-tensor"):
    with without_memory():
        model, _ = build_model(PRESETS[name], Inventory(("</s>", "<unk>"), (1, 1), ("a",)))
    assert all(parameter.is_meta for parameter in model.parameters())
for text in ("RNN module weights are not part of single contiguous chunk of memory. This", "new"):
    warnings.warn(text)
sys.exit("torch._dynamo" in sys.modules)
"""


def test_a_fresh_process_loads_no_compiler_and_keeps_to_itself_what_cudnn_says_of_weights() -> None:
    command = [sys.executable, "-c", IN_A_FRESH_PROCESS]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0
    assert "RNN module" not in ended.stderr
    assert "UserWarning: new" in ended.stderr
