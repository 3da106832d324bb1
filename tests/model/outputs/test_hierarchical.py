"""The two-level softmax and its clusters, against eq. 10 of Kim et al., word by word."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from charlm.errors import ConfigError, DataError
from charlm.model.build import OUTPUT
from charlm.model.outputs.hierarchical import HierarchicalSoftmax
from charlm.settings import build_part
from charlm.text.vocabulary.vocabulary import Inventory

Build = Callable[..., HierarchicalSoftmax]
DIM = 5


def words_of(n_words: int) -> Inventory:
    words = ("</s>", "<unk>", *(f"w{number}" for number in range(2, n_words)))
    return Inventory(words, (1,) * n_words, ("w",))


def output_of(build: Build, n_words: int, **options: Any) -> HierarchicalSoftmax:
    settings = {"type": "hierarchical", **options}
    return build(OUTPUT, settings, leading=[DIM, words_of(n_words), None])


def members(output: HierarchicalSoftmax) -> list[list[int]]:
    """The words of each cluster."""
    cluster_of = output.levels.cluster_V.tolist()
    return [
        [word for word, cluster in enumerate(cluster_of) if cluster == wanted]
        for wanted in range(output.levels.clusters.out_features)
    ]


def brute_force(output: HierarchicalSoftmax, h: np.ndarray) -> list[float]:
    """P(w | h) of every word, from the parameters and the list of each cluster's words."""
    state = {name: tensor.double().numpy() for name, tensor in output.state_dict().items()}
    cluster_scores = np.exp(state["levels.clusters.weight"] @ h + state["levels.clusters.bias"])
    word_scores = np.exp(state["levels.words.weight"] @ h + state["levels.words.bias"])
    probabilities = [0.0] * len(word_scores)
    for cluster, words in enumerate(members(output)):
        total = sum(word_scores[word] for word in words)
        for word in words:
            p_cluster = cluster_scores[cluster] / cluster_scores.sum()
            probabilities[word] = p_cluster * word_scores[word] / total
    return probabilities


@pytest.mark.parametrize("assignment", ["random", "frequency"])
@pytest.mark.parametrize(("n_words", "clusters"), [(16, 0), (23, 0), (23, 1), (23, 23), (7, 4)])
def test_all_probabilities_equal_brute_force_and_sum_to_1(
    build: Build, n_words: int, clusters: int, assignment: str
) -> None:
    output = output_of(build, n_words, clusters=clusters, assignment=assignment)
    h = np.random.default_rng(1).normal(size=(3, DIM))
    expected = [brute_force(output, row) for row in h]
    found = output.log_probs(torch.tensor(h, dtype=torch.float32)).detach().exp()
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)
    np.testing.assert_allclose(found.sum(dim=1).numpy(), 1.0, atol=1e-6)


def test_nll_of_many_positions_in_few_clusters_equals_brute_force(build: Build) -> None:
    output = output_of(build, 23)
    random = np.random.default_rng(2)
    h, words = random.normal(size=(60, DIM)), random.integers(-1, 23, size=60)
    expected = [
        -math.log(brute_force(output, row)[word]) if word >= 0 else 0.0
        for row, word in zip(h, words, strict=True)
    ]
    nll = output.nll(torch.tensor(h, dtype=torch.float32), torch.tensor(words))
    np.testing.assert_allclose(nll.detach().numpy(), expected, atol=1e-5)


def test_a_cluster_far_less_likely_than_another_has_probabilities_all_the_same(
    build: Build,
) -> None:
    output = output_of(build, 9, clusters=3, assignment="frequency")
    with torch.no_grad():
        output.levels.words.bias[:3] += 4000.0  # e^-4000 underflows beside the other clusters
    log_probs = output.log_probs(torch.ones(1, DIM))
    assert bool(log_probs.isfinite().all())
    nll = output.nll(torch.ones(9, DIM), torch.arange(9))
    torch.testing.assert_close(nll, -log_probs[0], rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("n_words", "n_clusters"), [(2, 2), (9, 3), (10, 4), (16, 4), (17, 5), (10_000, 100)]
)
def test_there_are_as_many_clusters_as_the_root_of_v_rounded_up(
    build: Build, n_words: int, n_clusters: int
) -> None:
    assert len(members(output_of(build, n_words))) == n_clusters


