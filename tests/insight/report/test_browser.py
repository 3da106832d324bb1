"""The page as people meet it, in headless Chromium: quiet, closed, and worked by mouse and keys.

Skipped where there is no Chromium, unless CHARLM_REQUIRE_CHROMIUM is set.
"""

import importlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import charlm

REQUIRED = "CHARLM_REQUIRE_CHROMIUM"
if not os.environ.get(REQUIRED):
    pytest.importorskip("playwright.sync_api")
sync_api = importlib.import_module("playwright.sync_api")

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE_WORD = "</script><img/src=x/onerror=document.title=1>"
# Where a form lies in the window.
PLACE = """form => {
  const { state } = document.querySelector(".map");
  const row = state.index.get(form);
  const box = state.canvas.getBoundingClientRect();
  const to = projection(state);
  const [x, y] = state.data.places.slice(2 * row, 2 * row + 2);
  return [box.left + to.x(x), box.top + to.y(y)];
}"""
MARKED = """() => {
  const { state } = document.querySelector(".map");
  return [state.marked, ...state.also].map((row) => state.data.forms[row]);
}"""
ZOOM = "() => document.querySelector('.map').state.view.zoom"
GROUND = "() => getComputedStyle(document.body).backgroundColor"
WHITE = "rgb(255, 255, 255)"


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        assert not os.environ.get(REQUIRED), f"{REQUIRED} is set and there is no Chromium"
        pytest.skip("no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def address(
    char_run: Path, word_run: Path, hostile_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> str:
    out = tmp_path_factory.mktemp("page") / "report.html"
    words = ["cat", "catz", HOSTILE_WORD]
    options = {"data": hostile_dir, "out": out, "word": words, "device": "cpu", "threads": 1}
    charlm.report([char_run, word_run], **options)
    return out.as_uri()


class Watched:
    """A page, and all that it says and asks for."""

    def __init__(self, browser: object, address: str, **options: object) -> None:
        self.context = browser.new_context(**options)  # type: ignore[attr-defined]
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.stopped: list[str] = []
        self.page.on("requestfailed", lambda request: self.stopped.append(request.failure))
        self.page.goto(address)
        self.page.wait_for_selector(".chart svg")


@pytest.fixture
def watched(browser: object, address: str) -> Iterator[Watched]:
    opened = Watched(browser, address, viewport={"width": 1280, "height": 900})
    yield opened
    opened.context.close()


def show_words(watched: Watched) -> None:
    watched.page.get_by_role("button", name="Words", exact=True).click()
    watched.page.locator(".map").scroll_into_view_if_needed()


def test_the_page_is_silent_and_asks_for_nothing_but_itself(watched: Watched, address: str) -> None:
    for button in watched.page.get_by_role("button").all():
        button.click()
    assert watched.said == []
    assert watched.asked == [address]


def test_words_that_look_like_markup_are_shown_as_text(watched: Watched) -> None:
    page = watched.page
    heads = page.locator(".hood h4").all_inner_texts()
    assert f"{HOSTILE_WORD}" in heads
    assert page.locator("h1").inner_text() == "<b>run&amp;"
    assert page.title() == "<b>run&amp; · charlm report"
    assert page.locator("img, iframe, b, h1 *:not(bdi)").count() == 0
    assert HOSTILE_WORD in page.locator("#sentences").inner_text()


def test_nothing_foreign_is_let_in(watched: Watched) -> None:
    page = watched.page
    trying = """() => {
      window.refused = [];
      const note = (event) => refused.push(event.effectiveDirective);
      document.addEventListener("securitypolicyviolation", note);
      const script = document.createElement("script");
      script.textContent = "window.hacked = true";
      const image = document.createElement("img");
      image.src = "http://localhost:9/x.png";
      document.body.append(script, image);
    }"""
    with page.expect_event("requestfailed"):
        page.evaluate(trying)
    page.wait_for_function("() => refused.length === 2")
    assert sorted(page.evaluate("() => refused")) == ["img-src", "script-src-elem"]
    assert page.evaluate("() => window.hacked") is None
    assert watched.stopped == ["csp"]


def test_the_search_marks_a_word_and_its_neighbours(watched: Watched, char_run: Path) -> None:
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


def test_the_search_offers_words_that_begin_so_and_enter_takes_the_first(watched: Watched) -> None:
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


def test_a_piece_of_spelling_marks_the_ngrams_that_hold_it(watched: Watched) -> None:
    watched.page.get_by_role("searchbox").fill("at}")
    marked = watched.page.evaluate(MARKED)
    assert marked[0] == "at}"
    assert all("at}" in ngram for ngram in marked)
    assert watched.page.get_by_role("status").inner_text() == f"{len(marked)} n-grams hold at}}"


def test_pointing_at_a_point_names_it(watched: Watched) -> None:
    watched.page.locator(".map").scroll_into_view_if_needed()
    forms = watched.page.evaluate("() => document.querySelector('.map').state.data.forms")
    watched.page.mouse.move(*watched.page.evaluate(PLACE, "{c"))
    shown = watched.page.locator("#tip").inner_text()
    assert shown.split(" · ")[0] in forms
    assert " words" in shown
    watched.page.mouse.move(2, 2)
    assert watched.page.locator("#tip").is_hidden()


def test_pointing_at_a_curve_tells_its_number(watched: Watched) -> None:
    watched.page.locator("#curves circle.fill").last.hover(force=True)
    shown = watched.page.locator("#tip").inner_text()
    assert "validation, 2: " in shown or "validation, 1: " in shown


def test_the_map_zooms_and_moves_by_keys_wheel_and_buttons(watched: Watched) -> None:
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


def test_the_page_is_worked_by_the_keyboard_from_its_start(watched: Watched) -> None:
    page = watched.page
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.id") == "theme"
    assert page.evaluate(GROUND) == WHITE
    page.keyboard.press("Enter")
    assert page.evaluate(GROUND) != WHITE
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**#results")  # the browser follows a link after the key is done


def test_the_colours_are_the_systems_until_the_button_says_otherwise(
    browser: object, address: str
) -> None:
    dark = Watched(browser, address, color_scheme="dark")
    assert dark.page.evaluate(GROUND) != WHITE
    dark.page.get_by_role("button", name="change to light colours").click()
    assert dark.page.evaluate(GROUND) == WHITE
    dark.context.close()


def test_every_picture_says_what_it_shows(watched: Watched) -> None:
    pictures = watched.page.locator("svg[role=img], canvas")
    assert pictures.count() >= 7
    for picture in pictures.all():
        assert len(picture.get_attribute("aria-label") or "") > 20


def test_the_numbers_of_the_sentences_can_be_shown(watched: Watched) -> None:
    button = watched.page.get_by_role("button", name="Show the numbers")
    number = watched.page.locator(".sentence small").first
    assert number.is_hidden()
    button.click()
    assert number.is_visible()
    assert button.get_attribute("aria-pressed") == "true"


def test_a_narrow_window_is_never_wider_than_itself(browser: object, address: str) -> None:
    narrow = Watched(browser, address, viewport={"width": 400, "height": 800})
    assert narrow.page.evaluate("() => document.documentElement.scrollWidth") <= 400
    for node in narrow.page.locator("section").all():
        assert node.bounding_box()["width"] <= 400
    narrow.context.close()


def test_the_one_epoch_of_a_run_has_its_points_and_a_scale(
    browser: object, tiny_run: Path, tmp_path: Path
) -> None:
    out = tmp_path / "one.html"
    charlm.report(tiny_run, out=out, device="cpu", threads=1)
    opened = Watched(browser, out.as_uri())
    chart = opened.page.locator("#curves .chart svg")
    assert chart.locator("g circle").count() == 2  # of validation, and of training
    assert chart.locator(".grid").count() > 1
    opened.context.close()


def test_a_page_without_a_text_says_what_is_not_there(
    browser: object, gated_run: Path, tmp_path: Path
) -> None:
    charlm.report(gated_run, out=tmp_path / "a.html", device="cpu", threads=1)
    opened = Watched(browser, (tmp_path / "a.html").as_uri())
    missing = opened.page.locator("#missing").inner_text()
    assert "need a text; make the report with --data DIR" in missing
    assert "Spearman" in opened.page.locator("#gate-story").inner_text()
    assert opened.page.locator("#results").count() == 0
    assert opened.said == []
    opened.context.close()


@pytest.mark.parametrize(
    ("words", "direction"),
    [(["1", "שלום", "abc"], "rtl"), (["abc", "שלום"], "ltr"), (["—", "1"], "ltr")],
)
def test_a_sentence_runs_as_its_first_word_does(
    watched: Watched, words: list[str], direction: str
) -> None:
    assert watched.page.evaluate("words => directionOf(words)", words) == direction


@pytest.mark.parametrize(
    ("value", "text"), [(19_370_000, "19,370,000"), (1.76381e211, "1.76e+211"), (92.3, "92.30")]
)
def test_a_number_is_as_long_as_it_can_be_read(watched: Any, value: float, text: str) -> None:
    assert watched.page.evaluate("value => shown(value)", value) == text
