"""The page in headless Chromium: no errors, no requests, usable by mouse and keyboard."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import charlm
from charlm.run.curve import TRAINING, VALIDATION

Watch = Callable[..., Any]
HOSTILE_WORD = "</script><img/src=x/onerror=document.title=1>"
GROUND = "() => getComputedStyle(document.body).backgroundColor"
WHITE = "rgb(255, 255, 255)"


def test_the_page_is_silent_and_asks_for_nothing_but_itself(watched: Any, address: str) -> None:
    for button in watched.page.get_by_role("button").all():
        button.click()
    assert watched.said == []
    assert watched.asked == [address]


def test_words_that_look_like_markup_are_shown_as_text(looked_at: Any) -> None:
    heads = looked_at.locator(".hood h4").all_inner_texts()
    assert f"{HOSTILE_WORD}" in heads
    assert looked_at.locator("h1").inner_text() == "<b>run&amp;"
    assert looked_at.title() == "<b>run&amp; · charlm report"
    assert looked_at.locator("img, iframe, b, h1 *:not(bdi)").count() == 0
    assert HOSTILE_WORD in looked_at.locator("#sentences").inner_text()


def test_nothing_foreign_is_let_in(watched: Any) -> None:
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


def test_pointing_at_a_curve_tells_its_number(looked_at: Any) -> None:
    told = looked_at.locator("#curves .wide use title").all_text_contents()
    assert len(told) == 2 * 2  # two runs, two epochs
    history = (line for line in told if "validation, 2: " in line)
    numbers = looked_at.locator("#curves details td").all_text_contents()
    assert {line.rpartition(": ")[2] for line in history} <= set(numbers)


def test_a_chart_is_drawn_for_the_window_that_it_stands_in(watch: Watch, address: str) -> None:
    for width, seen in ((400, ".narrow"), (1280, ".wide")):
        page = watch(address, viewport={"width": width, "height": 800}).page
        charts = page.locator(".chart")
        assert charts.count() == 4
        for chart in charts.all():
            (visible,) = [svg for svg in chart.locator("svg").all() if svg.is_visible()]
            assert visible.evaluate("(svg, name) => svg.matches(name)", seen)
            letters = [text.bounding_box()["height"] for text in visible.locator("text").all()]
            assert min(letters) > 9


def test_a_charts_colours_are_those_of_the_page(watch: Watch, address: str) -> None:
    page = watch(address, color_scheme="light").page
    colour = "svg => getComputedStyle(svg.querySelector('use')).stroke"
    light = page.locator("#curves .wide").evaluate(colour)
    page.get_by_role("button", name="change to dark colours").click()
    assert page.locator("#curves .wide").evaluate(colour) != light


def test_the_page_is_worked_by_the_keyboard_from_its_start(watched: Any) -> None:
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
    page.wait_for_url("**#results")  # the browser follows a link only after the key event


def test_the_colours_are_the_systems_until_the_button_says_otherwise(
    watch: Watch, address: str
) -> None:
    dark = watch(address, color_scheme="dark")
    assert dark.page.evaluate(GROUND) != WHITE
    dark.page.get_by_role("button", name="change to light colours").click()
    assert dark.page.evaluate(GROUND) == WHITE


def test_every_picture_says_what_it_shows(looked_at: Any) -> None:
    pictures = looked_at.locator("[role=img]")
    assert pictures.count() == 4 + 1
    for picture in pictures.all():
        assert len(picture.get_attribute("aria-label") or "") > 20


def test_the_numbers_of_the_sentences_can_be_shown(watched: Any) -> None:
    button = watched.page.get_by_role("button", name="Show the numbers")
    number = watched.page.locator(".sentence small").first
    assert number.is_hidden()
    button.click()
    assert number.is_visible()
    assert button.get_attribute("aria-pressed") == "true"


def test_a_narrow_window_is_never_wider_than_itself(watch: Watch, address: str) -> None:
    narrow = watch(address, viewport={"width": 400, "height": 800})
    assert narrow.page.evaluate("() => document.documentElement.scrollWidth") <= 400
    for node in narrow.page.locator("section").all():
        assert node.bounding_box()["width"] <= 400


def test_the_one_epoch_of_a_run_has_its_points_in_the_colours_of_its_curve_and_a_scale(
    watch: Watch, tiny_run: Path, tmp_path: Path
) -> None:
    out = tmp_path / "one.html"
    charlm.report(tiny_run, out=out, device="cpu", threads=1)
    opened = watch(out.as_uri(), color_scheme="light")
    assert opened.page.locator("#curves .wide text").count() > 4
    colours = "marks => marks.map((mark) => getComputedStyle(mark.parentNode).stroke)"
    found = opened.page.locator("#curves .wide use title").evaluate_all(colours)
    assert found == [f"rgb{tuple(bytes.fromhex(hexed[1:]))}" for hexed in (VALIDATION, TRAINING)]


def test_the_table_across_data_sets_tells_per_cent_of_kneser_ney(
    watch: Watch, char_run: Path, compared: list[Path], tmp_path: Path
) -> None:
    charlm.report(char_run, table=compared, out=tmp_path / "a.html", device="cpu", threads=1)
    opened = watch((tmp_path / "a.html").as_uri())
    rows = opened.page.locator("#table tr").all_inner_texts()
    assert [row.split("\t") for row in (rows[0], *rows[-2:])] == [
        ["", "cs", "de"],
        ["KN-5", "200", "61.23"],
        ["<b>char", "150 (−25.0 %; −30.0 to −20.0)", "–"],
    ]
    how = opened.page.locator("#table > .how").inner_text()
    assert how.startswith("How to read this: perplexity of the measured texts, state carried; ")
    assert "the change from KN-5 in per cent, with its 95 % interval." in how
    assert opened.said == []


def test_an_end_of_an_interval_that_is_not_zero_is_not_shown_as_zero(
    watch: Watch, char_run: Path, compared: list[Path], tmp_path: Path
) -> None:
    value = json.loads(compared[0].read_text())
    value["groups"][0]["differences"][0]["carried"] |= {"ratio_low": 0.74, "ratio_high": 0.9997}
    compared[0].write_text(json.dumps(value))
    charlm.report(char_run, table=compared, out=tmp_path / "a.html", device="cpu", threads=1)
    opened = watch((tmp_path / "a.html").as_uri())
    (told, _) = opened.page.locator("#table tr").last.locator("td").all_inner_texts()
    assert told == "150 (−25.00 %; −26.00 to −0.03)"


def test_a_page_without_a_text_says_what_is_not_there(
    watch: Watch, gated_run: Path, tmp_path: Path
) -> None:
    result = charlm.report(gated_run, out=tmp_path / "a.html", device="cpu", threads=1)
    opened = watch((tmp_path / "a.html").as_uri())
    missing = opened.page.locator("#missing").inner_text()
    assert "need a text; make the report with --data DIR" in missing
    told = re.search(
        r"Spearman.* above ([\d.]+) % of the words", opened.page.locator("#gate-story").inner_text()
    )
    assert told and result.gate is not None
    assert float(told[1]) == pytest.approx(result.gate["unk_percentile"], abs=0.005)
    assert opened.page.locator("#results").count() == 0
    assert opened.said == []


@pytest.mark.parametrize(
    ("words", "direction"),
    [
        (["1", "שלום", "abc"], "rtl"),
        (["<unk>", "<unk>:שלום", "abc"], "rtl"),
        (["abc", "שלום"], "ltr"),
        (["—", "1"], "ltr"),
        (["𞤀𞤣𞤤𞤢𞤥", "abc"], "rtl"),
        (["abc-שלום"], "ltr"),
    ],
)
def test_a_sentence_runs_as_its_first_letter_does(
    looked_at: Any, words: list[str], direction: str
) -> None:
    assert looked_at.evaluate("words => directionOf(words)", words) == direction


@pytest.mark.parametrize(
    ("value", "text"), [(19_370_000, "19,370,000"), (1.76381e211, "1.76e+211"), (92.3, "92.30")]
)
def test_a_number_is_as_long_as_it_can_be_read(looked_at: Any, value: float, text: str) -> None:
    assert looked_at.evaluate("value => shown(value)", value) == text


def test_every_section_says_how_it_is_read(looked_at: Any) -> None:
    sections = looked_at.locator("main > section")
    told = looked_at.locator("main > section > h2 + .how").all_inner_texts()
    assert len(told) == sections.count() == 10
    assert all(line.startswith("How to read this: ") and len(line) > 60 for line in told)


def test_a_table_wider_than_the_window_says_that_it_scrolls(watch: Watch, address: str) -> None:
    for width, is_told in ((400, True), (1280, False)):
        page = watch(address, viewport={"width": width, "height": 800}).page
        hint = page.locator("#results").get_by_text("it scrolls to the right")
        assert hint.is_visible() == is_told


def test_similarities_that_differ_by_little_are_told_apart(looked_at: Any) -> None:
    numbers = looked_at.locator(".hood li span").all_inner_texts()
    assert {len(number.rpartition(".")[2]) for number in numbers} == {3}


@pytest.mark.parametrize(
    ("value", "first", "text"),
    [
        (20.0, 100.0, "80 % lower"),
        (152.0, 100.0, "52 % higher"),
        (30.29, 29.81, "1.6 % higher"),
        (29.81, 29.81, "equal"),
        (29.8101, 29.81, "equal"),
        (None, 29.81, ""),
    ],
)
def test_a_difference_is_told_in_words(
    looked_at: Any, value: float | None, first: float, text: str
) -> None:
    asked = "([value, first]) => against(value, first)"
    assert looked_at.evaluate(asked, [value, first]) == text


def test_the_systems_are_held_against_the_first_run_in_a_sentence(looked_at: Any) -> None:
    story = looked_at.locator("#bands figcaption").inner_text()
    assert "KN-5 against <b>run&amp;: at best " in story
    assert "words against <b>run&amp;: at best " in story


def test_the_end_of_a_sentence_is_told_of_where_the_picture_has_it(looked_at: Any) -> None:
    stories = {key: looked_at.locator(f"#{key} figcaption") for key in ("bands", "positions")}
    assert "(</s>)" in stories["bands"].inner_text()
    assert "</s>" not in stories["positions"].inner_text()
    assert "</s>" in looked_at.locator("#positions table").text_content()


def test_the_vectors_that_the_model_reads_are_those_of_the_encoders_last_point(
    watch: Watch, gated_run: Path, tmp_path: Path
) -> None:
    charlm.report(gated_run, out=tmp_path / "a.html", device="cpu", threads=1)
    heads = watch((tmp_path / "a.html").as_uri()).page.locator("#neighbours h3").all_inner_texts()
    assert [head for head in heads if "model reads" in head] == ["gated, as the model reads it"]


def test_on_paper_words_have_their_colours_and_numbers_are_unfolded(watched: Any) -> None:
    page = watched.page
    page.get_by_role("button", name="change to dark colours").click()
    page.emulate_media(media="print")
    assert page.evaluate(GROUND) == WHITE
    adjust = "() => getComputedStyle(document.querySelector('.sentence .word')).printColorAdjust"
    assert page.evaluate(adjust) == "exact"
    is_shown = "cell => cell.checkVisibility({ contentVisibilityAuto: true })"
    assert page.locator("#curves details td").first.evaluate(is_shown)


def test_no_heading_of_sentences_stands_over_nothing(looked_at: Any) -> None:
    followed = "heads => heads.map((head) => head.nextElementSibling?.className)"
    found = looked_at.locator("#sentences h3").evaluate_all(followed)
    assert found and set(found) == {"sentence"}


def test_bands_that_are_no_frequencies_are_explained(looked_at: Any) -> None:
    how = looked_at.locator("#bands > .how").inner_text()
    assert "</s>, and <unk> stand apart on the left" in how


def test_a_number_below_a_word_from_the_right_has_its_sign_before_it(watched: Any) -> None:
    line = {"words": ["שלום"], "log10_probs": [-3.8, -0.5], "line": 1, "mean": -2.15}
    page = watched.page
    shown = page.evaluate(
        """line => {
          sentences({ sentences: { hardest: [line], easiest: [] } });
          const found = [...document.querySelectorAll("[dir=rtl].sentence .word")];
          const numbers = found.map((word) => word.querySelector("small"));
          return numbers.map((each) => [each.textContent, getComputedStyle(each).direction]);
        }""",
        line,
    )
    assert shown == [["−3.8", "ltr"], ["−0.5", "ltr"]]
