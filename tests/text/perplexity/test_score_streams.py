"""Word scores as SRILM, KenLM, the RNNLM toolkit and charlm write them, and malformed files."""

import gzip
import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from charlm.errors import DataError
from charlm.text.perplexity.layouts import jsonl_sentence, srilm_sentence
from charlm.text.perplexity.perplexity import ScoredSentence
from charlm.text.perplexity.score_streams import WordScores, read_word_scores

SRILM = """\
we know
\tp( we | <s> ) \t= [2gram] 0.12 [ -0.920819 ]
\tp( know | we ...) \t= [3gram] 0.0012054 [ -2.91887 ]
\tp( </s> | know ...) \t= [1gram] 0.41 [ -0.387216 ]
1 sentences, 2 words, 0 OOVs
0 zeroprobs, logprob= -4.226905 ppl= 25.63 ppl1= 129.8

foo
\tp( <unk> | <s> ) \t= [OOV] 0 [ -inf ]
\tp( </s> | <unk> ...) \t= [1gram] 0.1 [ -1 ]
1 sentences, 1 words, 1 OOVs
0 zeroprobs, logprob= -1 ppl= 10 ppl1= undefined

file t.txt: 2 sentences, 3 words, 1 OOVs
0 zeroprobs, logprob= -5.226905 ppl= 20.3 ppl1= 410.6
"""
WORDS = ("we", "know", "</s>", "<unk>", "</s>")
LOG10S = [-0.920819, -2.91887, -0.387216, -math.inf, -1.0]
JSONL = """\
{"log10_prob": -4.2, "words": ["we", "know"], "known": [true, true], \
"log10_probs": [-0.920819, -2.91887, -0.387216]}
{"log10_prob": -1, "words": ["foo"], "known": [false], "log10_probs": [null, -1]}
"""
KENLM = """\
we=5 1 -0.920819\tknow=6 2 -2.91887\t</s>=2 3 -0.387216\tTotal: -4.226905 OOV: 0
foo=0 1 -inf\t</s>=2 1 -1\tTotal: -inf OOV: 1
Perplexity including OOVs:\tinf
Perplexity excluding OOVs:\t10.9
OOVs:\t1
Tokens:\t5
"""
RNNLM = """\
debug mode: 2
test file: t.txt
rnnlm file: m
Index   P(NET)          Word
----------------------------------
12\t0.1200000000\twe
7\t0.0012054000\tknow
-3.839636
0\t0.4100000000\t</s>
-1\t0\t\tOOV
-1.000000
0\t0.1000000000\t</s>

test log probability: -5.226905

PPL net: 20.3
"""
RNNLM_WITH_LM = """\
Index   P(NET)          P(LM)           Word
--------------------------------------------------
12\t0.1200000000\t0.5000000000\twe
7\t0.0012054000\t0.0000000000\tknow
0\t0.4100000000\t0.2500000000\t</s>
-1\t0\t\t0\t\tOOV
0\t0.1000000000\t0.7500000000\t</s>
"""
AWKWARD = ("(", "|", ")", "=", "[nn]", "p(", "...)", "[", "]", "/", "a\u00a0b", "\u2028", "{")


def read(tmp_path: Path, text: str) -> WordScores:
    (tmp_path / "scores").write_bytes(text.encode())
    return read_word_scores(tmp_path / "scores")


@pytest.mark.parametrize("text", [SRILM, JSONL, SRILM.replace("\n", "\r\n"), "\ufeff\n" + JSONL])
def test_both_layouts_hold_the_same_words_and_scores(tmp_path: Path, text: str) -> None:
    scores = read(tmp_path, text)
    assert scores.source == str(tmp_path / "scores")
    assert scores.words == WORDS
    assert scores.log10_probs.tolist() == LOG10S
    assert scores.n_sentences == 2


def test_kenlm_prints_a_sentence_a_line_and_unknown_words_have_id_0(tmp_path: Path) -> None:
    scores = read(tmp_path, KENLM)
    assert (scores.words, scores.log10_probs.tolist()) == (WORDS, LOG10S)
    words_alone = KENLM.partition("Perplexity")[0].replace("Total: -4.226905 OOV: 0\n", "")
    assert read(tmp_path, words_alone).words == WORDS
    on_one_line = KENLM.replace("Total: -4.226905 OOV: 0\n", "").replace("Total: -inf OOV: 1\n", "")
    assert read(tmp_path, on_one_line).words == WORDS
    with_equals_sign = read(tmp_path, KENLM.replace("know=", "a=1=").replace("we=", "==="))
    assert with_equals_sign.words[:2] == ("==", "a=1")


