"""The report file without a browser: its data block, its policy, and its maps."""

import base64
import hashlib
import html
import json
import re

import numpy as np
import pytest

from charlm.insight.report.maps import how_many, nearest, places
from charlm.insight.report.report import page
from charlm.text.io.html_page import json_block

AWKWARD = [
    "</script><img src=x onerror=alert(1)>",
    "<!-- <script>",
    "&amp;",
    "a\N{LINE SEPARATOR}b\N{PARAGRAPH SEPARATOR}c",
    '"\\',
    "\N{RIGHT-TO-LEFT OVERRIDE}",
    "日本",
]


def source(content: dict[str, object]) -> str:
    return page({"title": "a run", "missing": [], **content}).decode()


def element(text: str, name: str) -> str:
    found = re.findall(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
    assert len(found) == 1
    return str(found[0])


@pytest.mark.parametrize("text", AWKWARD)
def test_no_text_ends_the_data_block_or_opens_another(text: str) -> None:
    block = json_block({"words": [text]})
    assert re.search("[<>&\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}]", block) is None
    assert json.loads(block) == {"words": [text]}


def test_half_a_surrogate_pair_of_a_folder_name_leaves_the_file_utf_8() -> None:
    assert json.loads(json_block({"title": "a\udc80"})) == {"title": "a\udc80"}
    assert r"<title>a\udc80 · charlm report</title>" in source({"title": "a\udc80"})


def test_infinity_is_no_json() -> None:
    with pytest.raises(ValueError, match="Out of range float values"):
        json_block({"ppl": float("inf")})


def test_the_policy_allows_the_style_and_the_script_of_the_page_and_nothing_else() -> None:
    text = source({})
    found = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert found
    hashes = {
        name: base64.b64encode(hashlib.sha256(element(text, name).encode()).digest()).decode()
        for name in ("style", "script")
    }
    assert html.unescape(found[1]) == (
        f"default-src 'none'; style-src 'sha256-{hashes['style']}'; "
        f"script-src 'sha256-{hashes['script']}'; base-uri 'none'; form-action 'none'"
    )


def test_the_page_names_no_other_place() -> None:
    text = source({})
    assert re.findall(r"\w+://[^\s\"'`)]+", text) == []
    assert re.findall(r"\b(?:src|srcset|href|action)=[\"']?([^\"' >]*)", text) == ["#main"]
    assert "@import" not in text
    assert "url(" not in text


def test_the_title_is_text() -> None:
    assert "<title>&lt;b&gt;&amp;amp; · charlm report</title>" in source({"title": "<b>&amp;"})


def test_a_placeholder_in_the_data_is_left_as_it_is() -> None:
    assert '{"title":"@script@",' in source({"title": "@script@"})


def test_places_are_whole_numbers_on_one_scale() -> None:
    points = np.array([[-1.0, 0.0], [3.0, 1.0], [0.0, 2.0]])
    assert places(points).tolist() == [[0, 0], [9999, 2500], [2500, 5000]]


@pytest.mark.parametrize("points", [np.zeros((0, 2)), np.ones((3, 2))])
def test_places_of_nothing_or_of_one_point_are_zero(points: np.ndarray) -> None:
    assert places(points).tolist() == [[0, 0]] * len(points)


def test_neighbours_are_those_of_all_cosines_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("charlm.insight.report.maps.BLOCK", 7)
    vectors = np.random.default_rng(3).normal(0, 1, (30, 5)).astype(np.float32)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    slow = [
        sorted((j for j in range(30) if j != i), key=lambda j, i=i: -float(units[i] @ units[j]))[:4]
        for i in range(30)
    ]
    assert nearest(units, k=4).tolist() == slow


@pytest.mark.parametrize(("n", "k"), [(0, 0), (1, 0), (3, 2)])
def test_of_few_words_all_others_are_neighbours(n: int, k: int) -> None:
    assert nearest(np.eye(3, dtype=np.float32)[:n], k=8).shape == (n, k)


def test_a_map_has_as_many_words_as_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("charlm.insight.report.maps.MOST_BYTES", 14)
    assert how_many(["ab", "é", "abc", "d"]) == 2  # 5 + 5, then 6 more
    assert how_many([]) == 0
