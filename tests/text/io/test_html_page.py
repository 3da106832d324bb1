"""What all pages share: words can be read on the colours that say how surprising they are."""

import re
from collections.abc import Sequence

import pytest

from charlm.text.io.html_page import page_style

READABLE = 4.5  # contrast of text, by the Web Content Accessibility Guidelines
COLOURS = r"--ground: #(\w+); --ink: #(\w+);[^}]*--heat: (\d+), (\d+), (\d+);"


def luminance(colour: Sequence[float]) -> float:
    """Of red, green and blue from 0 to 255, by the same guidelines."""
    parts = (c / 255 for c in colour)
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("package", ["charlm.insight.report", "charlm.scoring.export.page"])
def test_words_can_be_read_on_the_strongest_colour(package: str) -> None:
    style = page_style(package)
    strength = max(map(float, re.findall(r"rgba\(var\(--heat\), ([\d.]+)\)", style)))
    themes = re.findall(COLOURS, style)
    assert len(themes) == 3  # light, the system's dark, the button's dark
    for ground, ink, *heat in themes:
        pairs = zip(map(int, heat), bytes.fromhex(ground), strict=True)
        mixed = luminance([strength * hot + (1 - strength) * plain for hot, plain in pairs])
        darker, lighter = sorted((mixed, luminance(bytes.fromhex(ink))))
        assert (lighter + 0.05) / (darker + 0.05) >= READABLE
