"""The page's maps in headless Chromium: searching, pointing at, zooming and moving."""

from pathlib import Path
from typing import Any

import pytest

import charlm

# The position of a form in the window.
PLACE = """form => {
  const { state } = document.querySelector(".map");
  const row = state.index.get(form);
  const box = state.canvas.getBoundingClientRect();
  const [x, y] = projection(state).at(row);
  return [box.left + x, box.top + y];
}"""
# The position of a form in the map, and the size of the map.
SEEN_AT = """form => {
  const { state } = document.querySelector(".map");
  const { at, width, height } = projection(state);
  return [...at(state.index.get(form)), width, height];
}"""
MARKED = """() => {
  const { state } = document.querySelector(".map");
  return [state.marked, ...state.also].map((row) => state.data.forms[row]);
}"""
ZOOM = "() => document.querySelector('.map').state.view.zoom"


def show_words(watched: Any) -> None:
    watched.page.get_by_role("button", name="Words", exact=True).click()
    watched.page.locator(".map").scroll_into_view_if_needed()


def test_the_search_marks_a_word_and_its_neighbours(watched: Any, char_run: Path) -> None:
    show_words(watched)
    watched.page.get_by_role("searchbox").fill("cat")
    word, *near = watched.page.evaluate(MARKED)
    assert word == "cat"
    (hood,) = charlm.neighbours("cat", model=char_run, k=8, device="cpu")
    assert set(near) == {each.word for each in hood.nearest}
    status = watched.page.get_by_role("status")
    assert status.inner_text().startswith("cat is nearest to")
    status.get_by_role("button").first.click()
    assert watched.page.evaluate(MARKED)[0] == near[0]
    assert watched.page.get_by_role("searchbox").input_value() == near[0]


def test_the_search_offers_words_that_begin_so_and_enter_takes_the_first(watched: Any) -> None:
    show_words(watched)
    box = watched.page.get_by_role("searchbox")
    box.fill("lo")
    offered = watched.page.get_by_role("status").get_by_role("button").all_inner_texts()
    assert offered and all(word.startswith("lo") for word in offered)
    box.press("Enter")
    assert watched.page.evaluate(MARKED)[0] == offered[0]
    box.press("Escape")
    assert watched.page.evaluate(MARKED) == [None]
    box.fill("xyzzy")
    assert watched.page.get_by_role("status").inner_text() == "No word on the map begins with xyzzy"


def test_a_piece_of_spelling_marks_the_ngrams_that_hold_it(watched: Any) -> None:
    watched.page.get_by_role("searchbox").fill("at}")
    marked = watched.page.evaluate(MARKED)
    assert marked[0] == "at}"
    assert all("at}" in ngram for ngram in marked)
    assert watched.page.get_by_role("status").inner_text() == f"{len(marked)} n-grams hold at}}"


def test_pointing_at_a_point_names_it(watched: Any) -> None:
    watched.page.locator(".map").scroll_into_view_if_needed()
    forms = watched.page.evaluate("() => document.querySelector('.map').state.data.forms")
    watched.page.mouse.move(*watched.page.evaluate(PLACE, "{c"))
    shown = watched.page.locator("#tip").inner_text()
    assert shown.split(" · ")[0] in forms
    assert " words" in shown
    watched.page.mouse.move(2, 2)
    assert watched.page.locator("#tip").is_hidden()


def test_the_map_zooms_and_moves_by_keys_wheel_and_buttons(watched: Any) -> None:
    page = watched.page
    page.get_by_role("button", name="zoom in").click()
    assert page.evaluate(ZOOM) == pytest.approx(1.5)
    page.locator(".map canvas").focus()
    page.keyboard.press("+")
    assert page.evaluate(ZOOM) == pytest.approx(2.1)
    before = page.evaluate("() => document.querySelector('.map').state.view.x")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.querySelector('.map').state.view.x") > before
    page.keyboard.press("0")
    assert page.evaluate(ZOOM) == 1
    page.locator(".map canvas").hover()
    page.mouse.wheel(0, -100)
    page.wait_for_function("() => document.querySelector('.map').state.view.zoom > 1")


@pytest.mark.parametrize("way", ["buttons", "keys"])
def test_a_marked_word_stays_where_it_is_while_the_map_zooms(watched: Any, way: str) -> None:
    show_words(watched)
    page = watched.page
    page.get_by_role("searchbox").fill("cat")
    before = page.evaluate(SEEN_AT, "cat")
    for _ in range(6):
        if way == "buttons":
            page.get_by_role("button", name="zoom in").click()
        else:
            page.locator(".map canvas").press("+")
    assert page.evaluate(ZOOM) > 7
    assert page.evaluate(SEEN_AT, "cat") == pytest.approx(before)


