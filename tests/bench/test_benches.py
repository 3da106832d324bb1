"""What the benchmarks report besides times (sizes, figures), and what they refuse."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from charlm import evaluate
from charlm.bench import evaluate as evaluate_module
from charlm.bench import machine
from charlm.bench import train as train_module
from charlm.bench.evaluate import EvalBench, bench_eval
from charlm.bench.flops import forward_flops
from charlm.bench.kn import ESTIMATE, KENLM, LMPLZ, QUERY, KnBench, bench_kn
from charlm.bench.machine import FLOPS
from charlm.bench.prep import bench_prep
from charlm.bench.timing import Timing
from charlm.bench.train import LIMIT, NAIVE, OURS, TrainBench, bench_train, trainer_on
from charlm.errors import ConfigError, DataError
from charlm.model.forms import FormTable
from charlm.presets import preset
from charlm.training.loop.graph_step import WARM_UPS


@pytest.fixture(autouse=True)
def _short_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "SIZE", 64)  # of the matrix product, most of a test's time


def bench_of(timings: dict[str, Timing]) -> TrainBench:
    return TrainBench(
        arch="a",
        data="made",
        machine="m",
        device="cpu",
        precision="fp32",
        threads=1,
        n_steps=2,
        n_tokens=100,
        forms_per_step=9.0,
        n_parameters=7,
        flops_per_token=1e6,
        timings=timings,
    )


def test_ratios_and_shares_are_those_of_the_medians() -> None:
    bench = bench_of(
        {
            OURS: Timing((2.0, 1.0, 9.0), 1, (1.0,)),
            NAIVE: Timing((6.0, 9.0, 4.0), 1, (1.0,)),
            LIMIT: Timing((0.5,), 1, (1.0,)),
        }
    )
    assert bench.speed_up == 3.0
    assert bench.undisturbed_speed_up == 4.0
    assert bench.peak_flops == FLOPS / 0.5
    assert bench.share_of_peak(OURS) == pytest.approx(100 * 1e6 / 2.0 / (FLOPS / 0.5))
    written = bench.to_dict()
    assert written["speed_up"] == 3.0
    assert written["undisturbed_speed_up"] == 4.0
    assert isinstance(written["paths"], dict)
    assert set(written["paths"]) == {OURS, NAIVE}
    assert written["paths"][OURS]["tokens_per_second"] == 50.0
    assert "timings" not in written


def test_an_evaluation_is_compared_by_the_tokens_of_each_path() -> None:
    bench = EvalBench(
        model="m",
        data="made",
        machine="m",
        device="cpu",
        threads=1,
        n_tokens=100,
        n_naive_tokens=10,
        ppl=9.0,
        log10_prob_difference=0.0,
        flops=5_000_000,
        timings={
            OURS: Timing((2.0, 1.0, 9.0), 1, (1.0,)),
            NAIVE: Timing((1.0,), 1, (1.0,)),
            LIMIT: Timing((0.5,), 1, (1.0,)),
        },
    )
    assert bench.speed_up == pytest.approx(5.0)  # 0.1 s a token against 0.02
    assert bench.share_of_peak == pytest.approx(5e6 / 2.0 / (FLOPS / 0.5))
    speeds = [bench.paths()[name]["tokens_per_second"] for name in (OURS, NAIVE)]
    assert speeds == [50.0, 10.0]


def test_kneser_ney_is_compared_with_lmplz_and_each_path_with_its_own_tokens() -> None:
    seconds = {ESTIMATE: 3.0, LMPLZ: 1.5, QUERY: 2.0, KENLM: 4.0}
    bench = KnBench(
        data="made",
        order=3,
        n_tokens=60,
        n_queries=8,
        n_ngrams=9,
        timings={name: Timing((each,), 1, (each,)) for name, each in seconds.items()},
    )
    assert bench.ratio_to_lmplz == 2.0
    speeds = [bench.paths()[name]["tokens_per_second"] for name in seconds]
    assert speeds == [20.0, 40.0, 4.0, 2.0]


def test_a_training_is_measured_on_the_text_that_is_given(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a b b\n" * 400)  # 80 tokens for each of 20 streams
    bench = bench_train(
        data=tmp_path, steps=2, repetitions=1, threads=1, device="cpu", precision="fp32"
    )
    assert (bench.n_tokens, bench.n_steps, bench.data) == (2 * 20 * 35, 2, str(tmp_path))
    assert bench.n_parameters > 1_000_000
    assert bench.timings[OURS].peak_bytes > 0
    assert bench.forms_per_step == 3  # a, b and </s>
    trainer = trainer_on(
        tmp_path,
        settings=preset("char-small"),
        device=torch.device("cpu"),
        precision="fp32",
        seed=1,
    )
    forward = forward_flops(trainer.model, trainer.batches.batch(0).forms, n_positions=20 * 35)
    assert bench.flops_per_token == pytest.approx(3 * forward / (20 * 35))


def test_a_text_too_short_for_the_steps_is_refused(corpus_dir: Path) -> None:
    with pytest.raises(DataError, match="1 chunks to train on; expected 2, as many as steps"):
        bench_train(data=corpus_dir, steps=2, threads=1, device="cpu")


def test_an_evaluation_has_the_perplexity_of_eval_and_the_naive_path_agrees(
    tiny_run: Path, corpus_dir: Path
) -> None:
    bench = bench_eval(model=tiny_run, data=corpus_dir, repetitions=1, threads=1, device="cpu")
    (result,) = evaluate(tiny_run, data=corpus_dir, state="carried", threads=1, device="cpu")
    assert bench.ppl == pytest.approx(result.by_state["carried"].ppl, rel=1e-5)
    assert abs(bench.log10_prob_difference) < 1e-6
    assert bench.n_tokens == bench.n_naive_tokens == 14
    assert bench.to_dict()["speed_up"] == bench.speed_up > 0


def test_a_preset_beside_a_run_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        bench_eval(model="run", arch="char-large")
    assert str(caught.value) == (
        "--arch char-large: is for an untrained model, and run is measured; leave one out"
    )


@pytest.mark.parametrize("bench", [bench_kn, bench_prep])
@pytest.mark.parametrize("option", ["tokens", "seed"])
def test_a_length_or_seed_beside_a_corpus_of_which_all_is_read_is_refused(
    bench: Callable[..., object], option: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        bench(data="ptb", **{option: 5000})
    assert str(caught.value) == (
        f"--{option} 5000: is for a text that is generated, and all of ptb is taken; leave one out"
    )


def test_a_seed_where_nothing_is_drawn_is_refused() -> None:
    with pytest.raises(ConfigError, match="^--seed 9: neither weights nor text are drawn"):
        bench_eval(model="run", data="ptb", seed=9)


def test_a_text_that_is_made_is_drawn_by_the_seed(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate_module, "MADE_TOKENS", 2_000)
    benches = [
        bench_eval(
            model=tiny_run, naive_tokens=1, repetitions=1, seed=seed, threads=1, device="cpu"
        )
        for seed in (1, 2)
    ]
    assert benches[0].ppl != pytest.approx(benches[1].ppl, rel=1e-6)


def test_kneser_ney_is_measured_by_itself_where_there_is_no_lmplz(
    corpus_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    bench = bench_kn(data=corpus_dir, order=3, repetitions=1)
    written = bench.to_dict()
    assert bench.ratio_to_lmplz is None
    n_tokens = sum(len(line.split()) + 1 for line in (corpus_dir / "train.txt").open())
    assert (written["n_tokens"], written["n_queries"]) == (n_tokens, 14)
    assert isinstance(written["paths"], dict)
    assert {"estimate", "query"} <= set(written["paths"])


def test_a_model_that_kenlm_does_not_take_is_measured_without_it(corpus_dir: Path) -> None:
    bench = bench_kn(data=corpus_dir, order=1, repetitions=1)
    assert "query" in bench.timings
    assert "query, kenlm" not in bench.timings


def test_an_lmplz_that_is_named_must_be_there(corpus_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file; expected KenLM's lmplz"):
        bench_kn(data=corpus_dir, lmplz=tmp_path / "lmplz")


def test_text_handling_is_measured_on_all_words(corpus_dir: Path) -> None:
    bench = bench_prep(data=corpus_dir, repetitions=1)
    assert bench.n_tokens == sum(
        len(line.split()) + 1 for line in (corpus_dir / "train.txt").open()
    )
    assert set(bench.timings) == {"prep", "vocabulary", "encode", "read and split"}


def test_a_gpus_steps_are_recorded_before_a_training_is_measured(
    n_calls: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.txt").write_text("a b b\n" * 400)
    before: list[int] = []

    def in_turns(paths: Any, *, repetitions: int) -> dict[str, Timing]:
        before.extend(n_calls)
        return dict.fromkeys(paths, Timing((1.0,), 1, (1.0,)))

    monkeypatch.setattr(train_module, "in_turns", in_turns)
    bench_train(data=tmp_path, steps=2, threads=1, device="cpu", precision="fp32")
    assert before
    assert min(before) > WARM_UPS


def test_the_naive_path_is_not_charged_for_the_table_of_spellings(
    tiny_run: Path, corpus_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    class Counted(FormTable):
        def __init__(self, *given: Any, **named: Any) -> None:
            made.append(1)
            super().__init__(*given, **named)

    monkeypatch.setattr(evaluate_module, "FormTable", Counted)
    bench_eval(model=tiny_run, data=corpus_dir, repetitions=2, threads=1, device="cpu")
    assert len(made) == 1
