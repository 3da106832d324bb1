"""What `info` says of a run, against what a tiny training is known to have done."""

import json
import shutil
from pathlib import Path

import pytest
import torch

import charlm
from charlm.errors import DataError
from charlm.insight.info import RunFacts, facts_of, info
from charlm.insight.pictures.subject import Subject
from charlm.insight.report.tables import curves_as_json
from charlm.insight.report_options import ReportOptions
from charlm.text.io.files import sha256_of
from charlm.text.vocabulary.vocabulary import load_inventory


@pytest.fixture
def run(tiny_run: Path, tmp_path: Path) -> Path:
    """A copy that may be changed."""
    return shutil.copytree(tiny_run, tmp_path / "run")


def change(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_the_facts_of_a_trained_run(tiny_run: Path, corpus_dir: Path) -> None:
    facts = info(tiny_run)
    assert isinstance(facts, RunFacts)
    inventory = load_inventory(tiny_run / "vocab.json")
    assert (facts.path, facts.arch, facts.state) == (str(tiny_run), "char-small", "finished")
    assert (facts.epoch, facts.training.n_epochs, facts.training.n_epochs_wanted) == (1, 1, 1)
    assert facts.n_words == inventory.n_words
    assert facts.n_characters == len(inventory.characters) + 5
    assert facts.taps == {"char-cnn": 16, "transform": 16, "highway": 16, "output": 8}
    assert (facts.corpus, [text.split for text in facts.texts]) == ("tiny", ["train", "valid"])
    train = facts.texts[0]
    words = (corpus_dir / "train.txt").read_text().split()
    assert (train.n_sentences, train.n_tokens) == (8, len(words) + 8)
    assert train.sha256 == sha256_of(corpus_dir / "train.txt")
    assert (
        facts.training.seed,
        facts.training.threads,
        facts.training.device,
        facts.training.precision,
    ) == (3435, 1, "cpu", "fp32")
    assert facts.training.versions["charlm"] == charlm.__version__
    assert facts.training.versions["torch"] == torch.__version__
    assert facts.n_morphs is None
    record = json.loads((tiny_run / "log.jsonl").read_text())
    assert facts.training.tokens_per_second == pytest.approx(record["n_tokens"] / record["seconds"])


def test_the_speed_is_that_of_the_steps_alone(run: Path) -> None:
    change(run / "log.jsonl", n_tokens=600, seconds=3.0, validation_seconds=2.0)
    training = facts_of(run).training
    assert (training.seconds, training.tokens_per_second) == (5.0, 200.0)


def test_of_a_text_that_was_read_in_part_the_facts_say_so(run: Path) -> None:
    corpus = json.loads((run / "run.json").read_text())["corpus"]
    change(run / "run.json", corpus={**corpus, "max_tokens": 60})
    assert [(text.split, text.max_tokens) for text in facts_of(run).texts] == [
        ("train", 60),
        ("valid", 0),
    ]
    change(run / "run.json", corpus={**corpus, "max_tokens": "60"})
    with pytest.raises(DataError) as caught:
        facts_of(run)
    assert str(caught.value) == (
        f"{run}/run.json: corpus: max_tokens '60'; expected a whole number; the run is damaged"
    )


def test_parameters_are_those_of_the_weights_file(tiny_run: Path) -> None:
    facts = facts_of(tiny_run)
    n_words, n_letters = facts.n_words, facts.n_characters + 1
    convolutions = sum(4 * width * n + n for width, n in ((1, 4), (2, 4), (3, 8)))
    assert facts.parameters["encoder"] == 4 * n_letters + convolutions + 2 * (16 * 16 + 16)
    assert facts.parameters["output"] == n_words * 8 + n_words
    assert facts.n_parameters == sum(facts.parameters.values())


def test_the_perplexity_carries_the_signature_of_how_it_was_read(
    tiny_run: Path, corpus_dir: Path
) -> None:
    (found,) = facts_of(tiny_run).perplexities
    record = json.loads((tiny_run / "log.jsonl").read_text())
    told = dict(part.split(":", 1) for part in found.signature.split("|"))
    (evaluated,) = charlm.evaluate(tiny_run, data=corpus_dir, split="valid", device="cpu")
    same = dict(part.split(":", 1) for part in evaluated.signatures["carried"].split("|"))
    assert (found.split, found.ppl) == ("valid", record["valid_ppl"])
    assert told == {**same, "streams": "4"}


def test_no_perplexity_is_told_of_a_model_that_was_validated_on_one_side(run: Path) -> None:
    assert facts_of(run).perplexities
    change(run / "log.jsonl", pretraining=1)
    assert facts_of(run).perplexities == ()


def test_a_softmax_temperature_is_in_the_perplexity_as_it_is_in_the_weights(
    corpus_dir: Path, tmp_path: Path
) -> None:
    small = ["encoder.dim=4", "context.dim=4", "recipe.temperature=valid"]
    run = tmp_path / "run"
    charlm.train(
        arch="word-small",
        data=corpus_dir,
        out=run,
        overrides=small,
        epochs=1,
        batch_size=1,  # validation reads one stream, as `evaluate` does
        threads=1,
        device="cpu",
        precision="fp32",
    )
    (found,) = facts_of(run).perplexities
    (evaluated,) = charlm.evaluate(run, data=corpus_dir, split="valid", device="cpu", threads=1)
    (curve,) = curves_as_json(Subject(ReportOptions(run, device="cpu")))
    of_epoch = json.loads((run / "log.jsonl").read_text())["valid_ppl"]
    assert found.ppl == pytest.approx(evaluated.by_state["carried"].ppl, rel=1e-6)
    assert found.ppl < of_epoch - 0.01
    assert (curve["best"], curve["kept"]) == (of_epoch, found.ppl)


def test_sentences_read_one_by_one_stand_in_the_signature(run: Path) -> None:
    settings = json.loads((run / "run.json").read_text())["settings"]
    settings["recipe"]["batching"] = {"type": "sentences"}
    change(run / "run.json", settings=settings)
    (found,) = facts_of(run).perplexities
    assert "|split:valid|state:sentence|start:</s>|" in found.signature


def test_a_run_tells_how_far_it_is(run: Path) -> None:
    (run / "encoded").mkdir()
    assert facts_of(run).state == "unfinished"
    (run / "model.safetensors").unlink()
    (run / "log.jsonl").unlink()
    begun = facts_of(run)
    (run / "log.jsonl").touch()  # as where a first epoch was resumed
    assert facts_of(run).state == begun.state
    assert (begun.state, begun.epoch, begun.training.n_epochs) == ("in its first epoch", None, 0)
    assert (begun.perplexities, begun.taps, begun.training.tokens_per_second) == ((), {}, None)
    assert begun.weights_sha256 is None
    assert begun.n_parameters > 0


def test_the_facts_as_json_hold_nothing_that_json_cannot(tiny_run: Path) -> None:
    value = json.loads(json.dumps(facts_of(tiny_run).to_dict(), allow_nan=False))
    assert value["n_parameters"] == sum(value["parameters"].values())
    assert value["texts"][1]["split"] == "valid"


def test_a_damaged_corpus_entry_is_one_line(run: Path) -> None:
    change(run / "run.json", corpus={"name": "x", "train": {"sha256": 1}})
    with pytest.raises(DataError) as caught:
        facts_of(run)
    assert str(caught.value) == (
        f"{run}/run.json: corpus 'train' lacks sha256, n_sentences or n_tokens; the run is damaged"
    )
