"""The ways in which a file may be compressed."""

import bz2
import gzip
import lzma
from collections.abc import Callable

import pytest

PACKERS = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.fixture(params=PACKERS)
def pack(request: pytest.FixtureRequest) -> Callable[[bytes], bytes]:
    """Packs, or leaves as it is: a test that asks for it runs once with each way."""
    return PACKERS[request.param]
