"""How a stream's kind is found, and the scores of files, runs and n-gram models for one text."""

import gzip
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from charlm.errors import ConfigError, DataError
from charlm.ngram import text_perplexity
from charlm.ngram.baseline import ngram_baseline
from charlm.scoring.evaluation.evaluate import evaluate
from charlm.scoring.evaluation.evaluate_options import State
from charlm.scoring.evaluation.mix_options import MixOptions
from charlm.scoring.evaluation.token_scores import Kind, kind_of, ngram_models, stream_scores
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.perplexity.score_streams import WordScores

ARPA = """\
\\data\\
ngram 1=5

\\1-grams:
-1\t<unk>
-99\t<s>
-0.5\t</s>
-0.25\ta
-2\tb

\\end\\
"""
TEXT = "a b\nzz\n"
WORDS = ("a", "b", "</s>", "<unk>", "</s>")
OF_ARPA = [-0.25, -2.0, -0.5, -1.0, -0.5]
SRILM = "a\n\tp( a | <s> ) \t= [2gram] 0.1 [ -1 ]\n\tp( </s> | a ...) \t= [2gram] 0.1 [ -1 ]\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder with a text and a unigram model."""
    monkeypatch.chdir(tmp_path)
    Path("text").write_text(TEXT)
    Path("lm").write_text(ARPA)


def asked(
    *streams: str | Path,
    texts: list[str],
    state: State = "carried",
    on_stage: Callable[[str], None] | None = None,
) -> list[list[WordScores]]:
    options = MixOptions(streams, state=state, device="cpu", threads=1, on_stage=on_stage)
    kinds = list(map(kind_of, streams))
    models = ngram_models(options, kinds)
    return stream_scores(options, kinds=kinds, texts=texts, models=models)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (ARPA.encode(), "n-gram"),
        (b"\n" + ARPA.encode(), "n-gram"),
        (gzip.compress(ARPA.encode()), "n-gram"),
        (b"mmap lm http://kheafield.com/code format version 5\n\0", "n-gram"),
        (b"made by ngram-count\n\nfrom 2 texts\n" + ARPA.encode(), "n-gram"),
        (b"\xef\xbb\xbf" + ARPA.replace("\n", "\r\n").encode(), "n-gram"),
        (b"x\n" * 30_000 + ARPA.encode(), "n-gram"),
        (b"x\n" * 33_000 + ARPA.encode(), "scores"),
        (SRILM.encode(), "scores"),
        (SRILM.replace("a\n", "\\data\\\n", 1).encode(), "scores"),
        (b'{"words": []}\n', "scores"),
        (b"", "scores"),
    ],
    # Names of our own, since gzip writes the time, and pytest-xdist needs the same names
    # everywhere.
    ids=[
        "ARPA",
        "blank line first",
        "gz",
        "KenLM's binary",
        "words before it",
        "BOM and CRLF",
        "60 kB before it",
        "66 kB before it",
        "SRILM",
        "a word that is \\data\\",
        "jsonl",
        "empty",
    ],
)
def test_the_content_of_a_file_tells_what_it_is(tmp_path: Path, content: bytes, kind: Kind) -> None:
    (tmp_path / "x.arpa").write_bytes(content)
    assert kind_of(tmp_path / "x.arpa") == kind


def test_a_folder_is_a_run_and_standard_input_holds_scores(run: Path) -> None:
    assert kind_of(run) == "run"
    Path("-").mkdir()
    assert kind_of("-") == "scores"


def test_a_folder_that_is_no_run_is_called_so() -> None:
    Path("corpus").mkdir()
    with pytest.raises(DataError) as caught:
        kind_of("corpus")
    assert str(caught.value) == (
        "corpus: a folder, and not a run (run.json is missing); expected scores of words, a run or "
        "an n-gram model"
    )


def test_an_exported_model_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "export.json").write_text("{}")
    with pytest.raises(DataError, match="an exported model; expected the run that .*or its scores"):
        kind_of(tmp_path)


def test_an_ngram_model_scores_each_sentence_from_its_start() -> None:
    ((scores,),) = asked("lm", texts=["text"])
    assert (scores.source, scores.words) == ("lm", WORDS)
    assert scores.log10_probs == pytest.approx(OF_ARPA)
    (result,) = ngram_baseline("text", lm="lm").texts
    assert scores.signature == result.signatures["sentence"]


def test_a_text_that_is_read_in_blocks_has_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("text").write_text(TEXT * 3)
    whole = asked("lm", texts=["text"])[0][0]
    monkeypatch.setattr(text_perplexity, "BLOCK", 1)  # every sentence is a block
    ((scores,),) = asked("lm", texts=["text"])
    assert scores.words == whole.words == WORDS * 3
    assert scores.log10_probs.tolist() == whole.log10_probs.tolist()
    assert scores.log10_probs == pytest.approx(OF_ARPA * 3)


def test_a_word_that_an_ngram_model_lacks_may_get_nothing() -> None:
    Path("lm").write_text(ARPA.replace("-1\t<unk>\n", "").replace("1=5", "1=4"))
    ((scores,),) = asked("lm", texts=["text"])
    assert scores.words == WORDS
    assert scores.log10_probs == pytest.approx([-0.25, -2.0, -0.5, -math.inf, -0.5])


