"""`charlm.export(onnx=…)`: each preset, scaled down, against torch; and what is refused."""

import hashlib
import json
import logging
import math
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import charlm
from charlm.errors import ConfigError, DataError
from charlm.presets import PRESETS
from charlm.run.exported_folder import ENCODE, EXPORT, STEP, load_exported
from charlm.run.folder import VOCABULARY
from charlm.run.onnx_model import OnnxModel
from charlm.run.stored_weights import load_run
from charlm.scoring.export import onnx_export
from charlm.scoring.export.onnx_export import OnnxExport
from charlm.scoring.export.quantisation import quantise
from charlm.scoring.likelihood.nll import FormVectors, sentence_nlls
from charlm.settings import Settings, merged
from charlm.text.corpus.tokens import END
from charlm.text.vocabulary.morphs import MorphModel
from charlm.text.vocabulary.vocabulary import Inventory

onnx = pytest.importorskip("onnx", reason="onnx is not installed: charlm[onnx]")
pytestmark = pytest.mark.usefixtures("can_export")

Save = Callable[[Settings], Path]

WORDS = ("a", "ab", "cab", "bac", "acbacb", "abacus", "bb", "c", "caba", "abcabc", "acb")
LONGEST = 6  # letters; an LSTM over them is exported unrolled
SMALL = {
    **dict.fromkeys(("dim", "last_dim", "rank"), 8),
    **dict.fromkeys(("letter_dim", "hidden_dim"), 6),
    **dict.fromkeys(("dropout", "input_dropout", "output_dropout", "weight_drop", "p"), 0.1),
    "layers": 1,  # the tiny run has two
}
CNN = {"dim": 4, "widths": [1, 2, 3], "filters": [3, 3, 2]}


def small(part: Settings) -> Settings:
    """The part with widths of a few numbers."""
    inner = {key: small(value) for key, value in part.items() if isinstance(value, dict)}
    own = {key: SMALL[key] for key in part.keys() & SMALL.keys() if part[key]}
    return {**part, **own, **inner, **(CNN if part["type"] == "char-cnn" else {})}


def parts(name: str) -> Settings:
    return {place: small(PRESETS[name][place]) for place in ("encoder", "context", "output")}


def kinds(part: Settings) -> set[tuple[object, ...]]:
    """A part and those within it, each by its type and by what it chooses, without its sizes."""
    chosen = {key: value for key, value in part.items() if isinstance(value, str | bool)}
    found = {tuple(sorted(chosen.items()))}
    for value in part.values():
        if isinstance(value, dict):
            found |= kinds(value)
    return found


SPELLED = parts("word-char-modern")["encoder"]["char"]  # a projection of a highway of the CNN
MLP = {"type": "project", "dim": 8, "encoder": parts("char-small-mlp")["encoder"]}
WORDS_OF_LSTM = parts("miyamoto-gate")["encoder"]
# A few models that together have all kinds of parts of all presets. That is enough, since the
# exporter treats a part within a part as it treats it alone, and exports encoder and context apart.
MODELS = {
    "composed": {
        **merged(parts("word-char-modern"), {"output": {"side": "both"}}),
        "encoder": SPELLED,
        "context": parts("deep-rnn")["context"],
    },
    "tied": merged(parts("word-char-modern"), {"context": {"layers": 2}}),
    "tensor": {
        **merged(parts("word-char-tensor"), {"context": {"initial_state": "learned"}}),
        "encoder": {
            **parts("word-char-tensor")["encoder"],
            "word": {**parts("word-char-average")["encoder"], "char": SPELLED},
            "char": {**parts("word-char-convex")["encoder"], "char": MLP},
        },
    },
    "concat": {
        **parts("nnlm-5gram-direct"),
        "encoder": {
            **parts("word-char-concat")["encoder"]["encoder"],
            "word": {**parts("miyamoto-fixed50")["encoder"], "char": SPELLED},
            "char": WORDS_OF_LSTM,
        },
    },
    **{name: parts(name) for name in ("rnn", "deep-transition", "mlbl")},
    "bigram": merged(parts("nnlm-5gram"), {"context": {"order": 2}}),  # no word in its state
    "mixture": parts("mogrifier-modern"),
    "mixture-untied": {**parts("gru"), "output": parts("char-modern")["output"]},
}


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    words = ("</s>", "<unk>", *WORDS)
    segmentations = {word: tuple(word) for word in WORDS} | {"abcabc": ("abc", "abc")}
    morphs = MorphModel(("a", "b", "c", "u", "s", "abc"), (1.0,) * 6, segmentations)
    counts = tuple(range(len(words), 0, -1))
    return Inventory(words, counts, ("a", "b", "c", "u", "s"), LONGEST, morphs=morphs)


