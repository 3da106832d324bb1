"""Settings of parts that read a file: what a run stores, and that its paths are never opened."""

import pytest

from charlm.errors import ConfigError
from charlm.settings import Family, InputFile, Settings, build_part


class Shape:
    """The contract of the parts below."""


class Printed(Shape):
    """Reads a file when it is made, and says what it found there to whoever makes it again."""

    def __init__(self, colour: str, *, file: InputFile = "", lines: int = 0) -> None:
        self.colour, self.file = colour, file
        self.lines = lines if file == "stored" else 7

    def settings_to_store(self, settings: Settings) -> Settings:
        return {**settings, "file": "stored", "lines": self.lines}


class Frame(Shape):
    def __init__(self, colour: str, *, inside: Shape) -> None:
        self.colour, self.inside = colour, inside


SHAPE = Family("shape", Shape, {"printed": Printed, "frame": Frame})
IN_FRAME = {"type": "frame", "inside": {"type": "printed", "file": "/etc/passwd"}}


def test_a_part_that_read_a_file_is_stored_with_what_it_found_and_without_the_path() -> None:
    _, resolved = build_part(SHAPE, IN_FRAME, leading=["red"], may_read=True)
    stored = {"type": "printed", "file": "stored", "lines": 7}
    assert resolved == {"type": "frame", "inside": stored}
    again, resolved_again = build_part(SHAPE, resolved, leading=["red"])
    assert resolved_again == resolved
    assert again.inside.lines == 7


def test_a_path_in_settings_that_are_not_the_users_own_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        build_part(SHAPE, IN_FRAME, leading=["red"])
    assert str(caught.value) == (
        "option 'file' of shape 'printed' is '/etc/passwd'; expected 'stored' in a run"
    )


def test_the_word_of_a_run_is_no_file_of_a_users() -> None:
    inside = {"type": "printed", "file": "stored"}
    with pytest.raises(ConfigError) as caught:
        build_part(SHAPE, {"type": "frame", "inside": inside}, leading=["red"], may_read=True)
    assert str(caught.value) == (
        "option 'file' of shape 'printed' is 'stored', which a run says of what it has read; "
        "expected a file; write ./stored for one of that name"
    )