def test_a_run_scores_a_text_as_an_evaluation_does(run: Path) -> None:
    for state in ("carried", "sentence"):
        ((scores,),) = asked(run, texts=["text"], state=state)
        (result,) = evaluate(run, files=["text"], state=state, device="cpu")
        assert scores.words == WORDS
        assert scores.log10_probs.sum() == pytest.approx(result.by_state[state].sums.log10_prob)
        assert scores.signature == result.signatures[state]


def test_a_run_reads_the_text_in_its_own_normalisation(saved_run: Callable[..., Path]) -> None:
    Path("text").write_text("A b\n")
    run = saved_run("zeros", normalisation=Normalisation(lower=True))
    ((scores,),) = asked(run, texts=["text"])
    assert scores.words == ("a", "b", "</s>")


def test_an_ngram_model_reads_the_text_as_the_run_beside_it_does(
    saved_run: Callable[..., Path],
) -> None:
    Path("text").write_text("A zz\nb J\n")
    Path("lm").write_text(ARPA.replace("1=5", "1=6").replace("-2\tb", "-2\tb\n-3\tzz"))
    run = saved_run("zeros", normalisation=Normalisation(lower=True))
    ((alone,),) = asked("lm", texts=["text"])
    assert alone.words == ("<unk>", "zz", "</s>", "b", "<unk>", "</s>")
    ((of_run, of_ngram),) = asked(run, "lm", texts=["text"])
    # In lower case, and with <unk> for the word that only the n-gram model knows.
    assert of_ngram.words == of_run.words == ("a", "<unk>", "</s>", "b", "<unk>", "</s>")
    assert of_ngram.log10_probs == pytest.approx([-0.25, -1.0, -0.5, -2.0, -1.0, -0.5])
    assert "|norm:NFC+lower|" in (of_ngram.signature or "")
    assert (alone.n_wasted, of_run.n_wasted, of_ngram.n_wasted) == (0, 0, 1)


def test_beside_a_run_an_arpa_file_reads_a_word_that_it_lacks_as_its_unk(run: Path) -> None:
    Path("other").write_text(ARPA.replace("\ta\n", "\tzz\n"))
    ((_, first, second),) = asked(run, "lm", "other", texts=["text"])
    assert first.log10_probs == pytest.approx(OF_ARPA)
    assert second.log10_probs == pytest.approx([-1.0, -2.0, -0.5, -1.0, -0.5])


def test_words_that_only_an_ngram_model_knows_are_counted_text_by_text(run: Path) -> None:
    Path("lm").write_text(ARPA.replace("1=5", "1=6").replace("-2\tb", "-2\tb\n-3\tzz"))
    Path("more").write_text("zz zz a yy <unk> <unk>:zz\n")
    Path("none").write_text("a b\n")
    texts = asked(run, "lm", texts=["text", "more", "none"])
    assert [of_ngram.n_wasted for _, of_ngram in texts] == [1, 2, 0]


def test_runs_of_different_rules_leave_an_ngram_model_nothing_to_follow(
    saved_run: Callable[..., Path],
) -> None:
    runs = [saved_run("zeros"), saved_run("random", normalisation=Normalisation(lower=True))]
    with pytest.raises(ConfigError) as caught:
        asked("lm", *runs, texts=["text"])
    assert str(caught.value) == (
        f"{runs[0]} and {runs[1]}: read text by different rules, NFC and NFC+lower; expected the "
        "same, for an n-gram model beside them to follow; drop one of the three"
    )
    ((first, second),) = asked(*runs, texts=["text"])  # both read lower-case text alike
    assert first.words == second.words == WORDS


def test_every_text_has_the_scores_of_all_in_their_order(uniform: Path) -> None:
    Path("other").write_text("b\n")
    stages: list[str] = []
    texts = asked(uniform, "lm", texts=["text", "other"], on_stage=stages.append)
    assert [[each.source for each in scores] for scores in texts] == [[str(uniform), "lm"]] * 2
    assert [scores[0].words for scores in texts] == [WORDS, ("b", "</s>")]
    assert texts[1][0].log10_probs == pytest.approx([-1.0, -1.0])
    assert texts[1][1].log10_probs == pytest.approx([-2.0, -0.5])
    # Streams that fail soonest are asked first.
    assert stages == ["scoring text and other with lm", f"scoring text and other with {uniform}"]


def test_a_file_of_scores_needs_no_text() -> None:
    Path("scores").write_text(SRILM)
    ((scores,),) = asked("scores", texts=[])
    assert scores.words == ("a", "</s>")


@pytest.mark.parametrize("content", [SRILM.replace("a", "é"), "0.1 é\n0.1 </s>\n"])
def test_a_file_of_scores_is_read_in_the_encoding_that_is_said(content: str) -> None:
    Path("scores").write_text(content, encoding="latin-1")
    options = MixOptions(("scores",), encoding="latin-1")
    ((scores,),) = stream_scores(options, kinds=[kind_of("scores")], texts=[], models={})
    assert scores.words == ("é", "</s>")


def test_a_run_reads_a_text_in_the_encoding_that_is_said(run: Path) -> None:
    Path("text").write_text("é a\n", encoding="latin-1")
    options = MixOptions((run,), encoding="latin-1", device="cpu", threads=1)
    ((scores,),) = stream_scores(options, kinds=["run"], texts=["text"], models={})
    assert scores.words == ("<unk>", "a", "</s>")


def test_an_empty_text_is_refused() -> None:
    Path("text").write_text("")
    with pytest.raises(DataError) as caught:
        asked("lm", texts=["text"])
    assert str(caught.value) == "text: no sentence; expected one a line"
