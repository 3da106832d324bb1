"""Written lattices, decoded at the reported scales, give what was best here."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import charlm
from charlm.nbest.lattices.lattice_files import read_lattices
from charlm.nbest.lattices.lattice_options import LatticeOptions
from charlm.nbest.lattices.rescore import rescore_with
from charlm.nbest.reading.format import Source
from charlm.scoring.rescoring.answers.result import ScoreResult


@pytest.fixture
def lattices(texts: dict[str, str], tmp_path: Path) -> Path:
    path = tmp_path / "lattices"
    path.write_text(texts["kaldi-lattice"])
    return path


@pytest.fixture
def arpa(tmp_path: Path, save_unigrams: Callable[..., Path]) -> Path:
    words = {word: -log10 / 4 for log10, word in enumerate("abcdefgh", 1)}
    return save_unigrams(tmp_path / "kn.arpa", end=-0.5, unk=-2.0, **words)


def written(path: Path, **options: object) -> tuple[ScoreResult, Path]:
    """The result, and where the lattices are."""
    out = path.with_name("written")
    return charlm.score(path, out=out, threads=1, **options), out


def chosen(path: Path, **options: object) -> dict[str, tuple[str, float]]:
    """The best hypothesis of each lattice and its total, as charlm tells them."""
    pieces: list[str] = []
    charlm.score(path, write="jsonl", out=pieces.append, threads=1, **options)
    rows = map(json.loads, "".join(pieces).splitlines())
    return {row["id"]: (row["text"], row["total"]) for row in rows}


def decoded(path: Path, *, am: float) -> dict[str, tuple[str, float]]:
    """The best path of each lattice at an acoustic scale, the language's being 1, and its total."""
    found = {}
    for lattice in read_lattices(Source(path)):
        own = next(name for name in lattice.names if name != "am")
        options = LatticeOptions(weights={"am": am, own: 1.0}, n_best=1)
        (again,) = rescore_with([lattice], {}, options=options)
        (best,) = again.nbest.hypotheses
        found[lattice.id] = " ".join(best.words), again.totals[0]
    return found


WEIGHTS = ["am=.3", "graph=.5", "nn=1.25", "words=-1.5", "oov=-2.5"]
OLD = ["am=.3", "graph_nolm=.7", "old_lm=-.25", *WEIGHTS[2:]]


@pytest.mark.parametrize(
    ("weight", "more"),
    [
        (WEIGHTS, {}),
        (WEIGHTS, {"open_vocabulary": True}),
        (WEIGHTS, {"context": "previous", "recordings": "^(utt)"}),
        ([*WEIGHTS, "kn=-.5"], {"lm": "arpa"}),
        ([*WEIGHTS, "kn=0"], {"lm": "arpa"}),
        (WEIGHTS, {"lm": "arpa", "mix_weights": [0.25, 0.75]}),
        (OLD, {"old_lm": "arpa"}),
        (["am=.3", "graph_nolm=0", "old_lm=0", "nn=-1"], {"old_lm": "arpa"}),
    ],
)
def test_the_best_path_of_a_written_lattice_is_the_one_that_was_chosen(
    spelled_run: Path, lattices: Path, arpa: Path, weight: list[str], more: dict[str, object]
) -> None:
    files = {name: arpa if value == "arpa" else value for name, value in more.items()}
    options = {"model": spelled_run, "weight": weight, "beam": 0, "recombine": 0, **files}
    result, out = written(lattices, **options)
    assert result.lattices is not None
    inverse = result.lattices.scales["--inv-acoustic-scale"]
    found, best = decoded(out, am=1 / inverse), chosen(lattices, **options)
    assert {key: text for key, (text, _) in found.items()} == {k: t for k, (t, _) in best.items()}
    for key, (_, total) in best.items():
        assert found[key][1] * inverse * 0.3 == pytest.approx(total, abs=1e-4)


def test_the_scales_are_told_where_lattices_are_written_and_only_there(
    lower_run: Path, lattices: Path
) -> None:
    result, _ = written(lattices, model=lower_run, weight=["nn=.75"])
    assert result.lattices is not None
    assert result.lattices.scales == {
        "--inv-acoustic-scale": pytest.approx(12.5),  # (.5 + .75) / .1
        "--lm-scale": 1.0,
        "--word-ins-penalty": 0.0,
    }
    assert result.to_dict()["lattices"] == result.lattices.to_dict()
    only_read = charlm.score(lattices, model=lower_run, write="nbest", out=[].append)
    assert only_read.lattices is not None
    assert only_read.lattices.scales == {}


