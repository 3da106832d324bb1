"""Lattices through `charlm.score`: paths have the scores of sentences, weighted by scales."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import charlm
from charlm.errors import ConfigError
from charlm.nbest.lattices.lattice_options import LatticeOptions
from charlm.nbest.reading.format import Sample
from charlm.nbest.scorers import FunctionScorer
from charlm.scoring.rescoring.lattices import LatticeLists
from charlm.scoring.rescoring.options.score_options import ScoreOptions
from charlm.scoring.rescoring.scorers.build_scorers import build_scorers

LATTICE = """\
utt-A
0\t1\tA\t2,30
0\t1\tb\t1,31
1\t2\t[noise]\t0.5,10
1\t2\tzz\t0.25,12
2\t3\tc\t1,20
2\t3\tzz\t1.5,18
3\t0.5,0

utt-B
0\t1\ta\t1,10
1

"""
OWN = FunctionScorer(lambda sentences: [[-1.0] * (len(words) + 1) for words in sentences])
HYPOTHESES = 8  # A or b, noise or zz, c or zz


@pytest.fixture
def lattices(tmp_path: Path) -> Path:
    path = tmp_path / "lattices"
    path.write_text(LATTICE)
    return path


def hypotheses(path: Path, **options: object) -> list[dict[str, object]]:
    """Those of the first lattice, the best first."""
    pieces: list[str] = []
    charlm.score(path, write="nbest", out=pieces.append, threads=1, **options)
    return json.loads("".join(pieces).splitlines()[0])["hyps"]  # type: ignore[no-any-return]


def sentence_scores(texts: list[str], folder: Path, **options: object) -> list[float]:
    """Of texts as plain sentences, in nats."""
    (folder / "texts").write_text("".join(f"{text}\n" for text in texts))
    pieces: list[str] = []
    charlm.score(folder / "texts", format="text", out=pieces.append, threads=1, **options)
    return [float(line) * math.log(10) for line in "".join(pieces).split()]


@pytest.mark.parametrize("recombine", [0, 1])
@pytest.mark.parametrize("open_vocabulary", [False, True])
def test_the_hypotheses_of_a_lattice_score_as_the_same_sentences_do(
    spelled_run: Path, lattices: Path, tmp_path: Path, recombine: int, open_vocabulary: bool
) -> None:
    options = {"model": spelled_run, "open_vocabulary": open_vocabulary}
    found = hypotheses(lattices, recombine=recombine, beam=0, **options)
    assert len(found) == HYPOTHESES if recombine == 0 else 1 < len(found) <= HYPOTHESES
    texts = [str(each["text"]).replace("[noise] ", "") for each in found]
    expected = sentence_scores(texts, tmp_path, **options)
    scores = [each["scores"] for each in found]
    assert [each["nn"] for each in scores] == pytest.approx(expected, abs=1e-4)  # type: ignore[index]
    assert [each["charlm"] for each in scores] == pytest.approx(expected, abs=1e-4)  # type: ignore[index]


def test_open_vocabulary_adds_the_spelling_to_what_unk_has(
    spelled_run: Path, lattices: Path
) -> None:
    from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary

    closed, opened = (
        {each["text"]: each["scores"]["nn"] for each in found}  # type: ignore[index]
        for found in (
            hypotheses(lattices, model=spelled_run, open_vocabulary=which, beam=0, recombine=0)
            for which in (False, True)
        )
    )
    spelling = float(OpenVocabulary.at(spelled_run).log_probs(["zz"])[0])
    for text, score in opened.items():
        assert score == pytest.approx(closed[text] + str(text).count("zz") * spelling, abs=1e-4)


def test_a_total_is_that_of_the_search(lower_run: Path, lattices: Path) -> None:
    weights = {"am": 0.25, "graph": 0.5, "nn": 2.0, "words": 1.5, "oov": -3.0}
    chosen = [f"{name}={value}" for name, value in weights.items()]
    found = hypotheses(lattices, model=lower_run, weight=chosen, beam=0, recombine=0)
    assert len(found) == HYPOTHESES
    for each in found:
        words, scores = str(each["text"]).split(), each["scores"]
        counts = {"words": len(words), "oov": words.count("zz")}
        features = {**scores, **counts}  # type: ignore[dict-item]
        total = sum(weight * features[name] for name, weight in weights.items())
        assert features["charlm_total"] == pytest.approx(total, abs=1e-4)
    totals = [each["scores"]["charlm_total"] for each in found]  # type: ignore[index]
    assert totals == sorted(totals, reverse=True)


@pytest.mark.parametrize("label", ["<unk>", "<UNK>", "zz"])
def test_an_unknown_word_counts_in_lattices_as_in_lists(
    lower_run: Path, tmp_path: Path, label: str
) -> None:
    (tmp_path / "lattice").write_text(f"u\n0 1 a 0,0\n1 2 {label} 0,0\n2\n\n")
    (tmp_path / "list").write_text(json.dumps({"id": "u", "hyps": [{"text": f"a {label}"}]}))
    weight = ["nn=0", "oov=-3"]
    for name in ("lattice", "list"):
        (found,) = hypotheses(tmp_path / name, model=lower_run, weight=weight)
        assert found["scores"]["charlm_total"] == pytest.approx(-3.0)  # type: ignore[index]
        result = charlm.score(tmp_path / name, model=lower_run, weight=weight)
        assert result.text.n_unknown == 1


def test_an_override_lies_over_the_lattices_own_weights(lower_run: Path, lattices: Path) -> None:
    result = charlm.score(lattices, model=lower_run, weight=["nn=.25"])
    assert result.weights is not None
    assert result.weights.values == {"am": 0.1, "graph": 0.5, "nn": 0.25}


def test_words_and_what_the_search_did_are_counted(lower_run: Path, lattices: Path) -> None:
    result = charlm.score(lattices, model=lower_run, beam=0, recombine=1)
    assert result.lattices is not None
    assert result.lattices.n_exact == 1
    assert result.lattices.n_merged > 0
    assert result.counts.n_lists == 2
    assert result.text.n_noise > 0
    assert result.text.unknown.keys() == {"zz"}
    assert result.to_dict()["lattices"] == result.lattices.to_dict()


def test_a_mixture_weighs_words_in_lattices_too(
    saved_run: Callable[..., Path], lattices: Path, tmp_path: Path
) -> None:
    runs = [saved_run("random"), saved_run("zeros")]
    options = {"model": runs, "mix_weights": [0.25, 0.75]}
    found = hypotheses(lattices, beam=0, recombine=0, **options)
    texts = [str(each["text"]).replace("[noise] ", "") for each in found]
    expected = sentence_scores(texts, tmp_path, **options)
    assert [each["scores"]["nn"] for each in found] == pytest.approx(expected, abs=1e-4)  # type: ignore[index]


def test_written_as_lattices_they_are_read_again(
    lower_run: Path, lattices: Path, tmp_path: Path
) -> None:
    charlm.score(lattices, model=lower_run, out=tmp_path / "new", beam=0, recombine=0)
    again = charlm.score(tmp_path / "new", model=lower_run)
    assert (again.format, again.counts.n_lists) == ("kaldi-lattice", 2)


FOLLOWING = """\
{}
0\t1\ta\t1,10
0\t1\tb\t1,11
1\t2\tc\t1,10
1\t2\t[noise]\t9,90
2

