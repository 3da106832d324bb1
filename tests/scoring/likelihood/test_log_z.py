"""log Z of a model whose scores are meant to be used unnormalised, against sums over all words."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from charlm import evaluate
from charlm.model.outputs.softmax import Softmax
from charlm.scoring.likelihood.log_z import MeteredOutput
from charlm.text.vocabulary.vocabulary import Inventory

N_WORDS = 5


@pytest.fixture
def softmax() -> Softmax:
    words = ("</s>", "<unk>", "a", "b", "c")
    inventory = Inventory(words, (1,) * N_WORDS, ("a", "b", "c"))
    torch.manual_seed(1)
    return Softmax(3, inventory, nn.Identity())  # type: ignore[arg-type]  # it asks nothing of it


@torch.no_grad()
def test_a_metered_output_gives_the_same_and_remembers_log_z(softmax: Softmax) -> None:
    h, words = torch.randn(6, 3), torch.tensor([0, 4, -1, 2, 2, -1])
    metered = MeteredOutput(softmax)
    torch.testing.assert_close(metered.nll(h[:3], words[:3]), softmax.nll(h[:3], words[:3]))
    metered.nll(h[3:], words[3:])
    log_zs = (h @ softmax.words.weight.T + softmax.words.bias).exp().sum(1).log()[words >= 0]
    measured = metered.read_off()
    assert measured.mean == pytest.approx(log_zs.mean().item(), abs=1e-6)
    assert measured.variance == pytest.approx(log_zs.var(correction=0).item(), abs=1e-6)
    assert metered.read_off().mean == 0.0  # started again
    torch.testing.assert_close(metered.log_probs(h), softmax.log_probs(h))


@pytest.mark.parametrize(("criterion", "is_told"), [("nce", True), ("cross-entropy", False)])
def test_eval_tells_log_z_of_models_that_were_trained_for_it(
    saved_run: Callable[..., Path], tmp_path: Path, criterion: str, is_told: bool
) -> None:
    run = saved_run("random", criterion={"type": criterion})
    (tmp_path / "a.txt").write_text("a b c\nd e\n")
    (result,) = evaluate(run, files=[tmp_path / "a.txt"], device="cpu", state="sentence")
    assert (result.log_z_mean is not None) is is_told
    assert ("log_z_variance" in result.to_dict()) is is_told


def test_log_z_is_that_of_the_first_figures(saved_run: Callable[..., Path], tmp_path: Path) -> None:
    run = saved_run("random", criterion={"type": "nce"})
    (tmp_path / "a.txt").write_text("a b c\nd e\n" * 3)
    found = {
        state: evaluate(run, files=[tmp_path / "a.txt"], device="cpu", state=state)[0]
        for state in ("both", "carried", "sentence")
    }
    first = next(iter(found["both"].by_state))
    mean = {state: result.log_z_mean for state, result in found.items()}
    assert mean["carried"] != pytest.approx(mean["sentence"], abs=1e-9)  # else it shows nothing
    assert mean["both"] == pytest.approx(mean[first], abs=1e-6)
