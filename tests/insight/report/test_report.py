"""What `charlm.report` writes, returns and refuses."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from matplotlib import rc_context

import charlm
from charlm.errors import ConfigError, DataError
from charlm.insight.report.neighbour_table import TABLE_6, TABLE_6_UNKNOWN, chosen_words
from charlm.insight.report.tables import short
from charlm.run.folder import CARD, LOG, MODEL
from charlm.run.stored_weights import LoadedRun, load_run, read_tensors, save_best

TEXT_SECTIONS = (
    "perplexities, perplexity by frequency, perplexity by position, hardest and easiest sentences"
)
CPU = {"device": "cpu", "threads": 1}
MOST_BYTES = 3_000_000


def data_of(path: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text())
    assert found
    value = json.loads(found[1])
    assert isinstance(value, dict)
    return value


@pytest.fixture
def run(char_run: Path) -> Path:
    return char_run


def test_the_page_holds_all_sections_that_two_runs_and_a_text_can_give(
    run: Path, word_run: Path, hostile_dir: Path, tmp_path: Path
) -> None:
    out = tmp_path / "a.html"
    result = charlm.report([run, word_run], data=hostile_dir, out=out, **CPU)
    data = data_of(out)
    given = {"card", "curves", "neighbours", "words", "ngrams", "transform", "results"}
    assert given | {"bands", "positions", "sentences"} <= set(data)
    (evaluated,) = charlm.evaluate(run, data=hostile_dir, split="test", **CPU)
    row = data["results"]["rows"][0]
    assert row["ppl"] == pytest.approx(evaluated.by_state["carried"].ppl)
    assert row["ppl_other"] == pytest.approx(evaluated.by_state["sentence"].ppl)
    assert row["signatures"] == list(evaluated.signatures.values())
    assert [each["name"] for each in data["results"]["rows"]] == [run.name, "words", "KN-5"]
    (group,) = charlm.compare_kn(data=hostile_dir, model=run, **CPU).groups
    sizes = {each.name: (each.n_parameters, each.n_ngrams) for each in group.systems}
    assert (row["n_parameters"], None) == sizes[run.name]
    assert (None, data["results"]["rows"][2]["n_ngrams"]) == sizes["KN-5"]
    assert data["bands"]["systems"] == [run.name, "words", "KN-5"]
    assert result.files == (out,)
    assert [note.partition(":")[0] for note in result.notes] == ["<unk> as target"]
    assert result.gate is None


def test_without_a_text_the_page_says_what_is_missing_and_shows_the_rest(
    run: Path, tmp_path: Path
) -> None:
    result = charlm.report(run, out=tmp_path / "a.html", **CPU)
    data = data_of(tmp_path / "a.html")
    assert "results" not in data
    reason = "need a text; make the report with --data DIR, the corpus directory of 'corpus'"
    assert data["missing"][-1] == {"section": TEXT_SECTIONS, "reason": reason}
    assert result.missing[-1] == f"{TEXT_SECTIONS}: {reason}"
    assert result.missing[0].startswith("gate between words and characters: ")
    assert len(result.missing) == 2


def test_the_table_across_data_sets_stands_on_the_page_as_charlm_table_has_it(
    run: Path, compared: list[Path], tmp_path: Path
) -> None:
    charlm.report(run, table=compared, out=tmp_path / "a.html", **CPU)
    found = data_of(tmp_path / "a.html")["table"]
    assert [column["name"] for column in found["columns"]] == ["cs", "de"]
    cells = charlm.table(compared).columns[0].cells
    rows = {name: [None if c is None else c["ppl"] for c in row] for name, row in found["rows"]}
    assert rows == {"KN-5": [200.0, 61.234], "<b>char": [150.0, None]}
    assert found["rows"][1][1][0] == vars(cells["<b>char"])


def test_comparisons_that_make_no_table_stop_before_anything_is_written(
    run: Path, compared: list[Path], tmp_path: Path
) -> None:
    compared[1].write_text(compared[0].read_text().replace("0" * 64, "1" * 64))
    with pytest.raises(DataError, match=r"vocabulary 1+, and .* has 0+ for the same texts; "):
        charlm.report(run, table=compared, out=tmp_path / "a.html", **CPU)
    assert not (tmp_path / "a.html").exists()


def test_the_gate_of_a_gated_run_is_a_result_and_stands_on_the_page(
    gated_run: Path, tmp_path: Path
) -> None:
    result = charlm.report(gated_run, out=tmp_path / "a.html", **CPU)
    gate = data_of(tmp_path / "a.html")["gate"]
    assert result.gate is not None
    assert {key: gate[key] for key in result.gate} == result.gate
    assert result.to_dict()["gate"] == result.gate
    assert 0 < result.gate["unk_gate"] < 1


def test_a_gate_that_gives_no_numbers_is_missing_and_the_page_is_written(
    gated_run: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(gated_run, tmp_path / "run")
    tensors, meta = read_tensors(copy / MODEL)
    tensors["encoder.sides.word.table.weight"] += 1e30  # whose squares are infinite
    save_best(copy, tensors, meta=meta)
    result = charlm.report(copy, out=tmp_path / "a.html", **CPU)
    assert result.gate is None
    assert any("gate between words and characters" in each for each in result.missing)


def test_a_run_without_its_log_and_card_is_shown_without_them(run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    (copy / LOG).unlink()
    (copy / CARD).write_text("# nothing here\n")
    result = charlm.report(copy, out=tmp_path / "a.html", **CPU)
    expected = "expected what `charlm train` writes"
    assert result.missing[0] == f"model card: {copy / CARD}: no table in it; {expected}"
    reason = "no epoch; expected one or more; train the run further"
    assert result.missing[1] == f"learning curves: {copy / LOG}: {reason}"


@pytest.mark.parametrize("arch", ["char-small", "miyamoto-gate"])
def test_a_run_of_no_words_has_a_page_that_says_so(tmp_path: Path, arch: str) -> None:
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.txt").write_text("once\ntwice\n")  # each seen once: <unk>
    small = ["context.dim=4", "context.layers=1"]
    charlm.train(arch=arch, data=tmp_path, out=tmp_path / "run", overrides=small, epochs=1, **CPU)
    out = tmp_path / "a.html"
    result = charlm.report(tmp_path / "run", data=tmp_path, out=out, **CPU)
    wordless = [each.partition(": ") for each in result.missing if "</s> and <unk> alone" in each]
    assert all(name in wordless[0][0] for name in ("nearest words", "map of words"))
    assert {"card", "curves", "results", "bands"} <= set(data_of(out))
    drawn = charlm.report(tmp_path / "run", pictures=tmp_path / "pictures", **CPU)
    assert (tmp_path / "pictures" / "curves.svg") in drawn.files
    assert any("picture words" in each for each in drawn.missing)
    without_text = "picture bands, picture positions, picture sentences: "
    assert any(each.startswith(without_text) for each in drawn.missing)


def test_a_text_without_a_sentence_to_show_has_all_but_that(run: Path, tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / f"{split}.txt").write_text("a\nb\n")
    lack = f"{tmp_path / 'test.txt'}: no sentence of 2 to 40 words; expected one to show;"
    page = charlm.report(run, data=tmp_path, out=tmp_path / "a.html", **CPU)
    assert f"hardest and easiest sentences: {lack} choose another text" in page.missing
    content = data_of(tmp_path / "a.html")
    assert "positions" in content and "sentences" not in content
    drawn = charlm.report(run, data=tmp_path, pictures=tmp_path / "p", **CPU)
    names = ["ngrams", "words", "filter", "transform", "curves", "bands", "positions"]
    expected = {f"{name}.{kind}" for name in names for kind in ("png", "svg", "tsv")}
    assert {path.name for path in (tmp_path / "p").iterdir()} == expected
    assert {path.name for path in drawn.files} == expected
    assert [each.partition(":")[0] for each in drawn.missing] == [
        "picture gate",
        "picture sentences",
    ]
    assert drawn.missing[1] == f"picture sentences: {lack} choose another text"
    with pytest.raises(ConfigError, match="no sentence of 2 to 40 words"):
        charlm.report(run, data=tmp_path, picture="sentences", out=tmp_path / "a.png", **CPU)
    assert not (tmp_path / "a.png").exists()


def test_the_words_asked_for_are_shown_at_every_tap(run: Path, tmp_path: Path) -> None:
    charlm.report(run, out=tmp_path / "a.html", word=["cat", "catz"], **CPU)
    taps = data_of(tmp_path / "a.html")["neighbours"]["taps"]
    assert [tap["tap"] for tap in taps] == ["char-cnn", "highway", "output"]
    assert [(c["word"], c["known"]) for c in taps[0]["columns"]] == [("cat", True), ("catz", False)]
    assert taps[2]["columns"][1]["nearest"] == []  # there is nothing to predict it from


def knowing(run: Path, *words: str) -> LoadedRun:
    """The run as one that knows these words."""
    loaded = load_run(run)
    object.__setattr__(loaded.inventory, "words", ("</s>", "<unk>", *words))
    loaded.inventory.__dict__.pop("word_ids", None)
    return loaded


def test_without_words_they_are_the_papers_where_the_model_knows_them(run: Path) -> None:
    loaded = load_run(run)
    assert set(chosen_words(loaded)) <= set(loaded.inventory.words[2:])
    assert chosen_words(knowing(run, *TABLE_6)) == [*TABLE_6, *TABLE_6_UNKNOWN]


def test_words_with_vowel_signs_are_chosen_as_others_are(run: Path) -> None:
    words = ["abcd", "\u0915\u093f\u0924\u093e\u092c"]
    assert chosen_words(knowing(run, *words)) == words


def test_of_few_words_some_frequent_and_some_rare_are_chosen(run: Path) -> None:
    words = [f"word{chr(97 + n)}" for n in range(25)]
    chosen = chosen_words(knowing(run, *words))
    assert [words.index(word) for word in chosen] == [4, 8, 12, 16, 20, 24]


def test_a_word_that_would_fill_a_page_is_cut() -> None:
    assert short("a" * 100) == "a" * 100
    assert short("a" * 101) == "a" * 99 + "…"


def test_one_picture_goes_to_its_file_and_its_numbers_to_theirs(run: Path, tmp_path: Path) -> None:
    out, numbers = tmp_path / "a.svg", tmp_path / "a.tsv"
    result = charlm.report(run, picture="curves", out=out, data_out=numbers, **CPU)
    assert result.files == (out, numbers)
    assert out.read_text().startswith("<?xml")
    assert numbers.read_text().startswith("run\tepoch\ttrain_ppl\tvalid_ppl\n")


def test_the_page_is_small_however_many_and_long_the_words_are(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_words, long = 10_000, "語" * 60
    words = tuple(f"{long}{n}" for n in range(n_words))
    monkeypatch.setattr("charlm.insight.report.maps.MOST_BYTES", 300)
    charlm.report(run, out=tmp_path / "cut.html", **CPU)
    cut = data_of(tmp_path / "cut.html")
    assert len(cut["ngrams"]["forms"]) < cut["ngrams"]["n_all"]
    monkeypatch.undo()
    from charlm.insight.report.maps import how_many
    from charlm.insight.report.report import page

    shown = how_many(words)
    # The largest map: as many words as fit, with the rest of what a map holds.
    word_map = {
        "forms": list(words[:shown]),
        "counts": [123456] * shown,
        "places": [9999] * (2 * shown),
        "neighbours": [[9999] * 8] * shown,
    }
    ngrams = {"forms": ["{abcd"] * 40_000, "counts": [1000] * 40_000, "places": [9999] * 80_000}
    content = {"title": "a", "words": word_map, "ngrams": ngrams, "kinds": "0" * 40_000}
    assert len(page(content)) < MOST_BYTES


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"picture": "curve"},
            "--picture 'curve': expected one of ngrams, words, filter, transform, gate, curves, "
            "bands, positions, sentences",
        ),
        (
            {"picture": "curves", "out": "a.jpg"},
            "--out a.jpg: ends in .jpg; expected .png or .svg",
        ),
        (
            {"picture": "curves", "pictures": "p"},
            "found both --picture and --pictures; expected one of them; give one",
        ),
        (
            {"out": "a.SVG"},
            "--out a.SVG: names no page, and one would be written there; expected a name that ends "
            "with .html, or beside a picture's --picture NAME",
        ),
        (
            {"out": "a.pdf"},
            "--out a.pdf: names no page, and one would be written there; expected a name that ends "
            "with .html, or beside a picture's --picture NAME",
        ),
        (
            {"data_out": "a.tsv"},
            "--data-out a.tsv: without --picture there is nothing to write; give both",
        ),
        (
            {"pictures": __file__},
            f"--pictures {__file__}: is a file; expected a folder, or a new name",
        ),
        (
            {"picture": "gate", "at": "highway"},
            "--at highway: is for the page and the picture 'words'; leave it out",
        ),
        (
            {"picture": "gate", "word": "cat"},
            "--word: is for the page, which is not made; leave it out",
        ),
        (
            {"pictures": "p", "word": "cat"},
            "--word: is for the page, which is not made; leave it out",
        ),
        (
            {"picture": "gate", "table": "a.json"},
            "--table: is for the page, which is not made; leave it out",
        ),
        ({"filter": 3}, "--filter 3: is for the picture 'filter'; add --picture filter"),
        (
            {"out": "-"},
            "--out -: nothing goes to standard output; expected a file",
        ),
        (
            {"picture": "curves", "data_out": "-"},
            "--data-out -: nothing goes to standard output; expected a file",
        ),
        (
            {"split": "valid"},
            "--split valid: expected --data DIR, of which it is a part; drop it",
        ),
        (
            {"picture": "gate", "data": "corpus"},
            "--data corpus: is for the page and the pictures bands, positions, sentences; leave it "
            "out",
        ),
        ({"split": "train"}, "split: found 'train'; expected one of 'test', 'valid'"),
        (
            {"picture": "bands"},
            "--data: not given; expected the corpus directory with train.txt and test.txt, which "
            "perplexities need",
        ),
    ],
)
def test_options_that_cannot_be_are_told_in_one_line(
    run: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        charlm.report(run, **options, **CPU)
    assert str(caught.value) == message


def test_a_tap_or_filter_that_is_not_there_stops_before_anything_is_written(
    run: Path, tmp_path: Path
) -> None:
    for options in ({"at": "lowway"}, {"filter": 17}):
        with pytest.raises(ConfigError, match=r"(at: found 'lowway'|filter: found 17); "):
            charlm.report(run, pictures=tmp_path / "p", **options, **CPU)
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize("options", [{"out": "a.html"}, {"pictures": "p"}])
def test_a_text_that_is_not_there_stops_everything(
    run: Path, tmp_path: Path, options: dict[str, str]
) -> None:
    given = {name: tmp_path / value for name, value in options.items()}
    with pytest.raises(DataError, match=r"nowhere: no such folder; expected one that holds"):
        charlm.report(run, data=tmp_path / "nowhere", **given, **CPU)
    assert not (tmp_path / "a.html").exists()


def test_pages_and_pictures_need_no_latex_whatever_the_users_matplotlibrc_says(
    run: Path, tmp_path: Path
) -> None:
    page, pictures = tmp_path / "page.html", tmp_path / "pictures"
    with rc_context({"text.usetex": True}):
        written = charlm.report(run, out=page, pictures=pictures, device="cpu", threads=1)
    assert {page, pictures / "curves.svg"} <= {*written.files}
