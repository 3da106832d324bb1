"""The contract of outputs, for every entry of OUTPUTS and options that change their course."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from charlm.model.build import ENCODER, OUTPUT
from charlm.model.contract import Encoder, Output, WordSample
from charlm.model.outputs import OUTPUTS
from charlm.model.outputs.adaptive import AdaptiveSoftmax
from charlm.model.outputs.mixture import MixtureOfSoftmaxes
from charlm.run.stored_weights import load_weights, write_tensors
from charlm.settings import build_part
from charlm.text.vocabulary.vocabulary import Inventory

INPUT_DIM = 6
WORDS = torch.tensor([3, 0, -1, 12, 3, -1, 7, 1])
CNN = {"type": "char-cnn", "dim": 3, "widths": [1, 2], "filters": [2, 4]}
# Further settings of a part by name; a part that is not listed is tested with its defaults.
SETTINGS: dict[str, dict[str, Any]] = {name: {"type": name} for name in OUTPUTS} | {
    "softmax without bias": {"type": "softmax", "bias": False},
    "softmax, projected": {"type": "softmax", "projection": 4},
    "composed, free vectors": {"type": "composed", "free": True, "bias": False},
    "composed of characters": {"type": "composed", "encoder": CNN},
    "composed, free, projected": {
        "type": "composed",
        "encoder": {"type": "word", "dim": 4},
        "free": True,
        "project": True,
    },
    "hierarchical by frequency": {"type": "hierarchical", "assignment": "frequency"},
    "class by mass": {"type": "class", "assignment": "mass", "classes": 4},
    "adaptive, three tails": {"type": "adaptive", "cutoffs": [3, 5, 9], "div_value": 1.5},
    "mixture, narrow": {"type": "mixture", "components": 3, "dim": 4},
    "mixture, tied": {"type": "mixture", "components": 2, "tied": True},
}


class Pair(nn.Module):
    """An output and the encoder that it may have been given: copied and converted together."""

    def __init__(self, encoder: Encoder, output: Output) -> None:
        super().__init__()
        self.encoder = encoder
        self.output = output


@pytest.fixture(scope="module")
def leading(build: Callable[..., Encoder], inventory: Inventory) -> list[Any]:
    encoder = build(ENCODER, {"type": "word", "dim": INPUT_DIM}, leading=[inventory])
    return [INPUT_DIM, inventory, encoder]


@pytest.fixture(params=SETTINGS.values(), ids=SETTINGS)
def pair(request: pytest.FixtureRequest, build: Callable[..., Output], leading: list[Any]) -> Pair:
    return Pair(leading[2], build(OUTPUT, request.param, leading=leading))


@pytest.fixture
def output(pair: Pair) -> Output:
    return pair.output


@pytest.fixture(name="h_NH")
def fixture_h() -> Tensor:
    return torch.randn(len(WORDS), INPUT_DIM, generator=torch.Generator().manual_seed(4)) * 2


def test_the_probabilities_of_all_words_sum_to_1(
    output: Output, h_NH: Tensor, inventory: Inventory
) -> None:
    log_probs = output.log_probs(h_NH)
    assert log_probs.shape == (len(h_NH), inventory.n_words)
    assert log_probs.dtype == torch.float32
    totals = log_probs.double().exp().sum(dim=1)
    torch.testing.assert_close(totals, torch.ones_like(totals), rtol=0, atol=1e-5)


def test_nll_is_the_negative_log_probability_of_the_word(output: Output, h_NH: Tensor) -> None:
    nll = output.nll(h_NH, WORDS)
    scored = WORDS >= 0
    expected = -output.log_probs(h_NH)[scored, WORDS[scored]]
    assert nll.dtype == torch.float32
    torch.testing.assert_close(nll[scored], expected, rtol=0, atol=1e-5)


def test_where_the_word_is_minus_1_nll_is_0_and_has_no_gradient(
    output: Output, h_NH: Tensor
) -> None:
    h_NH.requires_grad_()
    nll = output.nll(h_NH, WORDS)
    nll.sum().backward()
    assert h_NH.grad is not None
    unscored = WORDS < 0
    assert nll[unscored].tolist() == [0.0, 0.0]
    assert not h_NH.grad[unscored].any()
    assert bool(h_NH.grad[~unscored].any(dim=1).all())


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_nothing_to_predict_gives_zeros_and_zero_gradients(
    output: Output, h_NH: Tensor, precision: str
) -> None:
    h_NH.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        nll = output.nll(h_NH, torch.full_like(WORDS, -1))
    nll.sum().backward()
    assert nll.tolist() == [0.0] * len(WORDS)
    assert h_NH.grad is not None
    assert not h_NH.grad.any()


def gradients(pair: Pair, h_NH: Tensor, nll: Tensor) -> list[Tensor]:
    """Of h, of the output's parameters and, where it uses them, of the encoder's."""
    weights = torch.linspace(0.5, 2.0, len(WORDS), dtype=nll.dtype)
    inputs = [h_NH, *pair.parameters()]
    loss = (nll * weights)[WORDS >= 0].sum()
    grads = torch.autograd.grad(loss, inputs, materialize_grads=True)
    return [grad.float() for grad in grads]


def in_float64(
    pair: Pair, h_NH: Tensor, monkeypatch: pytest.MonkeyPatch
) -> tuple[Tensor, list[Tensor]]:
    """nll_N by `log_probs`, and its gradients, where `.float()` too means float64."""
    precise, h_NH = copy.deepcopy(pair).double(), h_NH.detach().double().requires_grad_()
    with monkeypatch.context() as patch:
        patch.setattr(Tensor, "float", Tensor.double)
        log_probs = precise.output.log_probs(h_NH)
    assert log_probs.dtype == torch.float64
    nll = -log_probs[torch.arange(len(WORDS)), WORDS.clamp(min=0)]
    return nll.where(WORDS >= 0, 0.0), gradients(precise, h_NH, nll)


@pytest.mark.parametrize("mode", ["training", "evaluation"])
@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("bf16", 3e-2)])
def test_nll_and_its_gradients_match_a_float64_reference(
    pair: Pair,
    h_NH: Tensor,
    precision: str,
    tolerance: float,
    mode: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected, expected_gradients = in_float64(pair, h_NH, monkeypatch)
    h_NH.requires_grad_()
    pair.train(mode == "training")
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        nll = pair.output.nll(h_NH, WORDS)
    torch.testing.assert_close(nll.double(), expected, rtol=tolerance, atol=tolerance)
    for found, wanted in zip(gradients(pair, h_NH, nll), expected_gradients, strict=True):
        assert float((found - wanted).norm()) <= tolerance * float(wanted.norm())


def test_a_context_in_bf16_gives_what_it_gives_in_fp32(output: Output, h_NH: Tensor) -> None:
    rounded = h_NH.bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        nll = output.nll(rounded, WORDS)
    assert nll.dtype == torch.float32
    torch.testing.assert_close(nll, output.nll(rounded.float(), WORDS), rtol=3e-2, atol=3e-2)


def test_over_all_words_every_parameter_of_an_output_has_a_gradient(
    output: Output, inventory: Inventory
) -> None:
    h_NH = torch.randn(inventory.n_words, INPUT_DIM, generator=torch.Generator().manual_seed(6))
    output.nll(h_NH, torch.arange(inventory.n_words)).sum().backward()
    without = [n for n, p in output.named_parameters() if p.grad is None or not p.grad.any()]
    assert without == []


def test_without_gradients_every_answer_is_the_same(output: Output, h_NH: Tensor) -> None:
    with torch.no_grad():
        nll, log_probs = output.nll(h_NH, WORDS), output.log_probs(h_NH)
    torch.testing.assert_close(nll, output.nll(h_NH, WORDS), rtol=0, atol=1e-6)
    torch.testing.assert_close(log_probs, output.log_probs(h_NH), rtol=0, atol=1e-6)


def test_scores_and_log_z_are_the_log_probabilities_or_are_not_claimed(
    output: Output, h_NH: Tensor
) -> None:
    words = torch.tensor([5, 0, 5, 12])
    if not output.has_scores:
        for ask in (
            lambda: output.scores(h_NH),
            lambda: output.word_scores(h_NH, WORDS),
            lambda: output.log_z(h_NH),
        ):
            with pytest.raises(NotImplementedError):
                ask()
        return
    log_z = output.log_z(h_NH)
    expected = output.log_probs(h_NH) + log_z[:, None]
    torch.testing.assert_close(output.scores(h_NH), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(output.scores(h_NH, words), expected[:, words], rtol=1e-5, atol=1e-5)
    own = output.word_scores(h_NH, WORDS)
    nll = (log_z - own).where(WORDS >= 0, 0.0)
    torch.testing.assert_close(output.nll(h_NH, WORDS), nll, rtol=1e-5, atol=1e-5)
    assert own[WORDS < 0].tolist() == [0.0, 0.0]
    assert {own.dtype, log_z.dtype, output.scores(h_NH).dtype} == {torch.float32}


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("bf16", 3e-2)])
def test_with_a_sample_of_all_words_the_nll_is_that_of_all_words_or_it_is_not_claimed(
    pair: Pair, h_NH: Tensor, inventory: Inventory, precision: str, tolerance: float
) -> None:
    shuffled = torch.randperm(inventory.n_words, generator=torch.Generator().manual_seed(7))
    own = torch.tensor([shuffled.tolist().index(w) if w >= 0 else -1 for w in WORDS.tolist()])
    padded = torch.cat([shuffled, torch.zeros(3, dtype=torch.long)])
    counts = torch.tensor([1.0] * inventory.n_words + [0.0] * 3)
    sample = WordSample(padded, counts.log().clamp(min=-1e30), own)
    if not pair.output.has_table:
        with pytest.raises(NotImplementedError):
            pair.output.sampled_nll(h_NH, sample)
        return
    h_NH.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        nll, sampled = pair.output.nll(h_NH, WORDS), pair.output.sampled_nll(h_NH, sample)
    assert sampled.dtype == torch.float32
    torch.testing.assert_close(sampled, nll, rtol=tolerance, atol=tolerance)
    assert sampled[WORDS < 0].tolist() == [0.0, 0.0]
    for found, wanted in zip(
        gradients(pair, h_NH, sampled), gradients(pair, h_NH, nll), strict=True
    ):
        assert float((found - wanted).norm()) <= tolerance * float(wanted.norm())


def test_a_word_of_a_sample_that_counts_thrice_is_three_words(output: Output, h_NH: Tensor) -> None:
    if not output.has_table:
        pytest.skip("it has no table")
    own = torch.tensor([0, 1, -1, 2, 0, -1, 1, 3])
    counts = torch.tensor([1.0, 1.0, 1.0, 1.0, 3.0])
    thrice = WordSample(torch.tensor([3, 0, 12, 7, 5]), counts.log(), own)
    three = WordSample(torch.tensor([3, 0, 12, 7, 5, 5, 5]), torch.zeros(7), own)
    torch.testing.assert_close(output.sampled_nll(h_NH, thrice), output.sampled_nll(h_NH, three))


def test_expected_vectors_are_means_by_probability_or_are_not_claimed(
    output: Output, h_NH: Tensor, inventory: Inventory
) -> None:
    if not output.vector_dim:
        with pytest.raises(NotImplementedError):
            output.expected_vectors(h_NH)
        return
    vectors, expected = output.expected_vectors(h_NH)
    assert vectors.shape == (inventory.n_words, output.vector_dim)
    for found, log_probs in zip(expected, output.log_probs(h_NH), strict=True):
        mean = sum(p * v for p, v in zip(log_probs.exp(), vectors, strict=True))
        torch.testing.assert_close(found, mean, rtol=1e-5, atol=1e-5)


def softmax_at(temperature: float, scores_NV: Tensor) -> Tensor:
    return (scores_NV / temperature).log_softmax(dim=1)


def log_probs_at(temperature: float, output: Any, h_NH: Tensor) -> Tensor:
    """What an output is to say at a temperature, from its parts' equations, one after the other."""
    if output.has_scores:
        return softmax_at(temperature, output.scores(h_NH))
    if isinstance(output, MixtureOfSoftmaxes):
        latent_NKD = output.latent(h_NH).tanh().unflatten(1, (output.components, -1))
        each = [softmax_at(temperature, output.words(x)) for x in latent_NKD.unbind(1)]
        shares_NK = output.prior(h_NH).softmax(dim=1)
        return sum(s[:, None] * x.exp() for s, x in zip(shares_NK.T, each, strict=True)).log()
    if isinstance(output, AdaptiveSoftmax):
        head = softmax_at(temperature, output.words.head(h_NH))
        first, tails = output.cutoffs[0], output.words.tail
        within = [softmax_at(temperature, tail(h_NH)) for tail in tails]
        return torch.cat(
            [head[:, :first], *(head[:, first + n, None] + x for n, x in enumerate(within))], dim=1
        )
    levels = output.levels
    clusters_NC = softmax_at(temperature, levels.clusters(h_NH))
    scores_NV, found_NV = levels.words(h_NH), torch.empty(len(h_NH), len(levels.cluster_V))
    for cluster in range(clusters_NC.shape[1]):
        members = (levels.cluster_V == cluster).nonzero()[:, 0]
        within_NM = softmax_at(temperature, scores_NV[:, members])
        found_NV[:, members] = clusters_NC[:, cluster, None] + within_NM
    return found_NV


