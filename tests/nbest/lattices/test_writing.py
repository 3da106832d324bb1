"""Lattices written again, and what their readers then find."""

import re
from collections.abc import Callable

import pytest

from charlm.errors import ConfigError
from charlm.nbest.lattices.expanded import RescoredLattice
from charlm.nbest.lattices.histories import ScorerHistories
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.options import LatticeOptions
from charlm.nbest.lattices.rescoring import rescore_with
from charlm.nbest.lattices.writing import rescored_text
from charlm.nbest.scorer import FunctionScorer

Read = Callable[..., list[Lattice]]
Make = Callable[..., str]
COST = re.compile(r"[^\t]+,(?=[0-9.]+,)")
ALL = 100_000
SEEDS = range(12)


def rescored(
    lattice: Lattice, *models: str, scorer: FunctionScorer, **said: object
) -> RescoredLattice:
    options = LatticeOptions(**{"recombine": 0, "beam": 0, "n_best": ALL, **said})  # type: ignore[arg-type]
    return next(
        rescore_with([lattice], {n: ScorerHistories(scorer) for n in models}, options=options)
    )


def totals(found: RescoredLattice) -> dict[tuple[str, ...], float]:
    return dict(zip((h.words for h in found.nbest.hypotheses), found.totals, strict=True))


def ranked(lattice: Lattice, weights: dict[str, float]) -> dict[tuple[str, ...], float]:
    options = LatticeOptions(weights=weights, n_best=ALL, beam=0)
    return totals(next(rescore_with([lattice], {}, options=options)))


