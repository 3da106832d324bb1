"""What is kept with a run for its adaptation, and the messages where nothing is kept."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from charlm import ConfigError
from charlm.run.folder import MODEL
from charlm.run.stored_weights import LoadedRun, load_run, read_tensors
from charlm.scoring.adaptation import mean_squares, opened_adaptation
from charlm.scoring.adaptation.adapt_options import PLAIN, AdaptRates, Rates, parsed_rates
from charlm.scoring.adaptation.opened_adaptation import climbed
from charlm.scoring.adaptation.opened_adaptation import opened_adaptation as opened
from charlm.scoring.likelihood.streams import Streams, as_words
from charlm.text.vocabulary.encoding import TextEncoder
from charlm.text.vocabulary.vocabulary import inventory_of


@pytest.fixture
def run(tiny_run: Path, tmp_path: Path) -> LoadedRun:
    return load_run(shutil.copytree(tiny_run, tmp_path / "run"))


def test_mean_squares_are_those_of_the_gradients_of_each_chunk(
    run: LoadedRun, corpus_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mean_squares, "N_STREAMS", 2)
    monkeypatch.setattr(mean_squares, "STEPS", 9)
    found = mean_squares.mean_squared_gradients(run, train=corpus_dir / "train.txt", tell=print)
    assert found is not None

    encoding = TextEncoder(run.inventory, oov_input=run.oov_input)
    ((ids, _),) = encoding.pieces(corpus_dir / "train.txt")
    streams = Streams(ids, n_streams=2)
    model = run.model
    expected = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    state, firsts = model.context.initial_state(2), range(0, streams.length, 9)
    for first in firsts:
        vectors = mean_squares.ChunkVectors(model, run.inventory, oov_input=run.oov_input)
        inputs, targets = streams.chunk(first, first + 9)
        x_TBE = vectors.of(inputs, encoding.spellings)
        words_TB = torch.from_numpy(as_words(targets, run.inventory.n_words))
        nll_TB, state = model.continue_from(
            x_TBE, words_TB=words_TB, state=mean_squares.detached(state)
        )
        model.zero_grad()
        (nll_TB.sum() / (words_TB >= 0).sum()).backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None
            expected[name] += parameter.grad**2 / len(firsts)
    for name, square in found.tensors.items():
        torch.testing.assert_close(square, expected[name])


def test_mean_squares_are_of_the_part_of_the_text_that_was_trained_on(
    run: LoadedRun, corpus_dir: Path, tmp_path: Path
) -> None:
    kept = mean_squares.mean_squared_gradients(run, train=corpus_dir / "train.txt", tell=print)
    run.info.corpus["max_tokens"] = 14
    found = mean_squares.mean_squared_gradients(run, train=corpus_dir / "train.txt", tell=print)
    lines = (corpus_dir / "train.txt").read_text().splitlines()
    beginning = tmp_path / "beginning.txt"
    beginning.write_text("\n".join(lines[:2]))
    expected = mean_squares._made(run, beginning)
    assert kept and found
    assert all(torch.equal(square, expected[name]) for name, square in found.tensors.items())
    assert not all(torch.equal(kept.tensors[name], each) for name, each in expected.items())


def test_a_learned_start_has_no_mean_square(
    save_random: Callable[..., Path], corpus_dir: Path, tmp_path: Path
) -> None:
    settings = {
        "encoder": {"type": "word", "dim": 2},
        "context": {"type": "lstm", "dim": 3, "initial_state": "learned"},
        "output": {"type": "softmax"},
    }
    inventory = inventory_of([["a", "cat", "<unk>"]])
    run = load_run(save_random(tmp_path / "learned", settings, inventory))
    made = mean_squares._made(run, corpus_dir / "test.txt")
    unmoved = {name for name, square in made.items() if not square.any()}
    assert unmoved == {name for name in made if name.startswith("context.start.")} != set()


def test_mean_squares_are_made_once_of_the_training_text_and_the_run_is_not_changed(
    run: LoadedRun, corpus_dir: Path
) -> None:
    before = {path.name: path.read_bytes() for path in run.path.iterdir() if path.is_file()}
    told: list[str] = []
    first = opened(run, mode="dynamic", rates="", data=corpus_dir, tell=told.append)
    assert [line.rpartition(", of ")[0] for line in told] == [
        f"{run.path / mean_squares.FILE}: mean squared gradients, made once"
    ]
    again = opened(run, mode="both", rates="", tell=told.append)
    assert len(told) == 1
    assert first and again and first.squares and again.squares
    kept = first.squares.tensors
    assert all(torch.equal(kept[name], each) for name, each in again.squares.tensors.items())
    assert first.shown == again.shown.replace("both", "dynamic").replace(
        ",size=500,theta=1,lambda=0.1", ""
    )
    assert {name: (run.path / name).read_bytes() for name in before} == before
    assert all(
        torch.equal(p, load_run(run.path).model.get_parameter(name))
        for name, p in run.model.named_parameters()
    )


STALE: dict[str, dict[str, object]] = {
    "other weights": {"model": "0" * 64},
    "other chunks": {"chunks": 25},
}


@pytest.mark.parametrize("damage", [*STALE, "cut", "other text"])
def test_squares_that_are_not_of_this_model_and_its_training_are_not_used(
    run: LoadedRun, corpus_dir: Path, tmp_path: Path, damage: str
) -> None:
    opened(run, mode="dynamic", rates="", data=corpus_dir)
    path = run.path / mean_squares.FILE
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-1])
    elif damage in STALE:
        tensors, meta = read_tensors(path)
        mean_squares.write_tensors(path, tensors, meta={**meta, **STALE[damage]})
    else:
        path.unlink()
    other = shutil.copytree(corpus_dir, tmp_path / "other")
    (other / "train.txt").write_text("a cat\n")
    told: list[str] = []
    found = opened(run, mode="dynamic", rates="", data=other, tell=told.append)
    assert found and found.squares is None and found.rates == PLAIN
    assert "plain gradient steps" in told[0] and "squares=none" in found.shown
    assert told[0].endswith(f"of the train.txt of the training, which {other / 'train.txt'} is not")


def test_chosen_rates_are_kept_with_the_run_for_their_mode(
    run: LoadedRun, corpus_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one_step(start: Rates, names: list[str], *, measure: Callable[[Rates], float]) -> Rates:
        assert names == ["size", "theta", "lambda"] and 1 < measure(start) < 100
        return parsed_rates("theta=0.25,size=7", start)

    monkeypatch.setattr(opened_adaptation, "climbed", one_step)
    told: list[str] = []
    chosen = opened(run, mode="cache", rates="choose", data=corpus_dir, tell=told.append)
    assert "valid.txt, 14 tokens: ppl " in told[0]
    kept = opened(run, mode="cache", rates="lambda=0.5")
    assert chosen and kept and kept.rates == parsed_rates("lambda=0.5", chosen.rates)
    assert kept.shown == "cache(size=7,theta=0.25,lambda=0.5)"
    other = opened(run, mode="both", rates="")
    assert other and other.rates == PLAIN
    value = json.loads((run.path / opened_adaptation.FILE).read_text())
    beyond = {"cache": {"theta": 10**400}}  # a whole number that is no float
    for changes in ({"model": "0"}, {"rates": [1]}, {"rates": beyond}, None):
        broken = "{" if changes is None else json.dumps({**value, **changes})
        (run.path / opened_adaptation.FILE).write_text(broken)
        found = opened(run, mode="cache", rates="")
        assert found and found.rates == PLAIN


def test_climbing_doubles_or_halves_as_long_as_it_helps() -> None:
    tried = []

    def measure(rates: Rates) -> float:
        tried.append(rates)
        return abs(rates.theta - 8) + abs(rates.share - 0.025)

    start = Rates(theta=1.0, share=0.1)
    found = climbed(start, ["theta", "lambda"], measure=measure)
    assert (found.theta, found.share) == (8.0, 0.025)
    assert len(tried) == 1 + 4 + 1 + 3


def test_climbing_ends_within_the_range_of_a_rate() -> None:
    found = climbed(Rates(decay=0.3), ["decay"], measure=lambda rates: 2 - rates.decay)
    assert found.decay == 0.6  # 1.2 would be out of it


def test_rates_that_leave_no_numbers_are_the_worst(
    run: LoadedRun, corpus_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ConfigError("--adapt: steps of rate 1 leave no numbers after some text")

    def measured(start: Rates, names: list[str], *, measure: Callable[[Rates], float]) -> Rates:
        assert names == ["rate", "decay"] and measure(start) == math.inf
        return start

    monkeypatch.setattr(opened_adaptation.AdaptiveReader, "continued_nll", refuse)
    monkeypatch.setattr(opened_adaptation, "climbed", measured)
    assert opened(run, mode="dynamic", rates="choose", data=corpus_dir)


def test_climbing_ends_where_a_step_gains_next_to_nothing() -> None:
    found = climbed(Rates(decay=0.1), ["decay"], measure=lambda rates: 50 + 1e-3 * rates.decay)
    assert found.decay == 0.1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rat=1", "--adapt-rates: found 'rat'; expected segment, rate, decay, size, theta, lambda"),
        ("rate", "--adapt-rates 'rate': expected NAME=NUMBER, as segment=20,.*, or choose"),
        ("decay=2", "--adapt-rates: decay=2; expected a number of 0 to 1"),
        ("lambda=1", "--adapt-rates: lambda=1; expected a number of 0 to 0.999"),
        ("size=0.5", "--adapt-rates: size=0.5; expected a whole number of 1 to 100000"),
        ("rate=1,rate=.1", "--adapt-rates 'rate=.1': rate stands twice; expected once"),
        ("rate=1_0", "--adapt-rates 'rate=1_0': expected NAME=NUMBER, as segment=20,.*, or choose"),
    ],
)
def test_rates_that_are_none_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parsed_rates(text, Rates())


def test_the_help_tells_the_rates_where_none_is_kept() -> None:
    (option,) = AdaptRates.__metadata__
    for rates in (Rates(), PLAIN):
        for name, value in rates.to_dict().items():
            assert f"{name} ({value:g})" in " ".join(option.help.split())


def test_rates_without_what_they_are_of_are_refused(run: LoadedRun) -> None:
    with pytest.raises(
        ConfigError, match="--adapt-rates 'rate=1': nothing adapts; expected --adapt"
    ):
        opened(run, mode="none", rates="rate=1")
    with pytest.raises(ConfigError, match="rates: rate says nothing with --adapt cache; expected"):
        opened(run, mode="cache", rates="theta=0,rate=1")
    with pytest.raises(ConfigError, match="theta says nothing with --adapt dynamic; expected segm"):
        opened(run, mode="dynamic", rates="theta=0", data="nowhere")  # before its text is read
    with pytest.raises(
        ConfigError, match="chosen on a valid.txt; expected charlm eval with --data"
    ):
        opened(run, mode="cache", rates="choose")
    assert (run.path / MODEL).is_file()
