"""The layouts byte by byte, read back by the rules of the programs that use them."""

import json
import re

import pytest

from charlm.text.perplexity.layouts import (
    jsonl_sentence,
    kenlm_sentence,
    kenlm_total,
    srilm_number,
    srilm_sentence,
    srilm_total,
)
from charlm.text.perplexity.perplexity import Counts, Log10Sums, Perplexity, ScoredSentence

SENTENCE = ScoredSentence(("we", "zz"), (4, 1), (True, False), (-1.0, -2.5, -0.25))
EMPTY = ScoredSentence((), (), (), (-0.5,))


def test_srilms_two_lines_are_those_that_srilm_printed_for_a_real_text() -> None:
    # SRILM printed -68.95484; the extra digit lies within its rounding.
    counts = Counts(n_sentences=1, n_words=36)  # 39 words, 3 of them OOVs, as SRILM counts
    perplexity = Perplexity(counts, Log10Sums(-68.954844))
    assert srilm_total("ami-dev.txt", perplexity) == (
        "file ami-dev.txt: 1 sentences, 36 words, 0 OOVs\n"
        "0 zeroprobs, logprob= -68.95484 ppl= 73.05407 ppl1= 82.30237"
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-329593.6328, "-329593.6"),
        (-0.9208187, "-0.9208187"),
        (100.0, "100"),
        (0.0, "0"),
        (0.00001234567, "1.234567e-05"),
        (12345678.9, "1.234568e+07"),
        (None, "undefined"),
    ],
)
def test_a_number_has_seven_digits_as_cpp_prints_them(value: float | None, shown: str) -> None:
    assert srilm_number(value) == shown


def test_debug_1_prints_the_sentence_as_read_and_its_two_lines() -> None:
    assert srilm_sentence(SENTENCE, debug=1) == (
        "we zz\n"
        "1 sentences, 2 words, 0 OOVs\n"
        "0 zeroprobs, logprob= -3.75 ppl= 17.78279 ppl1= 74.98942\n"
    )


def test_debug_2_prints_a_line_a_token_and_the_word_before_it() -> None:
    assert srilm_sentence(SENTENCE, debug=2) == (
        "we zz\n"
        "\tp( we | <s> ) \t= [nn] 0.1 [ -1 ]\n"
        "\tp( <unk> | we ...) \t= [nn] 0.003162278 [ -2.5 ]\n"
        "\tp( </s> | <unk> ...) \t= [nn] 0.5623413 [ -0.25 ]\n"
        "1 sentences, 2 words, 0 OOVs\n"
        "0 zeroprobs, logprob= -3.75 ppl= 17.78279 ppl1= 74.98942\n"
    )


def test_a_blank_line_keeps_its_place_in_srilms_layout() -> None:
    assert srilm_sentence(EMPTY, debug=2) == (
        "\n\tp( </s> | <s> ) \t= [nn] 0.3162278 [ -0.5 ]\n"
        "1 sentences, 0 words, 0 OOVs\n"
        "0 zeroprobs, logprob= -0.5 ppl= 3.162278 ppl1= undefined\n"
    )


def best_mix_fields(line: str) -> list[str]:
    """The fields of a line as awk splits it: at runs of blanks, TABs and line ends alone."""
    return re.split(r"[ \t\n]+", line.strip(" \t\n"))


# SRILM's own -debug 2 output: 1 `p(`, 2 word, 7 tag, 10 log probability; awk counts from 1.
OF_SRILM = "\tp( know | we ...) \t= [3gram] 0.0012054 [ -2.91887 ]"
AWKWARD = ("(", "|", ")", "=", "[nn]", "p(", "...)", "[", "a\u00a0b", "\u2028", "\u0085")