@pytest.fixture
def save(tmp_path: Path, inventory: Inventory, save_random: Callable[..., Path]) -> Save:
    """Writes a run with random weights."""
    return lambda settings: save_random(tmp_path / "run", settings, inventory)


def exported(run: Path, folder: Path) -> OnnxExport:
    made = charlm.export(run, onnx=folder, threads=1)
    assert isinstance(made, OnnxExport)
    return made


@pytest.fixture
def folder(tiny_onnx: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(tiny_onnx, tmp_path / "tiny"))


def walked(model: OnnxModel, ids: np.ndarray, spellings: list[str]) -> np.ndarray:
    """−log P of each column's words, step by step, (T, B)."""
    before = np.concatenate([np.full_like(ids[:1], END), ids[:-1]])
    state, nlls = model.initial_state(ids.shape[1]), []
    for read, predicted in zip(before, ids, strict=True):
        log_probs, state = model.step(model.vectors.of(read, spellings), state)
        targets = np.where(predicted < model.inventory.n_words, predicted, 1)
        nlls.append(-log_probs[np.arange(len(read)), targets])
    return np.stack(nlls)


def test_the_tried_models_have_all_kinds_of_parts_of_all_presets() -> None:
    tried = {kind for model in (*MODELS.values(), parts("char-small")) for kind in all_kinds(model)}
    lacking = {kind for name in PRESETS for kind in all_kinds(parts(name))} - tried
    assert lacking == set(), "put a model that has them into MODELS"


def all_kinds(model: Settings) -> set[tuple[object, ...]]:
    return set().union(*(kinds(model[place]) for place in ("encoder", "context", "output")))


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS)
def test_the_parts_of_every_preset_give_the_same_probabilities_without_torch(
    settings: Settings, save: Save, tmp_path: Path
) -> None:
    run = save(settings)
    assert exported(run, tmp_path / "onnx").largest_difference < 1e-5
    model, loaded = OnnxModel(tmp_path / "onnx", threads=1), load_run(run)
    # The second is cut; the last is `<unk>:cab`, spelled like a word but not a word.
    spellings = ["sub", "abcabcabcabcabcabcabcabcabcabcabc", "ü", "cab"]
    if settings["context"].get("initial_state") == "learned":
        assert all(leaf.any() for leaf in model.initial_state(1))
    vectors = FormVectors(loaded.model, loaded.inventory, oov_input="spelling")
    for size in (1, 5):
        drawn = np.random.default_rng(size).integers(0, len(WORDS) + 2 + 4, (4, size), np.int32)
        expected = sentence_nlls(vectors, list(drawn.T), spellings=spellings)
        assert walked(model, drawn, spellings) == pytest.approx(np.stack(expected).T, abs=1e-5)


def test_the_vocabulary_and_the_state_stand_in_the_folder(tiny_onnx: Path, tiny_run: Path) -> None:
    info, inventory = load_exported(tiny_onnx)
    run = load_run(tiny_run)
    assert inventory == run.inventory
    assert (info.weights_sha256, info.oov_input) == (run.weights_sha256, run.oov_input)
    assert [leaf.shape for leaf in info.state] == [(8,)] * 4
    assert {path.name for path in tiny_onnx.iterdir()} == {STEP, ENCODE, VOCABULARY, EXPORT}


def test_the_networks_name_no_file_of_this_machine(tiny_onnx: Path) -> None:
    for name in (STEP, ENCODE):
        assert b"charlm/" not in (tiny_onnx / name).read_bytes()


def test_eight_bits_leave_neither_a_product_nor_an_lstm_in_fp32(
    tiny_int8: Path, tiny_onnx: Path, corpus_dir: Path
) -> None:
    assert load_exported(tiny_int8)[0].precision == "int8"
    network = onnx.load(tiny_int8 / STEP)
    kinds = [node.op_type for node in network.graph.node]
    assert kinds.count("DynamicQuantizeLSTM") == 2
    assert "LSTM" not in kinds
    assert "MatMul" not in kinds
    (plain,) = charlm.evaluate(tiny_onnx, data=corpus_dir, state="sentence", threads=1)
    (small,) = charlm.evaluate(tiny_int8, data=corpus_dir, state="sentence", threads=1)
    expected = pytest.approx(plain.by_state["sentence"].ppl, rel=5e-3)
    assert small.by_state["sentence"].ppl == expected
    assert small.signatures["sentence"].endswith("precision:int8-onnx")


