"""An exported model in place of a run: the same figures, without torch."""

from pathlib import Path

import pytest

import charlm
from charlm.errors import ConfigError
from charlm.run.onnx_model import OnnxModel, State, Vectors


def test_an_exported_model_has_the_run_s_perplexities(
    tiny_onnx: Path, tiny_run: Path, corpus_dir: Path
) -> None:
    (ours,) = charlm.evaluate(tiny_onnx, data=corpus_dir, split="train", threads=1)
    (theirs,) = charlm.evaluate(tiny_run, data=corpus_dir, split="train", device="cpu", threads=1)
    assert ours.counts == theirs.counts
    for state, expected in theirs.by_state.items():
        assert ours.by_state[state].ppl == pytest.approx(expected.ppl, rel=1e-5)
        signature = theirs.signatures[state].replace("precision:fp32", "precision:fp32-onnx")
        assert ours.signatures[state] == signature


def test_a_word_that_is_spelled_as_unknown_is_unknown(
    tiny_onnx: Path, tiny_run: Path, tmp_path: Path
) -> None:
    text = tmp_path / "text"
    text.write_text("the <unk>:cat sat\nthe <unk>:zebra <unk> zebra sat\n")
    (ours,) = charlm.evaluate(tiny_onnx, files=text, threads=1)
    (theirs,) = charlm.evaluate(tiny_run, files=text, device="cpu", threads=1)
    for state, expected in theirs.by_state.items():
        assert ours.by_state[state].ppl == pytest.approx(expected.ppl, rel=1e-5)


def test_a_long_line_costs_no_more_than_its_own_tokens(
    tiny_onnx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, n_rows = tmp_path / "text", 0
    text.write_text("the cat " * 50 + "\nsat\non\n")
    step = OnnxModel.step

    def counted(model: OnnxModel, x_BE: Vectors, state: State) -> tuple[Vectors, State]:
        nonlocal n_rows
        n_rows += len(x_BE)
        return step(model, x_BE, state)

    monkeypatch.setattr(OnnxModel, "step", counted)
    (result,) = charlm.evaluate(tiny_onnx, files=text, state="sentence", threads=1)
    assert n_rows <= result.counts.n_tokens + 2  # with two when the folder is opened


def test_a_state_is_carried_from_block_to_block(
    tiny_onnx: Path, corpus_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (whole,) = charlm.evaluate(tiny_onnx, data=corpus_dir, split="train", threads=1)
    monkeypatch.setattr("charlm.scoring.evaluation.evaluated_text.BLOCK", 7)
    (cut,) = charlm.evaluate(tiny_onnx, data=corpus_dir, split="train", threads=1)
    for state, expected in whole.by_state.items():
        assert cut.by_state[state].ppl == pytest.approx(expected.ppl, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"open_vocabulary": True}, "--open-vocabulary"),
        ({"processes": 2}, "--processes"),
        ({"device": "cuda"}, "--device cuda"),
        ({"precision": "bf16"}, "--precision bf16"),
    ],
)
def test_what_asks_for_torch_is_refused(
    options: dict[str, object], named: str, tiny_onnx: Path, corpus_dir: Path
) -> None:
    with pytest.raises(ConfigError, match=f"is an exported model, which knows no {named}; leave"):
        charlm.evaluate(tiny_onnx, data=corpus_dir, **options)
