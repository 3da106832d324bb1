"""Every picture of small runs: its files, its labels and its numbers."""

import csv
import shutil
import struct
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.cm import ScalarMappable

import charlm
from charlm.errors import ConfigError
from charlm.insight.filters import FilterMatches
from charlm.insight.pictures import PICTURES, draw, filter, sentences, words
from charlm.insight.pictures.bands import change
from charlm.insight.pictures.canvas import DOTS_PER_INCH, Drawn, require_format, save, save_rows
from charlm.insight.pictures.gate import by_rank
from charlm.insight.pictures.subject import Subject
from charlm.insight.pictures.words import named
from charlm.insight.report_options import ReportOptions
from charlm.insight.vectors.projection import Plane, WordMap
from charlm.run import fonts
from charlm.run.curve import TRAINING, VALIDATION
from charlm.training.train import train

PNG = b"\x89PNG\r\n\x1a\n"
SMALL_GATE = [
    "encoder.word.dim=4",
    "encoder.char.dim=4",
    "encoder.char.letter_dim=3",
    "encoder.char.hidden_dim=3",
    "context.dim=4",
]
HEADERS = {
    "ngrams": ["ngram", "kind", "n_words", "x", "y"],
    "words": ["word", "count", "x", "y"],
    "filter": ["rank", "substring", "response", "n_words"],
    "transform": ["layer", "from", "to", "count", "share"],
    "gate": ["rank", "word", "gate", "word_norm", "char_norm"],
    "curves": ["run", "epoch", "train_ppl", "valid_ppl"],
    "bands": ["band", "n_tokens", "share", "tiny", "KN-5"],
    "positions": ["band", "n_tokens", "share", "tiny", "tiny, by sentence", "KN-5"],
    "sentences": ["kind", "line", "place", "word", "bits"],
}


@pytest.fixture(scope="module")
def subject(tiny_run: Path, corpus_dir: Path) -> Subject:
    return Subject(ReportOptions(tiny_run, data=corpus_dir, device="cpu", threads=1))


