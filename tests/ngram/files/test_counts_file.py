"""Files of counts against a dictionary's counts, and their models against a slow estimator."""

import gzip
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from charlm import ConfigError, DataError, ngram_baseline
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.model_sources import EstimationPlan, model_of_counts

Sentences = list[list[str]]
Entries = tuple[dict[tuple[str, ...], float], dict[tuple[str, ...], float]]

SENTENCES = [line.split() for line in ("a b a b", "", "b", "a b a", "c a b a b a b", "b c <unk>")]


def slow_counts(sentences: Sentences, order: int) -> Counter[tuple[str, ...]]:
    padded = [["<s>", *words, "</s>"] for words in sentences]
    return Counter(
        tuple(words[i : i + n])
        for words in padded
        for n in range(1, order + 1)
        for i in range(len(words) - n + 1)
    )


def shuffled(counts: Counter[tuple[str, ...]], seed: int = 1) -> str:
    lines = [f"{' '.join(ngram)}\t{count}\n" for ngram, count in counts.items()]
    random.Random(seed).shuffle(lines)
    return "".join(lines)


def text(sentences: Sentences) -> str:
    return "".join(f"{' '.join(words)}\n" for words in sentences)


def model_of(path: Path, *, order: int, prune: Sequence[int] = (0,)) -> BackoffModel:
    return model_of_counts([path], EstimationPlan(order, prune))[0]


@pytest.mark.parametrize(("order", "prune"), [(1, (0,)), (2, (1,)), (3, (0, 0, 1)), (4, (0,))])
def test_a_model_of_counts_is_that_of_the_text_but_for_lmplzs_slip(
    tmp_path: Path,
    order: int,
    prune: tuple[int, ...],
    text_of: Callable[[str], Sentences],
    slow_estimate: Callable[..., Any],
    entries_of: Callable[[BackoffModel], Entries],
) -> None:
    sentences = text_of("made")
    (tmp_path / "a.counts").write_text(shuffled(slow_counts(sentences, order)))
    probs, backoffs = entries_of(model_of(tmp_path / "a.counts", order=order, prune=prune))
    expected = slow_estimate(sentences, order=order, prune=prune, has_slip=False)
    assert probs == pytest.approx(expected.probs, abs=1e-6)
    kept = {ngram: expected.backoffs[ngram] for ngram in backoffs}
    assert backoffs == pytest.approx(kept, abs=1e-6)


def test_the_counts_that_are_written_are_those_of_a_dictionary(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text(SENTENCES))
    out = tmp_path / "a.counts.gz"
    ngram_baseline(train=tmp_path / "a.txt", order=4, write_counts=out)
    lines = gzip.decompress(out.read_bytes()).decode().splitlines()
    found = [(tuple(line.split("\t")[0].split(" ")), line.split("\t")[1]) for line in lines]
    assert dict(found) == {ngram: str(n) for ngram, n in slow_counts(SENTENCES, 4).items()}
    assert len(found) == len(dict(found))
    assert [len(ngram) for ngram, _ in found] == sorted(len(ngram) for ngram, _ in found)


def test_the_counts_of_parts_add_up_to_those_of_the_whole(
    tmp_path: Path, entries_of: Callable[[BackoffModel], Entries]
) -> None:
    names = ("whole", "first", "second")
    for name, part in zip(names, (SENTENCES, SENTENCES[:3], SENTENCES[3:]), strict=True):
        (tmp_path / f"{name}.txt").write_text(text(part))
        ngram_baseline(
            train=tmp_path / f"{name}.txt", order=3, write_counts=tmp_path / f"{name}.counts"
        )
    parts = [tmp_path / "second.counts", tmp_path / "first.counts"]
    model, info, counts = model_of_counts(parts, EstimationPlan(3))
    whole = model_of(tmp_path / "whole.counts", order=3)
    assert entries_of(model) == entries_of(whole)
    assert info.source == f"{parts[0]}, {parts[1]}"
    words = Counter(word for words in SENTENCES for word in ["<s>", *words, "</s>"])
    assert dict(zip(model.words, counts.tolist(), strict=True)) == words


def test_counts_that_were_read_are_written_as_their_sum(tmp_path: Path) -> None:
    (tmp_path / "a.counts").write_text(shuffled(slow_counts(SENTENCES, 2)))
    both = [tmp_path / "a.counts"] * 2
    ngram_baseline(counts=both, order=2, write_counts=tmp_path / "sum.counts")
    found = dict(line.rsplit("\t") for line in (tmp_path / "sum.counts").read_text().splitlines())
    expected = slow_counts(SENTENCES, 2).items()
    assert found == {" ".join(ngram): str(2 * count) for ngram, count in expected}


def test_googles_marks_are_ours_and_longer_ngrams_are_passed_over(
    tmp_path: Path, entries_of: Callable[[BackoffModel], Entries]
) -> None:
    ours, googles = tmp_path / "ours", tmp_path / "googles"
    ours.write_text(shuffled(slow_counts(SENTENCES, 2)))
    longer = shuffled(slow_counts(SENTENCES, 4), seed=2)
    for mark, other in (("<s>", "<S>"), ("</s>", "</S>"), ("<unk>", "<UNK>")):
        longer = longer.replace(mark, other)
    googles.write_text(longer.replace("\t", " ") + "\n \n")  # blanks alone, as SRILM reads, too
    assert entries_of(model_of(googles, order=2)) == entries_of(model_of(ours, order=2))