def test_eight_bits_are_the_same_in_a_folder_whose_name_is_not_utf_8(
    tiny_onnx: Path, tiny_int8: Path, tmp_path: Path
) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.onnx")
    path.write_bytes((tiny_onnx / STEP).read_bytes())
    quantise(path)
    assert path.read_bytes() == (tiny_int8 / STEP).read_bytes()


def test_the_quantisers_log_leaves_no_handler(
    tiny_onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])  # pytest has some there
    shutil.copy(tiny_onnx / STEP, tmp_path)
    quantise(tmp_path / STEP)
    assert logging.root.handlers == []


def test_in_eight_bits_a_row_does_not_depend_on_its_company(tiny_int8: Path) -> None:
    model = OnnxModel(tiny_int8, threads=1)
    forms = ["cat", "misinformed", "zebra", "a"]
    together = model.encode(forms)
    log_probs, state = model.step(together, model.initial_state(4))
    for row, form in enumerate(forms):
        alone, own = model.step(model.encode([form]), model.initial_state(1))
        assert (log_probs[row] == alone[0]).all()
        assert all((a[row] == b[0]).all() for a, b in zip(state, own, strict=True))


def test_an_exported_model_can_be_sent_to_another_process(
    tiny_onnx: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiny_onnx.parent)
    model = charlm.load(tiny_onnx.name)
    sent = pickle.dumps((model, model.start(2)))
    monkeypatch.chdir("/")
    again, state = pickle.loads(sent)
    assert again.score("a cat") == model.score("a cat")
    assert again.finish(state).tolist() == model.finish(model.start(2)).tolist()


def test_eight_bits_are_for_networks(tiny_run: Path, corpus_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--int8: found no --onnx"):
        charlm.export(tiny_run, arpa=tmp_path / "a", data=corpus_dir, int8=True)


@pytest.mark.parametrize(
    ("option", "value", "flag"),
    [
        ("data", "corpus", "--data corpus"),
        ("entropy_prune", 1e-8, "--entropy-prune 1e-08"),
        ("seed", 2, "--seed 2"),
        ("device", "cuda", "--device cuda"),
        ("precision", "bf16", "--precision bf16"),
    ],
)
@pytest.mark.parametrize("output", ["onnx", "page"])
def test_what_is_for_arpa_alone_is_not_dropped_in_silence(
    tiny_run: Path, tmp_path: Path, output: str, option: str, value: object, flag: str
) -> None:
    options = {output: tmp_path / "out", option: value}
    with pytest.raises(ConfigError) as error:
        charlm.export(tiny_run, **options)
    assert str(error.value) == (
        f"{flag}: found --{output}, which has no use for it; expected --arpa; drop one of them"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("output", ["hierarchical", "class"])
def test_a_part_that_cannot_be_exported_is_named(output: str, save: Save, tmp_path: Path) -> None:
    run = save({**parts("word-small"), "output": {"type": output}})
    with pytest.raises(ConfigError, match=f"output '{output}' cannot be exported: its"):
        exported(run, tmp_path / "onnx")
    assert not (tmp_path / "onnx").exists()


def test_a_part_that_fixes_the_batch_is_named(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def frozen(*arguments: object, **options: object) -> None:
        error = torch.onnx.OnnxExporterError("failed")
        raise error from ValueError("tracing inferred a static shape\nof 3")

    monkeypatch.setattr(torch.onnx, "export", frozen)
    expected = "--onnx: context 'lstm' or output 'softmax' cannot be exported: tracing"
    with pytest.raises(ConfigError, match=expected) as caught:
        exported(tiny_run, tmp_path / "onnx")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "onnx" / EXPORT).exists()


@pytest.mark.parametrize("apart", [0.25, math.nan])
def test_a_network_that_computes_something_else_is_refused_and_is_no_export(
    tiny_run: Path, tiny_onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, apart: float
) -> None:
    step = OnnxModel.step
    networks = [(tiny_onnx / name).read_bytes() for name in (STEP, ENCODE)]

    def other(model: OnnxModel, *arguments: Any) -> Any:
        log_probs, state = step(model, *arguments)
        return log_probs + np.float32(apart), state

    monkeypatch.setattr(onnx_export, "_exported", lambda *_, part: networks.pop(0))
    monkeypatch.setattr(OnnxModel, "step", other)
    with pytest.raises(ConfigError, match=f"differs from torch by {apart:.2g}; expected at most"):
        exported(tiny_run, tmp_path / "onnx")
    assert not (tmp_path / "onnx" / EXPORT).exists()


def test_a_folder_of_something_else_is_kept(tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ConfigError, match=r"holds 'letter.txt'; expected a new folder"):
        exported(tiny_run, tmp_path)
    with pytest.raises(ConfigError, match="holds 'card.md'; expected a new folder"):
        exported(tiny_run, tiny_run)


@pytest.mark.parametrize("name", [STEP, ENCODE, VOCABULARY])
def test_a_missing_file_is_one_line(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(DataError, match=f"{name}: no such file; expected what"):
        OnnxModel(folder)


@pytest.mark.parametrize("name", [STEP, ENCODE, VOCABULARY])
def test_a_file_of_another_hash_is_refused(folder: Path, name: str) -> None:
    with open(folder / name, "ab") as file:
        file.write(b"\n")
    with pytest.raises(DataError, match=f"{name}: not the file that export.json names"):
        OnnxModel(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 2}, "format 2; this charlm reads format 1"),
        ({"state": [{"shape": [8], "initial": [1.0]}]}, "do not agree"),
        ({"state": [3]}, "no list of shapes"),
        ({"state": [{"shape": [1] * 80, "initial": []}]}, "no list of shapes"),
        ({"state": [{"shape": [0, 10**30], "initial": []}]}, "no list of shapes"),
        ({"state": [{"shape": [1], "initial": [10**400]}]}, "do not agree"),
        ({"state": [{"shape": [1 << 23], "initial": []}] * 3}, "do not agree"),
        ({"state": [{"shape": [3], "initial": []}] * 4}, "no networks as export.json describes"),
        ({"vector_dim": -1}, "vector_dim -1; expected what"),
        ({"vector_dim": 10**12}, "vector_dim 1000000000000; expected what"),
        ({"vector_dim": 3}, "no networks as export.json describes"),
        ({"settings": {}}, "the settings name no encoder"),
        ({"settings": {"encoder": {"type": "word"}}}, "the recipe says no oov_input"),
        ({"state": []}, "reads 4 tensors of state and 0 are described"),
        ({"oov_input": "x"}, "unknown oov_input"),
        ({"files": {STEP: "0" * 64}}, "names no hash"),
        ({"arch": 1}, "'arch' is missing or of a wrong type"),
        ({"vocabulary_sha256": "0" * 64}, "vocab.json: not the vocabulary of the model"),
    ],
)
def test_a_damaged_description_is_one_line(folder: Path, changes: Settings, message: str) -> None:
    told = json.loads((folder / EXPORT).read_text())
    (folder / EXPORT).write_text(json.dumps({**told, **changes}))
    with pytest.raises(DataError, match=message):
        OnnxModel(folder)


