"""Fixtures for all tests: a corpus of a few sentences, and a tiny run trained on it.

Both are made once, and no test may write into them: a test that changes a file works on a copy.
Tests that open a page need playwright and Chromium. Without these they are skipped, unless
CHARLM_REQUIRE_CHROMIUM is set.
"""

import gc
import importlib
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

from charlm.runtime import has_bf16_on_cpu, prepare_torch

os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch reads it when it is imported
os.environ["MATPLOTLIBRC"] = os.devnull  # its defaults, whatever the user has set
for name in ("CHARLM_TRACEBACK", "FORCE_COLOR", "TTY_COMPATIBLE"):
    os.environ.pop(name, None)
prepare_torch()
# The same examples each time, however slow the machine is.
settings.register_profile("charlm", derandomize=True, deadline=None, database=None)
settings.load_profile("charlm")
os.fsync = lambda descriptor: None  # no test cuts the power
# Under nohup, or behind `&`, these are ignored, and so they would be by every program started here.
for number, handler in (
    (signal.SIGHUP, signal.SIG_DFL),
    (signal.SIGINT, signal.default_int_handler),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)
REQUIRED = "CHARLM_REQUIRE_CHROMIUM"
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

TRAIN = """\
the cat sat on the mat
the dog sat on the log
a cat looked at a dog
the dog looked at the cat
a look at the mat is a look at the log
the cats and the dogs sat on mats
cats looked at dogs and dogs looked at cats
a misinformed cat sat on a log
"""
VALID = """\
the cat looked at the mat
a bird sat on the log
"""
TEST = """\
a dog sat on the mat
the birds looked at the dogs
"""


def pytest_collection_finish() -> None:
    """Look no more for cycles among the tests and torch's objects, which stay."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("bf16") and not has_bf16_on_cpu():
        pytest.skip("bf16 does not work on this processor")


@pytest.fixture(autouse=True)
def _no_model_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHARLM_MODEL", raising=False)


@pytest.fixture
def in_float64(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Computes everything in float64, including what a model computes in fp32 on purpose."""
    import torch

    before = torch.get_default_dtype()
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    monkeypatch.setattr("charlm.runtime.require_fp32_as_default", lambda: None)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that says that it has two GPUs."""
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.fixture
def kenlm() -> ModuleType:
    """KenLM's Python module; without it the test is skipped, unless CHARLM_REQUIRE_KENLM is set."""
    from charlm.ngram.files.kenlm_model import has_kenlm

    if not has_kenlm():
        required = os.environ.get("CHARLM_REQUIRE_KENLM")
        (pytest.fail if required else pytest.skip)("KenLM's Python module is not installed")
    return importlib.import_module("kenlm")


@pytest.fixture(scope="session")
def corpus_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """train.txt, valid.txt and test.txt; words seen once in train.txt become `<unk>`."""
    folder = tmp_path_factory.mktemp("corpus") / "tiny"
    folder.mkdir()
    for split, text in (("train", TRAIN), ("valid", VALID), ("test", TEST)):
        (folder / f"{split}.txt").write_text(text)
    return folder


@pytest.fixture(scope="session")
def save_unigrams() -> Callable[..., Path]:
    """Writes an ARPA file of unigrams: log10 probabilities, `end` that of `</s>`."""

    def save(path: Path, *, end: float, unk: float = -1, **words: float) -> Path:
        log10s = {"<unk>": unk, "<s>": -99, "</s>": end, **words}
        rows = "".join(f"{log10}\t{word}\n" for word, log10 in log10s.items())
        path.write_text(f"\\data\\\nngram 1={len(log10s)}\n\n\\1-grams:\n{rows}\n\\end\\\n")
        return path

    return save


@pytest.fixture(scope="session")
def tiny_sizes() -> list[str]:
    """The overrides that make char-small tiny."""
    widths = ["encoder.encoder.widths=1,2,3", "encoder.encoder.filters=4,4,8"]
    return ["encoder.encoder.dim=4", *widths, "context.dim=8"]


