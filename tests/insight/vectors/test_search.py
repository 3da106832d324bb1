"""The search in fp16 vectors, against a ranking in float64 that does not use them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from charlm.insight.vectors import search as search_module
from charlm.insight.vectors.cache import ERROR, units
from charlm.insight.vectors.search import Search
from charlm.insight.vectors.taps import Vectors
from charlm.run.stored_weights import load_run

MakeRun = Callable[..., Path]
DIM = 6


def crowded(seed: int) -> np.ndarray:
    """Vectors of which many are nearer to each other than fp16 can tell."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(8, DIM))
    spread = generator.normal(size=(200, DIM)) * 2e-4
    return (centres[generator.integers(8, size=200)] + spread).astype(np.float32)


def slow_ranking(vectors: np.ndarray, query: np.ndarray) -> list[tuple[float, int]]:
    cosines = []
    for row, vector in enumerate(vectors.astype(np.float64)):
        cosine = float(vector @ query) / float(np.linalg.norm(vector) * np.linalg.norm(query))
        cosines.append((-round(cosine, 6), row))
    return sorted(cosines)


@pytest.fixture
def search(run_of_vectors: MakeRun) -> Search:
    vectors = crowded(1)
    run = run_of_vectors(
        {f"w{row:03}": row_vector.tolist() for row, row_vector in enumerate(vectors)}
    )
    return Search(Vectors(load_run(run)), "word")


@pytest.mark.parametrize("k", [1, 10, 400])
def test_the_ranking_is_that_of_float64_where_fp16_alone_is_wrong(search: Search, k: int) -> None:
    vectors = crowded(1)
    queries = np.random.default_rng(2).normal(size=(20, DIM))
    queries[:8] = vectors[:8]
    found = list(search.nearest(torch.from_numpy(queries), k=k, left_out=[{0, 1}] * 20))
    is_wrong = []
    for query, nearest in zip(queries, found, strict=True):
        expected = slow_ranking(vectors, query)[:k]
        assert [near.word for near in nearest] == [f"w{row:03}" for _, row in expected]
        assert [near.similarity for near in nearest] == pytest.approx(
            [-cosine for cosine, _ in expected], abs=1e-6
        )
        rough = search.words_VE[2:].double().numpy() @ (query / np.linalg.norm(query))
        is_wrong.append(np.argsort(-rough, kind="stable")[:k].tolist() != [r for _, r in expected])
    assert any(is_wrong)


def test_fp16_is_never_further_off_than_the_margin_allows() -> None:
    generator = torch.Generator().manual_seed(3)
    exact = torch.randn(2000, 500, generator=generator, dtype=torch.float64)
    exact[::2] *= torch.rand(500, generator=generator).double() ** 8  # few large numbers
    off = (units(exact).half().double() - units(exact)).norm(dim=1).max().item()
    assert 0 < off < ERROR


def test_a_zero_query_has_the_first_words_that_are_not_left_out(search: Search) -> None:
    (found,) = search.nearest(torch.zeros(1, DIM), k=3, left_out=[{0, 1, 3}])
    assert found == (("w000", 0.0), ("w002", 0.0), ("w003", 0.0))


def test_queries_leave_out_words_of_their_own(search: Search) -> None:
    query = torch.from_numpy(crowded(1)[:1])
    first, second = search.nearest(query.repeat(2, 1), k=400, left_out=[{0, 1}, {0, 1, 2}])
    assert [near.word for near in first if near.word != "w000"] == [near.word for near in second]
    assert (len(first), len(second)) == (200, 199)


def test_few_candidates_are_encoded_where_words_differ(
    run_of_vectors: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    angles = np.linspace(0, np.pi, 100)
    vectors = {f"w{n}": [np.cos(a), np.sin(a)] for n, a in enumerate(angles)}
    search = Search(Vectors(load_run(run_of_vectors(vectors))), "word")
    encoded: list[int] = []
    whole = Vectors.of_words

    def counting(self: Vectors, numbers: np.ndarray, *, tap: str) -> torch.Tensor:
        encoded.extend(numbers.tolist())
        return whole(self, numbers, tap=tap)

    monkeypatch.setattr(search_module.Vectors, "of_words", counting)
    list(search.nearest(torch.tensor([[0.0, 1.0]]), k=4, left_out=[{0, 1}]))
    assert 4 <= len(encoded) <= 6


def test_a_vocabulary_of_the_asked_word_alone_has_no_neighbours(run_of_vectors: MakeRun) -> None:
    run = load_run(run_of_vectors({"a": [1.0, 0.0]}))
    search = Search(Vectors(run), "word")
    own, other = search.nearest(torch.ones(2, 2), k=3, left_out=[{0, 1, 2}, {0, 1}])
    assert own == ()
    assert [near.word for near in other] == ["a"]


@pytest.mark.parametrize("scale", [1e-24, 1e30])
@pytest.mark.parametrize(("query", "best"), [([3, -4], ("odd", 1.0)), ([4, 3], ("east", 0.8))])
def test_a_vectors_length_is_none_of_fp32s_business(
    run_of_vectors: MakeRun, scale: float, query: list[float], best: tuple[str, float]
) -> None:
    vectors = {"east": [1.0, 0.0], "north": [0.0, 1.0], "odd": [3 * scale, -4 * scale]}
    search = Search(Vectors(load_run(run_of_vectors(vectors))), "word")
    (nearest,) = search.nearest(torch.tensor([query]).float() * scale, k=1, left_out=[{0, 1}])
    assert nearest == (best,)