@pytest.mark.parametrize("word", AWKWARD)
def test_compute_best_mix_finds_word_tag_and_log_probability(word: str) -> None:
    sentence = ScoredSentence((word, word), (5, 5), (True, True), (-1.5, -2.25, -0.75))
    lines = srilm_sentence(sentence, debug=2).split("\n")[1:4]
    read = [best_mix_fields(line) for line in lines]
    assert [len(fields) for fields in read] == [len(best_mix_fields(OF_SRILM))] * 3
    assert [fields[0] for fields in read] == ["p("] * 3
    assert [fields[1] for fields in read] == [word, word, "</s>"]
    assert [fields[6] for fields in read] == ["[nn]"] * 3
    assert [float(fields[9]) for fields in read] == [-1.5, -2.25, -0.75]


# Printed by KenLM's query for a real model, except for the length of the matched n-grams.
OF_KENLM = (
    "is=18 1 -2.7017515\tthis=65 1 -0.8656755\tan=188 1 -2.3518038\tEnglish=3600 1 -2.768621\t"
    "sentence=7252 1 -2.3785648\t?=73 1 -2.4919968\t</s>=2 1 -0.22995311\tTotal: -13.788365 OOV: 0"
)


def test_kenlms_line_is_the_one_that_kenlm_printed_to_seven_digits() -> None:
    fields = [re.split("[= ]", field) for field in OF_KENLM.split("\t")[:-1]]
    words = tuple(field[0] for field in fields[:-1])
    ids = tuple(int(field[1]) - 1 for field in fields[:-1])  # charlm's ids have no <s>
    log10_probs = tuple(float(field[3]) for field in fields)
    sentence = ScoredSentence(words, ids, (True,) * len(words), log10_probs)
    rounded = re.sub(r"-\d\.\d{7,}", lambda m: f"{float(m[0]):.7g}", OF_KENLM)
    ours, total = kenlm_sentence(sentence).split("Total: ")
    assert ours == rounded.split("Total: ")[0]
    assert float(total.split(" ")[0]) == pytest.approx(-13.788365, abs=1e-5)
    lines = kenlm_total(sentence.perplexity).split("\n")
    assert float(lines[0].removeprefix("Perplexity including OOVs:\t")) == pytest.approx(
        93.27526264042754, rel=1e-5
    )
    assert lines[2:] == ["OOVs:\t0", "Tokens:\t7"]


def test_an_unknown_word_has_id_0_and_its_own_spelling_in_kenlms_layout() -> None:
    assert kenlm_sentence(SENTENCE) == "we=5 1 -1\tzz=0 1 -2.5\t</s>=2 1 -0.25\tTotal: -3.75 OOV: 1"


def test_a_blank_line_is_its_end_alone_in_kenlms_layout() -> None:
    assert kenlm_sentence(EMPTY) == "</s>=2 1 -0.5\tTotal: -0.5 OOV: 0"


def test_kenlms_summary_has_four_lines() -> None:
    counts = Counts(n_sentences=1, n_words=2, n_oov=1)
    perplexity = Perplexity(counts, Log10Sums(-6.0, -2.0))
    assert kenlm_total(perplexity) == (
        "Perplexity including OOVs:\t100.0\nPerplexity excluding OOVs:\t100.0\nOOVs:\t1\nTokens:\t3"
    )
    nothing_for_oovs = Perplexity(counts, Log10Sums(-4.0, 0.0, 1, 1))
    assert kenlm_total(nothing_for_oovs).endswith("100.0\nOOVs:\t1\nTokens:\t2")
    assert "excluding OOVs:\tnan\n" in kenlm_total(Perplexity(Counts(), Log10Sums()))


def test_a_line_of_json_holds_words_flags_and_log_probabilities() -> None:
    line = jsonl_sentence(
        ScoredSentence(("語", "\u2028"), (2, 1), (True, False), (-1.0, -2.0, 0.0))
    )
    assert "語" in line
    assert json.loads(line) == {
        "log10_prob": -3.0,
        "words": ["語", "\u2028"],
        "known": [True, False],
        "log10_probs": [-1.0, -2.0, 0.0],
    }
