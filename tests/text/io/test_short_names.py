from pathlib import Path

import pytest

from charlm.text.io.short_names import short_names


@pytest.mark.parametrize(
    ("paths", "taken", "names"),
    [
        (["/exp/en", "/exp/cs"], (), ["en", "cs"]),
        (["/a/en", "/b/en", "/b/cs"], (), ["a/en", "b/en", "cs"]),
        (["en", "captions/en"], (), ["en", "captions/en"]),
        (["/a/en", "/exp/a/en"], (), ["/a/en", "exp/a/en"]),
        (["/exp/KN-5"], ("KN-5",), ["exp/KN-5"]),
        (["/exp/open", "/exp/reopen"], (), ["open", "reopen"]),
        (["/exp/en", "/exp/en"], (), ["en", "en"]),
        (["/"], (), ["/"]),
        ([], (), []),
    ],
)
def test_short_names(paths: list[str], taken: tuple[str, ...], names: list[str]) -> None:
    assert short_names(list(map(Path, paths)), taken=taken) == names
