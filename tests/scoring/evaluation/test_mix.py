"""Mixtures of a uniform run over ten words with a unigram model and with files."""

import json
import math
import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from charlm.errors import CharlmError
from charlm.scoring.evaluation.em_weights import em_weights
from charlm.scoring.evaluation.evaluate_options import State
from charlm.scoring.evaluation.mix import mix
from charlm.text.perplexity.score_streams import read_word_scores

PROBS = {"<unk>": 0.1, "</s>": 0.3, "a": 0.4, "b": 0.2}
TEXT = "a b\nzz\n"
TOKENS = ("a", "b", "</s>", "<unk>", "</s>")


@pytest.fixture(autouse=True)
def here(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    uniform: Path,
    save_unigrams: Callable[..., Path],
) -> None:
    """A working folder with a text, a corpus, two files of scores, a run and a unigram model."""
    monkeypatch.chdir(tmp_path)
    uniform.rename("run")
    save_unigrams(Path("lm"), end=-0.52287874528, a=-0.39794000867, b=-0.69897000434)
    Path("text").write_text(TEXT)
    Path("corpus").mkdir()
    Path("corpus/valid.txt").write_text("a a b\na\nb b zz\n")
    Path("corpus/test.txt").write_text(TEXT)
    write("x", [0.5, 0.25, 0.5, 0.1, 0.5])
    write("y", [0.25, 0.5, 0.25, 0.2, 0.25])


def write(name: str, probs: list[float], *, words: tuple[str, ...] = TOKENS) -> None:
    lines = [
        f"\tp( {word} | x ...) \t= [2gram] {p} [ {math.log10(p) if p else '-inf'} ]"
        for word, p in zip(words, probs, strict=True)
    ]
    Path(name).write_text("\n".join(lines))


def perplexity(probs: list[float]) -> float:
    return math.prod(probs) ** (-1 / len(probs))


def test_a_mixture_with_given_weights_is_that_of_a_calculation_by_hand() -> None:
    result = mix(["run", "lm"], data="corpus", weights=[0.25, 0.75], device="cpu")
    expected = [0.25 * 0.1 + 0.75 * PROBS[word] for word in TOKENS]
    assert result.words == TOKENS
    assert 10.0**result.log10_probs == pytest.approx(expected)
    assert result.mixture.ppl == pytest.approx(perplexity(expected))
    assert [each.ppl for each in result.streams] == pytest.approx(
        [10.0, perplexity([PROBS[word] for word in TOKENS])]
    )
    assert [each.weight for each in result.streams] == [0.25, 0.75]
    assert (result.text, result.tuned_on, result.n_iterations) == ("corpus/test.txt", None, 0)
    assert "|state:carried|" in (result.streams[0].signature or "")


def test_weights_that_are_given_need_no_text_to_tune_on() -> None:
    Path("corpus/valid.txt").unlink()
    stages: list[str] = []
    mix(["run", "lm"], data="corpus", weights="1,0", device="cpu", on_stage=stages.append)
    assert stages == ["scoring corpus/test.txt with lm", "scoring corpus/test.txt with run"]


@pytest.mark.parametrize(
    ("trained", "state", "signed"),
    [
        ("streams", None, "carried"),
        ("streams", "carried", "carried"),
        ("streams", "sentence", "sentence"),
        ("sentences", None, "sentence"),
        ("sentences", "carried", "carried"),
    ],
)
def test_a_run_is_read_as_it_was_trained_unless_it_is_said(
    saved_run: Callable[..., Path], trained: str, state: State | None, signed: str
) -> None:
    run = saved_run("zeros", batching={"type": trained})
    result = mix([run, "lm"], text="text", state=state, device="cpu")
    first, second = (each.signature or "" for each in result.streams)
    assert f"|state:{signed}|" in first
    assert "|state:sentence|" in second  # an n-gram model has no other state


def test_weights_are_tuned_on_one_split_and_reported_on_another() -> None:
    result = mix(["run", "lm"], data="corpus", device="cpu")
    # The unigram model is the better one at every known word, and as good at <unk>.
    assert [each.weight for each in result.streams] == pytest.approx([0, 1], abs=1e-4)
    assert (result.text, result.tuned_on) == ("corpus/test.txt", "corpus/valid.txt")
    weights = [each.weight for each in result.streams]
    Path("corpus/test.txt").write_text("<unk> <unk> b\n")
    other = mix(["run", "lm"], data="corpus", device="cpu")
    assert [each.weight for each in other.streams] == weights
    assert other.words == ("<unk>", "<unk>", "b", "</s>")


