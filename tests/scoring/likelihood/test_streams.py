"""A text in streams side by side, against a walk over it token by token."""

import numpy as np
import pytest

from charlm.scoring.likelihood.streams import Streams, as_words


def walked(ids: list[int], n_streams: int) -> list[list[tuple[int, int]]]:
    """(fed in, predicted) for every step of every stream, by hand; (0, -1) where nothing stands."""
    length = -(-len(ids) // n_streams)
    pairs = list(zip([0, *ids[:-1]], ids, strict=True))
    filled = pairs + [(0, -1)] * (length * n_streams - len(ids))
    return [filled[n * length : (n + 1) * length] for n in range(n_streams)]


@pytest.mark.parametrize("chunk", [1, 3, 1000])
@pytest.mark.parametrize("n_streams", [1, 2, 5, 20])
@pytest.mark.parametrize("n_tokens", [1, 2, 4, 5, 13, 19, 20, 21, 41])
def test_chunks_of_streams_are_the_walk_over_the_text(
    n_tokens: int, n_streams: int, chunk: int
) -> None:
    ids = list(range(10, 10 + n_tokens))
    streams = Streams(np.array(ids, np.int32), n_streams=n_streams)
    found: list[list[tuple[int, int]]] = [[] for _ in range(n_streams)]
    for first in range(0, streams.length, chunk):
        inputs, targets = streams.chunk(first, first + chunk)
        assert inputs.dtype == targets.dtype == np.int32
        for column in range(n_streams):
            found[column] += zip(
                inputs[:, column].tolist(), targets[:, column].tolist(), strict=True
            )
    assert found == walked(ids, n_streams)


def test_a_form_outside_the_vocabulary_is_unk_at_the_output_and_nothing_stays_nothing() -> None:
    ids = np.array([[-1, 0, 1], [7, 8, 90]], np.int32)
    assert as_words(ids, 8).tolist() == [[-1, 0, 1], [7, 1, 1]]
    assert as_words(ids, 8).dtype == np.int64
