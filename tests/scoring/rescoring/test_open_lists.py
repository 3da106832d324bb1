"""Unknown words of lists are spelled by default, as in the tuning, or as the options say."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import charlm
from charlm.errors import ConfigError
from charlm.nbest.ranking.weights import Origin, Weights
from charlm.nbest.references.fingerprint import Fingerprint
from charlm.nbest.scorers import FunctionScorer
from charlm.scoring.rescoring.answers.advice import advice_on
from charlm.scoring.rescoring.options.rescoring_options import RescoringOptions
from charlm.scoring.rescoring.scorers.build_scorers import build_scorers

LISTS = "id\ttext\nu\ta b c d e f g h a b c d\nu\ta zz\nv\tzz\nv\th a b\n"  # zz is unknown
LETTERS = "".join(f"-0.{number}\t{word}\n" for number, word in enumerate("abcdefgh", 1))
ARPA = "\\data\\\nngram 1=11\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\n-0.5\t</s>\n"
OWN = FunctionScorer(lambda sentences: [[-1.0] * (len(words) + 1) for words in sentences])


def written(path: Path, **options: object) -> str:
    pieces: list[str] = []
    charlm.score(path, out=pieces.append, threads=1, **options)
    return "".join(pieces)


def tuned(folder: Path, *, spelled: bool, unknown: float | None = None) -> Path:
    path = folder / f"{spelled}.json"
    prints = Fingerprint(1, "ab", ("00",))
    origin = Origin("wer", 0.1, 0, "0.1", prints, spelled, unknown=unknown)
    Weights({"nn": 1.0}, origin).save(path)
    return path


def test_lists_are_spelled_where_the_run_has_a_speller(spelled_run: Path, lists: Path) -> None:
    found = written(lists, model=spelled_run)
    assert found == written(lists, model=spelled_run, open_vocabulary=True)
    assert found != written(lists, model=spelled_run, open_vocabulary=False)


def test_lists_of_another_domain_are_not(spelled_run: Path, lists: Path) -> None:
    foreign = lists.with_name("foreign.tsv")
    foreign.write_text("id\ttext\n" + "u\ta zz\nu\tyy b\n" * 5)
    found = written(foreign, model=spelled_run)
    assert found == written(foreign, model=spelled_run, open_vocabulary=False)
    result = charlm.score(foreign, model=spelled_run, threads=1)
    assert result.spelled == ()
    assert advice_on(result)[0].startswith("50% of the words are unknown to the model")


def test_one_unknown_word_does_not_make_lists_those_of_another_domain(
    spelled_run: Path, lists: Path
) -> None:
    lists.write_text("id\ttext\nu\ta b\nu\ta zz\n")
    result = charlm.score(lists, model=spelled_run, open_vocabulary=False, threads=1)
    assert not any("domain" in each for each in advice_on(result))


@pytest.mark.parametrize(("unknown", "is_told"), [(0.05, True), (0.4, False), (None, False)])
def test_weights_of_another_model_are_told_by_what_it_does_not_know(
    spelled_run: Path, lists: Path, tmp_path: Path, unknown: float | None, is_told: bool
) -> None:
    lists.write_text("id\ttext\n" + "u\ta zz\nu\tyy b\n" * 5)
    weights = tuned(tmp_path, spelled=False, unknown=unknown)
    result = charlm.score(lists, model=spelled_run, weights=weights, threads=1)
    told = "50% of the words are unknown to the model (5% in the tuning), which is of another"
    assert any(each.startswith(told) for each in advice_on(result)) is is_told


def test_plain_sentences_are_not_unless_it_is_said(spelled_run: Path, tmp_path: Path) -> None:
    (tmp_path / "texts").write_text("a zz\n")
    found = written(tmp_path / "texts", model=spelled_run)
    assert found == written(tmp_path / "texts", model=spelled_run, open_vocabulary=False)
    assert found != written(tmp_path / "texts", model=spelled_run, open_vocabulary=True)


@pytest.mark.parametrize("spelled", [False, True])
def test_weights_are_used_as_they_were_tuned(
    spelled_run: Path, lists: Path, tmp_path: Path, spelled: bool
) -> None:
    weights = tuned(tmp_path, spelled=spelled)
    found = written(lists, model=spelled_run, weights=weights)
    assert found == written(lists, model=spelled_run, open_vocabulary=spelled)
    other = charlm.score(
        lists, model=spelled_run, weights=weights, open_vocabulary=not spelled, threads=1
    )
    option = "a run with a speller, and --open" if spelled else "--no-open"
    assert f"or give {option}-vocabulary" in advice_on(other)[0]


def test_weights_of_an_older_charlm_may_have_been_tuned_with_or_without_spelling(
    spelled_run: Path, lists: Path, tmp_path: Path
) -> None:
    path = tuned(tmp_path, spelled=True)
    content = json.loads(path.read_text())
    assert content["tuned"].pop("open_vocabulary") is True
    path.write_text(json.dumps(content))
    assert written(lists, model=spelled_run, weights=path) == written(
        lists, model=spelled_run, open_vocabulary=False
    )
    for said in (True, False):
        result = charlm.score(
            lists, model=spelled_run, weights=path, open_vocabulary=said, threads=1
        )
        assert "were tuned with unknown words" not in "".join(advice_on(result))


def test_tuned_weights_say_whether_unknown_words_were_spelled(
    spelled_run: Path, lists: Path, tmp_path: Path
) -> None:
    (tmp_path / "refs").write_text("u a zz\nv h\n")
    found = {
        said: charlm.tune(
            lists, refs=tmp_path / "refs", model=spelled_run, folds=0, open_vocabulary=said
        )
        for said in (None, False)
    }
    origins = {said: result.weights.origin for said, result in found.items()}
    assert {said: origin and origin.spelled for said, origin in origins.items()} == {
        None: True,
        False: False,
    }


@pytest.mark.parametrize(
    ("words", "options", "spelled"),
    [
        (LETTERS, {}, ("nn", "kn")),
        (LETTERS, {"mix_weights": "0.5,0.5"}, ("nn",)),
        ("-0.25\ta\n", {}, ("nn",)),
        ("-0.25\ta\n", {"open_vocabulary": True}, ("nn", "kn")),
        (LETTERS, {"scorer": OWN}, ("nn", "kn")),
        (LETTERS, {"open_vocabulary": False}, ()),
    ],
)
def test_only_models_of_the_runs_words_are_spelled_without_being_asked(
    spelled_run: Path, tmp_path: Path, words: str, options: dict[str, object], spelled: object
) -> None:
    lm = tmp_path / "lm.arpa"
    n_words = 3 + len(words.splitlines())
    lm.write_text(ARPA.replace("=11", f"={n_words}") + words + "\n\\end\\\n")
    made = build_scorers(RescoringOptions(model=[spelled_run], lm=[lm], **options))  # type: ignore[arg-type]
    assert made.spelled == spelled
    assert len(made.opened) == len(made.scorers)


@pytest.mark.parametrize("is_said", [True, False])
def test_weights_are_used_with_the_models_that_spelled_in_their_tuning(
    spelled_run: Path, lists: Path, tmp_path: Path, is_said: bool
) -> None:
    refs, lm, weights = tmp_path / "refs", tmp_path / "lm.arpa", tmp_path / "weights.json"
    refs.write_text("u a zz\nv h\n")
    lm.write_text(ARPA.replace("=11", "=4") + "-0.25\ta\n\n\\end\\\n")  # knows a alone
    models = {"model": spelled_run, "lm": lm}
    charlm.tune(lists, refs=refs, **models, folds=0, out=weights)
    if not is_said:  # by an older charlm
        content = json.loads(weights.read_text())
        assert content["tuned"].pop("spelled_by") == ["nn"]
        weights.write_text(json.dumps(content))
    result = charlm.score(lists, **models, weights=weights, refs=refs, allow_test_tuning=True)
    assert result.spelled == ("nn",)


def test_lists_that_unknown_words_win_are_counted_and_remedies_named(
    saved_run: Callable[..., Path], lists: Path, tmp_path: Path
) -> None:
    run = saved_run("zeros")
    lists.write_text("u\ta\nu\ta zz\nv\th\nv\tb a\nw\tzz\nw\tzz zz\n" + "x\ta a a a a a\n" * 9)
    result = charlm.score(lists, columns="id,text", model=run, weight=["words=1", "nn=0"])
    assert result.counts.n_unknown_wins == 1
    (note,) = advice_on(result)
    assert note.startswith("in 1 of 4 lists the best hypothesis has unknown words that the first")
    for remedy in ("charlm train --resume --speller", "--weight oov=-5", "charlm vocab --against"):
        assert remedy in note
    (tmp_path / "lm").write_text(ARPA + LETTERS + "\n\\end\\\n")
    options = {"columns": "id,text", "lm": tmp_path / "lm", "weight": ["words=1", "kn=0"]}
    (note,) = advice_on(charlm.score(lists, **options))  # type: ignore[arg-type]
    assert "errors too; give them a price (--weight oov=-5; " in note  # no run to spell them
    priced = charlm.score(lists, columns="id,text", model=run, weight=["words=1", "oov=-0.1"])
    assert advice_on(priced) == []


def test_lists_that_unknown_words_win_before_a_tuning_are_no_advice_after_it(
    lists: Path, tmp_path: Path
) -> None:
    lists.write_text("id\tam\ttext\nu\t-1\th h h\nu\t-2\tzz\nv\t-1\tg g g\nv\t-2\tzz\n")
    (tmp_path / "refs").write_text("u\th h h\nv\tg g g\n")
    (tmp_path / "lm").write_text(ARPA + LETTERS + "\n\\end\\\n")
    result = charlm.tune(
        lists, refs=tmp_path / "refs", lm=tmp_path / "lm", tuned="am", folds=0, restarts=0
    )
    assert result.counts.n_unknown_wins == 2
    assert not any("unknown words" in note for note in advice_on(result))


def test_unk_in_a_list_does_not_make_it_one_of_another_domain(
    lists: Path, spelled_run: Path
) -> None:
    closed = lists.with_name("closed.tsv")
    closed.write_text("id\ttext\nu\ta <unk> b a <UNK> b\nu\ta zz b a b a b a b\n")
    found = written(closed, model=spelled_run)
    assert found == written(closed, model=spelled_run, open_vocabulary=True)
    assert found != written(closed, model=spelled_run, open_vocabulary=False)


def test_weights_of_a_run_that_spells_serve_it_beside_an_exported_model(
    spelled_run: Path, lists: Path, tmp_path: Path, tiny_onnx: Path
) -> None:
    weights, models = tuned(tmp_path, spelled=True), [spelled_run, tiny_onnx]
    found = charlm.score(lists, model=models, weights=weights, raw=True, threads=1)
    assert found.spelled == charlm.score(lists, model=models, raw=True, threads=1).spelled
    with pytest.raises(ConfigError, match="is an exported model, which knows no --open-vocabulary"):
        charlm.score(lists, model=models[::-1], open_vocabulary=True, raw=True, threads=1)
