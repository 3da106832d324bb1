"""The advice that results give on their own weaknesses."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import charlm
from charlm.nbest.scorers import FunctionScorer
from charlm.nbest.tuning.tuning import TunedWeight
from charlm.scoring.rescoring.answers import advice
from charlm.scoring.rescoring.answers.result import RescoringResult
from charlm.scoring.rescoring.options.rescoring_options import RescoringOptions
from charlm.scoring.rescoring.scorers.build_scorers import build_scorers

VOSK = '{"alternatives": [{"confidence": 99, "text": "a"}]}'
OWN = FunctionScorer(lambda sentences: [[-1.0] * (len(words) + 1) for words in sentences])


def tuned(
    feature: str,
    weight: float,
    low: float,
    high: float,
    *,
    at_border: bool,
    is_fixed: bool = False,
    has_effect: bool = True,
) -> TunedWeight:
    return TunedWeight(feature, weight, is_fixed, has_effect, low, high, at_border)


@pytest.mark.parametrize(
    ("details", "beginning", "remedy"),
    [
        (tuned("nn", -0.5, -0.7, -0.1, at_border=False), "nn has a negative weight, -0.5", "nn=0:"),
        (tuned("words", -0.5, -0.7, -0.1, at_border=False), "", ""),
        (tuned("words", 2, -0.1, 4, at_border=True), "words hardly matters", "--tuned"),
        (tuned("words", 0, 0, 4, at_border=False), "words hardly matters", "--tuned"),
        (tuned("words", 2, 0, 4, at_border=False), "", ""),  # without it, hypotheses may tie
        (tuned("words", 2, 0, 4, at_border=True), "words is no worse at the end", "if the end is"),
        (
            tuned("oov", -5, -100, -4, at_border=True),
            "oov is no worse at the end of its range (flat from -100 to -4): ",
            "--range oov=LOW:HIGH",
        ),
        (tuned("nn", 0.5, 0.1, 0.7, at_border=False), "", ""),
        (tuned("oov", 0, 0, 0, at_border=False, has_effect=False), "", ""),  # no list has any
        (tuned("am", 0, 0, 0, at_border=False, is_fixed=True), "", ""),  # by --range am=0:0
    ],
)
def test_a_tuned_weight_that_speaks_against_itself_is_named_with_what_to_do(
    details: TunedWeight, beginning: str, remedy: str
) -> None:
    result: Any = SimpleNamespace(scorers={"nn": "RUN"})
    found = list(advice.on_tuned(result, [details]))
    assert len(found) == bool(beginning)
    assert all(each.startswith(beginning) and remedy in each for each in found)


def test_weights_that_hardly_matter_each_alone_are_not_all_to_be_left_out() -> None:
    """Of two copies of a feature each can go, and not both."""
    result: Any = SimpleNamespace(scorers={})
    copies = [tuned(name, 2, -0.1, 4, at_border=False) for name in ("lm", "lm2")]
    (note,) = advice.on_tuned(result, copies)
    assert note.startswith("lm, lm2 hardly matter, each alone: ")
    assert "leave out one at a time (--tuned)" in note


@pytest.mark.parametrize(
    ("low", "high", "is_told"), [(1.2, 100, True), (-100, -1.2, False), (0, 100, False)]
)
def test_a_cost_that_sets_the_scale_is_thought_of_where_another_weight_has_no_upper_end(
    low: float, high: float, is_told: bool
) -> None:
    result: Any = SimpleNamespace(scorers={})
    scale = tuned("edits", 1, 1, 1, at_border=False, is_fixed=True)
    other = tuned("lm", (low + high) / 2, low, high, at_border=True)
    third = tuned("words", 2, 1, 3, at_border=False)
    (note,) = advice.on_tuned(result, [scale, other, third])
    assert note.endswith("name another feature first (--tuned lm,edits,words)") == is_told


@pytest.mark.parametrize(("tuned_for", "measured", "n"), [("bleu-zh", "wer", 1), ("wer", "cer", 0)])
def test_weights_tuned_for_another_rate_than_is_reported_are_told(
    tmp_path: Path, tuned_for: str, measured: str, n: int
) -> None:
    for name in ("dev", "test"):
        text = f"{name}1\t-1\ta b c d e\n{name}1\t-2\ta b c d f\n"
        (tmp_path / name).write_text(text)
        (tmp_path / f"{name}.ref").write_text(f"{name}1\ta b c d f\n")
    weights = tmp_path / "w.json"
    said: Any = {"columns": "id,am,text"}
    charlm.tune(tmp_path / "dev", refs=tmp_path / "dev.ref", metric=tuned_for, out=weights, **said)
    told = charlm.score(
        tmp_path / "test", refs=tmp_path / "test.ref", metric=measured, weights=weights, **said
    )
    assert sum("BLEU: --metric bleu-zh" in each for each in advice.advice_on(told)) == n


@pytest.mark.parametrize(
    ("ids", "by_sentence", "beginnings"),
    [
        (["a-1", "a-2", "b-1"], (), []),
        (["a-1", "b-1"], ("nn",), ["no list has another of its recording before it"]),
        (["atis-1", "atis-2"], (), ["all 2 lists are taken for one recording"]),
        (["a-1", "a-2", "b-1"], ("nn",), ["nn learned sentences that begin anew"]),
    ],
)
def test_context_that_is_none_or_does_harm_is_named(
    tmp_path: Path, ids: list[str], by_sentence: tuple[str, ...], beginnings: list[str]
) -> None:
    lists = tmp_path / "lists.tsv"
    lists.write_text("id\ttext\n" + "".join(f"{id}\ta\n" for id in ids))
    result = charlm.score(lists, scorer=OWN, context="previous")
    found = advice.advice_on(replace(result, by_sentence=by_sentence))
    assert len(found) == len(beginnings)
    assert all(map(str.startswith, found, beginnings))
    assert all("--context previous" in each for each in found)
    alone = charlm.score(lists, scorer=OWN)
    assert advice.advice_on(replace(alone, by_sentence=by_sentence)) == []


def scored_and_tuned(
    folder: Path, rows: str, *, references: str, metric: Any = "wer"
) -> Iterator[RescoringResult]:
    """What both commands say of a table that ranks by `am`."""
    lists, refs = folder / "lists.tsv", folder / "refs"
    lists.write_text(f"id\tam\ttext\n{rows}")
    refs.write_text(references)
    options: dict[str, Any] = {"refs": refs, "weight": ["am=1"], "metric": metric}
    yield charlm.score(lists, **options)
    yield charlm.tune(lists, folds=0, **options)


@pytest.mark.parametrize(
    ("references", "share"),
    [("a THE CAT\nb on it\n", 2 / 3), ("a the Cat\nb it\n", 1 / 3), ("a the\nb\n", 0)],
)
def test_references_in_another_case_are_told_where_they_are_what_errors_come_from(
    tmp_path: Path, references: str, share: float
) -> None:
    rows = "a\t-1\tthe cat\na\t-2\ta\nb\t-1\tit\nb\t-2\tx\n"
    for result in scored_and_tuned(tmp_path, rows, references=references):
        assert result.notices.share_in_case == pytest.approx(share)
        told = [each for each in advice.advice_on(result) if "case" in each]
        beginning = "67% of the words that the lists share with their references differ from them"
        assert [each.startswith(beginning) for each in told] == [True] * (share > 1 / 2)


@pytest.mark.parametrize(
    ("first", "said", "n"),
    [
        ("so , he said , no .", "so, he said, no.", 3),
        ("so, he said, no.", "so he said no", 3),
        ("so, he said, no.", "so he said no.", 0),
        ("so , mr. No said .", "so , mister No said .", 0),
    ],
)
def test_punctuation_that_one_side_lacks_is_told(
    tmp_path: Path, first: str, said: str, n: int
) -> None:
    rows = f"a\t-1\t{first}\na\t-2\tx\n"
    for result in scored_and_tuned(tmp_path, rows, references=f"a {said}\n"):
        told = [each for each in advice.advice_on(result) if "punctuation" in each]
        assert [each.startswith(f"{n} words of") for each in told] == [True] * (n > 0)


ANIMALS = ["ape", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "owl", "pig", "rat"]
SAID = [f"{animal} is said {'again ' * (n % 3)}by {animal}" for n, animal in enumerate(ANIMALS * 2)]


@pytest.mark.parametrize(
    ("references", "is_told"),
    [
        (SAID, False),
        ([text.upper() for text in SAID], False),
        ([SAID[-1], *SAID[:-1]], True),
        (sorted(SAID, key=lambda text: text[1:]), True),
        (["yes"] * len(SAID), False),  # one prompt
        ([f"{n} {n}" for n in range(len(SAID))], False),  # the lengths of counted-bleu
    ],
)
def test_references_in_another_order_than_the_lists_are_told(
    tmp_path: Path, references: list[str], is_told: bool
) -> None:
    rows = "".join(f"u{n:02}\t-1\t{text}\nu{n:02}\t-2\tx\n" for n, text in enumerate(SAID))
    said = "".join(f"u{n:02}\t{text}\n" for n, text in enumerate(references))
    for result in scored_and_tuned(tmp_path, rows, references=said):
        told = [each for each in advice.advice_on(result) if "in another order" in each]
        assert len(told) == is_told


def test_single_words_of_which_half_are_wrong_are_not_in_another_order(tmp_path: Path) -> None:
    rows = "".join(f"{animal}1\t-1\t{animal}\n{animal}1\t-2\tx\n" for animal in ANIMALS)
    said = "".join(f"{animal}1\t{('zz', animal)[n % 2]}\n" for n, animal in enumerate(ANIMALS))
    for result in scored_and_tuned(tmp_path, rows, references=said):
        assert not any("in another order" in each for each in advice.advice_on(result))


def test_words_that_only_look_like_those_of_the_references_are_counted(tmp_path: Path) -> None:
    rows = "a\t-1\tit\u2019s a cafe\u0301 the\na\t-2\tis\n"
    rows += "b\t-1\tb\xadb ka\u02bba \u0643\nb\t-2\tx\n"
    references = "a it's a caf\xe9 The\nb bb ka'a \u06a9\n"
    for result in scored_and_tuned(tmp_path, rows, references=references):
        (told,) = [each for each in advice.advice_on(result) if "Unicode form" in each]
        assert told.startswith("5 words of the first hypotheses differ")
    alike = "a it\u2019s a cafe\u0301\nb b\xadb ka\u02bba \u0643\n"
    for result in scored_and_tuned(tmp_path, rows, references=alike):
        assert result.notices.n_in_other_characters == 0


@pytest.mark.parametrize("piece", ["be@@ d", "be\uffed d", "be \uffedd", "\u2581be d"])
def test_pieces_of_words_are_told_unless_both_texts_have_them(tmp_path: Path, piece: str) -> None:
    rows = f"a\t-1\tthe {piece}\na\t-2\ta\n"
    for references, n in (("a the bed\n", 1), (f"a the {piece}\n", 0)):
        for result in scored_and_tuned(tmp_path, rows, references=references):
            assert result.notices.n_in_pieces == n
            told = [each for each in advice.advice_on(result) if "pieces of words" in each]
            assert [each[:14] for each in told] == ["1 words of the"] * n


def test_one_word_that_ends_like_a_piece_says_nothing_of_the_rates(tmp_path: Path) -> None:
    words = "a b c d e " * 30
    (tmp_path / "l.tsv").write_text(f"id\ttext\nu\t{words}foo@@\n")
    (tmp_path / "refs").write_text(f"u {words}\n")
    assert charlm.score(tmp_path / "l.tsv", refs=tmp_path / "refs").notices.n_in_pieces == 0


@pytest.mark.parametrize("phrase", ["\u4eca\u65e5" * 6, "\u6211\u4eec\u6628\u5929\u3002"])
def test_references_without_blanks_are_told_unless_letters_are_counted(
    tmp_path: Path, phrase: str
) -> None:
    rows, references = f"a\t-1\t{phrase}\na\t-2\t{phrase[1:]}\n", f"a {phrase}\n"
    for metric, other in (("wer", "cer"), ("bleu", "bleu-zh"), ("cer", ""), ("bleu-zh", "")):
        for result in scored_and_tuned(tmp_path, rows, references=references, metric=metric):
            told = [each for each in advice.advice_on(result) if each.startswith("100% of the ref")]
            assert [f"--metric {other}" in each for each in told] == [True] * bool(other)


@pytest.mark.parametrize(
    ("references", "labels"),
    [
        ("a the\nb it\n", "-pau-, <n>, [laugh] and 1 more:"),
        ("a the\nb it -pau- [laugh]\n", "<n>, {breath}:"),
        ("a the <n> {breath}\nb it -pau- [laugh]\n", ""),
    ],
)
def test_noise_that_no_reference_has_is_named_since_it_counts_as_an_error(
    tmp_path: Path, references: str, labels: str
) -> None:
    rows = "a\t-1\t-pau- the <n>\na\t-2\t<unk>\nb\t-1\t[laugh] it {breath}\n"
    for result in scored_and_tuned(tmp_path, rows, references=references):
        told = [each for each in advice.advice_on(result) if each.startswith("no reference has ")]
        assert [f"has {labels} if they are labels of noise" in each for each in told] == (
            [True] * bool(labels)
        )


@pytest.mark.parametrize(
    ("references", "n_words"),
    [
        ("(uh) the (%HESITATION) (a)\nit (b)\n", 2),
        ("a 1 x 0.0 1.5 (uh) the\nb 1 y 1.5 2 it (ha)\n", 2),
        ("a (uh) the\nb it\n", 0),  # Kaldi's
        ("the (a)\nit (b)\n", 0),
    ],
)
def test_words_that_nists_references_leave_open_are_told_since_they_count_here(
    tmp_path: Path, references: str, n_words: int
) -> None:
    rows = "a\t-1\tuh the\na\t-2\tthe\nb\t-1\tit\n"
    for result in scored_and_tuned(tmp_path, rows, references=references):
        told = [each for each in advice.advice_on(result) if "parentheses, as (uh)" in each]
        assert [each.startswith(f"{n_words} words of") for each in told] == [True] * bool(n_words)


@pytest.mark.parametrize("ids", [["a-1", "b-1"], ["a-1", "a-2"]])
def test_who_asked_to_adapt_is_not_told_to_leave_out_a_context(
    tmp_path: Path, ids: list[str]
) -> None:
    lists = tmp_path / "lists.tsv"
    lists.write_text("id\ttext\n" + "".join(f"{id}\ta\n" for id in ids))
    result = charlm.score(lists, scorer=OWN, context="previous")
    (found,) = advice.advice_on(replace(result, adaptation="nn dynamic(rate=1)"))
    assert "--adapt" in found
    assert "--context" not in found


def test_weights_that_were_tuned_with_another_context_are_told(tmp_path: Path) -> None:
    lists, refs, weights = tmp_path / "lists.tsv", tmp_path / "refs", tmp_path / "w.json"
    lists.write_text("id\ttext\na-1\tb\na-1\tc\na-2\tb c\na-2\tc\nb-1\tc\nb-1\tb\n")
    refs.write_text("a-1 c\na-2 c\nb-1 c\n")

    def told(context: Any) -> list[str]:
        result = charlm.score(lists, scorer=OWN, weights=weights, context=context)
        return [note for note in advice.advice_on(result) if "of another kind" in note]

    charlm.tune(lists, scorer=OWN, refs=refs, context="previous", out=weights, folds=0)
    assert told("previous") == []
    (note,) = told("none")
    assert "is nothing here, and was --context previous; " in note
    charlm.tune(lists, scorer=OWN, refs=refs, out=weights, folds=0)
    assert told("none") == []
    assert "is --context previous here, and was nothing; " in told("previous")[0]
    weights.write_text(weights.read_text().replace('"history"', '"note"'))  # as 0.1 wrote it
    assert told("previous") == []


def test_weights_that_were_tuned_with_a_context_beside_adaptation_are_told(
    run: Path, tmp_path: Path
) -> None:
    lists, refs, weights = tmp_path / "lists.tsv", tmp_path / "refs", tmp_path / "w.json"
    lists.write_text("id\ttext\na-1\tb\na-1\tc\na-2\tb c\na-2\tc\n")
    refs.write_text("a-1 c\na-2 c\n")
    options: dict[str, Any] = {"model": run, "adapt": "cache"}
    charlm.tune(lists, **options, refs=refs, context="previous", out=weights, folds=0)

    def told(context: Any) -> list[str]:
        result = charlm.score(lists, **options, weights=weights, context=context)
        return [note for note in advice.advice_on(result) if "of another kind" in note]

    assert told("previous") == []
    (note,) = told("none")
    assert "lambda=0.1) here, and was nn cache(" in note
    assert "lambda=0.1) and --context previous; " in note


def test_runs_that_were_trained_by_sentences_are_known(saved_run: Callable[..., Path]) -> None:
    options = RescoringOptions(model=[saved_run("zeros")])
    assert build_scorers(options).by_sentence == ()
    run = saved_run("random", batching={"type": "sentences"})
    assert build_scorers(RescoringOptions(model=[run])).by_sentence == ("nn",)
    adapted = RescoringOptions(model=[run], adapt="dynamic")
    assert build_scorers(adapted).by_sentence == ()  # its sentences begin anew as well
    both = RescoringOptions(model=[run], adapt="dynamic", context="previous")
    assert build_scorers(both).by_sentence == ("nn",)


def test_scores_of_a_recogniser_count_nothing_only_where_a_model_alone_ranks(
    tmp_path: Path,
) -> None:
    lists = tmp_path / "lists.tsv"
    lists.write_text("id\tam\ttext\nu\t-1\ta\nu\t-2\tb\n")

    def said(**options: Any) -> str:
        return "".join(advice.advice_on(charlm.score(lists, scorer=OWN, **options)))

    assert said(sort=True).startswith("THE RECOGNISER'S SCORES COUNT NOTHING: ranked by own alone")
    assert said() == said(sort=True, weight=["am=1"]) == ""
    counted = said(sort=True, weight=["oov=-5", "words=1"])  # are no scores of a recogniser
    assert "COUNT NOTHING: ranked by own, oov, words alone, without am of the lists" in counted


def test_scores_that_only_the_first_list_has_are_told_too(tmp_path: Path) -> None:
    lists = tmp_path / "lists.jsonl"
    lists.write_text('{"id": "a", "text": "a", "am": -1}\n{"id": "b", "text": "a"}\n')
    result = charlm.score(lists, scorer=OWN, write="ranked", out=tmp_path / "out")
    assert result.ignored == ("am", "words", "oov")
    assert "without am of the lists" in advice.advice_on(result)[0]


def test_scores_that_nothing_divides_are_not_said_to_be_means(tmp_path: Path) -> None:
    beams = '{"beams": [["a b", null, [], -1.5, -2.25]]}\n'
    scored = '{"sequences": ["a b"], "lm_scores": [-7]}\n'
    for text, weight in ((beams, "lm=1"), (scored, "lm_scores=1")):
        (tmp_path / "lists").write_text(text)
        found = charlm.score(tmp_path / "lists", scorer=OWN, write="none", weight=[weight, "own=1"])
        assert not any("--length-penalty" in each for each in advice.advice_on(found))


@pytest.mark.parametrize(
    ("penalty", "weights", "is_named"),
    [(0, (1, 1), True), (1, (1, 1), False), (0, (1, 0), False), (0, (0, 1), False)],
)
def test_scores_that_may_be_means_beside_a_models_sums_are_named(
    tmp_path: Path, penalty: float, weights: tuple[float, float], is_named: bool
) -> None:
    lists = tmp_path / "out.txt"
    lists.write_text("H-0\t-0.3\ta b\nD-0\t-0.3\ta b\nP-0\t-0.1 -0.2 -0.6\n")
    asked = [f"score={weights[0]}", f"own={weights[1]}"]
    result = charlm.score(lists, scorer=OWN, write="none", length_penalty=penalty, weight=asked)
    found = [each for each in advice.advice_on(result) if "--length-penalty 1" in each]
    assert len(found) == is_named
    assert all(each.startswith("score of fairseq's lists may be divided by") for each in found)


@pytest.mark.parametrize(
    ("alternatives", "weights", "beginning"),
    [
        ('{"NBest": [{"Confidence": 0.9, "Lexical": "a b"}]}', [], "confidence of azure's lists"),
        (VOSK, ["confidence=1"], "confidence of vosk's lists"),
        (VOSK, ["confidence=0.5"], ""),  # chosen
        (VOSK, ["own=0.1"], ""),
    ],
)
def test_confidences_that_are_no_logs_are_named_beside_a_models_scores(
    tmp_path: Path, alternatives: str, weights: list[str], beginning: str
) -> None:
    (tmp_path / "lists").write_text(alternatives + "\n")
    result = charlm.score(tmp_path / "lists", scorer=OWN, weight=weights, write="none")
    found = [each for each in advice.advice_on(result) if "which of them decides" in each]
    assert len(found) == bool(beginning)
    assert all(each.startswith(beginning) for each in found)
    alone = charlm.score(tmp_path / "lists", weight={"confidence": 1}, write="none")
    assert not any("which of them decides" in each for each in advice.advice_on(alone))


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ('{"id": "u", "beams": [["a b", null, [], -3.0, -5.0], ["a", null, [], -2.0, -6.0]]}', []),
        ('{"id": "u", "input": ["a b", "a"], "am_score": [-3.0, -2.0]}', ["am_score=1"]),
        ("id\tscore\ttext\nu\t-3.0\ta b\nu\t-2.0\ta", ["score=1", "own=1"]),
    ],
)
def test_sums_of_formats_that_take_no_length_penalty_are_not_named(
    tmp_path: Path, text: str, weights: list[str]
) -> None:
    lists = tmp_path / "lists.jsonl"
    lists.write_text(text + "\n")
    options: dict[str, Any] = {"scorer": OWN, "sort": True, "weight": weights}
    assert advice.advice_on(charlm.score(lists, **options)) == []
    with pytest.raises(charlm.ConfigError, match="found a length penalty; expected none"):
        charlm.score(lists, **options, length_penalty=1)


@pytest.mark.parametrize(
    ("ids", "layout", "is_said"),
    [("0 2 10", "text", False), ("2 0 10", "text", True), ("2 0 10", "kaldi", False)],
)
def test_lines_without_ids_of_lists_out_of_order_are_not_those_of_a_reference(
    ids: str, layout: str, is_said: bool, tmp_path: Path
) -> None:
    lists = tmp_path / "out.txt"  # as fairseq writes them, batch by batch
    lists.write_text("".join(f"H-{id}\t-1\ta\nP-{id}\t-1\n" for id in ids.split()))
    result = charlm.score(lists, scorer=OWN, write=layout, out=tmp_path / "best")
    found = [each for each in advice.advice_on(result) if "order of their numbers" in each]
    assert len(found) == is_said
