"""The page of three lessons on tiny data: complete, self-contained, and with correct measures."""

import re
import shutil
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import pytest
import torch

import charlm
from charlm.errors import DataError
from charlm.model.encoders.char_cnn import CharCNN
from charlm.run.stored_weights import load_run

SCRIPT = Path(__file__).resolve().parents[2] / "recipes" / "teaching" / "lesson.py"
SMALL = ["context.dim=8", "recipe.batch_size=2", "recipe.bptt=10"]


@pytest.fixture(scope="module")
def lessons() -> SimpleNamespace:
    return SimpleNamespace(**run_path(str(SCRIPT)))


@pytest.fixture(scope="module")
def data(corpus_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny corpus, its validation text long enough to look 40 words back."""
    folder = tmp_path_factory.mktemp("data") / "<corpus>"
    shutil.copytree(corpus_dir, folder)
    shutil.copy(folder / "train.txt", folder / "valid.txt")
    return folder


@pytest.fixture(scope="module")
def folder(lessons: SimpleNamespace, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lessons")
    lessons.lesson(folder, data=data, epochs=1, overrides=SMALL)
    return folder


def test_a_model_that_was_stopped_is_trained_to_its_end(
    lessons: SimpleNamespace, data: Path, tmp_path: Path
) -> None:
    options = {"arch": "word-small", "epochs": 2, "overrides": [*SMALL, "encoder.dim=8"]}
    out = tmp_path / "run"
    charlm.train(data=data, out=out, device="cpu", max_time="0.001s", **options)
    assert charlm.info(out).state == "in its first epoch"
    lessons.trained(out, data=data, **options)
    assert charlm.info(out).state == "finished"


def test_a_corpus_that_was_begun_is_made_anew(
    lessons: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "corpus").mkdir()
    asked: list[Path] = []
    monkeypatch.setattr(charlm, "prep", lambda **options: asked.append(options["out"]))
    with pytest.raises(DataError, match="train.txt: no such file"):
        lessons.lesson(tmp_path)
    assert asked == [tmp_path / "corpus"]


def test_the_page_is_whole_and_asks_for_nothing(lessons: SimpleNamespace, folder: Path) -> None:
    page = (folder / "lesson.html").read_text()
    assert page.count("<h2>") == 3
    alts = re.findall(r'role="img" aria-label="([^"]*)"', page)
    assert ["RNN" in alts[0], "layer" in alts[1]] == [True, True]
    assert page.count("<svg") == 2 * 2  # for wide windows and for narrow ones
    assert re.findall(r"<!--@|<script|<link|src=|https?:", page) == []
    assert all(f"<bdi>{cell}</bdi>" in page for cell in lessons.CELLS)
    assert page.count('class="letters"') == len(lessons.WORDS)
    assert "&lt;corpus&gt;" in page


def test_a_chart_has_colours_that_the_page_defines(lessons: SimpleNamespace) -> None:
    parts = dict.fromkeys(("text", "letters", "filters", "near", "gates"), "")
    page = lessons.page({**parts, "lesions": lessons.lesions_part([2.0, 2.5])})
    used, defined = (set(re.findall(each, page)) for each in (r"var\((--\w+)\)", r"(--\w+):"))
    assert "--s0" in used <= defined


def test_a_model_of_two_words_is_moved_by_two_words_and_no_more(
    lessons: SimpleNamespace, data: Path, tmp_path: Path
) -> None:
    overrides = ["context.type=ffnn", "context.order=3", "context.dim=4", "encoder.dim=4"]
    options = {"overrides": [*overrides, "recipe.batch_size=2"], "epochs": 1, "device": "cpu"}
    charlm.train(arch="word-small", data=data, out=tmp_path / "two", **options)
    sentences = [line.split() for line in (data / "valid.txt").read_text().splitlines()]
    near, next_, *far = lessons.influences(load_run(tmp_path / "two"), sentences)
    assert min(near, next_) > 0
    assert len(far) == lessons.N_BACK - 2 and max(far) == 0


def test_a_lesion_is_healed_and_one_of_a_shut_layer_changes_nothing(
    lessons: SimpleNamespace, folder: Path, data: Path
) -> None:
    run = load_run(folder / "char-cnn")
    text = (data / "valid.txt").read_text().splitlines()
    with torch.no_grad():
        run.model.encoder.layers[1].gate.bias.fill_(-1e4)
    whole, *lesioned = lessons.lesioned_perplexities(run, text)
    assert len(lesioned) == 4
    assert lesioned[1] == pytest.approx(whole, rel=1e-6)
    assert abs(lesioned[0] - whole) > 1e-6
    assert lessons.perplexity(run, text) == whole


def test_a_letter_has_the_filters_that_answer_most_to_it(
    lessons: SimpleNamespace, tiny_run: Path
) -> None:
    inventory = load_run(tiny_run).inventory
    encoder = CharCNN(inventory, dim=1, widths=(1, 3), filters=(1, 1))
    letters = inventory.spelling("cat")
    with torch.no_grad():
        encoder.letters.weight.zero_()
        encoder.letters.weight[letters[2]] = 1.0  # the a of {cat}
        encoder.filters[0].weight.fill_(1.0)
        encoder.filters[1].weight.copy_(torch.tensor([[0.0, 0.0, 1.0]]))
    third = 1 / 3
    assert lessons.letter_shares(encoder, letters) == pytest.approx(
        [third, third, 1 + third, 0.0, 0.0]
    )
