"""The cost of training over a range of settings: what varies, and that parts sum to a step."""

import time
from itertools import count

import pytest
import torch

from charlm.bench import cost
from charlm.bench.cost import PARTS, WARM_UP, bench_cost, part_seconds
from charlm.bench.text import corpus
from charlm.bench.train import recipe_of, trainer_on
from charlm.errors import CharlmError, ConfigError, DataError
from charlm.model.encoders.char_lstm import CharLSTM
from charlm.presets import preset
from charlm.settings import Settings, merged, overridden
from charlm.training.loop.graph_step import WARM_UPS
from charlm.training.loop.objective import unigrams

SMALL = ("context.dim=8", "context.layers=1", "recipe.batch_size=2", "recipe.bptt=5")


def small(*overrides: str) -> Settings:
    return merged(preset("word-small"), overridden({}, (*SMALL, *overrides)))


def test_a_setting_is_varied_and_changes_the_model() -> None:
    bench = bench_cost(
        "context.dim=8,16", arch="word-small", overrides=(*SMALL[1:], "encoder.dim=4"), steps=1
    )
    # 10,000 words in and out, four gates over input, state and two biases
    expected = [10_000 * 4 + 4 * d * (4 + d + 2) + 10_000 * (d + 1) for d in (8, 16)]
    assert [cost.n_parameters for cost in bench.costs] == expected
    assert [cost.value for cost in bench.costs] == ["8", "16"]
    assert all(sum(cost.shares.values()) == pytest.approx(1.0) for cost in bench.costs)
    assert all(cost.tokens_per_second > 0 and cost.peak_bytes > 0 for cost in bench.costs)


def test_speed_and_shares_are_those_of_the_steps_that_are_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "perf_counter", count().__next__)  # a second between two looks
    (cost,) = bench_cost("context.dim=8", arch="word-small", overrides=SMALL[1:], steps=3).costs
    assert (cost.tokens_per_second, cost.seconds_per_step) == (2 * 5, 1)
    assert cost.shares == {"encoder": 2 / 6, "context": 2 / 6, "output": 1 / 6, "update": 1 / 6}


