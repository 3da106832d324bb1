"""Computations of the surprisal and decoding recipes: made texts, made frames, a fit."""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
LATIN_1 = {**os.environ, "PYTHONIOENCODING": "latin-1"}  # as in a locale that is not UTF-8


def module(path: str) -> Any:
    return SimpleNamespace(**run_path(str(RECIPES / path)))


def test_without_noise_the_channels_likeliest_letters_are_the_text() -> None:
    channel = module("decoding/channel.py").Channel(" abcdelm", noise=0.0, seed=1)
    frames = channel.log_probs("all able bell", number=3)
    assert channel.greedy(frames) == "all able bell"
    assert np.exp(frames).sum(axis=1) == pytest.approx(np.ones(len(frames)), abs=1e-6)


def test_the_channel_gives_a_sentence_the_same_frames_again() -> None:
    make = module("decoding/channel.py").Channel
    one, two = (
        make(" abcdelm", noise=0.3, seed=1).log_probs("able bell", number=n) for n in (3, 4)
    )
    assert np.array_equal(one, make(" abcdelm", noise=0.3, seed=1).log_probs("able bell", number=3))
    assert one.shape != two.shape or not np.array_equal(one, two)


def test_an_article_becomes_sentences_as_they_were_written() -> None:
    line = " He said , ' It isn 't 1 @,@ 000 @-@ fold . ' He <unk> <unk> it . Bob 's is here . "
    found = list(module("reading-times/prose.py").sentences(line.replace(" ' ", ' " ')))
    assert found == ['He said , " It isn\'t 1,000-fold . "', "Bob's is here ."]
    script = [sys.executable, RECIPES / "reading-times" / "prose.py"]
    text = " “ This is so . ” Voici la voilà\n".encode()
    done = subprocess.run(script, input=text, check=True, capture_output=True, env=LATIN_1)
    assert done.stdout.decode() == "“ This is so . ”\nVoici la voilà\n"


def test_a_story_ends_where_another_begins(tmp_path: Path) -> None:
    path = tmp_path / "all.tok"
    path.write_text("word\tzone\titem\nIf\t1\t1\nso.\t2\t1\nNo\t3\t1\nA,\t1\t2\nb!’\t2\t2\n")
    script = [sys.executable, RECIPES / "reading-times" / "stories.py", path]
    done = subprocess.run(script, check=True, capture_output=True, env=LATIN_1)
    assert done.stdout.decode() == 'story,zone,sentence\n1,1,If so.\n1,3,No\n2,1,"A, b!’"\n'