def test_without_a_marked_word_in_sight_the_map_zooms_on_its_middle(watched: Any) -> None:
    show_words(watched)
    page = watched.page
    page.get_by_role("searchbox").fill("cat")
    page.evaluate("() => pan(document.querySelector('.map').state, 9999, 0)")
    middle = "() => [document.querySelector('.map').state.view].map((view) => [view.x, view.y])[0]"
    before = page.evaluate(middle)
    page.get_by_role("button", name="zoom in").click()
    assert page.evaluate(middle) == before


def test_a_word_that_is_asked_for_out_of_sight_is_brought_into_it(watched: Any) -> None:
    show_words(watched)
    page = watched.page
    page.evaluate("() => pan(document.querySelector('.map').state, 9999, 9999)")
    page.get_by_role("searchbox").fill("cat")
    x, y, width, height = page.evaluate(SEEN_AT, "cat")
    assert (0 < x < width, 0 < y < height) == (True, True)


# 2,500 words in a square: the rows that have names on the whole map, and after a zoom.
CROWD = """() => {
  const rows = Array.from({ length: 2500 }, (_, row) => row);
  const forms = rows.map((row) => `word-${row}`);
  const places = rows.flatMap((row) => [200 * (row % 50), 200 * Math.floor(row / 50)]);
  const data = { forms, places, neighbours: rows.map(() => []) };
  const figure = scatterMap(data, { alt: "", hint: "" });
  document.getElementById("main").append(figure);
  paint(figure.state);
  const whole = figure.state.named;
  zoom(figure.state, 9);
  return [whole, figure.state.named];
}"""
NAMED = """() => {
  const { state } = document.querySelector(".map");
  return state.named.map((row) => state.data.forms[row]);
}"""


def test_frequent_words_have_names_where_there_is_room_and_more_words_as_one_zooms(
    watched: Any,
) -> None:
    whole, near = watched.page.evaluate(CROWD)
    assert whole[0] == 0
    assert 20 < len(whole) < 250
    assert len(near) > 20
    assert max(near) > max(whole)  # rarer words than before
    assert not set(near) <= set(whole)


def test_a_name_is_written_in_the_direction_of_its_letters(watched: Any) -> None:
    found = watched.page.evaluate(
        """forms => {
          const found = [];
          const pen = { measureText: () => ({ width: 9 }), strokeText() {} };
          pen.fillText = () => found.push(pen.direction);
          const to = { at: () => [0, 0], width: 99 };
          const { write } = writer({ data: { forms } }, { pen, to, ground: "" });
          forms.forEach((_, row) => write(row, { font: "", ink: "", offset: 0, isForced: true }));
          return found;
        }""",
        ["{un", "{\u0627\u0644", "}"],
    )
    assert found == ["ltr", "rtl", "ltr"]


def test_a_marked_word_has_its_name_before_all_others(watched: Any) -> None:
    show_words(watched)
    watched.page.get_by_role("searchbox").fill("cat")
    assert watched.page.evaluate(NAMED)[0] == "cat"


@pytest.mark.parametrize("way", ["enter", "button"])
def test_what_is_marked_can_be_zoomed_to(watched: Any, way: str) -> None:
    page = watched.page
    page.get_by_role("searchbox").fill("at}")
    if way == "enter":
        page.keyboard.press("Enter")
    else:
        page.get_by_role("button", name="zoom to what is marked").click()
    assert page.evaluate(ZOOM) > 1.2
    for form in page.evaluate(MARKED):
        x, y, width, height = page.evaluate(SEEN_AT, form)
        assert (0 < x < width, 0 < y < height) == (True, True)


def test_with_nothing_marked_there_is_nothing_to_zoom_to(watched: Any) -> None:
    watched.page.get_by_role("button", name="zoom to what is marked").click()
    assert watched.page.evaluate(ZOOM) == 1


@pytest.mark.parametrize("act", ["choose(state, 0)", "offer(state, 'q'.repeat(90))"])
def test_a_long_word_leaves_the_page_as_wide_as_its_window(
    watch: Any, address: str, act: str
) -> None:
    opened = watch(address, viewport={"width": 400, "height": 800})
    show_words(opened)
    long = "const { state } = document.querySelector('.map'); state.data.forms[0] = 'z'.repeat(90);"
    opened.page.evaluate(f"() => {{ {long} {act}; }}")
    assert opened.page.evaluate("() => document.documentElement.scrollWidth") <= 400
