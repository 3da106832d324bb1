"""Perplexities of texts under an n-gram model, against sums by hand."""

import math
from pathlib import Path

import numpy as np
import pytest

from charlm.errors import DataError
from charlm.ngram.backoff import BackoffModel, Grams
from charlm.ngram.text_perplexity import evaluate_ngram
from charlm.ngram.word_ids import text_in
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.perplexity.layouts import jsonl_sentence, kenlm_sentence, srilm_sentence
from charlm.text.perplexity.perplexity import ScoredSentence
from charlm.text.vocabulary.vocabulary import Inventory

TOLD = {"lm": "2gram", "model": "abc"}


def bigrams(*, unk: float = -2.0) -> BackoffModel:
    """`<unk>`, the ends, we and know; one bigram, `<s> we`."""
    unigrams = Grams(
        np.arange(5), np.array([unk, 0.0, -0.75, -0.6, -0.8]), np.array([0.0, -0.3, 0.0, -0.2, 0.0])
    )
    pairs = Grams(np.array([1 * 5 + 3]), np.array([-0.4]), np.empty(0))
    return BackoffModel(("<unk>", "<s>", "</s>", "we", "know"), (unigrams, pairs))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("we know\n\nwe <unk> Zz\n")
    return tmp_path / "a.txt"


def test_a_perplexity_is_that_of_the_sum_by_hand(text: Path) -> None:
    result = evaluate_ngram(bigrams(), text_in(text), in_signature=TOLD, split="test")
    # we | <s>, know | we (back-off), </s>;  </s> | <s>;  we, <unk> | we, Zz, </s>
    total = (-0.4 - 0.2 - 0.8 - 0.75) + (-0.3 - 0.75) + (-0.4 - 0.2 - 2.0 - 2.0 - 0.75)
    perplexity = result.by_state["sentence"]
    assert perplexity.sums.log10_prob == pytest.approx(total, abs=1e-12)
    assert perplexity.ppl == pytest.approx(10 ** (-total / 8))
    assert perplexity.ppl_known == pytest.approx(10 ** (-(total + 2.0 + 2.0 + 0.2) / 6))
    assert (result.counts.n_sentences, result.counts.n_words, result.counts.n_oov) == (3, 5, 2)
    assert result.signatures["sentence"].startswith("charlm:")
    assert "|lm:2gram|model:abc|data:" in result.signatures["sentence"]
    assert result.signatures["sentence"].endswith(
        "|split:test|state:sentence|start:<s>|norm:raw|precision:fp64"
    )


def test_without_marks_the_words_alone_are_scored_and_the_denominator(text: Path) -> None:
    result = evaluate_ngram(bigrams(), text_in(text), in_signature=TOLD, marked=False)
    # we without a context, know | we (back-off); nothing; we, <unk> | we, Zz: no </s> anywhere
    total = (-0.6 - 0.2 - 0.8) + (-0.6 - 0.2 - 2.0 - 2.0)
    perplexity = result.by_state["sentence"]
    assert perplexity.sums.log10_prob == pytest.approx(total, abs=1e-12)
    assert perplexity.ppl == perplexity.ppl1 == pytest.approx(10 ** (-total / 5))
    assert perplexity.ppl_known == pytest.approx(10 ** ((0.6 + 0.2 + 0.8 + 0.6) / 3))
    assert perplexity.bits_per_character == pytest.approx(-total * math.log2(10) / 18)
    assert perplexity.bits_per_byte == perplexity.bits_per_character
    assert (result.counts.n_sentences, result.counts.n_tokens, result.counts.n_oov) == (3, 5, 2)
    assert "|state:sentence|start:none|end:none|norm:raw|" in result.signatures["sentence"]


