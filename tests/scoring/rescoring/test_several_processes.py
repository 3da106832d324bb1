"""Scorers of several processes, simulated in this one, which exchange pickles."""

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import charlm
from charlm.errors import ConfigError
from charlm.nbest.scorers import FunctionScorer
from charlm.scoring.likelihood.prefix_tree import PrefixTree
from charlm.scoring.rescoring.options.rescoring_options import RescoringOptions
from charlm.scoring.rescoring.scorers.build_scorers import Scorers, build_scorers
from charlm.scoring.rescoring.several_processes import Worker, divided, divided_scorers

Pool = Callable[..., Any]

SENTENCES = [
    tuple(words.split()) for words in ("a b c", "", "b", "a b d", "a", "zz b", "a b c", "h")
]
LISTS = "u\t-1\ta b\nu\t-2\ta c\nu\t-3\tzz\nv\t-1\tb\nv\t-1\tb h\nw\t-1\tc\n"


def loaded_by(run: Path, n_processes: int) -> list[Scorers]:
    return [build_scorers(RescoringOptions(model=[run], device="cpu")) for _ in range(n_processes)]


@pytest.mark.parametrize("n_parts", [1, 2, 3, 9])
def test_sentences_are_divided_by_prefixes_and_each_is_somewhere(n_parts: int) -> None:
    parts = divided(SENTENCES, n_parts)
    assert sorted(i for part in parts for i in part) == list(range(len(SENTENCES)))
    assert len(parts) == n_parts
    many = [tuple(f"{i:08b}"[:length]) for i in range(256) for length in (4, 8)]
    numbers = {word: number for number, word in enumerate("01")}

    def n_prefixes(part: Sequence[int]) -> int:
        ids = [np.array([numbers[word] for word in many[i]], np.int32) for i in part]
        return PrefixTree(ids).n_prefixes

    sizes = [n_prefixes(part) for part in divided(many, n_parts)]
    assert sum(sizes) <= n_prefixes(range(len(many))) + 8 * (n_parts - 1)
    assert max(sizes) - min(sizes) <= 16


@pytest.mark.parametrize("n_parts", [2, 3, 9])
def test_equal_sentences_are_scored_by_one_process_so_that_they_stay_tied(n_parts: int) -> None:
    texts = [("a", "b"), ("c",), (), ("a", "b"), ("c",), ("c",), ("a", "b"), ("c",)]
    parts = divided(texts, n_parts)
    assert sorted(i for part in parts for i in part) == list(range(len(texts)))
    for text in texts:
        assert sum(text in [texts[i] for i in part] for part in parts) == 1


@pytest.mark.parametrize("n_processes", [2, 3])
def test_sentences_that_differ_in_unknown_words_alone_are_scored_by_one_process(
    n_processes: int, run: Path, beside: Pool
) -> None:
    own, *others = loaded_by(run, n_processes)
    pool = beside(list(map(Worker, (own, *others))))
    (scorer,) = divided_scorers(own, pool).scorers
    scorer.score([(word, "b", "c") for word in ("a", "aa", "b", "bb", "c", "zz", "h", "ii")])
    first_words = [{words[0] for words in task.sentences} for task in pool.rounds[0]]
    assert all(first_words)
    assert {"aa", "bb", "zz", "ii"} in [words - {"a", "b", "c", "h"} for words in first_words]


@pytest.mark.parametrize("n_processes", [1, 2, 3])
def test_several_processes_score_as_one_does_and_remember(
    n_processes: int, run: Path, beside: Pool
) -> None:
    (alone,) = loaded_by(run, 1)[0].scorers
    own, *others = loaded_by(run, n_processes)
    (scorer,) = divided_scorers(own, beside(list(map(Worker, (own, *others))))).scorers
    memory, memory_alone = None, None
    for sentence in [None, "a b", "zz", None, "h"]:
        if sentence is None:
            memory = memory_alone = None
        else:
            memory = scorer.remember(sentence.split(), memory=memory)
            memory_alone = alone.remember(sentence.split(), memory=memory_alone)
        found = scorer.score(SENTENCES, memory=memory)
        expected = alone.score(SENTENCES, memory=memory_alone)
        for one, other in zip(found, expected, strict=True):
            assert one.log_probs == pytest.approx(other.log_probs, abs=1e-5)
            assert one.known.tolist() == other.known.tolist()
    assert own.neural[0].n_tokens == 5 * sum(len(words) + 1 for words in SENTENCES)


def in_three(beside: Pool, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Lets `charlm.score` divide its work among three, and notes them."""
    pools: list[Any] = []

    def run_in_three(options: RescoringOptions, run: Callable[..., Any], **_: object) -> Any:
        loaded = [build_scorers(options) for _ in range(3)]
        pools.append(beside(list(map(Worker, loaded))))
        return run(divided_scorers(loaded[0], pools[-1]))

    monkeypatch.setattr("charlm.scoring.rescoring.score.run_with_scorers", run_in_three)
    return pools


@pytest.mark.parametrize(
    ("layout", "options"),
    [
        ("lists", {"format": "tsv"}),
        ("lists", {"format": "tsv", "context": "previous", "recordings": "^(.)"}),
        ("lists", {"format": "tsv", "line_buffered": True, "write": "ranked"}),
        ("kaldi-lattice", {"n_best": 4}),
        ("kaldi-lattice", {"line_buffered": True, "weight": ["nn=0.5"]}),
        ("kaldi-lattice", {"context": "previous"}),
        ("kaldi-lattice", {"weight": ["words=1.5", "oov=-3"]}),
        ("slf", {"recombine": 2, "beam": 9.0}),  # these go into the files
    ],
)
def test_lists_and_lattices_come_out_as_from_one_process(
    layout: str,
    options: dict[str, Any],
    texts: dict[str, str],
    fields: Callable[[str], list[Any]],
    run: Path,
    beside: Pool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "lists"
    path.write_text({"lists": LISTS, **texts}[layout])
    divided_out, out = list[str](), list[str]()
    one = charlm.score(path, model=run, out=out.append, device="cpu", **options)
    pools = in_three(beside, monkeypatch)
    several = charlm.score(path, model=run, out=divided_out.append, device="cpu", **options)
    assert fields("".join(divided_out)) == fields("".join(out))
    assert pickle.loads(pickle.dumps(several)).counts == one.counts
    assert several.lattices == one.lattices
    is_searched_alone = layout == "kaldi-lattice" and "context" in options
    assert (not pools[0].rounds) == is_searched_alone


def test_a_scorer_of_the_callers_is_in_one_process(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "lists"
    path.write_text(LISTS)
    own = FunctionScorer(lambda sentences: [[0.0] * (len(each) + 1) for each in sentences])
    with pytest.raises(ConfigError) as caught:
        charlm.score(path, scorer=own, format="tsv", processes=2)
    assert str(caught.value) == (
        "found a scorer of the caller's and several processes, which do not have it; "
        "expected runs and n-gram models alone; score in one process"
    )