@pytest.fixture(scope="module")
def gated(corpus_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Subject:
    run = tmp_path_factory.mktemp("gated") / "a_$b$"  # must not be read as a formula
    train(
        data=corpus_dir,
        out=run,
        arch="miyamoto-gate",
        overrides=SMALL_GATE,
        epochs=1,
        batch_size=4,
        threads=1,
        device="cpu",
        precision="fp32",
    )
    return Subject(ReportOptions(run, device="cpu", threads=1))


@pytest.fixture(scope="module")
def pictures(subject: Subject, gated: Subject) -> dict[str, Drawn]:
    return {name: draw(name, gated if name == "gate" else subject) for name in PICTURES}


@pytest.fixture
def drawn(request: pytest.FixtureRequest, pictures: dict[str, Drawn]) -> Drawn:
    return pictures[request.node.callspec.params["name"]]


def rows_of(path: Path) -> list[list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t", strict=True))


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_a_title_labelled_axes_and_a_legend_or_scale(drawn: Drawn, name: str) -> None:
    first, *others = drawn.figure.axes
    assert first.get_title()
    if name == "sentences":  # its only axes are the scale's
        assert others[0].get_xlabel().startswith("surprisal in bits")
        return
    labelled = [first, *others] if name in ("gate", "bands", "positions") else [first]
    assert all(axes.get_ylabel() for axes in labelled)
    assert labelled[-1].get_xlabel()
    has_scale = name in ("filter", "words") and others[0].get_ylabel()
    assert has_scale or drawn.figure.legends


@pytest.mark.parametrize(
    ("name", "shown"),
    [(r"a$\nothing$", r"a\$\nothing\$"), ("_a", " _a"), ("日", "\\u65e5"), ("a b", "a b")],
)
def test_a_run_of_any_name_stands_in_legends_and_on_axes_as_it_is_called(
    tiny_run: Path,
    corpus_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    shown: str,
) -> None:
    monkeypatch.setattr(fonts, "_installed", lambda: [])
    runs = [shutil.copytree(tiny_run, tmp_path / each) for each in (name, "other")]
    subject = Subject(ReportOptions(runs, data=corpus_dir, device="cpu"))
    drawn = [draw("curves", subject), draw("bands", subject)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of what the font lacks
        for each in drawn:
            save(each, tmp_path / "a.png")
    in_legends = [each.figure.legends[0].get_texts()[0].get_text() for each in drawn]
    assert in_legends[0].startswith(f"{shown}: validation")
    assert in_legends[1] == shown
    assert drawn[1].figure.axes[1].get_ylabel() == f"than {shown}"


@pytest.mark.parametrize("name", ["curves", "bands"])
def test_a_legend_of_long_names_stands_within_the_picture_and_over_no_axes(
    tiny_run: Path, corpus_dir: Path, tmp_path: Path, name: str
) -> None:
    runs = [shutil.copytree(tiny_run, tmp_path / f"{n}{' of a name' * 6}") for n in range(3)]
    figure = draw(name, Subject(ReportOptions(runs, data=corpus_dir, device="cpu"))).figure
    figure.draw_without_rendering()
    (legend,) = figure.legends
    names = [text.get_text().replace("\n", " ") for text in legend.get_texts()]
    last = f"2{' of a name' * 6}: training, while learning" if name == "curves" else "KN-5"
    assert names[-1] == last
    assert len(names) == len(set(names)) == {"curves": 6, "bands": 4}[name]
    box = legend.get_window_extent()
    assert not any(box.overlaps(axes.bbox) for axes in figure.axes)
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert figure.bbox.y0 <= box.y0


@pytest.mark.parametrize("name", ["curves", "ngrams", "transform", "gate"])
def test_a_legend_lies_over_no_points(subject: Subject, gated: Subject, name: str) -> None:
    figure = draw(name, gated if name == "gate" else subject).figure
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert not any(legend.get_window_extent().overlaps(axes.bbox) for axes in figure.axes)


@pytest.mark.parametrize(
    ("percent", "text"),
    [(-80.04, "80.0 % lower"), (52.3, "52.3 % higher"), (0.01, "equal"), (1e3, "1,000.0 % higher")],
)
def test_a_difference_says_in_words_which_way_it_goes(percent: float, text: str) -> None:
    assert change(percent) == text


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_written_as_png_and_svg_and_equal_ones_are_equal_files(
    drawn: Drawn, name: str, tmp_path: Path, subject: Subject, gated: Subject
) -> None:
    save(drawn, tmp_path / "a.svg")
    save(drawn, tmp_path / "a.png")
    content = (tmp_path / "a.png").read_bytes()
    assert content.startswith(PNG)
    width, height = struct.unpack(">II", content[16:24])
    assert width == 1120 and height >= 700  # seven inches
    assert ET.parse(tmp_path / "a.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    again = draw(name, gated if name == "gate" else subject)
    save(again, tmp_path / "b.svg")
    assert (tmp_path / "b.svg").read_bytes() == (tmp_path / "a.svg").read_bytes()


@pytest.mark.parametrize("name", PICTURES)
def test_the_numbers_of_a_picture_are_a_table(drawn: Drawn, name: str, tmp_path: Path) -> None:
    save_rows(drawn, tmp_path / "a.tsv")
    header, *rows = rows_of(tmp_path / "a.tsv")
    assert header == HEADERS[name]
    assert len(rows) == len(drawn.rows) > 0
    assert {len(row) for row in rows} == {len(header)}


def test_a_word_that_is_a_quote_does_not_swallow_the_rows_behind_it(
    pictures: dict[str, Drawn], tmp_path: Path
) -> None:
    drawn = replace(
        pictures["words"], header=("word", "x"), rows=[('"', 1), ('a"b', None), ("c", 2)]
    )
    save_rows(drawn, tmp_path / "a.tsv")
    assert rows_of(tmp_path / "a.tsv") == [["word", "x"], ['"', "1"], ['a"b', ""], ["c", "2"]]


def test_the_numbers_are_those_of_what_is_drawn(
    subject: Subject, gated: Subject, pictures: dict[str, Drawn]
) -> None:
    words = pictures["words"].rows
    assert [row[0] for row in words] == list(subject.words.words)
    np.testing.assert_array_equal([row[2:] for row in words], subject.words.plane.points_N2)
    (unk, *gates) = pictures["gate"].rows
    assert unk == (None, "<unk>", gated.gate.unk_gate, None, None)
    assert [row[2] for row in gates] == gated.gate.gates_N.tolist()
    transform = pictures["transform"].rows
    assert sum(row[4] for row in transform) == pytest.approx(1)
    assert sum(row[3] for row in transform) == 16 * len(subject.words.words)
    (epoch,) = pictures["curves"].rows
    assert epoch[0] == "tiny"
    assert epoch[3] == subject.histories[0][0]["valid_ppl"]


@pytest.mark.parametrize("name", ["bands", "positions"])
def test_the_lower_axes_show_by_how_many_per_cent_a_perplexity_is_higher(
    pictures: dict[str, Drawn], name: str
) -> None:
    drawn = pictures[name]
    shown = [row for row in drawn.rows if row[0] != "</s>"]
    lines = [line for line in drawn.figure.axes[1].lines if line.get_marker() == "x"]
    kneser_ney = next(line for line in lines if len(line.get_ydata()))
    place = len(shown) - 1
    first, last = shown[place][3], shown[place][-1]
    assert isinstance(first, float)
    assert isinstance(last, float)
    assert kneser_ney.get_ydata()[-1] == pytest.approx((last - first) / first * 100)


def test_a_single_epoch_is_two_points_over_its_number(subject: Subject) -> None:
    (axes,) = draw("curves", subject).figure.axes
    assert all(line.get_marker() not in ("", "None", None) for line in axes.lines)
    low, high = axes.get_xlim()
    assert [tick for tick in axes.get_xticks() if low <= tick <= high] == [1]


def test_the_lines_of_one_run_have_the_colours_of_its_curve(subject: Subject) -> None:
    (axes,) = draw("curves", subject).figure.axes
    assert [line.get_color() for line in axes.lines] == [VALIDATION, TRAINING]


def test_an_undefined_number_is_an_empty_cell(subject: Subject, tmp_path: Path) -> None:
    figure = draw("curves", subject).figure
    save_rows(Drawn(figure, ("a", "b"), [(None, 0.5), (1, "x")]), tmp_path / "a.tsv")
    assert (tmp_path / "a.tsv").read_text() == "a\tb\n\t0.5\n1\tx\n"


def test_bins_of_ranks_are_equally_wide_on_a_logarithmic_axis() -> None:
    values = np.arange(1.0, 101.0)
    middles, means = by_rank(values, np.mean)
    # 10 bins of two decades; from 1 to 101, their edges 1, 1.59, 2.52, 3.99, … rounded
    edges = [1, 2, 3, 4, 6, 10, 16, 25, 40, 64, 101]
    assert means == [np.mean(values[a - 1 : b - 1]) for a, b in zip(edges, edges[1:], strict=False)]
    assert middles[0] == 1
    assert middles[-1] == pytest.approx((64 * 100) ** 0.5)


def test_words_are_named_where_no_name_stands_yet() -> None:
    points = np.array([[0.0, 0.0], [0.01, 0.001], [1.0, 1.0], [1.0, 0.0]])
    rows = [row for row, _ in named(("first", "too-near", "far", "corner"), points)]
    assert rows == [0, 2, 3]


def test_names_of_words_stay_within_the_axes(tmp_path: Path) -> None:
    points = np.array([[-3.0, 0.0], [5.0, 1.0], [1.0, 0.5], [4.9, 0.2]])
    shown = (
        "nalunaarasuartaatilioqa…",
        "muvaffakiyetsizleştiric…",
        "cat",
        "今天天气很好我们去公园",
    )
    plane = SimpleNamespace(points_N2=points, shares=(0.5, 0.3))
    found = SimpleNamespace(plane=plane, tap="encoder", words=shown, counts=(4, 3, 2, 1))
    drawn = words.draw(SimpleNamespace(words=found, name="run"))  # type: ignore[arg-type]
    save(drawn, tmp_path / "a.png")
    drawn.figure.set_dpi(DOTS_PER_INCH)  # letters are as wide as whole dots
    axes = drawn.figure.axes[0]
    frame = axes.get_window_extent()
    assert len(axes.texts) == len(shown)
    for text in axes.texts:
        box = text.get_window_extent()
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1


def test_letters_that_the_font_lacks_stay_within_their_cell(tmp_path: Path) -> None:
    texts = ("abcdef", "日本語日本語", "😀😀😀😀😀😀")  # the last in one font, and not in the other
    found = FilterMatches(1, 1, 6, texts, (3.0, 2.0, 1.0), (1, 1, 1), 3)
    drawn = filter.draw(SimpleNamespace(filter=found, name="run"))  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of what the font lacks
        save(drawn, tmp_path / "a.png")
    drawn.figure.set_dpi(DOTS_PER_INCH)  # letters are as wide as whole dots
    axes = drawn.figure.axes[0]
    cell = axes.patches[0].get_window_extent()
    for text in axes.texts:
        box = text.get_window_extent()
        assert cell.x0 <= box.x0
        assert box.x1 <= cell.x1


def test_letters_can_be_read_on_every_strength_of_a_response() -> None:
    found = FilterMatches(1, 1, 2, ("ab",) * 100, tuple(range(100, 0, -1)), (1,) * 100, 100)
    axes = filter.draw(SimpleNamespace(filter=found, name="run")).figure.axes[0]  # type: ignore[arg-type]
    for patch, text in zip(axes.patches, axes.texts, strict=True):
        linear = [((c + 0.055) / 1.055) ** 2.4 for c in patch.get_facecolor()[:3]]
        cell = float(np.dot((0.2126, 0.7152, 0.0722), linear))  # luminance, as WCAG defines it
        letters = 1.0 if text.get_color() == "white" else 0.0
        darker, lighter = sorted((cell, letters))
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5  # its minimum for text


def test_a_name_takes_the_room_of_what_is_drawn_of_it() -> None:
    points = np.array([[0.0, 0.0], [0.1, 0.0], [1.0, 1.0]])
    plane = Plane(points, (1.0, 0.0))
    found = WordMap(
        ("日本語", "near", "far"), (3, 2, 1), np.zeros((3, 2), np.float32), plane, "word"
    )
    (axes, _) = words.draw(SimpleNamespace(words=found, name="run")).figure.axes  # type: ignore[arg-type]
    assert [text.get_text() for text in axes.texts] == ["\\u65e5\\u672c\\u8a9e", "far"]


@pytest.mark.parametrize(("path", "ending"), [("a.pdf", ".pdf"), ("a", "nothing")])
def test_a_picture_of_another_format_is_refused(path: str, ending: str) -> None:
    with pytest.raises(ConfigError) as caught:
        require_format(path)
    assert str(caught.value) == f"--out {path}: ends in {ending}; expected .png or .svg"


def test_a_long_word_has_a_name_that_is_cut() -> None:
    plane = SimpleNamespace(points_N2=np.array([[0.0, 0.0], [1.0, 1.0]]), shares=(0.6, 0.4))
    found = SimpleNamespace(words=("x" * 60, "short"), counts=(2, 1), plane=plane, tap="word")
    drawn = words.draw(SimpleNamespace(words=found, name="run"))  # type: ignore[arg-type]
    names = [text.get_text() for text in drawn.figure.axes[0].texts]
    assert names == [f"{'x' * 23}…", "short"]
    assert drawn.rows[0][0] == "x" * 60


def test_matplotlib_is_loaded_only_where_something_is_drawn() -> None:
    program = "import sys, charlm.insight.report.report; print('matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_the_words_of_a_sentence_are_drawn_with_the_bits_of_evaluate(
    subject: Subject, tiny_run: Path, corpus_dir: Path
) -> None:
    rows = draw("sentences", subject).rows
    bits = [row[4] for row in rows if row[1] == 1]
    (found,) = charlm.evaluate(
        tiny_run, data=corpus_dir, split="test", device="cpu", threads=1, state="carried"
    )
    first = (corpus_dir / "test.txt").read_text().splitlines()[0].split()
    assert [row[3] for row in rows if row[1] == 1] == [*first, "</s>"]
    both = [row[4] for row in rows]
    assert len(both) == found.counts.n_tokens
    assert np.mean(both) == pytest.approx(np.log2(found.by_state["carried"].ppl))
    assert min(bits) > 0


def test_the_picture_of_sentences_estimates_no_ngrams(
    tiny_run: Path, corpus_dir: Path, tmp_path: Path
) -> None:
    shutil.copy(corpus_dir / "test.txt", tmp_path)
    stages: list[str] = []
    options = {"device": "cpu", "threads": 1, "on_stage": stages.append}
    report = charlm.report(
        tiny_run, data=tmp_path, picture="sentences", out=tmp_path / "a.svg", **options
    )
    assert {stage.partition(":")[0] for stage in stages} == {"tiny"}
    assert not any("trained" in note for note in report.notes)


def test_a_long_sentence_goes_on_in_the_next_line_within_the_picture(subject: Subject) -> None:
    figure = draw("sentences", subject).figure
    axes = figure.axes[0]
    tokens = [("a-rather-long-word", 1.0)] * 12
    below = sentences._write(axes, tokens, y=0.0, scale=ScalarMappable())
    written = axes.texts[-12:]
    assert max(text.get_position()[0] for text in written) < sentences.WIDTH - 60
    heights = sorted({text.get_position()[1] for text in written})
    assert len(heights) > 1 and heights[-1] < below


@pytest.mark.parametrize("letter", ["x", "W", "$", "\u0645"])
def test_words_longer_than_a_line_are_cut_and_shrink_nothing(subject: Subject, letter: str) -> None:
    figure = draw("sentences", subject).figure
    axes = figure.axes[0]
    sentences._write(axes, [(letter * 80, 1.0)], y=0.0, scale=ScalarMappable())
    figure.set_dpi(DOTS_PER_INCH)  # letters are as wide as whole dots
    figure.draw_without_rendering()
    assert axes.bbox.width == pytest.approx(figure.bbox.width, rel=0.02)
    assert figure.bbox.width * 0.8 < axes.texts[-1].get_window_extent().width < figure.bbox.width


def test_a_sentence_runs_from_the_right_where_its_first_letter_does(subject: Subject) -> None:
    figure = draw("sentences", subject).figure
    axes = figure.axes[0]
    sentences._write(
        axes, [("1", 1.0), ("\u0645\u0627", 1.0), ("</s>", 1.0)], y=0.0, scale=ScalarMappable()
    )
    one, word, end = (text.get_position()[0] for text in axes.texts[-3:])
    assert sentences.WIDTH == one > word > end > sentences.WIDTH / 2
    figure.set_dpi(DOTS_PER_INCH)
    figure.draw_without_rendering()
    box = axes.texts[-3].get_bbox_patch()
    assert box is not None
    assert box.get_window_extent().x1 < figure.bbox.width  # was cut there


def test_signs_between_words_from_the_right_open_to_the_left(subject: Subject) -> None:
    axes = draw("sentences", subject).figure.axes[0]
    for sentence in (["\u0645\u0627", "(", "</s>"], ["word", "(", "</s>"]):
        tokens = [(word, 1.0) for word in sentence]
        sentences._write(axes, tokens, y=0.0, scale=ScalarMappable())
    drawn = [text.get_text() for text in axes.texts[-6:]]
    assert drawn == ["\u0645\u0627", "\u200f(", "</s>", "word", "(", "</s>"]


def test_letters_that_no_font_has_are_told(
    tiny_run: Path, corpus_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fonts, "_installed", lambda: [])
    text = Path(shutil.copytree(corpus_dir, tmp_path / "\u0950"))
    (text / "test.txt").write_text("\u0939\u0948 \u0939 a a a\n")
    options = {"data": text, "device": "cpu", "threads": 1}
    one = charlm.report(tiny_run, picture="sentences", out=tmp_path / "one.svg", **options)
    every = charlm.report(tiny_run, pictures=tmp_path / "all", **options)
    note = (
        "no installed font has \u0939 and 2 more of the pictures' letters, drawn as \\u0939; "
        "install one that does, such as Noto Sans of the script"
    )
    assert [each for each in one.notes if "font" in each] == [note]
    assert [each for each in every.notes if "font" in each] == [note]
    del options["data"]
    plain = charlm.report(tiny_run, picture="words", out=tmp_path / "two.svg", **options)
    assert not [each for each in plain.notes if "font" in each]


def test_a_wide_sign_takes_a_square_however_little_of_it_is_drawn() -> None:
    assert sentences._width("\u26aa") == sentences.SIZE  # half of it is ink
    assert sentences._width("\u26aa" * 3) >= 3 * sentences.SIZE