def test_a_list_is_no_description(folder: Path) -> None:
    (folder / EXPORT).write_text("[]")
    with pytest.raises(DataError, match=r"json: not the description of an exported model; expect"):
        OnnxModel(folder)


def test_networks_of_something_else_are_one_line(folder: Path) -> None:
    told = json.loads((folder / EXPORT).read_text())
    shutil.copyfile(folder / ENCODE, folder / STEP)
    told["files"][STEP] = told["files"][ENCODE]
    told["state"] = told["state"][:1]
    (folder / EXPORT).write_text(json.dumps(told))
    with pytest.raises(DataError, match=r"no networks as export.json describes them \("):
        OnnxModel(folder)


def test_a_file_that_is_no_network_is_one_line(folder: Path) -> None:
    (folder / STEP).write_bytes(b"no network")
    told = json.loads((folder / EXPORT).read_text())
    told["files"][STEP] = hashlib.sha256(b"no network").hexdigest()
    (folder / EXPORT).write_text(json.dumps(told))
    with pytest.raises(DataError, match=r"runs \(.*\); export the model again$") as caught:
        OnnxModel(folder)
    assert str(caught.value).startswith(f"{folder / STEP}: no network that onnxruntime runs (")


def test_a_missing_package_is_named(
    folder: Path, tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ConfigError, match=r"onnxruntime is not installed.*charlm\[onnx\]"):
        OnnxModel(folder)
    with pytest.raises(ConfigError, match="--onnx: onnxruntime is not installed"):
        exported(tiny_run, tmp_path / "new")


def test_a_package_that_is_there_but_does_not_load_says_why(
    folder: Path, tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "onnxruntime.py").write_text("raise ImportError('cannot load ort.so\\nmore')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    with pytest.raises(ConfigError, match=r"^onnxruntime does not load \(cannot load ort.so\); "):
        OnnxModel(folder)
    with pytest.raises(ConfigError, match=r"^--onnx: onnxruntime does not load \(cannot"):
        exported(tiny_run, tmp_path / "new")


def test_where_there_is_no_temporary_folder_no_part_is_blamed(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", list)
    with pytest.raises(FileNotFoundError, match="No usable temporary directory found"):
        exported(tiny_run, tmp_path / "new")