@pytest.fixture(scope="session")
def tiny_run(
    corpus_dir: Path, tiny_sizes: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A char-small of tiny sizes after one epoch, fp32, one thread.

    Its weights begin large: with char-small's own, the words before change log10 P by only 1e-7.
    """
    from charlm.training.train import train

    run = tmp_path_factory.mktemp("runs") / "tiny"
    train(
        data=corpus_dir,
        arch="char-small",
        out=run,
        epochs=1,
        batch_size=4,
        bptt=5,
        overrides=[*tiny_sizes, "recipe.initialisation.range=1"],
        threads=1,
        device="cpu",
        precision="fp32",
    )
    return run


@pytest.fixture(scope="session")
def run_info() -> Callable[..., Any]:
    """A RunInfo (the contents of run.json) of an untrained model; arguments change its fields."""
    import charlm
    from charlm.run.folder import RunInfo

    def info(**told: object) -> RunInfo:
        untold: dict[str, Any] = {
            "arch": "toy",
            "settings": {},
            "corpus": {},
            "vocabulary_sha256": "",
            "seed": 1,
            "threads": 1,
            "device": "cpu",
            "precision": "fp32",
            "versions": {},
            "command": [],
            "charlm": charlm.__version__,
        }
        return RunInfo(**{**untold, **told})

    return info


@pytest.fixture(scope="session")
def save_run(run_info: Callable[..., Any]) -> Callable[..., Path]:
    """Writes an untrained model as a training would: its description, words and weights.

    `settings` are those that build_model takes; the contents of `recipe` are added to them.
    """
    from charlm.model.language_model import LanguageModel
    from charlm.run.folder import MODEL, VOCABULARY
    from charlm.run.stored_weights import write_tensors
    from charlm.settings import Settings
    from charlm.text.vocabulary.vocabulary import Inventory

    def save(
        folder: Path,
        model: LanguageModel,
        *,
        settings: Settings,
        inventory: Inventory,
        corpus: dict[str, object] | None = None,
        **recipe: object,
    ) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        run_info(
            settings={**settings, "recipe": {"oov_input": "unk", **recipe}},
            corpus=corpus or {},
            vocabulary_sha256=inventory.sha256,
        ).save(folder)
        inventory.save(folder / VOCABULARY)
        write_tensors(folder / MODEL, model.state_dict(), meta={"epoch": 1})
        return folder

    return save


@pytest.fixture(scope="session")
def save_random(save_run: Callable[..., Path]) -> Callable[..., Path]:
    """Writes a run of some settings with random weights, in which words are read by spelling."""
    import torch

    from charlm.model.build import build_model
    from charlm.settings import Settings
    from charlm.text.vocabulary.vocabulary import Inventory

    def save(folder: Path, settings: Settings, inventory: Inventory) -> Path:
        torch.manual_seed(5)
        model, full = build_model(settings, inventory)
        for parameter in model.parameters():
            torch.nn.init.uniform_(parameter, -0.5, 0.5)
        model.encoder.after_step()
        model.output.after_step()
        return save_run(folder, model, settings=full, inventory=inventory, oov_input="spelling")

    return save


@pytest.fixture(scope="session")
def add_speller() -> Callable[..., Path]:
    """Adds a speller, a small LSTM over letters, to a run; `fill` draws each of its parameters."""
    import torch

    from charlm.run.folder import load_info
    from charlm.run.stored_speller import SpellerInfo, empty_speller, save_speller
    from charlm.scoring.likelihood.open_vocabulary import known_mass
    from charlm.text.vocabulary.vocabulary import load_inventory

    def add(run: Path, *, fill: Callable[[torch.Tensor], object]) -> Path:
        inventory = load_inventory(run / "vocab.json")
        speller, settings = empty_speller({"type": "lstm", "dim": 2, "hidden_dim": 2}, inventory)
        torch.manual_seed(2)
        for parameter in speller.parameters():
            fill(parameter)
        about = SpellerInfo(settings, "train.txt", 1, "abc")
        replace(load_info(run), speller=asdict(about)).save(run)
        mass = known_mass(speller, inventory)
        save_speller(run, speller, about=about, known_mass=mass, bits_per_character=1.0)
        return run

    return add


@pytest.fixture(scope="session")
def can_export() -> Iterator[None]:
    """Skips the test if the exporter's packages are missing.

    torch's exporter reads the source of all operators at each export; here it does so once.
    """
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package, reason=f"{package} is not installed: charlm[onnx]")
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    registry = ONNXRegistry.from_torchlib()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ONNXRegistry, "from_torchlib", lambda *_, **__: registry)
        yield


def exported(run: Path, folder: Path, *, int8: bool = False) -> Path:
    """The run without torch."""
    from charlm.scoring.export.export import export

    export(run, onnx=folder, int8=int8, threads=1)
    return folder


@pytest.fixture(scope="session")
def tiny_onnx(can_export: None, tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(tiny_run, tmp_path_factory.mktemp("onnx") / "tiny")


@pytest.fixture(scope="session")
def tiny_int8(can_export: None, tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(tiny_run, tmp_path_factory.mktemp("int8") / "tiny", int8=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    if not os.environ.get(REQUIRED):
        pytest.importorskip("playwright.sync_api")
    sync_api = importlib.import_module("playwright.sync_api")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        assert not os.environ.get(REQUIRED), f"{REQUIRED} is set and there is no Chromium"
        pytest.skip("no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield started
        started.close()


class Watched:
    """A page, with all its messages and requests."""

    def __init__(self, browser: object, address: str, *, ready: str, **options: object) -> None:
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
        self.page.wait_for_selector(ready)


def opening(browser: object) -> Iterator[Callable[..., Watched]]:
    """Opens a page and waits until it shows `ready`; the page is closed at the end."""
    opened: list[Watched] = []

    def at(address: str, *, ready: str = ".chart", **options: object) -> Watched:
        opened.append(Watched(browser, address, ready=ready, **options))
        return opened[-1]

    yield at
    for each in opened:
        each.context.close()


# The second is for tests that only look: opening a page takes longer than a look at it.
watch = pytest.fixture(opening, name="watch")
watch_for_all = pytest.fixture(opening, scope="module", name="watch_for_all")