@pytest.mark.parametrize("nothing", ["-100", "-100.301", "-99.4"])
def test_kenlms_number_for_an_unk_that_its_file_lacks_is_no_probability(
    tmp_path: Path, nothing: str
) -> None:
    scores = read(tmp_path, KENLM.replace("-inf", nothing))
    assert scores.log10_probs.tolist() == LOG10S


@pytest.mark.parametrize("text", [RNNLM, RNNLM_WITH_LM, RNNLM.replace("\n", "\r\n")])
def test_rnnlm_prints_probabilities_and_unknown_words_without_any(
    tmp_path: Path, text: str
) -> None:
    scores = read(tmp_path, text)
    assert scores.words == WORDS
    logs = [math.log10(prob) if prob else -math.inf for prob in (0.12, 0.0012054, 0.41, 0, 0.1)]
    assert scores.log10_probs.tolist() == pytest.approx(logs, abs=1e-12)


def test_a_number_may_be_rnnlms_word(tmp_path: Path) -> None:
    for text in (RNNLM, RNNLM_WITH_LM):
        scores = read(tmp_path, text.replace("\twe\n", "\t1990\n"))
        assert scores.words[:2] == ("1990", "know")
        assert scores.log10_probs[0] == math.log10(0.12)


def test_a_compressed_file_is_read_as_such(tmp_path: Path) -> None:
    (tmp_path / "scores.gz").write_bytes(gzip.compress(SRILM.encode()))
    assert read_word_scores(tmp_path / "scores.gz").words == WORDS


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[ -0.387216 ]", "[ -0.387216 ] / 0.9999"),  # -debug 3
        ("[ -inf ]", "[ -1.#INF ]"),  # on Windows
        ("we know\n", "p( we | know ) = [2gram] 1 [ 5 ]\n"),
        ("we know\n", '{"words": ["we", "know"]}\n'),
        ("we know\n", "{ we\n"),
        ("we know\n", "\n"),
    ],
)
def test_what_srilm_may_also_print_changes_nothing(tmp_path: Path, old: str, new: str) -> None:
    assert old in SRILM
    scores = read(tmp_path, SRILM.replace(old, new))
    assert (scores.words, scores.log10_probs.tolist()) == (WORDS, LOG10S)


@pytest.mark.parametrize("word", AWKWARD)
def test_what_charlm_prints_is_read_back_whatever_the_word(tmp_path: Path, word: str) -> None:
    known = ScoredSentence((word, "a", word), (5, 6, 5), (True,) * 3, (-1.5, -2.25, -0.75, -0.0625))
    unknown = ScoredSentence((word, word), (5, 1), (True, False), (-0.5, -3.0, -0.125))
    both = (known, unknown)
    as_srilm = read(tmp_path, "\n".join(srilm_sentence(each, debug=2) for each in both))
    as_jsonl = read(tmp_path, "\n".join(map(jsonl_sentence, both)))
    expected = (word, "a", word, "</s>", word, "<unk>", "</s>")
    assert as_srilm.words == as_jsonl.words == expected
    log10s = [*known.log10_probs, *unknown.log10_probs]
    assert as_srilm.log10_probs.tolist() == as_jsonl.log10_probs.tolist() == log10s


def test_a_sentence_without_words_is_its_end(tmp_path: Path) -> None:
    sentence = ScoredSentence((), (), (), (-0.5,))
    assert read(tmp_path, srilm_sentence(sentence, debug=2)).words == ("</s>",)
    assert read(tmp_path, jsonl_sentence(sentence)).words == ("</s>",)


def test_what_rounding_leaves_above_0_is_0(tmp_path: Path) -> None:
    scores = read(tmp_path, "\tp( </s> | <s> ) \t= [1gram] 1 [ 1.2e-07 ]\n")
    assert np.array_equal(scores.log10_probs, [0.0])


