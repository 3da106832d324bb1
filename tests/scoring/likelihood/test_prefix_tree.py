"""The tree's counts and places against sets of prefixes."""

import numpy as np
import pytest

from charlm.scoring.likelihood.prefix_tree import PrefixTree
from charlm.text.corpus.tokens import END


def ids(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


def random_sentences(seed: int) -> list[np.ndarray]:
    draw = np.random.default_rng(seed)
    return [draw.integers(0, 3, draw.integers(0, 6)).astype(np.int32) for _ in range(40)]


def paths(tree: PrefixTree) -> list[tuple[int, ...]]:
    """What is read on the way to each node, `</s>` first."""
    found: list[tuple[int, ...]] = []
    for node, form_id in enumerate(tree.form_ids_N.tolist()):
        found.append((*(found[tree.parents_N[node]] if node else ()), form_id))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_nodes_are_the_prefixes_level_by_level(seed: int) -> None:
    sentences = random_sentences(seed)
    closed = [(END, *each.tolist()) for each in sentences]
    tree = PrefixTree(sentences)
    found = paths(tree)
    assert set(found) == {each[:n] for each in closed for n in range(1, len(each) + 1)}
    assert tree.n_prefixes == len(found) == len(set(found))
    assert tree.n_tokens == sum(map(len, closed))
    depths = [len(path) - 1 for path in found]
    assert tree.starts.tolist() == [depths.index(d) for d in range(max(depths) + 1)] + [len(found)]
    assert [found[node] for node in tree.ends] == sorted(set(closed), key=found.index)


@pytest.mark.parametrize("seed", range(5))
def test_numbers_are_told_along_each_sentence(seed: int) -> None:
    sentences = random_sentences(seed)
    tree = PrefixTree(sentences)
    draw = np.random.default_rng(seed)
    words_N, ends_N = draw.random((2, tree.n_prefixes))
    node_of = {path: node for node, path in enumerate(paths(tree))}
    for ids, found in zip(sentences, tree.along(words_N, ends_N), strict=True):
        nodes = [node_of[(END, *ids[:n])] for n in range(len(ids) + 1)]
        assert found.tolist() == [*words_N[nodes[1:]], ends_N[nodes[-1]]]


@pytest.mark.parametrize("least", [1, 4, 10, 1000])
def test_bands_are_as_few_levels_as_have_enough_nodes(least: int) -> None:
    tree = PrefixTree(random_sentences(3))
    sizes = np.diff(tree.starts)
    bands = list(tree.bands(least))
    assert [level for band in bands for level in band] == list(range(len(sizes)))
    for band in bands[:-1]:
        assert sizes[band].sum() >= least > sizes[band[:-1]].sum()
    assert sizes[bands[-1][:-1]].sum() < least


def test_a_node_is_found_within_the_level_before() -> None:
    tree = PrefixTree([ids(1, 2), ids(1, 3), ids(4, 2), ids(5)])
    assert [tree.rows_before(level).tolist() for level in range(3)] == [[0], [0, 0, 0], [0, 0, 1]]
    assert tree.nodes(range(3, 4)) == slice(7, 7)  # below the last level


def test_parents_rise_so_that_a_states_softmax_is_asked_for_once() -> None:
    tree = PrefixTree(random_sentences(9))
    assert (np.diff(tree.parents_N) >= 0).all()
    assert (np.diff(tree.ends) > 0).all()


def test_no_sentence_makes_an_empty_tree() -> None:
    tree = PrefixTree([])
    assert (tree.n_tokens, tree.n_prefixes) == (0, 0)
    assert not list(tree.bands(1))
    assert tree.along(np.empty(0), np.empty(0)) == []


def test_ids_of_more_than_a_byte_keep_their_order() -> None:
    tree = PrefixTree([ids(256), ids(1), ids(256, 5), ids(70_000), ids(1, 300)])
    assert tree.n_prefixes == 1 + 3 + 2