@torch.no_grad()
def test_what_is_proportional_to_the_scores_makes_a_temperature_and_is_the_outputs_own(
    pair: Pair, h_NH: Tensor
) -> None:
    output = copy.deepcopy(pair).output
    parameters = output.score_parameters()
    if not parameters:
        pytest.skip("it takes no temperature")
    expected = log_probs_at(1.6, output, h_NH)
    for parameter in parameters:
        assert any(parameter is each for each in output.parameters())
        parameter.div_(1.6)
    torch.testing.assert_close(output.log_probs(h_NH), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_gradient_of_log_z_less_the_score_is_that_of_nll(
    pair: Pair, h_NH: Tensor, precision: str
) -> None:
    output = pair.output
    if not output.has_scores:
        pytest.skip("it has no scores")
    tolerance = 1e-5 if precision == "fp32" else 3e-2
    h_NH.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        nll = output.nll(h_NH, WORDS)
        apart = (output.log_z(h_NH) - output.word_scores(h_NH, WORDS)).where(WORDS >= 0, 0.0)
    for found, wanted in zip(gradients(pair, h_NH, apart), gradients(pair, h_NH, nll), strict=True):
        assert float((found - wanted).norm()) <= tolerance * float(wanted.norm())


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_an_output_that_was_saved_and_loaded_scores_alike(
    settings: dict[str, Any], leading: list[Any], h_NH: Tensor, tmp_path: Path
) -> None:
    torch.manual_seed(1)
    saved, resolved = build_part(OUTPUT, settings, leading=leading)
    write_tensors(tmp_path / "weights", saved.state_dict(), meta={})
    torch.manual_seed(2)
    with torch.device("meta"):
        loaded, resolved_again = build_part(OUTPUT, resolved, leading=leading)
    load_weights(loaded, tmp_path / "weights")
    loaded.check_loaded()
    assert resolved_again == resolved
    assert torch.equal(loaded.nll(h_NH, WORDS), saved.nll(h_NH, WORDS))
    assert torch.equal(loaded.log_probs(h_NH), saved.log_probs(h_NH))
