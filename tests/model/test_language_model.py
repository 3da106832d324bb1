"""A model read with resets gives what it gives on each piece from the initial state."""

import pytest
import torch

from charlm.model.build import build_model
from charlm.model.contract import merge_states, state_leaves
from charlm.model.forms import FormTable
from charlm.model.language_model import LanguageModel
from charlm.runtime import pick_device
from charlm.text.vocabulary.vocabulary import Inventory

SETTINGS = {
    "encoder": {"type": "word", "dim": 3},
    "context": {"type": "lstm", "dim": 4, "layers": 2, "dropout": 0.0},
    "output": {"type": "softmax"},
}
STEPS, STREAMS = 6, 2
GPU = torch.cuda.is_available()
RESETS = [(2, 0), (2, 1), (4, 1)]  # step and stream


def model_of(inventory: Inventory, **of_context: object) -> LanguageModel:
    torch.manual_seed(3)
    settings = SETTINGS | {"context": SETTINGS["context"] | of_context}
    model, _ = build_model(settings, inventory)
    return model.eval()


def test_reading_with_resets_is_reading_each_piece_from_the_initial_state(
    inventory: Inventory,
) -> None:
    model = model_of(inventory)
    rows = torch.arange(inventory.n_words)
    forms = FormTable(inventory, inventory.words).forms(rows.numpy())
    where = torch.randint(len(rows), (STEPS, STREAMS), generator=torch.Generator().manual_seed(1))
    resets = torch.zeros(STEPS, STREAMS, dtype=torch.bool)
    for step, stream in RESETS:
        resets[step, stream] = True
    before = model.read(forms, where, state=model.context.initial_state(STREAMS))[1]
    h, after = model.read(forms, where, state=before, resets_TB=resets)
    for stream in range(STREAMS):
        column = where[:, [stream]]
        state = tuple((a[[stream]], b[[stream]]) for a, b in before)
        pieces, first = [], 0
        for last in [step for step, of in RESETS if of == stream] + [STEPS]:
            piece, state = model.read(forms, column[first:last], state=state)
            pieces.append(piece)
            if last < STEPS:
                state = model.context.initial_state(1)
            first = last
        torch.testing.assert_close(h[:, [stream]], torch.cat(pieces))
        torch.testing.assert_close(
            [leaf[[stream]] for leaf in state_leaves(after)], state_leaves(state)
        )


@pytest.mark.parametrize(
    "device", ["cpu", pytest.param("cuda", marks=[pytest.mark.skipif(not GPU, reason="no GPU")])]
)
@pytest.mark.parametrize("context", ["lstm", "gru", "mogrifier"])
def test_a_mask_reads_as_pieces_do_and_has_their_gradients(
    inventory: Inventory, device: str, context: str
) -> None:
    place = pick_device(device)  # without TF32, to which cuDNN's LSTM alone would round
    model = model_of(inventory, type=context).to(place)
    forms = FormTable(inventory, inventory.words).forms(torch.arange(inventory.n_words).numpy())
    forms = forms.to(place)
    where = torch.arange(STEPS * STREAMS, device=device).view(STEPS, STREAMS) % inventory.n_words
    resets = torch.zeros(STEPS, STREAMS, dtype=torch.bool)
    for step, stream in RESETS:
        resets[step, stream] = True
    before = model.read(forms, where, state=model.context.initial_state(STREAMS))[1]
    before = tuple(tuple(leaf.detach() for leaf in layer) for layer in before)
    found = []
    model.train()
    for is_masked in (False, True):
        model.zero_grad()
        if is_masked:
            keep_TB = (~resets).float().to(device)
            h, after = model.read(forms, where, state=before, keep_TB=keep_TB)
        else:
            h, after = model.read(forms, where, state=before, resets_TB=resets)
        (h.square().sum() + sum(leaf.sum() for leaf in state_leaves(after))).backward()
        gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
        found.append((h, state_leaves(after), gradients))
    assert "context.layers.1.weight_hh_l0" in found[0][2]
    torch.testing.assert_close(found[0], found[1], rtol=1e-4, atol=1e-5)


def test_a_reset_at_the_first_step_forgets_the_state(inventory: Inventory) -> None:
    model = model_of(inventory)
    forms = FormTable(inventory, inventory.words).forms(torch.arange(inventory.n_words).numpy())
    where = torch.tensor([[3, 3]])
    start = model.context.initial_state(STREAMS)
    other = model.read(forms, where, state=start)[1]
    resets = torch.tensor([[True, False]])
    h, _ = model.read(forms, where, state=other, resets_TB=resets)
    fresh, _ = model.read(forms, where, state=start)
    torch.testing.assert_close(h[:, 0], fresh[:, 0])
    assert not torch.equal(h[:, 1], fresh[:, 1])


def test_states_are_merged_by_stream() -> None:
    one, other = (torch.zeros(2, 3), torch.zeros(2, 1, 1)), (torch.ones(2, 3), torch.ones(2, 1, 1))
    merged = merge_states(one, other, where_B=torch.tensor([True, False]))
    assert [leaf.flatten(1).tolist() for leaf in state_leaves(merged)] == [
        [[0, 0, 0], [1, 1, 1]],
        [[0], [1]],
    ]