@pytest.mark.parametrize("seed", SEEDS)
def test_kaldis_own_scales_rank_a_mixed_lattice_as_we_do(
    read: Read, random_lattice: Make, scorer: FunctionScorer, seed: int
) -> None:
    weights = {"am": 0.1, "graph": 0.4, "nn": 0.6}
    found = rescored(read(random_lattice(seed))[0], "nn", scorer=scorer, weights=weights)
    again = read(rescored_text(found).text)[0]
    assert ranked(again, {"am": 0.1, "graph": 1.0}) == pytest.approx(totals(found), abs=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_old_model_gives_way_to_the_new_one(
    read: Read, random_lattice: Make, scorer: FunctionScorer, seed: int
) -> None:
    other = FunctionScorer(lambda sentences: [[-2.0] * (len(s) + 1) for s in sentences])
    models = {"old_lm": ScorerHistories(other), "nn": ScorerHistories(scorer)}
    weights = {"am": 0.1, "graph_nolm": 1.0, "nn": 1.0}
    options = LatticeOptions(weights=weights, recombine=0, beam=0, n_best=ALL)
    found = next(rescore_with(read(random_lattice(seed)), models, options=options))
    again = read(rescored_text(found, keeping="replace").text)[0]
    assert ranked(again, {"am": 0.1, "graph": 1.0}) == pytest.approx(totals(found), abs=1e-4)
    assert rescored_text(found, keeping="replace") == rescored_text(found, keeping="mix")


def test_a_graph_cost_is_the_mean_of_old_and_new_and_all_else_stays(
    read: Read, texts: dict[str, str], scorer: FunctionScorer
) -> None:
    text = "u \r\n0  1\twe\t2.5,100.250,3_1_2 \r\n1  0.125,0,\r\n\r\n"
    lattice = read(text)[0]
    weights = {"graph": 1.0, "nn": 3.0}
    found = rescored(lattice, "nn", scorer=scorer, weights=weights)
    nn, end = scorer.score([["we"]])[0].log_probs
    arc, final = (2.5 - 3 * nn) / 4, (0.125 - 3 * end) / 4
    assert rescored_text(found).text == (
        f"u \r\n0  1\twe\t{arc:.7g},100.250,3_1_2 \r\n1  {final:.7g},0,\r\n\r\n"
    )


def test_a_missing_weight_is_put_in(read: Read) -> None:
    half = FunctionScorer(lambda sentences: [[-0.5] * (len(s) + 1) for s in sentences])
    for text, expected in (
        ("u\n0 1 a\n1\n\n", "u\n0 1 a 0.5,0,\n1\t0.5,0,\n\n"),
        ("u\n0 1 7 a\n1\n\n", "u\n0 1 7 a 0.5,0\n1\t0.5,0\n\n"),
    ):
        found = rescored(read(text)[0], "nn", scorer=half, weights={"nn": 1.0})
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


@pytest.mark.parametrize(
    ("keeping", "message"),
    [
        ("field", "Kaldi's lattices have no place for one more score; expected mix or replace"),
        ("replace", "transitions and lexicon together; expected --old-lm ARPA"),
        ("add", "lattice score 'add': expected one of auto, field, replace, mix"),
    ],
)
def test_a_score_without_a_place_is_one_line(
    read: Read, texts: dict[str, str], scorer: FunctionScorer, keeping: str, message: str
) -> None:
    found = rescored(read(texts["compact"])[0], "nn", scorer=scorer)
    with pytest.raises(ConfigError, match=message):
        rescored_text(found, keeping=keeping)  # type: ignore[arg-type]


def test_a_lattice_of_htk_gets_one_field_more_and_a_comment(
    read: Read, texts: dict[str, str]
) -> None:
    half = FunctionScorer(lambda sentences: [[-0.5] * (len(s) + 1) for s in sentences])
    found = rescored(read(texts["slf"])[0], "nn", scorer=half, recombine=1)
    written = rescored_text(found).text.splitlines()
    assert not found.expanded.is_split
    assert written[5] == (
        "# charlm: nn score=field recombine=1 beam=0 merged=1 pruned=0 "
        "weights: am=2 old_lm=7 nn=7 words=-0.5"
    )
    ends = [line.rpartition(" charlm=") for line in written[-5:]]
    assert [field for _, _, field in ends] == ["-0.5"] * 5  # of words, and once of the end
    assert [line for line, _, _ in ends] == texts["slf"].splitlines()[-5:]


@pytest.mark.parametrize("base", ["", "base=10\n", "base=1.0001\n"])
@pytest.mark.parametrize("seed", SEEDS)
def test_htks_own_scales_rank_a_mixed_lattice_as_we_do(
    read: Read, random_lattice: Make, as_slf: Make, scorer: FunctionScorer, seed: int, base: str
) -> None:
    lattice = read(base + as_slf(random_lattice(seed)), form="slf")[0]
    found = rescored(lattice, "nn", scorer=scorer)
    again = read(rescored_text(found, keeping="mix").text, form="slf")[0]
    assert again.scales == lattice.scales == {"am": 0.5, "old_lm": 2.0}
    assert ranked(again, again.scales) == pytest.approx(totals(found), rel=1e-5, abs=1e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_replaced_score_is_the_models(
    read: Read, random_lattice: Make, as_slf: Make, scorer: FunctionScorer, seed: int
) -> None:
    lattice = read(as_slf(random_lattice(seed)))[0]
    found = rescored(lattice, "nn", scorer=scorer, weights={"nn": 1.0})
    again = read(rescored_text(found, keeping="replace").text)[0]
    assert ranked(again, {"old_lm": 1.0}) == pytest.approx(totals(found), abs=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_split_nodes_carry_their_times_and_links_their_other_fields(
    read: Read, random_lattice: Make, as_slf: Make, scorer: FunctionScorer, seed: int
) -> None:
    text = as_slf(random_lattice(seed))
    written = rescored_text(rescored(read(text)[0], "nn", scorer=scorer)).text

    def bodies(of: str, mark: str) -> set[str]:
        rows = [row.partition(" charlm=")[0] for row in of.split("\n") if row.startswith(mark)]
        return {re.sub(r"\b[IJSE]=\d+ *", "", row) for row in rows}

    for mark in ("I=", "J="):
        assert bodies(written, mark) == bodies(text, mark)
    again = read(written)[0]
    assert len(again.nodes) == int(written.partition("\nN=")[2].partition("\t")[0])
