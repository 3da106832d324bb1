"""The tree's counts and places against sets of prefixes."""

import numpy as np
import pytest

from charlm.scoring.prefix_tree import PrefixTree


def ids(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


def random_sentences(seed: int) -> list[np.ndarray]:
    draw = np.random.default_rng(seed)
    return [draw.integers(0, 3, draw.integers(0, 6)).astype(np.int32) for _ in range(40)]


@pytest.mark.parametrize("seed", range(5))
def test_it_has_a_node_for_every_distinct_prefix(seed: int) -> None:
    sentences = random_sentences(seed)
    prefixes = {tuple(each[:n]) for each in sentences for n in range(len(each) + 1)}
    tree = PrefixTree(sentences)
    assert tree.n_prefixes == len(prefixes)
    assert tree.n_tokens == sum(len(each) + 1 for each in sentences)


@pytest.mark.parametrize("seed", range(5))
def test_a_sentence_is_read_along_its_nodes(seed: int) -> None:
    sentences = random_sentences(seed)
    tree = PrefixTree(sentences)
    read: list[list[int]] = [[] for _ in sentences]
    for depth, level in enumerate(tree.levels()):
        here, there = tree.nodes(depth), tree.nodes(depth + 1)
        for row, i in enumerate(tree.order):
            if there[row] >= 0:
                assert level.parents[there[row]] == here[row]
                read[i].append(int(level.form_ids[there[row]]))
            elif here[row] >= 0:
                assert here[row] in level.ends
    assert read == [each.tolist() for each in sentences]


def test_sentences_of_different_roots_share_nothing() -> None:
    tree = PrefixTree([ids(1, 2), ids(1, 2), ids(1, 2)], roots=[0, 1, 0])
    assert tree.n_prefixes == 6
    assert [len(np.unique(tree.nodes(depth))) for depth in range(3)] == [2, 2, 2]


def test_rows_rise_so_that_a_states_softmax_is_asked_for_once() -> None:
    for level in PrefixTree(random_sentences(9)).levels():
        assert (np.diff(level.parents) >= 0).all()
        assert (np.diff(level.ends) > 0).all()


def test_no_sentence_makes_an_empty_tree() -> None:
    tree = PrefixTree([])
    assert (tree.n_tokens, tree.n_prefixes) == (0, 0)
    (level,) = tree.levels()
    assert [len(part) for part in level] == [0, 0, 0]


def test_ids_of_more_than_a_byte_keep_their_order() -> None:
    tree = PrefixTree([ids(256), ids(1), ids(256, 5), ids(70_000), ids(1, 300)])
    assert tree.n_prefixes == 1 + 3 + 2