def test_htks_lattices_have_scales_of_one(
    lower_run: Path, lattices: Path, texts: dict[str, str]
) -> None:
    lattices.write_text(texts["slf"])
    result, out = written(lattices, model=lower_run, recombine=0, beam=0)
    assert result.lattices is not None
    assert list(result.lattices.scales.items()) == [
        *(("lmscale", 1.0), ("acscale", 1.0), ("prscale", 1.0), ("wdpenalty", 0.0))
    ]
    (best,) = chosen(lattices, model=lower_run, recombine=0, beam=0).values()
    (found,) = decoded(out, am=1.0).values()
    assert (found[0], found[1] * 2.0) == (best[0], pytest.approx(best[1], abs=1e-4))


class Asked:
    """A model that is asked for nothing."""

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[list[float]]:
        raise AssertionError(f"asked for {sentences}")


@pytest.mark.parametrize("weight", ["am=0", "am=-.1"])
@pytest.mark.parametrize("layout", ["kaldi-lattice", "slf"])
def test_an_acoustic_weight_that_no_decoder_has_is_refused_before_the_search(
    lattices: Path, texts: dict[str, str], weight: str, layout: str
) -> None:
    lattices.write_text(texts[layout])
    with pytest.raises(charlm.ConfigError, match="the weight of am is -?0") as caught:
        written(lattices, scorer=charlm.FunctionScorer(Asked()), weight=[weight])
    assert str(caught.value) == (
        f"{layout}: the weight of am is {float(weight[3:]):g}; "
        "expected more than 0 for lattices that are written, since decoders divide by it; give "
        "--weight am=NUMBER, or --write nbest"
    )


def test_weights_of_a_file_without_am_are_refused_too(lattices: Path, tmp_path: Path) -> None:
    (tmp_path / "w").write_text('{"format": 1, "weights": {"graph": 1, "own": 1}}')
    with pytest.raises(charlm.ConfigError, match="kaldi-lattice: the weight of am is 0; expected"):
        written(lattices, scorer=charlm.FunctionScorer(Asked()), weights=tmp_path / "w")


def test_a_header_that_says_so_is_refused_when_it_comes(
    lower_run: Path, lattices: Path, texts: dict[str, str]
) -> None:
    lattices.write_text(texts["slf"].replace("acscale=2.0", "acscale=0"))
    with pytest.raises(charlm.ConfigError, match="lattices:1: the weight of am is 0; expected"):
        written(lattices, model=lower_run)


def test_without_lattices_to_write_any_acoustic_weight_will_do(
    lower_run: Path, lattices: Path
) -> None:
    best = chosen(lattices, model=lower_run, weight=["am=0"])
    assert best.keys() == {"utt-A", "utt-B", "utt-C"}


MERGED = "u\n0\t1\ta\t0,0\n0\t1\tb\t1,0\n1\t2\tc\t0,0\n2\t3\td\t0,0\n3\n\n"


def badly_after_a(sentences: Sequence[Sequence[str]]) -> list[list[float]]:
    """`d` is unlikely after `a c`, and likely after `b c`."""
    return [
        [-9.0 if words[: i + 1] == ["a", "c", "d"] else -1.0 for i in range(len(words) + 1)]
        for words in map(list, sentences)
    ]


@pytest.mark.parametrize(("recombine", "n_misjudged"), [(1, 1), (2, 0), (0, 0)])
def test_lattices_whose_merged_histories_mislead_a_decoder_are_counted(
    lattices: Path, recombine: int, n_misjudged: int
) -> None:
    lattices.write_text(MERGED)
    scorer = charlm.FunctionScorer(badly_after_a)
    options = {"scorer": scorer, "recombine": recombine, "weight": ["own=1", "graph=1"]}
    result, out = written(lattices, **options)
    assert result.lattices is not None
    assert result.lattices.n_misjudged == n_misjudged
    assert chosen(lattices, **options)["u"][0] == "b c d"
    am = 1 / result.lattices.scales["--inv-acoustic-scale"]
    assert decoded(out, am=am)["u"][0] == ("a c d" if n_misjudged else "b c d")