def test_files_of_scores_are_tuned_on_their_own_text() -> None:
    result = mix(["x", "y"])
    logs = np.stack([read_word_scores(name).log10_probs for name in "xy"])
    weights = [each.weight for each in result.streams]
    assert weights == pytest.approx(em_weights(logs).weights)
    # λ/2 + (1−λ)/4 three times, the reverse once, and (2−λ)/10 once
    grid = np.linspace(0, 1, 100_001)
    likelihood = 3 * np.log((1 + grid) / 4) + np.log((2 - grid) / 4) + np.log((2 - grid) / 10)
    assert weights[0] == pytest.approx(grid[likelihood.argmax()], abs=1e-4)
    assert result.tuned_on == "the same text"
    assert result.text is None
    assert result.n_iterations > 1


@pytest.mark.parametrize("options", [{"text": "text"}, {"data": "corpus", "tune": "test"}])
def test_one_text_for_both_is_called_so(options: dict[str, str]) -> None:
    result = mix(["run", "lm"], device="cpu", **options)  # type: ignore[arg-type]
    assert result.tuned_on == "the same text"
    assert result.text == options.get("text", "corpus/test.txt")


def test_files_runs_and_ngram_models_mix_on_a_text() -> None:
    result = mix(["lm", "x", "run"], text="text", weights="0.5,0.25,.25", device="cpu")
    assert [each.source for each in result.streams] == ["lm", "x", "run"]
    first = 0.5 * 0.4 + 0.25 * 0.5 + 0.25 * 0.1
    assert 10.0 ** result.log10_probs[0] == pytest.approx(first)


def test_what_no_stream_gives_anything_is_left_out_as_srilm_does() -> None:
    write("x", [0.5, 0.0, 0.5, 0.0, 0.5])
    write("y", [0.25, 0.2, 0.25, 0.0, 0.25])
    result = mix(["x", "y"], weights="0.5,0.5")
    assert result.to_dict()["n_left_out"] == 1
    assert [each.n_zeroprobs for each in result.streams] == [2, 1]
    assert result.streams[0].ppl == pytest.approx(2.0)
    assert result.streams[1].ppl == pytest.approx(perplexity([0.25, 0.2, 0.25, 0.25]))
    assert result.mixture.ppl == pytest.approx(perplexity([0.375, 0.1, 0.375, 0.375]))


def test_weights_that_were_rounded_are_made_to_sum_to_1() -> None:
    result = mix(["x", "y", "x"], weights="0.333,.333,.333")
    assert [each.weight for each in result.streams] == pytest.approx([1 / 3] * 3, abs=1e-12)


@pytest.mark.parametrize("name", ["z", "z.gz", "z.jsonl", "z.jsonl.gz"])
def test_what_is_written_can_be_mixed_again(name: str) -> None:
    write("x", [0.5, 0.25, 0.5, 0.0, 0.5])
    write("y", [0.25, 0.5, 0.25, 0.0, 0.25])
    result = mix(["x", "y"], out=name)
    again = read_word_scores(name)
    assert again.words == TOKENS
    assert again.log10_probs == pytest.approx(result.log10_probs, abs=1e-6)
    assert mix([name, "x"], weights="1,0").mixture.ppl == pytest.approx(result.mixture.ppl)
    assert Path(name).read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")


def test_srilms_total_stands_at_the_end_of_what_is_written() -> None:
    mix(["run", "lm"], text="text", weights="1,0", out="z", device="cpu")
    assert (
        Path("z")
        .read_text()
        .endswith(
            "\n\nfile text: 2 sentences, 3 words, 0 OOVs\n"
            "0 zeroprobs, logprob= -5 ppl= 10 ppl1= 46.41589\n"
        )
    )


def test_a_dictionary_of_it_is_json_without_the_tokens() -> None:
    value = json.loads(json.dumps(mix(["x", "y"]).to_dict(), allow_nan=False))
    assert set(value) == {
        *("text", "tuned_on", "n_iterations", "n_tokens", "n_left_out", "n_cut"),
        *("streams", "mixture", "gain", "bands", "arpa"),
    }
    assert value["n_tokens"] == 5
    names = "source weight log10_prob n_zeroprobs ppl signature n_wasted n_lacking"
    assert list(value["mixture"]) == names.split()


def test_results_can_be_compared() -> None:
    assert mix(["x", "y"]) == mix(["x", "y"]) != mix(["x", "y"], weights="0.5,0.5")