def test_a_list_of_words_maps_the_others_to_unk_and_adds_their_counts(tmp_path: Path) -> None:
    mapped = [[word if word in "ab" else "<unk>" for word in words] for words in SENTENCES]
    (tmp_path / "a.txt").write_text(text(mapped))
    (tmp_path / "a.counts").write_text(shuffled(slow_counts(SENTENCES, 3)))
    (tmp_path / "words").write_text("a\nb\n")
    test, words = tmp_path / "a.txt", tmp_path / "words"
    found = ngram_baseline(test, counts=tmp_path / "a.counts", vocab=words, order=3)
    expected = ngram_baseline(test, train=tmp_path / "a.txt", vocab=words, order=3)
    ppl = expected.texts[0].by_state["sentence"].ppl
    assert found.texts[0].by_state["sentence"].ppl == pytest.approx(ppl, rel=1e-9)
    assert "|lm:kn3|counts:" in found.texts[0].signatures["sentence"]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("a b c\n", r"c:1: found 'a b c'; expected an n-gram and how often it occurs, as `the"),
        ("a 1\n\n7\n", "c:3: found '7'; expected an n-gram"),
        ("a 0\n", "c:1: found 'a 0'"),
        ("a 1.5\n", "c:1: found 'a 1.5'"),
        ("<s> 1\na 1\n<s> a 1\n", "c: no n-gram ends with </s>; expected counts of sentences"),
        ("a 1\n</s> 1\na </s> 1\n", "c: no n-gram begins with <s>; expected counts of sentences"),
        ("a 1\n</s> 1\n", "c: found n-grams of 1 words at most; expected 2 words; say --order 1"),
        ("\n", "c: found no n-gram; expected 2 words"),
        ("a <s> 1\n", "c: found the n-gram 'a <s>'; expected <s> at an n-gram's start alone"),
        ("</s> a 1\n", "c: found the n-gram '</s> a'; expected <s> at an n-gram's start alone"),
    ],
)
def test_what_are_no_counts_of_sentences_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c").write_text(lines)
    with pytest.raises(DataError, match=f"^{told}"):
        model_of(Path("c"), order=2)


@pytest.mark.parametrize("part", ["a b", "b a"])
def test_an_ngram_whose_parts_are_not_listed_is_named(tmp_path: Path, part: str) -> None:
    counts = slow_counts([["a", "b", "a"]], 3)
    del counts[*part.split()]
    (tmp_path / "c").write_text(shuffled(counts))
    told = rf"is listed and '{part}' is not; expected the counts of all orders"
    with pytest.raises(DataError, match=told):
        model_of(tmp_path / "c", order=3)


@pytest.mark.parametrize("part", ["a b", "b a", "b"])
def test_an_ngram_that_occurs_more_often_than_its_parts_is_refused(
    tmp_path: Path, part: str
) -> None:
    counts = slow_counts([["a", "b", "a"]] * 2, 3)
    del counts["<s>",]  # which need not be listed
    (tmp_path / "c").write_text(shuffled(counts))
    assert model_of(tmp_path / "c", order=3, prune=(0, 1)).sizes == (5, 4, 3)
    counts[*part.split()] = 1  # pruned at 1, it would leave longer ones behind other words
    (tmp_path / "c").write_text(shuffled(counts))
    told = f" occurs 2 times and '{part}' 1; expected the counts of a text, where an n-gram's"
    with pytest.raises(DataError, match=told):
        model_of(tmp_path / "c", order=3, prune=(0, 1))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"train": "a.txt", "counts": "c"}, "expected one of --train TEXT, --counts FILE, --lm"),
        ({"counts": "c", "lm": "a.arpa"}, "expected one of --train TEXT, --counts FILE, --lm"),
        ({"counts": "c", "out": "a.arpa", "lower": True}, "--lower and the like: found no text"),
        ({"lm": "a.arpa", "write_counts": "d"}, "--write-counts is for an estimate, and --lm"),
        ({"counts": "c", "write_counts": "c"}, "c: would be overwritten, but is also read"),
        ({"train": "a.txt", "out": "d", "write_counts": "d"}, "--out d and --write-counts d: one"),
        ({"train": "a.txt", "write_counts": "no/d"}, "--write-counts no/d: no folder no"),
        ({"counts": ["-", "-"], "out": "d"}, "standard input: named twice"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(text(SENTENCES))
    Path("c").write_text(shuffled(slow_counts(SENTENCES, 5)))
    with pytest.raises(ConfigError, match=told):
        ngram_baseline(**options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "c"]


@pytest.mark.parametrize("options", [{"counts": "c"}, {"train": "a.txt", "write_counts": "d"}])
def test_lmplz_has_no_files_of_counts(
    options: dict[str, Any], play: Callable[[str], Path], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="counts: lmplz has no such files; expected --engine"):
        ngram_baseline(**options, out="a.arpa", lmplz=play("pass"))
