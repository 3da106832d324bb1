"""Text in pictures: which fonts are used, and what is drawn for characters that no font has."""

from pathlib import Path

import pytest
from matplotlib import get_data_path, rcParams

from charlm.run import fonts
from charlm.run.fonts import drawable, fonts_for

SCRIPT = "\U0001d4b6"  # a mathematical letter that DejaVu Sans lacks
STIX = Path(get_data_path()) / "fonts" / "ttf" / "STIXGeneral.ttf"  # a font of matplotlib's


@pytest.mark.parametrize(
    ("title", "drawn"),
    [
        ("char-small on ptb", "char-small on ptb"),
        ("Überraschung č ж", "Überraschung č ж"),
        ("on 日本語", "on \\u65e5\\u672c\\u8a9e"),
        ("on \n\x1b\udc80😾\U0001fabf", "on \\n\\x1b\\udc80😾\\U0001fabf"),
        ("می\u200cخ \u200e", "می\u200cخ \\u200e"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 79 + "…"),
    ],
)
def test_a_title_holds_only_what_the_font_can_draw_and_no_more_than_fits(
    title: str, drawn: str
) -> None:
    assert drawable(title) == drawn


def test_a_letter_may_be_of_any_font_that_was_named() -> None:
    assert drawable(SCRIPT, families=["DejaVu Sans Mono"]) == "\\U0001d4b6"
    families = ["None Such", "DejaVu Sans Mono", "STIXGeneral"]
    assert drawable(SCRIPT, families=families) == SCRIPT


def test_letters_that_the_font_lacks_are_of_another_that_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = [("DejaVu Serif", str(STIX.with_name("DejaVuSerif.ttf"))), ("STIXGeneral", str(STIX))]
    monkeypatch.setattr(fonts, "_installed", lambda: asked)
    before = [*rcParams["font.family"]]
    with fonts_for(["cat", f"{SCRIPT}\u0939\x1b"]) as lacking:
        assert lacking == "\u0939"
        assert rcParams["font.family"] == [*before, "STIXGeneral"]
        assert drawable(f"{SCRIPT} č \u0434") == f"{SCRIPT} č \u0434"
    assert rcParams["font.family"] == before
    assert drawable(SCRIPT) == "\\U0001d4b6"


def test_of_the_installed_fonts_none_is_asked_that_has_a_box_for_every_letter() -> None:
    families = [family for family, _ in fonts._installed()]
    assert "STIXGeneral" in families
    assert "DejaVu Sans" in families
    assert not [family for family in families if family.startswith(fonts.OF_BOXES)]
    assert families == sorted(families, key=lambda name: (not name.startswith("Noto Sans"), name))


def test_letters_that_no_font_lacks_cost_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_installed", lambda: pytest.fail("searched"))
    with fonts_for(["cat", "\u0645\u06cc\u200c\u062e", "\x1b"]) as lacking:
        assert lacking == ""