def test_pipes_can_be_mixed() -> None:
    os.mkfifo("pipe")
    writer = threading.Thread(target=Path("pipe").write_text, args=(Path("x").read_text(),))
    writer.start()
    result = mix(["pipe", "y"])
    writer.join()
    assert result.mixture.ppl == mix(["x", "y"]).mixture.ppl


def test_streams_that_differ_in_a_word_are_refused() -> None:
    write("z", [0.1] * 5, words=("a", "B", "</s>", "<unk>", "</s>"))
    with pytest.raises(CharlmError) as caught:
        mix(["x", "y", "z"])
    assert str(caught.value) == (
        "x and z: token 2 is 'b' in the one and 'B' in the other; expected the same words; one "
        "text, normalised in one way, is what they must have scored"
    )


def test_vocabularies_that_differ_are_refused() -> None:
    Path("text").write_text("a c\n")
    with pytest.raises(CharlmError) as caught:
        mix(["run", "lm"], text="text", device="cpu")
    assert str(caught.value) == (
        "run and lm: token 2 is 'c' in the one and '<unk>' in the other; expected the same words; "
        "different vocabularies mix only if all are of ARPA files; estimate an n-gram model with "
        "--vocab RUN"
    )


def test_a_stream_that_is_shorter_is_refused() -> None:
    write("z", [0.1] * 3, words=TOKENS[:3])
    with pytest.raises(CharlmError) as caught:
        mix(["x", "z"])
    assert (
        str(caught.value) == "x and z: 5 and 3 tokens; expected the same text; is one of them cut?"
    )


def test_a_text_without_any_probability_is_refused() -> None:
    write("x", [0.0] * 5)
    with pytest.raises(CharlmError) as caught:
        mix(["x", "x"])
    assert str(caught.value) == (
        "x: no stream gives any token of the text a probability above 0; expected something to "
        "tune weights on"
    )


def release(name: str, split: str, probs: list[float], *, words: str) -> str:
    """Probabilities of all words but the first of the split's text, and the words beside them."""
    Path(split).mkdir(exist_ok=True)
    Path(split, name).write_text("".join(f"{p}\n" for p in probs))
    Path(f"words_{split}.txt").write_text("".join(f"{word}\n" for word in words.split()))
    return f"{split}/{name}"


def test_releases_are_tuned_on_valid_and_their_words_align_a_run_with_them() -> None:
    release("m", "valid", [0.9] * 9, words="a b </s> a </s> b b <unk> </s>")
    of_test = release("m", "test", [0.2, 0.3, 0.1, 0.3], words="b </s> <unk> </s>")
    result = mix([of_test, "run"], data="corpus", device="cpu")
    assert result.words == TOKENS[1:]
    assert result.n_cut == 1
    # Much better on valid, and so the only one with a weight on test.
    assert [each.weight for each in result.streams] == pytest.approx([1, 0], abs=1e-4)
    assert result.mixture.ppl == pytest.approx(perplexity([0.2, 0.3, 0.1, 0.3]), rel=1e-3)
    assert result.streams[1].ppl == pytest.approx(10.0)


def test_a_release_of_all_tokens_cuts_none() -> None:
    path = release("m", "test", [0.2] * 5, words="a b </s> <unk> </s>")
    result = mix([path, "run"], text="text", device="cpu")
    assert (result.words, result.n_cut) == (TOKENS, 0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("b </s> a </s>", "run and test/m: token 3 is '<unk>' in the one and 'a' in the other; e"),
        ("</s> <unk> </s>", "run and test/m: token 1 is 'a' in the one and '</s>' in the other; "),
    ],
    ids=["another word", "more than the first left out"],
)
def test_a_release_of_other_words_is_refused(words: str, message: str) -> None:
    path = release("m", "test", [0.5] * len(words.split()), words=words)
    with pytest.raises(CharlmError) as caught:
        mix(["run", path], text="text", device="cpu")
    assert str(caught.value).startswith(message)


def test_what_a_new_stream_gains_is_the_mixture_with_it_less_that_without_it() -> None:
    write("z", [0.9, 0.1, 0.9, 0.1, 0.9])
    result, without = mix(["x", "y"], add="z"), mix(["x", "y"])
    assert [each.source for each in result.streams] == ["x", "y", "z"]
    assert result.gain is not None
    assert result.mixture.ppl is not None
    assert result.gain.without.ppl == without.mixture.ppl is not None
    difference = result.gain.difference
    assert difference.ppl == pytest.approx(result.mixture.ppl - without.mixture.ppl)
    # Sentences of three and two tokens: some draws hold only the one, some only the other.
    ends = []
    for part in (slice(0, 3), slice(3, 5)):
        log10s = [each.log10_probs[part].mean() for each in (result, without)]
        ends.append(10 ** -log10s[0] - 10 ** -log10s[1])
    assert [difference.low, difference.high] == pytest.approx(sorted(ends))