@pytest.mark.parametrize("assignment", ["random", "frequency"])
@pytest.mark.parametrize(("n_words", "clusters"), [(101, 0), (101, 7), (20, 20), (20, 1)])
def test_every_word_is_in_one_cluster_and_sizes_differ_by_at_most_1(
    build: Build, n_words: int, clusters: int, assignment: str
) -> None:
    groups = members(output_of(build, n_words, clusters=clusters, assignment=assignment))
    assert sorted(word for group in groups for word in group) == list(range(n_words))
    sizes = {len(group) for group in groups}
    assert max(sizes) - min(sizes) <= 1


def test_clusters_by_frequency_hold_words_that_follow_each_other(build: Build) -> None:
    groups = members(output_of(build, 7, clusters=3, assignment="frequency"))
    assert groups == [[0, 1, 2], [3, 4], [5, 6]]


def test_the_clusters_come_back_with_the_weights(build: Build) -> None:
    saved = output_of(build, 50)
    other = HierarchicalSoftmax(DIM, words_of(50), None)  # type: ignore[arg-type]  # asks no encoder
    h, words = torch.ones(50, DIM), torch.arange(50)
    other.nll(h, words)  # values derived from its own clusters must not outlive them
    assert not torch.equal(other.levels.cluster_V, saved.levels.cluster_V)
    other.load_state_dict(saved.state_dict())
    other.check_loaded()
    assert torch.equal(other.levels.cluster_V, saved.levels.cluster_V)
    assert torch.equal(other.nll(h, words), saved.nll(h, words))


def test_on_the_meta_device_the_clusters_are_real_and_the_weights_are_not() -> None:
    with torch.device("meta"):
        output = HierarchicalSoftmax(DIM, words_of(30), None)  # type: ignore[arg-type]  # as above
    assert {parameter.is_meta for parameter in output.parameters()} == {True}
    assert sorted(word for group in members(output) for word in group) == list(range(30))


def test_more_clusters_than_words_are_refused(build: Build) -> None:
    with pytest.raises(ConfigError) as caught:
        output_of(build, 5, clusters=6)
    assert str(caught.value) == (
        "option 'clusters' of output 'hierarchical' is 6; expected at most the 5 words"
    )


# Seven words by frequency in three clusters: 0 1 2, 3 4, 5 6.
@pytest.mark.parametrize(
    ("words", "cluster"),
    [(4, 3), (4, 1 << 62), (4, -1), (4, -(1 << 62)), (slice(5, 7), 0)],
    ids=str,
)
def test_a_cluster_that_does_not_exist_or_has_no_word_is_refused_after_loading(
    build: Build, words: int | slice, cluster: int
) -> None:
    output = output_of(build, 7, clusters=3, assignment="frequency")
    output.check_loaded()
    output.levels.cluster_V[words] = cluster
    with pytest.raises(DataError) as caught:
        output.check_loaded()
    assert str(caught.value) == (
        "cluster_V does not put the 7 words into 3 clusters of one or more; "
        "the run is damaged, or has no checkpoint yet; train anew"
    )


@pytest.mark.parametrize("ask", ["nll", "log_probs"])
def test_damaged_clusters_are_refused_where_they_are_used_and_were_not_checked(
    build: Build, ask: str
) -> None:
    output = output_of(build, 7, clusters=3, assignment="frequency")
    h, words = torch.ones(7, DIM), torch.arange(7)
    output.nll(h, words)
    output.levels.cluster_V.fill_(-1)
    with pytest.raises(DataError, match="does not put the 7 words into 3 clusters"):
        output.nll(h, words) if ask == "nll" else output.log_probs(h)


def unseeded() -> HierarchicalSoftmax:
    output, _ = build_part(OUTPUT, {"type": "hierarchical"}, leading=[DIM, words_of(23), None])
    assert isinstance(output, HierarchicalSoftmax)
    return output


def test_a_model_without_memory_draws_nothing_from_the_callers_generator() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    with torch.device("meta"):
        unseeded()
    assert torch.equal(torch.rand(3), expected)


def test_clusters_are_drawn_from_the_generator_where_the_model_is_to_be_trained() -> None:
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(unseeded().levels.cluster_V)
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