def surprisals_and_times(folder: Path) -> tuple[Path, Path]:
    """A table of two models, of which the first has what times hang on, and the times."""
    rng = np.random.default_rng(1)
    at = ("", "_prev1", "_prev2")
    names = ["item", "story", "zone", "position", "word"]
    for name in ("known", "length", "zipf", "surprisal_true", "surprisal_noise"):
        names += [f"{name}{k}" for k in at]
    rows, times = ["\t".join(names)], ["word\tzone\titem\tgmeanItemRT"]
    for zone in range(1, 601):
        story = zone % 3
        values = rng.normal(5, 2, 12)
        known = ["TRUE", "TRUE", "TRUE" if zone % 10 else "NA"]
        position = 1 + zone % 7
        cells = [str(zone // 10), str(story), str(zone - position + 1), str(position), "w", *known]
        rows.append("\t".join(cells + [f"{value:.6f}" for value in values]))
        time = 300 * np.exp(0.02 * values[0] + 0.05 * values[6] + 0.05 * rng.normal())
        times.append(f"w\t{zone}\t{story}\t{time:.6f}")
    paths = folder / "a.tsv", folder / "b.tsv"
    for path, lines in zip(paths, (rows, times), strict=True):
        path.write_text("\n".join(lines) + "\n")
    return paths


def test_times_that_hang_on_surprisal_show_a_gain_and_noise_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module("reading-times/fit.py").main(*map(str, surprisals_and_times(tmp_path)))
    first, _, true, noise = capsys.readouterr().out.splitlines()
    assert first.startswith("540 words; base ")
    lows = [float(re.findall(r"\(([-+.0-9]+) to", line)[0]) for line in (true, noise)]
    assert lows[0] > 100  # in thousandths of a nat
    assert lows[1] < 0


def test_a_single_model_has_its_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, times = surprisals_and_times(tmp_path)
    fit = module("reading-times/fit.py").main
    fit(str(one), str(times))
    of_two = capsys.readouterr().out.splitlines()
    # As charlm surprisal names the columns of one model.
    one.write_text(one.read_text().replace("_true", "").replace("_noise", "x"))
    fit(str(one), str(times))
    assert capsys.readouterr().out.splitlines() == [
        *of_two[:2],
        of_two[2].replace("true", "surprisal"),
    ]


def test_a_table_without_frequencies_is_told(tmp_path: Path) -> None:
    one, times = surprisals_and_times(tmp_path)
    header, *rows = one.read_text().splitlines()
    at = header.split("\t").index("zipf")
    cells = [row.split("\t") for row in rows]
    lines = [header, *("\t".join([*row[:at], "NA", *row[at + 1 :]]) for row in cells)]
    one.write_text("\n".join(lines) + "\n")
    with pytest.raises(SystemExit, match=r"'NA'; expected numbers alone .*: give it a run, too"):
        module("reading-times/fit.py").main(str(one), str(times))


def test_a_model_to_which_all_words_are_as_likely_gains_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, times = surprisals_and_times(tmp_path)
    header, *rows = one.read_text().splitlines()
    alike = ["\t".join([*row.split("\t")[:-3], "5", "5", "5"]) for row in rows]  # of `noise`
    one.write_text("\n".join([header, *alike]) + "\n")
    module("reading-times/fit.py").main(str(one), str(times))
    *_, noise = capsys.readouterr().out.splitlines()
    assert noise.startswith("noise\t5.00\t+0.00 (+0.00 to +0.00)\t")


@pytest.mark.parametrize(("said", "n_words"), [("NA", 0), ("TRUE", 180)])
def test_fewer_than_two_stories_are_one_line(tmp_path: Path, said: str, n_words: int) -> None:
    one, times = surprisals_and_times(tmp_path)
    header, *rows = one.read_text().splitlines()
    kept = [row.replace("TRUE", said) for row in rows if row.split("\t")[1] == "1"]
    one.write_text("\n".join([header, *kept]) + "\n")
    with pytest.raises(SystemExit) as caught:
        module("reading-times/fit.py").main(str(one), str(times))
    assert str(caught.value).startswith(f"{one}: {n_words} words with times are known, ")


def test_models_of_different_words_are_one_line(tmp_path: Path) -> None:
    one, times = surprisals_and_times(tmp_path)
    one.write_text(one.read_text().replace("known", "known_true"))
    with pytest.raises(SystemExit) as caught:
        module("reading-times/fit.py").main(str(one), str(times))
    assert str(caught.value) == (
        f"{one}: no column known; expected what charlm surprisal --previous 2 prints of one model, "
        "or of several with the same words"
    )


def test_a_table_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    plain = tmp_path / "plain.gz"
    plain.write_text("item\tzone\n")
    cut, other = tmp_path / "cut.gz", tmp_path / "other.tsv"
    cut.write_bytes(gzip.compress(b"item\tzone\n")[:-9])
    other.write_text("item,zone\n1,1\n")
    for path, why in (
        (tmp_path / "none", "No such file"),
        (plain, "Not a gzipped file"),
        (cut, "Compressed file ended before"),
        (other, "no column word; expected Natural Stories'"),
    ):
        with pytest.raises(SystemExit, match=f"^{re.escape(str(path))}: {why}"):
            module("reading-times/fit.py").main(str(path), str(path))


def test_decoders_weights_are_those_of_the_fewest_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(RECIPES / "decoding")
    decode = module("decoding/decode.py")
    rows = [decode.Row("a b", -3.0, -2.0, 2, 0), decode.Row("a bc", -1.0, -4.0, 2, 1)]
    weights = [(0.0, 1.0, 0.0), (0.5, 1.0, -9.0), (1.5, 1.0, 0.0)]
    # The second is ahead by its letters alone, the first once the model or unknown words count.
    assert decode.errors_of_best(rows, "a b", weights).tolist() == [1, 0, 0]
    counts = np.array([[3, 2, 2, 2, 3], [3, 3, 3, 3, 3]])
    assert decode.middle_of_best(counts.ravel(), counts.shape) == 2


def test_a_decoder_that_is_not_installed_is_named_before_anything_is_decoded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(RECIPES / "decoding")
    monkeypatch.setitem(sys.modules, "pyctcdecode", None)
    given = ["decode.py", "corpus", "--model", "run", "--lm", "kn.arpa", "--pyctcdecode", "5"]
    monkeypatch.setattr("sys.argv", given)
    with pytest.raises(SystemExit):
        module("decoding/decode.py").main()
    assert "--pyctcdecode: not installed; pip install" in capsys.readouterr().err