def test_a_gain_on_a_test_text_is_over_streams_weighed_on_the_validation_text(
    save_unigrams: Callable[..., Path],
) -> None:
    save_unigrams(Path("other"), end=-0.25, a=-0.75, b=-0.5)
    result = mix(["run", "lm"], add="other", data="corpus", device="cpu")
    without = mix(["run", "lm"], data="corpus", device="cpu")
    assert result.gain is not None
    assert result.gain.without.ppl == without.mixture.ppl is not None


def test_a_gain_leaves_out_what_both_mixtures_leave_out() -> None:
    write("x", [0.5, 0.25, 0.5, 0.0, 0.5])
    write("y", [0.25, 0.5, 0.25, 0.0, 0.25])
    write("z", [0.9, 0.1, 0.9, 0.0, 0.9])
    result = mix(["x", "y"], add="z")
    assert result.gain is not None
    assert result.mixture.ppl is not None
    assert (result.mixture.n_zeroprobs, result.gain.without.n_zeroprobs) == (1, 1)
    difference, ppl = result.gain.difference, result.gain.without.ppl
    assert difference.ppl == pytest.approx(result.mixture.ppl - ppl)
    # The second sentence has one token left.
    ends = []
    for part in (slice(0, 3), slice(4, 5)):
        without = mix(["x", "y"]).log10_probs[part].mean()
        ends.append(10 ** -result.log10_probs[part].mean() - 10**-without)
    assert [difference.low, difference.high] == pytest.approx(sorted(ends))


def test_a_gain_over_streams_that_give_nothing_to_a_token_is_no_number() -> None:
    write("x", [0.5, 0.25, 0.5, 0.0, 0.5])
    write("y", [0.25, 0.5, 0.25, 0.0, 0.25])
    gain = mix(["x", "y"], add="lm", text="text").gain
    assert gain is not None
    assert (gain.difference.ppl, gain.difference.low) == (None, None)


def test_bands_are_by_the_counts_of_the_training_text() -> None:
    Path("corpus/train.txt").write_text("b\n" * 12 + "a a\n")
    result = mix(["run", "lm"], data="corpus", weights="0,1", bands=True, device="cpu")
    assert [(band.name, band.n_tokens) for band in result.bands] == [
        ("</s>", 2),
        ("<unk>", 1),
        ("1-9", 1),
        ("10-99", 1),
    ]
    of_lm = [PROBS[word] ** -1 for word in ("</s>", "<unk>", "a", "b")]
    assert [band.ppls[0] for band in result.bands] == pytest.approx([10.0] * 4)
    assert [band.ppls[1] for band in result.bands] == pytest.approx(of_lm)
    assert [band.ppls[2] for band in result.bands] == pytest.approx(of_lm)


def test_a_mixture_is_written_as_a_release_less_its_first_token() -> None:
    result = mix(["x", "y"], out="z.prob")
    again = mix(["z.prob", "x"], weights="1,0")
    assert Path("z.prob").read_text().count("\n") == 4
    assert again.words == TOKENS[1:]
    assert again.log10_probs == pytest.approx(result.log10_probs[1:], abs=1e-8)
    mix(["z.prob", "x"], weights="1,0", out="zz.prob")  # z.prob lacks the token already
    assert Path("zz.prob").read_bytes() == Path("z.prob").read_bytes()
    mix(["z.prob", "zz.prob"], weights=".5,.5", out="of-both.prob")  # both files lack it
    assert Path("of-both.prob").read_bytes() == Path("z.prob").read_bytes()


@pytest.mark.parametrize(
    ("streams", "text"), [(["x", "y"], None), (["x", "lm"], "text"), (["lm", "lm"], "text")]
)
def test_bands_of_another_text_than_that_of_data(streams: list[str], text: str | None) -> None:
    Path("corpus/train.txt").write_text("b\n" * 12 + "a a\n")
    for name in "xy":
        write(name, [0.5, 0.25, 0.5, 0.125, 0.5])
    result = mix(streams, text=text, data="corpus", bands=True)
    assert [band.name for band in result.bands] == ["</s>", "<unk>", "1-9", "10-99"]
    assert result.tuned_on == "the same text"
