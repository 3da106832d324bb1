"""The page of `charlm export --page` in Chromium, opened from a file, used by keyboard."""

import json
import math
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import charlm
from charlm.errors import ConfigError
from charlm.run.exported_folder import EXPORT
from charlm.run.folder import MODEL, RUN, VOCABULARY
from charlm.run.onnx_model import OnnxModel
from charlm.scoring.export.page.page_weights import page_weights
from charlm.scoring.export.page.text_rules import text_rules
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.io.files import sha256_of
from charlm.text.vocabulary.vocabulary import load_inventory

SENTENCE = "the cat looked at a zebra"
HOSTILE = "</script><img/src=x/onerror=document.title=1>"
PIECES = (
    *"aAbNzÖ019.,-+'’!?/_=%()`~* \t\u0301",
    *("U.S.", "e.g", "<unk>", "<unk>:Ab.", "</s>", "can't", "'s", "3.14", "²", "Ⅳ", "ΑΣ", "İ", "I"),
    *("字", "۳", "क्या", "।", "می\u200cخ", "\u2011", "🇩🇪", "👩🏽\u200d💻", "❤\ufe0f"),
    *("o\u2018z", "\u200f", "\u2060", "\u061c", "\u180e", "\x85", "\ufeff", "i\u0307", "\u0307"),
    *('צה"ל', "ո՞ւ", "a˥˩", "[˧", "🏴\U000e0067\U000e007f", "\u2028"),
)
GROUND = "() => getComputedStyle(document.body).backgroundColor"

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tiny_int8: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model in eight bits, one of its words something that would like to be markup."""
    folder = Path(shutil.copytree(tiny_int8, tmp_path_factory.mktemp("hostile") / "model"))
    vocabulary = json.loads((folder / VOCABULARY).read_text())
    vocabulary["words"][-1] = HOSTILE
    (folder / VOCABULARY).write_text(json.dumps(vocabulary))
    info = json.loads((folder / EXPORT).read_text())
    info["files"][VOCABULARY] = sha256_of(folder / VOCABULARY)
    info["vocabulary_sha256"] = load_inventory(folder / VOCABULARY).sha256
    (folder / EXPORT).write_text(json.dumps(info))
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> str:
    return charlm.export(folder, page=folder.parent / "page.html").page.resolve().as_uri()


@pytest.fixture(scope="module")
def looked_at(watch_for_all: Open, address: str) -> Any:
    """The page, for tests that change nothing on it."""
    return watch_for_all(address, ready="#next li").page


@pytest.fixture
def opened(watch: Open, address: str) -> Open:
    """The page, a sentence typed into it."""

    def at(sentence: str, **options: object) -> Any:
        watched = watch(address, ready="#next li", **options)
        page = watched.page
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.type(sentence)
        shown = "[...byId('words').querySelectorAll('bdi')].map((each) => each.textContent)"
        page.wait_for_function(f"() => {shown}.join(' ') === {json.dumps(sentence)}")
        page.wait_for_selector("#near .number")
        return watched

    return at


def numbers(place: Any) -> list[float]:
    return [float(node.get_attribute("data-bits")) for node in place.locator("[data-bits]").all()]


def test_a_typed_sentence_has_the_surprisals_of_the_exported_model(
    opened: Open, folder: Path
) -> None:
    found = numbers(opened(f"{SENTENCE} <unk>:cat").page.locator("#words"))
    expected = charlm.load(folder).score(f"{SENTENCE} <unk>:cat").log10_probs
    assert found == pytest.approx([-each * math.log2(10) for each in expected], abs=1e-3)


def test_a_long_text_is_shown_as_far_as_it_is_read(opened: Open, folder: Path) -> None:
    page, text = opened("the").page, " ".join(["the cat looked at a zebra"] * 5)
    page.evaluate("() => { let t = 0; performance.now = () => t += 1000; }")  # it all seems slow
    page.evaluate(
        "() => { window.seen = []; new MutationObserver(() => seen.push(byId('total').textContent))"
        ".observe(byId('total'), { childList: true }); }"
    )
    page.locator("#text").fill(text)
    page.wait_for_function("() => byId('words').querySelectorAll('bdi').length === 30")
    assert sum("reading on" in told for told in page.evaluate("() => seen")) == 28
    expected = charlm.load(folder).score(text).log10_probs
    wanted = [-each * math.log2(10) for each in expected]
    assert numbers(page.locator("#words")) == pytest.approx(wanted, abs=1e-3)


def test_of_a_text_its_states_are_kept_and_no_number_for_each_word_of_the_vocabulary(
    opened: Open,
) -> None:
    page = opened("the").page
    page.evaluate(
        "() => { window.kept = []; const { read } = Model.prototype; Model.prototype.read ="
        " function (...said) { kept.push(read.apply(this, said)); return kept.at(-1); }; }"
    )
    page.locator("#text").fill("the cat looked at")
    page.wait_for_function("() => byId('words').querySelectorAll('bdi').length === 4")
    assert page.evaluate("() => kept.map((position) => Object.keys(position))") == [["state"]] * 3


def test_words_stand_in_the_order_in_which_the_sentence_is_written(opened: Open) -> None:
    right = 'byId("words").firstChild.getBoundingClientRect().right > innerWidth / 2'
    assert opened("שלום the cat").page.evaluate(right)
    assert not opened("the cat שלום").page.evaluate(right)


def test_the_next_words_are_the_ten_most_likely(opened: Open, folder: Path) -> None:
    model = charlm.load(folder)
    state = model.start(1)
    for word in SENTENCE.split():
        state = model.step(state, [word]).state
    expected = np.sort(-model.distribution(state)[0] / math.log(2))[:10]
    page = opened(SENTENCE).page
    assert numbers(page.locator("#next")) == pytest.approx(expected, abs=1e-3)


def test_the_near_words_are_near_those_of_the_model(opened: Open, folder: Path) -> None:
    nearest = charlm.load(folder).neighbours("zebra", k=3).nearest
    page = opened(SENTENCE).page
    words = page.locator("#near bdi").all_inner_texts()
    cosines = [float(text) for text in page.locator("#near .number").all_inner_texts()]
    assert words[0] == nearest[0].word
    assert cosines[:3] == pytest.approx([near.similarity for near in nearest], abs=2e-3)


def test_near_words_of_another_word_are_never_shown(opened: Open) -> None:
    page = opened(SENTENCE).page
    page.evaluate(
        "() => { window.seen = []; const list = byId('near'); new MutationObserver(() => "
        "seen.push(list.textContent)).observe(list, { childList: true }); }"
    )
    page.locator("#words button").nth(1).click()
    page.wait_for_function("() => seen.length > 1")
    assert page.evaluate("() => seen[0]") == "looking …"


def test_near_words_that_come_when_their_word_is_gone_are_not_shown(opened: Open) -> None:
    typed_and_gone = """() => new Promise((done) => {
      const { postMessage } = Worker.prototype;
      Worker.prototype.postMessage = function (...said) {
        this.addEventListener("message", () => done(byId("near").textContent));
        postMessage.apply(this, said);
      };
      window.setTimeout = (act) => act();
      for (const text of ["cat", ""]) {
        byId("text").value = text;
        byId("text").dispatchEvent(new Event("input"));
      }
    })"""
    told = opened(SENTENCE).page.evaluate(typed_and_gone)
    assert told == "of the word that you type, known or not"


@pytest.mark.parametrize(
    "rules",
    [
        Normalisation(tokenise="simple"),
        Normalisation(lower=True, unicode="NFKD", tokenise="simple", numbers=True),
        Normalisation(punctuation="drop", split_hyphens=True, numbers=True),
        Normalisation(lower=True, dotless_i=True),
        Normalisation(lower=True, map=(("Can't", "ca n't"), ("*'s", "* 's"), ("a b", "AB"))),
        Normalisation(map=(("* a", "*a"), ("*b", "* b"), ("1 *", ""), ("<unk> *", "*"))),
    ],
)
def test_what_is_typed_goes_through_the_rules_of_the_text(
    looked_at: Any, rules: Normalisation
) -> None:
    draw = random.Random(1)
    texts = ["".join(draw.choices(PIECES, k=draw.randint(1, 12))) for _ in range(2000)]
    texts += ["<unk> u"]
    read = "([rules, texts]) => texts.map((text) => new TextRules(rules).of(text).join(' '))"
    assert looked_at.evaluate(read, [text_rules(rules), texts]) == [rules(text) for text in texts]


def test_words_are_text_and_the_page_asks_for_nothing_but_itself(
    opened: Open, address: str
) -> None:
    watched = opened(f"the {HOSTILE}")
    page = watched.page
    assert HOSTILE in page.locator("#words").inner_text()
    assert page.locator("img").count() == 0
    assert page.title() == "model · charlm model"
    assert watched.said == []
    assert [asked for asked in watched.asked if not asked.startswith("blob:")] == [address]


def test_a_word_is_chosen_and_a_next_one_taken_by_the_keyboard(opened: Open) -> None:
    page = opened(SENTENCE).page
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the second word
    assert page.locator("#next-title").inner_text() == "After cat"
    button = page.locator("#next button").first
    word = button.inner_text()
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator("#text").input_value() == f"the cat {word}"
    assert page.locator("#words button").count() == 3


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1280, "dark")])
def test_the_page_fits_its_window_in_both_colours(opened: Open, width: int, scheme: str) -> None:
    size = {"width": width, "height": 800}
    page = opened(f"{SENTENCE} {'z' * 90}", viewport=size, color_scheme=scheme).page
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert (page.evaluate(GROUND) == "rgb(255, 255, 255)") == (scheme == "light")
    colours = "[...document.querySelectorAll('.word, body')].map((e) => getComputedStyle(e).color)"
    assert len(set(page.evaluate(colours))) == 1  # soft letters could not be read on a shade


@pytest.mark.parametrize(
    ("place", "option", "value", "message"),
    [
        ("context", "type", "gru", "context 'gru' is not computed there; expected"),
        ("context", "peepholes", True, "context of peepholes True is not computed there; expected"),
        ("context", "layer_norm", True, "context of layer_norm True is not computed there; expec"),
        ("context", "gates", "fo", "context of gates 'fo' is not computed there; expected 'ifo'"),
        ("context", "residual", True, "context of residual True is not computed there; expected"),
        ("context", "sum_layers", True, "context of sum_layers True is not computed there;"),
        ("context", "zoneout", 0.1, "context of zoneout 0.1 is not computed there; expected 0.0"),
        ("context", "memory_zoneout", 0.1, "context of memory_zoneout 0.1 is not computed there;"),
        ("context", "recurrent_dropout", 0.1, "context of recurrent_dropout 0.1 is not computed"),
        ("output", "projection", 8, "output of projection 8 is not computed there; expected 0"),
    ],
)
def test_a_part_that_the_page_does_not_compute_is_named(
    folder: Path, tmp_path: Path, place: str, option: str, value: object, message: str
) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "model"))
    info = json.loads((copy / EXPORT).read_text())
    info["settings"][place][option] = value
    (copy / EXPORT).write_text(json.dumps(info))
    with pytest.raises(ConfigError, match=f"--page: {message}"):
        charlm.export(copy, page=tmp_path / "page.html")


@pytest.mark.parametrize(
    ("place", "part", "found"),
    [
        ("context", {"type": "gru"}, "context 'gru'"),
        ("encoder", {"type": "highway"}, "encoder None"),
        ("output", 5, "output None"),
    ],
)
def test_a_run_is_looked_at_before_it_is_exported(
    tiny_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    part: object,
    found: str,
) -> None:
    run = Path(shutil.copytree(tiny_run, tmp_path / "run"))
    info = json.loads((run / RUN).read_text())
    info["settings"][place] = part
    (run / RUN).write_text(json.dumps(info))
    monkeypatch.setattr("charlm.scoring.export.page.model_page.export_run", None)
    with pytest.raises(ConfigError, match=f"^{run}: --page: {found} is not computed there"):
        charlm.export(run, page=tmp_path / "page.html")


def test_the_weights_are_those_of_the_run_and_a_gate_begins_by_carrying(
    tiny_run: Path, tiny_int8: Path
) -> None:
    stored, found = load_file(tiny_run / MODEL), page_weights(OnnxModel(tiny_int8))
    letters = stored["encoder.encoder.letters.weight"]
    assert found.letters_CE == pytest.approx(letters, abs=float(np.ptp(letters)) / 255)
    ((new, gate),) = found.highways
    for product, name, constant in ((new, "transform", 0.0), (gate, "gate", -2.0)):
        expected = stored[f"encoder.layers.0.{name}.bias"] + constant
        assert product.bias_N == pytest.approx(expected, abs=1e-6)
        matrix = stored[f"encoder.layers.0.{name}.weight"].T
        scale = float(np.max(product.scales_N))
        assert product.weights_KN * product.scales_N == pytest.approx(matrix, abs=scale)


def test_a_folder_in_fp32_is_refused(tiny_onnx: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="found fp32; expected a run, or a folder that was"):
        charlm.export(tiny_onnx, page=tmp_path / "page.html")
