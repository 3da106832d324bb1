"""Charts as markup of the page: its colours, its fonts, and nothing that its policy forbids."""

import re
import xml.etree.ElementTree as ET

import pytest
from matplotlib.figure import Figure

from charlm.insight.pictures.canvas import BLUE, Drawn
from charlm.insight.report.charts import inline_svg


def drawn() -> Drawn:
    """Three points, the second of them undefined."""
    figure = Figure(figsize=(3, 2), layout="constrained")
    axes = figure.subplots()
    (line,) = axes.plot([1, 2, 3], [1, float("nan"), 4], "o-", color=BLUE)
    axes.set_ylabel("</script><b>&amp;")
    return Drawn(figure, (), (), [(line, ["first <i>", "third"])])


@pytest.fixture
def chart() -> ET.Element:
    return ET.fromstring(inline_svg(drawn().figure, name="toy-wide", drawn=drawn()))


def test_a_point_tells_what_it_is_and_an_undefined_one_is_none() -> None:
    one = drawn()
    chart = ET.fromstring(inline_svg(one.figure, name="toy-wide", drawn=one))
    marks = [mark for mark in chart.iter("use") if mark.find("title") is not None]
    assert [mark.findtext("title") for mark in marks] == ["first <i>", "third"]
    assert {mark.get("stroke") for mark in marks} == {"var(--s0)"}


def test_a_charts_text_is_text(chart: ET.Element) -> None:
    assert "</script><b>&amp;" in [text.text for text in chart.iter("text")]
    assert {node.tag for node in chart.iter()} <= {
        *("svg", "g", "path", "defs", "clipPath", "rect", "use", "text", "title")
    }


def test_a_chart_has_no_style_of_its_own_and_leaves_letters_to_the_page(chart: ET.Element) -> None:
    names = {name for node in chart.iter() for name in node.attrib}
    assert names.isdisjoint({"style", "font-family", "font-size"})
    assert chart.attrib == {"class": "wide", "viewBox": "0 0 216 144"}


def test_what_a_chart_refers_to_is_in_it_under_its_own_name(chart: ET.Element) -> None:
    ids = [node.attrib["id"] for node in chart.iter() if "id" in node.attrib]
    found = {
        match[1]
        for node in chart.iter()
        for value in node.attrib.values()
        if (match := re.search(r"#([^)]+)", value))
    }
    assert found
    assert set(ids) == found
    assert len(ids) == len(found)
    assert all(each.startswith("toy-wide-") for each in found)