NO_LINE = "expected `p( WORD | CONTEXT ) = [TAG] PROB [ LOG10 ]` as SRILM prints it"
NO_OBJECT = (
    "expected an object with lists of words, of known and, one longer, of log10_probs, as "
    "`charlm eval --format jsonl` writes it"
)
NO_TOKEN = "expected `WORD=ID N LOG10` as KenLM's query prints it"
NO_ROW = "expected `ID PROB WORD` between TABs as the RNNLM toolkit prints it"
NO_NUMBER = "expected a number of 0 or below"
JSONL_1 = '{"words": ["a"], "known": [true], "log10_probs": [-1, -2]}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "the cat\n",
            ": no scored word; expected what SRILM or RNNLM prints at -debug 2, KenLM's query, or "
            "`charlm eval` with --debug 2 or --format jsonl (probabilities and n-gram models: no "
            "pipes)",
        ),
        (
            SRILM.partition("\tp( </s> | know")[0],
            ": ends within a sentence, after token 2, 'know'; expected </s>; the file is cut, or "
            "was made without sentence ends",
        ),
        (SRILM[:30], f":2: found p( we | <s> ) = [2gr; {NO_LINE}"),
        (
            SRILM.replace("[ -2.91887 ]", "[ -2.91887"),
            f":3: found p( know | we ...) = [3gram] 0.0012054 [ -2.91887; {NO_LINE}",
        ),
        (SRILM.replace("-2.91887", "2.91887"), f":3: log10 probability 2.91887; {NO_NUMBER}"),
        (SRILM.replace("-2.91887", "nan"), f":3: log10 probability nan; {NO_NUMBER}"),
        (SRILM.replace("-2.91887", "much"), f":3: log10 probability much; {NO_NUMBER}"),
        (SRILM.replace("-2.91887", "-2_9"), f":3: log10 probability -2_9; {NO_NUMBER}"),
        (KENLM.replace("2 -2.91887", "-2.91887"), f":1: found know=6 -2.91887; {NO_TOKEN}"),
        (
            KENLM.replace("\t</s>=2 3", " 3"),
            f":1: found know=6 2 -2.91887 3 -0.387216; {NO_TOKEN}",
        ),
        (KENLM.replace("-2.91887", "2.9"), f":1: log10 probability 2.9; {NO_NUMBER}"),
        (
            KENLM.partition("\t</s>")[0],
            ": ends within a sentence, after token 2, 'know'; expected </s>",
        ),
        (
            KENLM.replace("</s>=2 1 -1\tTotal: -inf OOV: 1\n", ""),  # no LF behind the text
            ": ends within a sentence, after token 4, '<unk>'; expected </s>",
        ),
        (RNNLM.replace("7\t0.0012054000\t", "7\t"), f":7: found 7 know; {NO_ROW}"),
        (RNNLM.replace("0.0012054000", "1.5"), f":7: found 7 1.5 know; {NO_ROW}"),
        (RNNLM.replace("0.0012054000", "-0.5"), f":7: found 7 -0.5 know; {NO_ROW}"),
        (RNNLM.replace("0.0012054000", "nan"), f":7: found 7 nan know; {NO_ROW}"),
        (JSONL_1.replace("-2", "2"), f":1: log10 probability 2; {NO_NUMBER}"),
        (JSONL_1.replace("-2", "-1" + "0" * 400), f":1: log10 probability -1{'0' * 28}; "),
        (JSONL_1 + '{"words": ["a"]}\n', f':2: found {{"words": ["a"]}}; {NO_OBJECT}'),
        (JSONL_1 + "[1]\n", f":2: found [1]; {NO_OBJECT}"),
        (JSONL_1 + JSONL_1[:20] + "\n", ":2: not valid JSON ("),
        (JSONL_1 + JSONL_1.replace("-2", "-Infinity"), ":2: not valid JSON (-Infinity is no numb"),
        (JSONL_1.replace('"a"', "1"), NO_OBJECT),
        (JSONL_1.replace("true", "1"), NO_OBJECT),
        (JSONL_1.replace("true", "true, true"), NO_OBJECT),
        (JSONL_1.replace("-2", "-2, -3"), NO_OBJECT),
        (JSONL_1.replace("-2", "true"), NO_OBJECT),
        (JSONL_1.replace('"a"', '"a b"'), NO_OBJECT),
        (JSONL_1.replace('"a"', '"a\\n"'), NO_OBJECT),
        (JSONL_1.replace('"a"', '""'), NO_OBJECT),
        (JSONL_1.replace('"a"', '"</s>"'), NO_OBJECT),
    ],
)
def test_a_broken_file_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'scores'}:")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_token_read_takes_tens_of_bytes(tmp_path: Path) -> None:
    path, n_tokens = tmp_path / "a.txt", 20_000
    path.write_text(
        "\tp( word | <s> ) \t= [1gram] 0.1 [ -1.5 ]\n" * (n_tokens - 1)
        + "\tp( </s> | word ...) \t= [1gram] 0.1 [ -1 ]\n"
    )
    tracemalloc.start()
    read_word_scores(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60 * n_tokens + 50_000
