"""Lattices written again, and what their readers then find."""

import re
from collections.abc import Callable

import pytest

from charlm.errors import ConfigError, DataError
from charlm.nbest.lattices.expanded import RescoredLattice
from charlm.nbest.lattices.histories import ScorerHistories
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_files import decoder_scales, rescored_text
from charlm.nbest.lattices.lattice_options import LatticeOptions
from charlm.nbest.lattices.rescore import rescore_with
from charlm.nbest.scorers import FunctionScorer

Read = Callable[..., list[Lattice]]
Make = Callable[..., str]
COST = re.compile(r"[^\t]+,(?=[0-9.]+,)")
ALL = 100_000
SEEDS = range(12)
HALF = FunctionScorer(lambda sentences: [[-0.5] * (len(s) + 1) for s in sentences])


def rescored(
    lattice: Lattice, *models: str, scorer: FunctionScorer, **said: object
) -> RescoredLattice:
    options = LatticeOptions(**{"recombine": 0, "beam": 0, "n_best": ALL, **said})  # type: ignore[arg-type]
    return next(
        rescore_with([lattice], {n: ScorerHistories(scorer) for n in models}, options=options)
    )


def test_a_graph_cost_is_in_the_unit_of_the_language_models_and_all_else_stays(
    read: Read, scorer: FunctionScorer
) -> None:
    text = "u \r\n0  1\twe\t2.5,100.250,3_1_2 \r\n1  0.125,0,\r\n\r\n"
    lattice = read(text)[0]
    weights = {"am": 0.5, "graph": 1.0, "nn": 3.0, "words": 2.0}
    found = rescored(lattice, "nn", scorer=scorer, weights=weights)
    nn, end = scorer.score([["we"]])[0].log_probs
    arc, final = (2.5 - 3 * nn - 2) / 4, (0.125 - 3 * end) / 4
    assert rescored_text(found).text == (
        f"u \r\n0  1\twe\t{arc:.9g},100.250,3_1_2 \r\n1  {final:.9g},0,\r\n\r\n"
    )
    assert decoder_scales(found) == {
        "--inv-acoustic-scale": 8.0,
        "--lm-scale": 1.0,
        "--word-ins-penalty": 0.0,
    }


def test_weights_below_zero_have_no_part_in_the_unit(read: Read) -> None:
    lattice = read("u\n0 1 a 2,10,\n1\n\n")[0]
    for weights, unit in (({"graph": 1.0, "nn": -1.0}, 1.0), ({"graph": 0.0, "nn": -1.0}, 1.0)):
        found = rescored(lattice, "nn", scorer=HALF, weights={"am": 0.1, **weights})
        assert decoder_scales(found)["--inv-acoustic-scale"] == pytest.approx(unit / 0.1)
        cost = 2 * weights["graph"] - 0.5
        assert rescored_text(found).text == f"u\n0 1 a {cost:g},10,\n1\t-0.5,0,\n\n"


def test_a_missing_weight_is_put_in(read: Read) -> None:
    for text, expected in (
        ("u\n0 1 a\n1\n\n", "u\n0 1 a 0.5,0,\n1\t0.5,0,\n\n"),
        ("u\n0 1 7 a\n1\n\n", "u\n0 1 7 a 0.5,0\n1\t0.5,0\n\n"),
    ):
        found = rescored(read(text)[0], "nn", scorer=HALF, weights={"am": 1.0, "nn": 1.0})
        assert rescored_text(found).text == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_split_states_carry_their_words_acoustic_costs_and_alignments(
    read: Read, random_lattice: Make, scorer: FunctionScorer, seed: int
) -> None:
    text = random_lattice(seed)
    written = rescored_text(rescored(read(text)[0], "nn", scorer=scorer)).text
    before = {
        COST.sub("", row.split("\t", 2)[2]) for row in text.split("\n") if row.count("\t") > 1
    }
    after = {
        COST.sub("", row.split("\t", 2)[2]) for row in written.split("\n") if row.count("\t") > 1
    }
    assert after == before
    assert written.startswith("utt\n0\t") and written.endswith("\n\n")


@pytest.mark.parametrize("weights", [{"am": 0.0, "nn": 1.0}, {"am": -0.1, "nn": 1.0}, {"nn": 1.0}])
@pytest.mark.parametrize("kind", ["compact", "slf"])
def test_acoustic_scores_that_count_nothing_are_one_line(
    read: Read, texts: dict[str, str], scorer: FunctionScorer, kind: str, weights: dict[str, float]
) -> None:
    found = rescored(read(texts[kind])[0], "nn", scorer=scorer, weights=weights)
    expected = (
        rf"lattices:1: the weight of am is {weights.get('am', 0):g}; expected more than 0 for "
        "lattices that are written, since decoders divide by it; give --weight am=NUMBER, or "
        "--write nbest$"
    )
    with pytest.raises(ConfigError, match=expected):
        rescored_text(found)


