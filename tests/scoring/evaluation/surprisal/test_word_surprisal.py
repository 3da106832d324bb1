"""The surprisal of written words: sums equal to eval's, entropies, contexts, and notes."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import charlm
from charlm.errors import ConfigError, DataError
from charlm.scoring.evaluation.surprisal.surprisal_table import SurprisalTable
from charlm.text.perplexity.perplexity import ScoredSentence

ODD = [
    *("a.", "B", "...", "\u0301", "e\u0301", "👩\u200d🔬", "<unk>"),
    *("\u00a0", "zz", "c", "\u200b", '"'),
]
lines = st.lists(st.lists(st.sampled_from(ODD), max_size=5).map(" ".join), min_size=1, max_size=5)


def measure(text: Path | str, *models: Path, **options: object) -> SurprisalTable:
    return charlm.surprisal(text, model=models, device="cpu", **options)  # type: ignore[arg-type]


def text_of(tmp_path: Path, *rows: str, name: str = "text.txt") -> Path:
    path = tmp_path / name
    path.write_text("".join(row + "\n" for row in rows), encoding="utf-8")
    return path


def totals(table: SurprisalTable, model: int = 0) -> list[float]:
    """The bits of each sentence, its end included."""
    scored = [item.by_model[model] for item in table.items]
    return [
        math.fsum([*(word.surprisal or 0.0 for word in each.words), each.end or 0.0])
        for each in scored
    ]


def test_the_length_of_a_word_is_the_same_in_every_unicode_form(
    cutting_run: Path, tmp_path: Path
) -> None:
    table = measure(text_of(tmp_path, "\xe9te\u0301 e\u0301t\xe9"), cutting_run)
    assert [row[table.header.index("length")] for row in table.rows()] == [3, 3]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=lines)
@pytest.mark.parametrize(("context", "state"), [("none", "sentence"), ("document", "carried")])
def test_words_and_ends_sum_to_what_eval_gives(
    cutting_run: Path, tmp_path: Path, context: str, state: str, rows: list[str]
) -> None:
    path = text_of(tmp_path, *rows)
    heard: list[ScoredSentence] = []
    charlm.evaluate(
        cutting_run,
        files=path,
        state=state,
        device="cpu",
        on_sentence=heard.append,  # type: ignore[arg-type]
    )
    table = measure(path, cutting_run, context=context)
    expected = [-math.fsum(each.log10_probs) * math.log2(10) for each in heard]
    assert totals(table) == pytest.approx(expected, abs=1e-9)
    written = [word for row in rows for word in row.split(" ") if word]
    assert [row[2] for row in table.rows()] == written


def test_entropies_are_those_of_the_distributions(
    run: Path, tmp_path: Path, arpa_of: Callable[[Path], Path]
) -> None:
    arpa = arpa_of(run)
    table = measure(text_of(tmp_path, "a b zz"), run, lm=[arpa], entropy=True)
    for k, model in enumerate([charlm.load(run, device="cpu"), charlm.load(arpa)]):
        state, expected = model.start(), list[float]()
        for word in ["a", "b", "zz"]:
            log_probs = model.distribution(state)[0]
            expected.append(-float(np.sum(np.exp(log_probs) * log_probs)) / math.log(2))
            state = model.step(state, [word]).state
        found = table.items[0].by_model[k]
        assert [word.entropy for word in found.words] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("context", ["none", "document"])
def test_entropies_come_in_the_pass_that_gives_the_surprisals(
    run: Path, tmp_path: Path, shapes: list[tuple[int, int]], context: str
) -> None:
    text = text_of(tmp_path, "a b zz", "", "c", "b a b a b a")
    plain = measure(text, run, context=context)
    n_plain = len(shapes)
    table = measure(text, run, context=context, entropy=True)
    assert shapes[n_plain:] == shapes[:n_plain]
    assert totals(table) == pytest.approx(totals(plain), abs=1e-5)


def test_entropies_of_sentences_read_side_by_side_are_those_of_each_alone(
    run: Path, tmp_path: Path
) -> None:
    lines = ["b a b a b a", "c", "a b zz"]
    together = measure(text_of(tmp_path, *lines), run, entropy=True)
    for line, item in zip(lines, together.items, strict=True):
        (alone,) = measure(text_of(tmp_path, line), run, entropy=True).items
        expected = [word.entropy for word in alone.by_model[0].words]
        found = [word.entropy for word in item.by_model[0].words]
        assert found == pytest.approx(expected, abs=1e-5)


def test_models_of_the_same_words_share_what_is_not_their_own(
    run: Path, tmp_path: Path, arpa_of: Callable[[Path], Path]
) -> None:
    arpa = arpa_of(run)
    table = measure(text_of(tmp_path, "a zz"), run, lm=[arpa], previous=1)
    assert table.header == (
        *("item", "position", "word", "tokens", "known", "length", "count", "zipf"),
        *("surprisal_run-random", "surprisal_kn", "known_prev1", "length_prev1", "zipf_prev1"),
        *("surprisal_run-random_prev1", "surprisal_kn_prev1"),
    )
    first, second = table.rows()
    score = charlm.load(arpa).score("a zz")
    bits = [-x * math.log2(10) for x in score.log10_probs]
    assert [first[9], second[9]] == pytest.approx(bits[:2])
    assert first[3:6] == (1, True, 1)
    assert second[3:7] == (1, False, 2, 0)
    assert first[10:] == (None,) * 5
    assert second[10:] == (*first[4:6], *first[7:10])


def test_models_of_other_words_have_columns_of_their_own(
    run: Path, tiny_run: Path, tmp_path: Path
) -> None:
    table = measure(text_of(tmp_path, "a cat"), run, tiny_run)
    assert table.header[3:6] == ("tokens_run-random", "tokens_tiny", "known_run-random")
    assert [row[5:7] for row in table.rows()] == [(True, True), (False, True)]


def test_zipf_by_hand(corpus_dir: Path, tiny_run: Path, tmp_path: Path) -> None:
    inventory = charlm.load(tiny_run, device="cpu")._run.inventory
    table = measure(text_of(tmp_path, "cat zebra"), tiny_run)
    n_tokens = len((corpus_dir / "train.txt").read_text().split())
    n_types = len(inventory.words) - 1  # `<unk>` is one of them
    cat, zebra = table.items[0].by_model[0].words
    assert (cat.count, zebra.count) == (4, 0)
    assert cat.zipf == pytest.approx(math.log10(5 / ((n_tokens + n_types) / 1e9)))
    assert zebra.zipf == pytest.approx(math.log10(1 / ((n_tokens + n_types) / 1e9)))


def test_a_word_of_several_tokens_is_as_rare_as_the_rarest_and_as_open_as_its_beginning(
    cutting_run: Path, tmp_path: Path
) -> None:
    table = measure(text_of(tmp_path, "a. <unk>"), cutting_run, entropy=True)
    first, unknown = table.items[0].by_model[0].words
    assert first.tokens == ("a", ".")
    assert (first.count, unknown.count) == (0, 0)  # there is no full stop in the training text
    assert first.zipf == unknown.zipf
    model = charlm.load(cutting_run, device="cpu")
    log_probs = model.distribution(model.start())[0]
    entropy = -float(np.sum(np.exp(log_probs) * log_probs)) / math.log(2)
    assert first.entropy == pytest.approx(entropy, abs=1e-5)


def test_a_context_of_its_own_for_each_value_of_a_column(run: Path, tmp_path: Path) -> None:
    rows = [("a b", "x"), ("c d", "y"), ("b", "x"), ("h", "y")]
    table = text_of(tmp_path, "text\tstory", *map("\t".join, rows), name="a.tsv")
    by_story = totals(measure(table, run, context="story"))
    for story, places in (("x", [0, 2]), ("y", [1, 3])):
        alone = text_of(tmp_path, *(text for text, own in rows if own == story), name="one.txt")
        expected = totals(measure(alone, run, context="document"))
        assert [by_story[k] for k in places] == pytest.approx(expected, abs=1e-5)
    assert by_story != pytest.approx(totals(measure(table, run)), abs=1e-3)


def test_a_document_begins_anew_with_each_file_also_with_one_that_is_given_twice(
    run: Path, tmp_path: Path
) -> None:
    text, empty = text_of(tmp_path, "a b", "c d"), text_of(tmp_path, name="empty.txt")
    once = totals(measure(text, run, context="document"))
    found = totals(measure([text, empty, text], run, context="document"))
    assert found == pytest.approx(2 * once, abs=1e-9)


def test_an_open_vocabulary_spells_what_is_unknown(
    spelled_run: Path, tmp_path: Path, arpa_of: Callable[[Path], Path]
) -> None:
    arpa = arpa_of(spelled_run)
    path = text_of(tmp_path, "a zz <unk>")
    table = measure(path, spelled_run, lm=[arpa], open_vocabulary=True)
    for k, model in enumerate(
        [
            charlm.load(spelled_run, device="cpu", open_vocabulary=True),
            charlm.load(arpa, open_vocabulary=spelled_run),
        ]
    ):
        expected = -model.score("a zz <unk>").log10_prob * math.log2(10)
        assert totals(table, k) == pytest.approx([expected], abs=1e-5)
    with pytest.raises(ConfigError, match=r"has no speller, nor the words of a run that has"):
        charlm.surprisal(path, lm=[arpa], open_vocabulary=True)
    with pytest.raises(ConfigError, match="^--precision bf16: found no --model, and only models"):
        charlm.surprisal(path, lm=[arpa], precision="bf16")
    with pytest.raises(ConfigError, match="^--raw: found no --model, whose text rules it turns"):
        charlm.surprisal(path, lm=[arpa], raw=True)


def test_what_there_is_to_mind_is_noted(
    run: Path, tmp_path: Path, arpa_of: Callable[[Path], Path]
) -> None:
    notes = measure(text_of(tmp_path, "zz a zz <unk>"), run).notes
    assert notes[0].startswith("run-random: 3 of 4 words (75.0%) are unknown: their surprisal is")
    assert notes[1] == "run-random: most frequent unknown: zz (2), <unk> (1)"
    assert "trained with its state carried over sentence ends" in notes[2]
    path = text_of(tmp_path, "a b")
    (note,) = measure(path, run, lm=[arpa_of(run)], context="document").notes
    assert note == "kn is an n-gram model: every sentence starts anew"


def test_a_run_for_sentences_needs_no_note(sentence_run: Path, tmp_path: Path) -> None:
    assert measure(text_of(tmp_path, "a b"), sentence_run).notes == ()


def test_what_has_no_probability_is_missing_and_no_nan(tmp_path: Path) -> None:
    arpa = tmp_path / "a.arpa"
    arpa.write_text("\\data\\\nngram 1=3\n\n\\1-grams:\n-1 <s>\n-1 </s>\n-1 a\n\n\\end\\\n")
    table = measure(text_of(tmp_path, "a b"), lm=[arpa], entropy=True)
    first, second = table.rows()
    assert first[8:] == pytest.approx((math.log2(10), 0.2 * math.log2(10)))
    assert second[4:9] == (False, 1, None, None, None)
    assert table.notes[-1] == "a: 1 words have no probability at all: NA"


def test_names_that_are_ours_are_left_to_us(run: Path, tmp_path: Path) -> None:
    table = measure(text_of(tmp_path, "item,text", "x,a", name="a.csv"), run)
    assert table.header[:4] == ("item", "given_item", "position", "word")
    assert next(table.rows())[:4] == (1, "x", 1, "a")
    assert table.notes[0] == "column 'item' is called 'given_item' here"


def test_a_name_that_we_give_is_no_other_columns(run: Path, tmp_path: Path) -> None:
    table = measure(text_of(tmp_path, "given_item,item,text", "x,y,a", name="a.csv"), run)
    assert table.header[:3] == ("item", "given_item", "given_given_item")
    assert next(table.rows())[:3] == (1, "x", "y")


def test_items_without_words_are_counted(run: Path, tmp_path: Path) -> None:
    path = text_of(tmp_path, "n,text", "1,a", "2,", '3,"  "', "4,b", name="a.csv")
    table = measure(path, run)
    assert [row[0] for row in table.rows()] == [1, 4]
    assert table.notes[0] == f"2 of 4 items have no word and no row, first {path}:3"


def test_models_of_one_name_are_told_apart_by_their_folders(
    run: Path, arpa: Path, tmp_path: Path
) -> None:
    runs = [tmp_path / "cs" / "small", tmp_path / "en" / "small"]
    for path in runs:
        shutil.copytree(run, path)
    arpa = arpa.rename(runs[1].with_suffix(".arpa"))
    text = text_of(tmp_path, "a")
    assert measure(text, *runs).models == ("cs/small", "en/small")
    assert measure(text, runs[0], lm=arpa).models == ("cs/small", "en/small")
    assert measure(text, runs[1], lm=arpa).models == ("small", "small.arpa")


def test_each_model_stands_once(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="run-random: stands twice; expected each model once"):
        measure(text_of(tmp_path, "a"), run, run)


def test_a_broken_model_is_one_line(saved_run: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the model is broken: log probabilities are NaN or inf"):
        measure(text_of(tmp_path, "b"), saved_run("beyond"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"context": "story"}, "--context 'story': a text has no columns"),
        ({"previous": -1}, "--previous -1: expected 0 to 20"),
    ],
)
def test_options_that_make_no_sense(
    run: Path, tmp_path: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        measure(text_of(tmp_path, "a"), run, **options)


@pytest.mark.parametrize(("context", "state"), [("none", "sentence"), ("document", "carried")])
def test_adapted_surprisals_are_those_of_eval_and_every_document_begins_anew(
    run: Path, tmp_path: Path, context: str, state: str
) -> None:
    text = text_of(tmp_path, "a b c", "a b c a b", "d", "a b c")
    options = {"adapt": "both", "adapt_rates": "segment=4,rate=1,theta=0,lambda=0.3"}
    (evaluated,) = charlm.evaluate(run, files=text, device="cpu", state=state, **options)  # type: ignore[arg-type]
    bits = -math.log2(10) * evaluated.by_state[state].sums.log10_prob
    table = measure(text, run, context=context, **options)
    assert sum(totals(table)) == pytest.approx(bits, rel=1e-9)
    assert totals(table) != pytest.approx(totals(measure(text, run, context=context)), rel=0.01)
    assert any(evaluated.adaptation in note and "order" in note for note in table.notes)
    assert any("plain gradient steps" in note for note in table.notes)
    other = text_of(tmp_path, "a b c", "a b c a b", "d", "a b c", name="b.txt")
    both = charlm.surprisal(
        [text, other],
        model=run,
        device="cpu",
        context=context,
        **options,  # type: ignore[arg-type]
    )
    assert totals(both)[:4] == totals(both)[4:]


def test_what_does_not_adapt_is_refused(run: Path, tmp_path: Path) -> None:
    text = text_of(tmp_path, "a")
    with pytest.raises(ConfigError, match="--adapt: found --entropy, .*; leave either out"):
        measure(text, run, adapt="cache", entropy=True)
    with pytest.raises(ConfigError, match="^--adapt-rates: found --entropy"):
        measure(text, run, adapt_rates="rate=1", entropy=True)
    with pytest.raises(
        ConfigError, match="--adapt: found n-gram models alone.*; give a run by --m"
    ):
        charlm.surprisal(text, lm="kn.arpa", adapt="cache")
