"""Gradients of two-level outputs against those of plain sums, in float64."""

import pytest
import torch
from torch import Tensor

from charlm.model.kernels import sparse_rows
from charlm.model.outputs import two_level
from charlm.model.outputs.two_level import TwoLevel

DIM, N_POSITIONS = 4, 60
SIZES = [2, 3, 3, 3, 2, 3, 7, 5, 14]  # of clusters; no position has a word of number 3


@pytest.fixture
def levels(in_float64: None) -> TwoLevel:
    torch.manual_seed(1)
    clusters = torch.arange(len(SIZES)).repeat_interleave(torch.tensor(SIZES))
    return TwoLevel(DIM, clusters[torch.randperm(len(clusters))], n_clusters=len(SIZES))


def positions(levels: TwoLevel) -> tuple[Tensor, Tensor]:
    """Context vectors and words; some words are met often, and some positions have none."""
    h_NH = torch.randn(N_POSITIONS, DIM, requires_grad=True)
    words_N = torch.randint(-1, sum(SIZES), (N_POSITIONS,))
    met = levels.cluster_V != 3
    words_N = words_N.where(met[words_N.clamp(min=0)] | (words_N < 0), -1)
    words_N[:5] = words_N.max()
    return h_NH, words_N


def gradients(levels: TwoLevel, nll_N: Tensor, h_NH: Tensor) -> list[Tensor]:
    weighted = (nll_N * torch.linspace(-1.0, 2.0, N_POSITIONS)).sum()
    found = torch.autograd.grad(weighted, [h_NH, *levels.parameters()])
    return [each.to_dense() for each in found]


@pytest.mark.parametrize("at_once", [1, 8 * DIM, 1 << 20])  # one cluster, some, all of similar size
@pytest.mark.parametrize("large", [1, 1 << 30])  # row-sparse and dense
def test_gradients_are_those_of_the_sums_over_all_words(
    at_once: int, large: int, levels: TwoLevel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(two_level, "NUMBERS_AT_ONCE", at_once)
    monkeypatch.setattr(sparse_rows, "LARGE", large)
    h_NH, words_N = positions(levels)
    nll_N = levels.nll(h_NH, words_N)
    own_N = levels.log_probs(h_NH).gather(1, words_N.clamp(min=0)[:, None])[:, 0]
    expected_N = torch.where(words_N >= 0, -own_N, 0.0)
    torch.testing.assert_close(nll_N, expected_N, rtol=0, atol=1e-12)
    expected = gradients(levels, expected_N, h_NH)
    for found, wanted in zip(gradients(levels, nll_N, h_NH), expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)
    assert torch.equal(levels.nll(h_NH.detach(), words_N), nll_N)


def test_gradients_that_are_asked_for_within_autocast_are_those_of_without() -> None:
    clusters = torch.arange(len(SIZES)).repeat_interleave(torch.tensor(SIZES))
    levels = TwoLevel(DIM, clusters, n_clusters=len(SIZES))
    h_NH, words_N = positions(levels)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        first_N, second_N = (levels.nll(h_NH, words_N) for _ in range(2))
        within = gradients(levels, first_N, h_NH)
    for found, expected in zip(within, gradients(levels, second_N, h_NH), strict=True):
        torch.testing.assert_close(found, expected)


def test_the_gradient_of_a_large_table_holds_the_words_of_the_clusters_met_once_each(
    levels: TwoLevel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparse_rows, "LARGE", 1)
    h_NH, words_N = positions(levels)
    levels.nll(h_NH, words_N).sum().backward()
    gradient = levels.words.weight.grad
    assert gradient is not None and gradient.is_sparse
    met = levels.cluster_V[words_N[words_N >= 0]].unique()
    expected = [w for w, cluster in enumerate(levels.cluster_V.tolist()) if cluster in met.tolist()]
    assert sorted(gradient._indices()[0].tolist()) == expected


def test_without_words_to_predict_there_is_nothing_to_learn(levels: TwoLevel) -> None:
    nll_N = levels.nll(torch.randn(3, DIM), torch.full((3,), -1))
    assert nll_N.tolist() == [0.0, 0.0, 0.0]
    nll_N.sum().backward()
    assert levels.words.weight.grad is None