def test_a_score_that_no_reader_takes_is_one_line(
    read: Read, texts: dict[str, str], scorer: FunctionScorer
) -> None:
    weights = {"am": 1e-30, "nn": 10.0}
    found = rescored(read(texts["slf"])[0], "nn", scorer=scorer, weights=weights)
    expected = r"score of -\S+e\+3\d is to be written; expected less than 1e30; give weights that"
    with pytest.raises(ConfigError, match=expected):
        rescored_text(found)


def test_a_lattice_of_htk_gets_scales_of_one_new_language_scores_and_a_comment(
    read: Read, texts: dict[str, str]
) -> None:
    found = rescored(read(texts["slf"])[0], "nn", scorer=HALF, recombine=1)
    before, written = texts["slf"].splitlines(), rescored_text(found).text.splitlines()
    assert not found.expanded.is_split
    assert written[:6] == [
        *("VERSION=1.0", "UTTERANCE=utt-A", "lmname=bg  lmscale=1  wdpenalty=0  acscale=1"),
        *("# decoded on a Tuesday", "prscale=1", "N=5  L=5"),
    ]
    assert written[7:12] == before[5:10]
    assert written[6] == (
        "# charlm: nn recombine=1 beam=0 merged=1 pruned=0 weights: am=2 old_lm=7 nn=7 words=-0.5"
    )
    # (7 · old - 7 · .5 - .5 for the word) / 2; the last link has no word, and the sentence's end
    scores = ["-11.8385", "-10.75", "-12.85", "-14.25", "-5.25"]
    for line, old, score in zip(written[-5:], before[-5:], scores, strict=True):
        assert line == old.rpartition("l=")[0] + f"l={score}"


def test_a_header_without_sizes_has_its_scales_before_the_nodes(read: Read) -> None:
    text = "VERSION=1.0\r\nI=0\r\nI=1 W=a\r\nJ=0 n=-2 S=0\tE=1 a=-3\r\n"
    written = rescored_text(rescored(read(text)[0], "nn", scorer=HALF)).text
    assert written == (
        "VERSION=1.0\r\nlmscale=1 acscale=1 prscale=1 wdpenalty=0\r\n"
        "# charlm: nn recombine=0 beam=0 merged=0 pruned=0 weights: am=1 old_lm=0.5 nn=0.5\r\n"
        "I=0\r\nI=1 W=a\r\nJ=0 S=0\tE=1 a=-3 l=-1.5\r\n"
    )


def test_scales_that_come_first_in_a_file_are_read_again(read: Read) -> None:
    for head in ("", "lmscale=2\n"):
        text = f"{head}N=2 L=1\nI=0\nI=1 W=a\nJ=0 S=0 E=1 l=-2\n"
        written = rescored_text(rescored(read(text)[0], "nn", scorer=HALF)).text
        assert read(written)[0].scales == {"am": 1.0, "old_lm": 1.0, "pron": 1.0, "words": 0.0}


def test_probabilities_are_too_coarse_for_new_scores(
    read: Read, texts: dict[str, str], scorer: FunctionScorer
) -> None:
    text = re.sub(r"([al])=-?\S+", r"\1=0.5", texts["slf"]).replace("N=5", "base=0\nN=5")
    found = rescored(read(text)[0], "nn", scorer=scorer)
    expected = ":1: base=0, probabilities, too coarse for the new scores; expected a base of "
    with pytest.raises(DataError, match=expected):
        rescored_text(found)


@pytest.mark.parametrize("seed", SEEDS)
def test_split_nodes_carry_their_times_and_links_their_other_fields(
    read: Read, random_lattice: Make, as_slf: Make, scorer: FunctionScorer, seed: int
) -> None:
    text = as_slf(random_lattice(seed))
    written = rescored_text(rescored(read(text)[0], "nn", scorer=scorer)).text

    def bodies(of: str, mark: str) -> set[str]:
        rows = [re.sub(r"\bl=\S+", "", row) for row in of.split("\n") if row.startswith(mark)]
        return {re.sub(r"\b[IJSE]=\d+ *", "", row) for row in rows}

    for mark in ("I=", "J="):
        assert bodies(written, mark) == bodies(text, mark)
    again = read(written)[0]
    assert len(again.nodes) == int(written.partition("\nN=")[2].partition("\t")[0])