def test_a_gpus_steps_of_each_shape_are_recorded_before_any_is_measured(
    n_calls: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    before: list[int] = []
    monkeypatch.setattr(cost, "reset_peak", lambda: before.extend(n_calls))
    bench_cost("context.dim=8", arch="word-small", overrides=SMALL[1:], steps=4)
    assert len(before) == len(n_calls) > 1
    assert min(before) > WARM_UPS


def test_the_words_of_the_made_text_are_those_asked_for() -> None:
    bench = bench_cost("words=500,900", arch="word-small", overrides=SMALL, steps=1)
    first, second = (cost.n_parameters for cost in bench.costs)
    assert second - first == 400 * (small()["encoder"]["dim"] + 8 + 1)


def test_longer_words_are_the_same_words_as_often_repeated() -> None:
    texts = []
    for longer in (1, 3):
        with corpus(None, n_tokens=500, n_words=100, longer=longer) as folder:
            texts.append((folder / "train.txt").read_text().split())
    assert [word if word == "<unk>" else word * 3 for word in texts[0]] == texts[1]


def test_a_model_begins_as_in_a_training() -> None:
    letters = '{"type": "char-cnn", "dim": 3, "widths": [1], "filters": [8]}'
    settings = small("output.type=composed", f"output.encoder={letters}", "output.bias=true")
    settings["recipe"]["criterion"] = {"type": "self-normalised"}
    with corpus(None, n_tokens=500, n_words=100) as folder:
        trainer = trainer_on(
            folder, settings=settings, device=torch.device("cpu"), precision="fp32", seed=1
        )
    output = trainer.model.output
    assert not output.get_parameter("encoder.letters.weight")[0].any()  # the row of the padding
    torch.testing.assert_close(
        output.get_parameter("bias").data, unigrams(trainer.inventory).log(), rtol=0, atol=0
    )


@pytest.mark.parametrize("reset", ["0", "0.3", "0.99"])  # a state that goes on; cuts; masks
def test_the_parts_by_themselves_give_the_gradients_of_a_step(reset: str) -> None:
    resets = ("recipe.bptt=50", f"recipe.batching.reset={reset}")

    def trained(*, by_parts: bool) -> list[torch.Tensor]:
        with corpus(None, n_tokens=2000, n_words=100) as folder:
            trainer = trainer_on(
                folder,
                settings=small("context.dropout=0", *resets),
                device=torch.device("cpu"),
                precision="fp32",
                seed=1,
            )
        trainer.begin_epoch()
        batch = trainer.batches.batch(0)
        if by_parts:
            seconds = part_seconds(trainer, batch)
            assert set(seconds) == set(PARTS)
            assert all(value > 0 for value in seconds.values())
        else:
            for group in trainer.optimiser.param_groups:
                group["lr"] = trainer.progress.rate
            trainer.step(batch)
        return [parameter.detach() for parameter in trainer.model.parameters()]

    torch.testing.assert_close(trained(by_parts=True), trained(by_parts=False))


SENTENCES = ("recipe.batching.type=sentences", "recipe.batch_size=8")


def test_the_text_has_sentences_for_all_steps() -> None:
    bench = bench_cost(
        "recipe.bptt=1,35", arch="word-small", overrides=(*SMALL[:2], *SENTENCES), steps=3
    )
    assert len(bench.costs) == 2
    short = (*SMALL[:2], *SENTENCES, "recipe.batching.max_words=12")
    with pytest.raises(DataError, match="generated text: 1 batch to train on; expected 5 or more"):
        bench_cost("recipe.bptt=1", arch="word-small", overrides=short, steps=3)


def test_a_batch_of_fewer_sentences_has_a_state_of_its_own() -> None:
    with corpus(None, n_tokens=300, n_words=100) as folder:
        trainer = trainer_on(
            folder,
            settings=small(*SENTENCES),
            device=torch.device("cpu"),
            precision="fp32",
            seed=1,
        )
    trainer.begin_epoch()
    batches = [trainer.batches.batch(step) for step in range(len(trainer.batches))]
    assert {batch.words_TB.shape[1] for batch in batches} == {8, 7}
    for batch in batches:
        assert set(part_seconds(trainer, batch)) == set(PARTS)


def test_a_pretraining_is_measured_with_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    forward = CharLSTM.forward
    monkeypatch.setattr(CharLSTM, "forward", lambda *given: read.append(1) or forward(*given))
    bench_cost(
        "context.dim=4",
        arch="miyamoto-gate-pretrained",
        overrides=("context.layers=1", "recipe.batch_size=2", "recipe.batching.max_words=0"),
        steps=1,
    )
    n_steps = WARM_UP + 1
    assert len(read) == n_steps + n_steps  # whole, and again by parts


@pytest.mark.parametrize(
    "over", ["words", "words=", "words=2", "words=many", "words=99999999999", "letters=51"]
)
def test_a_quantity_that_is_none_is_one_line(over: str) -> None:
    with pytest.raises(ConfigError, match="expected"):
        bench_cost(over, steps=1)


def test_a_text_too_short_for_the_steps_is_refused_before_any_is_measured() -> None:
    # 3 steps, 2 to warm up and one more, of 2 sentences of 25 words
    message = "bench cost: tokens=299: 3 steps need 300; expected as many or more; lower --steps"
    with pytest.raises(ConfigError, match=message):
        bench_cost("tokens=300,299", arch="word-small", overrides=SMALL, steps=3)
    (cost,) = bench_cost("tokens=300", arch="word-small", overrides=SMALL, steps=3).costs
    assert cost.value == "300"


def test_an_unknown_setting_is_named() -> None:
    with pytest.raises(CharlmError, match="dmi"):
        bench_cost("context.dmi=8", arch="word-small", steps=1)


def test_a_setting_that_is_varied_cannot_be_set_as_well() -> None:
    message = r"--set context.dim=8: context.dim=2,4 would replace it; leave it out"
    with pytest.raises(ConfigError, match=message):
        bench_cost("context.dim=2,4", arch="word-small", overrides=["context.dim=8"], steps=1)


@pytest.mark.parametrize(
    ("over", "further", "n_words"),
    [("words=500", ("context.type=gru",), 500), ("context.type=gru", (), 10_000)],
)
def test_an_option_said_before_the_type_of_its_part_holds(
    over: str, further: tuple[str, ...], n_words: int
) -> None:
    said = (*SMALL[1:], "context.dim=4", *further)
    (cost,) = bench_cost(over, arch="word-small", overrides=said, steps=1).costs
    # words of 200 numbers in, three gates over input, state and a bias, words out
    assert cost.n_parameters == n_words * 200 + 3 * 4 * (200 + 4 + 1) + n_words * (4 + 1)


def test_streams_that_are_left_to_the_text_are_those_of_a_long_one() -> None:
    assert recipe_of({"recipe": {"batch_size": 0}}).batch_size == 64
    assert recipe_of({"recipe": {"batch_size": 3}}).batch_size == 3


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ("context.dim=4,x", "option 'dim' of context 'lstm' is 'x'"),
        ("recipe.bptt=5,0", "bptt"),
        ("output.type=softmax,sofmax", "sofmax"),
    ],
)
def test_a_wrong_value_is_refused_before_any_is_measured(
    over: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(cost, "_cost")
    with pytest.raises(ConfigError, match=message):
        bench_cost(over, arch="word-small", overrides=SMALL[1:3], steps=1)


def test_a_misspelled_quantity_is_named_with_those_that_there_are() -> None:
    message = r"unknown quantity 'word'; did you mean words\? expected one of words, letters"
    with pytest.raises(ConfigError, match=message):
        bench_cost("word=100", steps=1)


def test_a_criterion_that_an_output_cannot_have_is_refused_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(cost, "_cost")
    with pytest.raises(ConfigError, match="'nce': the output offers no unnormalised scores"):
        bench_cost(
            "recipe.criterion.type=cross-entropy,nce",
            arch="word-small",
            overrides=("output.type=hierarchical",),
            steps=1,
        )