def test_a_text_of_blank_lines_has_no_perplexity_without_marks(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n\n")
    result = evaluate_ngram(bigrams(), text_in(tmp_path / "a.txt"), in_signature=TOLD, marked=False)
    assert (result.counts.n_tokens, result.by_state["sentence"].ppl) == (0, None)


def test_without_marks_no_layout_has_an_end(text: Path) -> None:
    heard: list[ScoredSentence] = []
    evaluate_ngram(
        bigrams(), text_in(text), in_signature=TOLD, on_sentence=heard.append, marked=False
    )
    assert kenlm_sentence(heard[0]) == "we=3 1 -0.6\tknow=4 1 -1\tTotal: -1.6 OOV: 0"
    assert kenlm_sentence(heard[1]) == "Total: 0 OOV: 0"
    assert srilm_sentence(heard[0], debug=2).split("\n") == [
        "we know",
        "\tp( we |  ) \t= [1gram] 0.2511886 [ -0.6 ]",
        "\tp( know | we ...) \t= [1gram] 0.1 [ -1 ]",
        "1 sentences, 2 words, 0 OOVs",
        "0 zeroprobs, logprob= -1.6 ppl= 6.309573 ppl1= 6.309573",
        "",
    ]
    assert '"log10_probs": [-0.6, -1.0], "lengths": [1, 1]}' in jsonl_sentence(heard[0])


def test_a_model_without_unk_leaves_such_words_out_of_every_sum(text: Path) -> None:
    result = evaluate_ngram(bigrams(unk=-math.inf), text_in(text), in_signature=TOLD)
    perplexity = result.by_state["sentence"]
    total = (-0.4 - 0.2 - 0.8 - 0.75) + (-0.3 - 0.75) + (-0.4 - 0.75)
    assert perplexity.sums.n_zeroprobs == perplexity.sums.n_zeroprobs_oov == 2
    assert perplexity.ppl == pytest.approx(10 ** (-total / 6))
    assert perplexity.ppl_known == perplexity.ppl


def test_a_vocabulary_normalises_and_hides_words_that_the_model_knows(text: Path) -> None:
    vocabulary = Inventory(
        ("</s>", "<unk>", "we", "zz"),
        (1,) * 4,
        ("w", "e", "z"),
        normalisation=Normalisation(lower=True),
    )
    result = evaluate_ngram(
        bigrams(), text_in(text, vocabulary), in_signature=TOLD, vocabulary=vocabulary
    )
    assert result.counts.n_oov == 3  # know is <unk> now; zz is not in the model
    assert result.counts.n_changed == 1
    assert f"|vocab:{vocabulary.sha256[:12]}|" in result.signatures["sentence"]
    assert "|norm:NFC+lower|" in result.signatures["sentence"]


def test_words_that_the_vocabulary_hides_from_the_model_are_counted(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("know Zz we\nknow <unk>:know know\n")
    vocabulary = Inventory(("</s>", "<unk>", "we"), (1,) * 3, ("w", "e"))
    hidden = evaluate_ngram(
        bigrams(), text_in(tmp_path / "b.txt", vocabulary), in_signature=TOLD, vocabulary=vocabulary
    )
    assert hidden.counts.n_oov == 5
    assert hidden.hidden_words == {"know": 3}  # Zz is unknown to the model itself
    assert hidden.to_dict()["hidden_words"] == {"know": 3}
    alone = evaluate_ngram(bigrams(), text_in(tmp_path / "b.txt"), in_signature=TOLD)
    assert alone.hidden_words == {}
    assert "hidden_words" not in alone.to_dict()


@pytest.fixture
def sentences(text: Path) -> list[ScoredSentence]:
    heard: list[ScoredSentence] = []
    evaluate_ngram(
        bigrams(unk=-math.inf), text_in(text), in_signature=TOLD, on_sentence=heard.append
    )
    return heard


def test_srilms_layout_tells_how_long_the_ngrams_were(sentences: list[ScoredSentence]) -> None:
    assert srilm_sentence(sentences[0], debug=2).split("\n")[1:4] == [
        "\tp( we | <s> ) \t= [2gram] 0.3981072 [ -0.4 ]",
        "\tp( know | we ...) \t= [1gram] 0.1 [ -1 ]",
        "\tp( </s> | know ...) \t= [1gram] 0.1778279 [ -0.75 ]",
    ]
    assert srilm_sentence(sentences[2], debug=2).split("\n")[2:4] == [
        "\tp( <unk> | we ...) \t= [OOV] 0 [ -inf ]",
        "\tp( <unk> | <unk> ...) \t= [OOV] 0 [ -inf ]",
    ]


def test_srilm_counts_an_unk_of_probability_0_as_an_oov_and_no_zeroprob(
    sentences: list[ScoredSentence],
) -> None:
    assert srilm_sentence(sentences[2], debug=1).split("\n")[1:3] == [
        "1 sentences, 3 words, 2 OOVs",  # as `ngram -unk` with a model without <unk>
        "0 zeroprobs, logprob= -1.15 ppl= 3.758374 ppl1= 14.12538",  # over 3 - 2 + 1 and 3 - 2
    ]


def test_kenlms_layout_tells_ids_and_lengths(sentences: list[ScoredSentence]) -> None:
    assert kenlm_sentence(sentences[0]) == (
        "we=3 2 -0.4\tknow=4 1 -1\t</s>=2 1 -0.75\tTotal: -2.15 OOV: 0"
    )
    assert kenlm_sentence(sentences[2]).startswith("we=3 2 -0.4\t<unk>=0 1 -inf\tZz=0 1 -inf\t")


def test_json_has_null_for_a_word_that_gets_nothing(sentences: list[ScoredSentence]) -> None:
    assert '"log10_probs": [-0.4, null, null, -0.75], "lengths": [2, 1, 1, 1]}' in jsonl_sentence(
        sentences[2]
    )


def test_a_text_without_a_sentence_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(DataError, match=r"a.txt: no sentence; expected one a line$"):
        evaluate_ngram(bigrams(), text_in(tmp_path / "a.txt"), in_signature=TOLD)


def test_a_text_of_several_blocks_adds_up(monkeypatch: pytest.MonkeyPatch, text: Path) -> None:
    whole = evaluate_ngram(bigrams(), text_in(text), in_signature=TOLD)
    monkeypatch.setattr("charlm.ngram.text_perplexity.BLOCK", 1)
    assert evaluate_ngram(bigrams(), text_in(text), in_signature=TOLD).counts == whole.counts
    parts = evaluate_ngram(bigrams(), text_in(text), in_signature=TOLD).by_state["sentence"]
    assert parts.ppl == pytest.approx(whole.by_state["sentence"].ppl, rel=1e-12)