"""


def following(path: Path, keys: Sequence[str], **options: object) -> list[dict[str, object]]:
    """Lattices that follow each other, as lists; those that were chosen are always `a c`."""
    path.write_text("".join(map(FOLLOWING.format, keys)))
    pieces: list[str] = []
    options = {"weight": ["am=50"], "beam": 0, "recombine": 0, **options}
    charlm.score(path, write="nbest", out=pieces.append, threads=1, **options)
    return [json.loads(line) for line in "".join(pieces).splitlines()]


@pytest.mark.parametrize("mixed", [False, True])
def test_a_lattice_follows_the_paths_that_were_chosen_in_its_recording(
    saved_run: Callable[..., Path], tmp_path: Path, mixed: bool
) -> None:
    runs = [saved_run("random"), saved_run("zeros")]
    options = {"model": runs, "mix_weights": [0.25, 0.75]} if mixed else {"model": runs[0]}
    keys = ["x-1", "x-2", "x-3", "y-1"]
    found = following(tmp_path / "lattices", keys, context="previous", **options)
    lists = tmp_path / "lists.jsonl"
    hyps = [{"text": text} for text in ("a c", "b c", "a", "b")]
    lists.write_text("".join(json.dumps({"id": key, "hyps": hyps}) + "\n" for key in keys))
    pieces: list[str] = []
    # The first of each list is always chosen.
    always_first = {"weight": ["nn=0"], "context": "previous", "threads": 1}
    charlm.score(lists, out=pieces.append, **always_first, **options)
    expected = [json.loads(line)["hyps"] for line in "".join(pieces).splitlines()]
    for got, wanted in zip(found, expected, strict=True):
        assert got["hyps"][0]["text"] == "a c"  # type: ignore[index]
        scores = {
            each["text"].replace(" [noise]", ""): each["scores"]["nn"] for each in got["hyps"]
        }  # type: ignore[index, union-attr]
        assert scores == {each["text"]: pytest.approx(each["charlm"], abs=1e-4) for each in wanted}
    first, second, _, last = ([each["scores"]["nn"] for each in item["hyps"]] for item in found)  # type: ignore[index, union-attr]
    assert first == last != second


def test_recordings_of_lattices_are_counted_and_without_context_none_follows(
    lower_run: Path, tmp_path: Path
) -> None:
    path, keys = tmp_path / "lattices", ["x-1", "x-2", "y-1"]
    alone = following(path, keys, model=lower_run)
    assert alone[0]["hyps"] == alone[1]["hyps"] == alone[2]["hyps"]
    result = charlm.score(path, model=lower_run, context="previous")
    assert (result.counts.n_lists, result.counts.n_recordings) == (3, 2)


def test_lattices_are_searched_in_fp32(
    lower_run: Path, lattices: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{build_scorers.__module__}.pick_precision", lambda name, device: name)
    expected = "--precision bf16: lattices are searched in fp32; expected that"
    with pytest.raises(charlm.ConfigError, match=expected):
        charlm.score(lattices, model=lower_run, precision="bf16")


def test_no_file_is_taken_for_lattices_here() -> None:
    lists = LatticeLists("slf", build_scorers(ScoreOptions()), options=LatticeOptions())
    assert not lists.claims(Sample("a", ("VERSION=1.0",), ()))


def test_tuning_weighs_the_features_of_lattices(
    lower_run: Path, lattices: Path, tmp_path: Path
) -> None:
    refs = tmp_path / "refs"
    refs.write_text("utt-A b zz zz\nutt-B a\n")
    options = {"refs": refs, "model": lower_run, "out": tmp_path / "w"}
    result = charlm.tune(lattices, folds=0, beam=0, format="kaldi-lattice", **options)
    assert result.tuned.error == 0.0
    options = {"model": lower_run, "weights": tmp_path / "w"}
    found = charlm.score(lattices, format="kaldi-lattice", **options)
    assert found.notices.said_otherwise == []
    best, *_ = hypotheses(lattices, model=lower_run, weights=tmp_path / "w", n_best=1)
    assert best["text"] == "b zz zz"
    assert not np.isnan(best["scores"]["charlm_total"])  # type: ignore[index]


@pytest.mark.parametrize("write", ["scored", "nbest"])
def test_lattices_of_the_tuning_are_not_reported_on_whatever_paths_are_found(
    lattices: Path, tmp_path: Path, write: str
) -> None:
    lattices.write_text(LATTICE.partition("utt-B")[0])
    refs, weights, again = tmp_path / "refs", tmp_path / "w", tmp_path / "again"
    refs.write_text("utt-A b zz c\n")
    charlm.tune(lattices, refs=refs, folds=0, n_best=7, out=weights)
    charlm.score(lattices, weight=["am=1"], write=write, n_best=3, out=again)
    with pytest.raises(ConfigError, match=r"tuned on lists that are reported on here \(1 of 1"):
        charlm.score(again, weights=weights, refs=refs)


def test_without_a_model_paths_are_ranked_by_their_own_scales(
    lattices: Path, tmp_path: Path
) -> None:
    # Costs of acoustic + graph: A 32, b 32; noise 10.5, zz 12.25; c 21, zz 19.5.
    found = hypotheses(lattices, weight=["am=1"], beam=0)
    assert found[0]["text"] in ("A [noise] zz", "b [noise] zz")
    scores = found[0]["scores"]
    assert scores["am"] + scores["graph"] == scores["charlm_total"] == -62.5  # type: ignore[index]
    assert scores.keys() == {"am", "graph", "charlm_total", "charlm_posterior"}  # type: ignore[union-attr]
    assert len(found) == HYPOTHESES
    (tmp_path / "refs").write_text("utt-A b zz c\nutt-B a\n")
    result = charlm.tune(lattices, refs=tmp_path / "refs", folds=0, beam=0)
    assert result.tuned.error == 0.0


@pytest.mark.parametrize("n_best", [1, 100])
def test_the_first_of_a_list_is_what_was_best_in_the_lattice_before(
    lower_run: Path, lattices: Path, tmp_path: Path, n_best: int
) -> None:
    # Costs of acoustic + 10 · graph: A 50, b 41; noise 15, zz 14.5; c 30, zz 33.
    refs = tmp_path / "refs"
    refs.write_text("utt-A b zz c\nutt-B a\n")
    weight = ["am=1", "graph=10", "nn=-50"]
    options = {"model": lower_run, "weight": weight, "beam": 0, "n_best": n_best}
    result = charlm.score(lattices, refs=refs, **options)
    assert result.report is not None
    assert result.report.first.error == 0.0
    assert result.report.rescored.error > 0.0
    assert result.counts.n_moved == 1
    found = hypotheses(lattices, **options)
    (first,) = (each for each in found if each["text"] == "b zz c")
    assert len(found) == (2 if n_best == 1 else HYPOTHESES)
    (expected,) = sentence_scores(["b zz c"], tmp_path, model=lower_run)
    assert first["scores"]["nn"] == pytest.approx(expected, abs=1e-4)  # type: ignore[index]
    assert first["scores"]["graph"] == pytest.approx(-2.75)  # type: ignore[index]


def test_a_weight_below_zero_has_no_part_in_what_was_best_before(
    lower_run: Path, lattices: Path, tmp_path: Path
) -> None:
    refs = tmp_path / "refs"  # the best by costs of acoustic + graph / 4
    refs.write_text("utt-A A [noise] zz\nutt-B a\n")
    weight = ["am=1", "graph=.25", "nn=-50"]
    result = charlm.score(lattices, refs=refs, model=lower_run, weight=weight, beam=0)
    assert result.report is not None
    assert result.report.first.error == 0.0


def test_the_old_model_leaves_the_first_path_too(
    lower_run: Path, lattices: Path, tmp_path: Path, save_unigrams: Callable[..., Path]
) -> None:
    options = {
        "model": lower_run,
        "weight": ["am=1", "old_lm=10", "nn=-50"],
        "beam": 0,
        "n_best": 1,
        "old_lm": save_unigrams(tmp_path / "old.arpa", end=-0.5, c=-0.25),
    }
    for each in hypotheses(lattices, **options):
        scores = each["scores"]
        words = str(each["text"]).split()
        log10s = -0.5 + sum(-0.25 if word == "c" else -1.0 for word in words)
        assert scores["old_lm"] == pytest.approx(log10s * math.log(10))  # type: ignore[index]
        assert "graph" not in scores  # type: ignore[operator]
    (first,) = (e["scores"] for e in hypotheses(lattices, **options) if e["text"] == "b zz c")
    assert first["graph_nolm"] + first["old_lm"] == pytest.approx(-2.75)  # type: ignore[index]


def test_a_map_of_words_reads_the_words_of_lattices_and_one_of_phrases_is_refused(
    lower_run: Path, lattices: Path
) -> None:
    found = hypotheses(lattices, model=lower_run, map={"b": "a"})
    scores = {each["text"]: each["scores"]["nn"] for each in found}
    assert scores["A zz c"] == pytest.approx(scores["b zz c"])
    with pytest.raises(ConfigError, match="expected rules of one, as lattices are read word by"):
        charlm.score(lattices, model=lower_run, map={"a b": "c"})


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("kaldi", "utt-1 1 2\nutt-2 2 1\n"),
        ("slf", "VERSION=1.0\nN=2 L=1\nI=0\nI=1 W=1\nJ=0 S=0 E=1 a=-1\n"),
    ],
)
def test_a_table_of_numbers_is_refused_where_words_are_read_as_they_stand(
    tmp_path: Path, form: str, content: str
) -> None:
    (tmp_path / "lists").write_text(content)
    (tmp_path / "words.txt").write_text("<eps> 0\na 1\nb 2\n")
    with pytest.raises(
        ConfigError, match=f"--words-txt .*: {tmp_path}/lists is of the format {form},"
    ):
        charlm.score(tmp_path / "lists", scorer=OWN, format=form, words_txt=tmp_path / "words.txt")


def test_a_format_that_there_is_not_is_answered_with_those_of_lattices_too(tmp_path: Path) -> None:
    (tmp_path / "a.lat").write_text("u\n0\t1\ta\t1,1,\n1\n")
    with pytest.raises(ConfigError) as caught:
        charlm.score(tmp_path / "a.lat", scorer=OWN, format="lattice")
    assert str(caught.value).startswith(
        "--format 'lattice': no such format; expected auto, slf or kaldi-lattice of lattices, or "
        "of lists one of kaldi, espnet,"
    )


@pytest.mark.parametrize("option", ["beam", "recombine", "n_best"])
def test_options_of_the_search_are_refused_where_nothing_is_searched(
    tmp_path: Path, option: str
) -> None:
    (tmp_path / "lists.tsv").write_text("u\t-1\ta b\nu\t-2\ta\n")
    with pytest.raises(ConfigError) as caught:
        charlm.score(tmp_path / "lists.tsv", scorer=OWN, **{option: 5})
    assert str(caught.value) == (
        f"--{option.replace('_', '-')} 5: is of lattices, and {tmp_path}/lists.tsv is of the "
        "format tsv, whose hypotheses are all taken; drop it"
    )


@pytest.fixture
def bigram(tmp_path: Path) -> Path:
    (tmp_path / "text").write_text("a b a\nb b a\na a b\nb a\n" * 5)
    charlm.ngram_baseline(train=tmp_path / "text", order=2, out=tmp_path / "bg.arpa")
    return tmp_path / "bg.arpa"


def test_what_an_ngram_model_cannot_tell_apart_is_exact(tmp_path: Path, bigram: Path) -> None:
    lines = ["u", "0 1 a 1,2,", "0 2 b 1.5,1,", "1 3 b 1,2,", "2 3 b 1,2,", "3 4 a 1,2,", "4", ""]
    (tmp_path / "lat").write_text("".join(f"{line}\n" for line in lines))
    found = charlm.score(tmp_path / "lat", lm=bigram, recombine=4, out=tmp_path / "new")
    assert found.lattices is not None
    assert (found.lattices.n_exact, found.lattices.n_merged) == (1, 0)
    # a b and b b end in the word that a bigram reads: one node, as in the lattice that was read
    assert (tmp_path / "new").read_text().count("\n") == len(lines)


def test_comments_of_a_split_lattice_stay_between_its_parts(tmp_path: Path, bigram: Path) -> None:
    lines = ["VERSION=1.1", "UTTERANCE=u", "N=4 L=4", "# Nodes", *(f"I={n}" for n in range(4))]
    links = ["S=0 E=1 W=a", "S=0 E=1 W=b", "S=1 E=2 W=a", "S=2 E=3 W=b"]
    lines += ["# Links", *(f"J={n} {link} a=-1 l=-1" for n, link in enumerate(links)), "# end"]
    (tmp_path / "u.slf").write_text("\n".join(lines) + "\n")
    charlm.score(tmp_path / "u.slf", lm=bigram, out=tmp_path / "new")
    new = (tmp_path / "new").read_text().splitlines()
    assert new[new.index("# Links") - 1].startswith("I=")
    assert new[new.index("# Links") + 1].startswith("J=")
    assert new[-1] == "# end"
