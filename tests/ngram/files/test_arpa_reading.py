"""ARPA files as other tools write them, and every kind of broken file, refused with its line."""

import gzip
import hashlib
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from charlm.errors import DataError
from charlm.ngram.files.arpa_reading import read_arpa, read_arpa_head

ARPA = """\
\\data\\
ngram 1=5
ngram 2=3
ngram 3=1

\\1-grams:
-1.0\t<unk>\t0
-99\t<s>\t-0.30
-0.75\t</s>
-0.60\twe\t-0.22
-0.80\tknow\t-0.1

\\2-grams:
-0.41\t<s> we\t-0.5
-0.30\twe know\t-0.25
-0.20\tknow </s>

\\3-grams:
-0.05\t<s> we know

\\end\\
"""
# The same in SRILM's order of words and with its free text, blanks, and no <unk> or </s> listed.
FOREIGN = """\
made by hand

\\data\\
ngram  1=3
ngram 2=1

\\1-grams:
-0.6 we -0.22
-0.8\tknow
-99\t<s>\t-0.3

\\2-grams:
-0.41\t<s> we\t0

\\end\\
what follows is nobody's business
"""


def test_the_numbers_of_a_file_are_found_by_their_words(tmp_path: Path) -> None:
    (tmp_path / "a.arpa").write_text(ARPA)
    model = read_arpa(tmp_path / "a.arpa")
    assert model.words == ("<unk>", "<s>", "</s>", "we", "know")
    assert model.order == 3
    assert model.n_ngrams == 9
    scores = model.score([["we", "know"], ["know", "zz"], []])
    # we | <s>; know | <s> we; </s> | we know, which is not listed: back-off, then the bigram
    first = [-0.41, -0.05, -0.25 - 0.20]
    # know | <s>: back-off; zz | know: back-off (it has no trigram); </s> | zz: 0
    second = [-0.30 - 0.80, -0.1 - 1.0, 0 - 0.75]
    third = [-0.30 - 0.75]
    np.testing.assert_allclose(scores.log10_probs, [*first, *second, *third], atol=1e-12)
    assert scores.lengths.tolist() == [2, 3, 2, 1, 1, 1, 1]


def test_words_in_another_order_and_words_left_out_make_no_difference(tmp_path: Path) -> None:
    (tmp_path / "a.arpa").write_text(FOREIGN)
    model = read_arpa(tmp_path / "a.arpa")
    assert model.words == ("<unk>", "<s>", "</s>", "we", "know")
    assert (model.sizes, model.n_ngrams) == ((3, 1), 4)  # as its header says
    scores = model.score([["we", "know", "zz"]])
    np.testing.assert_allclose(scores.log10_probs, [-0.41, -0.22 - 0.8, -np.inf, -np.inf])


def test_a_packed_file_and_one_with_crlf_read_alike(tmp_path: Path) -> None:
    (tmp_path / "a.arpa").write_bytes(gzip.compress(ARPA.replace("\n", "\r\n").encode()))
    (tmp_path / "b.arpa").write_text(ARPA)
    packed, plain = read_arpa(tmp_path / "a.arpa"), read_arpa(tmp_path / "b.arpa")
    assert packed.words == plain.words
    for one, other in zip(packed.orders, plain.orders, strict=True):
        np.testing.assert_array_equal(one.keys, other.keys)
        np.testing.assert_array_equal(one.log10_probs, other.log10_probs)


def test_empty_lines_between_ngrams_are_passed_over_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.arpa"
    path.write_text(ARPA)
    whole = read_arpa(path)
    spread = ARPA.replace("\\1-grams:", "\\1-grams:\n")
    spread = spread.replace("-0.30\twe know", "\n \n-0.30\twe know")
    path.write_text(spread)
    found = read_arpa(path)
    for before, after in zip(whole.orders, found.orders, strict=True):
        assert np.array_equal(before.keys, after.keys)
        assert np.array_equal(before.log10_probs, after.log10_probs)
        assert np.array_equal(before.log10_backoffs, after.log10_backoffs)
    path.write_text(spread.replace("know </s>", "we know"))
    with pytest.raises(DataError, match=r"a.arpa:19: 'we know' stands there again"):
        read_arpa(path)


def test_the_head_tells_sizes_and_words_in_the_order_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.arpa").write_text(FOREIGN)
    assert read_arpa_head(tmp_path / "a.arpa") == ((3, 1), ("we", "know", "<s>"))


BROKEN = {
    "no ARPA": (ARPA, "the cat sat\n", r": no line \data\; expected an ARPA file"),
    "IRSTLM's": (ARPA, f"\niARPA\n\n{ARPA}", ":2: found 'iARPA'; expected ARPA; IRSTLM's iARPA l"),
    "orders": ("ngram 2=3", "ngram 3=3", r":3: found 'ngram 3=3'; expected ngram 2=COUNT or \1-"),
    "size": ("ngram 2=3", "ngram 2=x", r":3: found 'ngram 2=x'; expected ngram 2=COUNT or \1-"),
    "no size": (ARPA[7:37], "", r":3: found '\\1-grams:'; expected ngram 1=COUNT"),
    "header": ("\\2-grams:", "\\3-grams:", r":13: found '\\3-grams:'; expected \2-grams:"),
    "few": ("-0.20\tknow </s>\n", "", ":17: 2 2-grams; expected 3, as the header says; is the fi"),
    "many": ("ngram 2=3", "ngram 2=2", ":18: 3 2-grams; expected 2, as the header says"),
    "number": ("-0.30\twe", "-0.3o\twe", r":15: found '-0.3o\twe know\t-0.25'; expected log10 num"),
    "nan": ("-0.30\twe", "nan\twe", r":15: found 'nan\twe know\t-0.25'; expected log10 numbers"),
    "infinite": ("w\t-0.25", "w\tinf", r":15: found '-0.30\twe know\tinf'; expected log10 numbers"),
    "positive": ("-0.30\tw", "0.3\tw", r":15: found '0.3\twe know\t-0.25'; expected a log10 proba"),
    "short": ("know </s>", "know", r":16: found '-0.20\tknow'; expected a log10 probability, 2 wo"),
    "long": (
        "we know\n",
        "we know a b\n",
        r":19: found '-0.05\t<s> we know a b'; expected a log10",
    ),
    "short and long": (
        "know\t-0.25\n-0.20\tknow </s>\n",
        "know\n-0.20\tknow </s> a 0\n",
        r":16: found '-0.20\tknow </s> a 0'; expected a log10 probability, 2 words and perhaps",
    ),
    "last": ("we know\n", "we know\t-1\n", r":19: found '-0.05\t<s> we know\t-1'; expected no bac"),
    "word": ("we know\t", "we knew\t", r":15: found '-0.30\twe knew\t-0.25'; expected words of th"),
    "twice": ("80\tknow\t", "80\twe\t", r":11: found '-0.80\twe\t-0.1'; expected each word once"),
    "again": ("know </s>", "<s> we", ":16: '<s> we' stands there again; expected each n-gram onc"),
    "context": ("<s> we know", "we we know", ":19: its context 'we we' is not among the 2-grams; "),
    "two faults": (
        "know </s>\n\n\\3-grams:\n-0.05",
        "<s> we\n\n\\3-grams:\n0.05",
        ":16: '<s> we' stands there again; expected each n-gram once",
    ),
    "no end": ("\\end\\\n", "", r":20: the file ends; expected \end\; is it whole?"),
    "cut": (ARPA[ARPA.index("\\3-gr") :], "", r":17: the file ends; expected \3-grams:; is it wh"),
    "underscore": ("-0.30\twe", "-3_0\twe", r":15: found '-3_0\twe know\t-0.25'; expected log10 "),
    "both unks": ("80\tknow\t", "80\t<UNK>\t", r":11: found '-0.80\t<UNK>\t-0.1'; expected <unk> "),
    "more": ("\\end\\", "\\4-grams:", r":21: found '\\4-grams:'; expected \end\ "),
    "bytes": ("80\tknow", "80\tkn\udcffow", ":11: invalid UTF-8 (byte 0xff at column 3); expected"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_with_its_line(tmp_path: Path, name: str) -> None:
    old, new, message = BROKEN[name]
    path = tmp_path / "a.arpa"
    assert old in ARPA
    path.write_bytes(ARPA.replace(old, new).encode(errors="surrogateescape"))
    with pytest.raises(DataError) as caught:
        read_arpa(path)
    assert str(caught.value).startswith(f"{path}{message.rstrip()}")
    assert "\n" not in str(caught.value)


def test_sections_need_no_empty_line_between_them(tmp_path: Path) -> None:
    for name, text in (("a", ARPA), ("b", ARPA.replace("\n\n", "\n"))):
        (tmp_path / name).write_text(text)
    sentences = [["we", "know"], ["know", "we", "zz"]]
    expected, found = (
        read_arpa(tmp_path / name).score(sentences).log10_probs.tolist() for name in ("a", "b")
    )
    assert found == expected


def test_a_line_behind_the_first_block_is_told_by_its_own_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("charlm.ngram.files.arpa_reading.BLOCK", 2)
    (tmp_path / "a.arpa").write_text(ARPA.replace("know </s>", "knew </s>"))
    with pytest.raises(DataError, match=r":16: found '-0.20\\tknew </s>'; expected words of the 1"):
        read_arpa(tmp_path / "a.arpa")


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", " \n \n"])
def test_lines_are_the_same_by_leaps_and_step_by_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line_end: str, packed: Callable[[bytes], bytes]
) -> None:
    n_words = 2000  # several times what a file has in its buffer
    words = "".join(f"-{n % 7}.5\tw{n}{line_end}" for n in range(n_words))
    pairs = "".join(f"-{n % 3}.25\tw{n} w{n // 2}{line_end}" for n in range(n_words))
    sizes = f"\\data\\\nngram 1={n_words}\nngram 2={n_words}\n\n"
    text = f"{sizes}\\1-grams:\n{words}\n\\2-grams:\n{pairs}\\end\\\n"
    (tmp_path / "a.arpa").write_bytes(packed(text.encode()))
    wrong = text.replace("\tw1998 w", "\tw1998 x")
    (tmp_path / "wrong.arpa").write_bytes(packed(wrong.encode()))
    found, told = [], []
    for _ in range(2):
        model = read_arpa(tmp_path / "a.arpa")
        found.append((model.words, [grams.log10_probs.tolist() for grams in model.orders]))
        with pytest.raises(DataError, match=r"found '-0.25\\tw1998 x999") as raised:
            read_arpa(tmp_path / "wrong.arpa")
        told.append(str(raised.value))
        monkeypatch.setattr("charlm.ngram.files.arpa_reading._Reader.leap", lambda _: [])
    assert found[0] == found[1]
    number = wrong[: wrong.index("\tw1998 x")].count("\n") + 1
    assert told[0] == told[1]
    assert f"wrong.arpa:{number}: found" in told[0]


def test_more_than_twenty_orders_are_no_language_model(tmp_path: Path) -> None:
    sizes = "".join(f"ngram {n}=1\n" for n in range(1, 22))
    (tmp_path / "a.arpa").write_text(f"\\data\\\n{sizes}\n")
    with pytest.raises(DataError, match=r":22: found 'ngram 21=1'; expected at most 20 orders$"):
        read_arpa(tmp_path / "a.arpa")


def test_unk_in_capitals_is_read_as_unk(tmp_path: Path) -> None:
    (tmp_path / "a.arpa").write_text(ARPA.replace("<unk>", "<UNK>"))
    model = read_arpa(tmp_path / "a.arpa")
    assert model.words == ("<unk>", "<s>", "</s>", "we", "know")
    scores = model.score([["<UNK>", "zz"]])
    assert scores.word_ids.tolist() == [0, 0, 2]
    np.testing.assert_allclose(scores.log10_probs, [-0.3 - 1.0, -1.0, -0.75])
    _, words = read_arpa_head(tmp_path / "a.arpa")
    assert words[0] == "<unk>"


def test_a_packed_endless_line_takes_no_memory(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.arpa", "wb", compresslevel=1) as file:
        file.writelines([ARPA[:30].encode(), *[b" " * (1 << 20)] * 30])
    tracemalloc.start()
    with pytest.raises(DataError, match=r"a.arpa:4: longer than 1 MiB; expected shorter l"):
        read_arpa(tmp_path / "a.arpa")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize("read", [bytes, gzip.compress])
def test_the_digest_is_that_of_the_whole_file(
    tmp_path: Path, read: Callable[[bytes], bytes]
) -> None:
    content = read((ARPA + "what follows\n" * 100_000).encode())
    (tmp_path / "a.arpa").write_bytes(content)
    digest = hashlib.sha256()
    read_arpa(tmp_path / "a.arpa", digest=digest)
    assert digest.digest() == hashlib.sha256(content).digest()


@pytest.mark.parametrize("size", ["ngram 1=1000000000000", "ngram 2=1000000000000"])
def test_a_header_that_claims_a_million_millions_allocates_nothing(
    tmp_path: Path, size: str
) -> None:
    path = tmp_path / "a.arpa"
    path.write_text(ARPA.replace("ngram 1=5" if size[6] == "1" else "ngram 2=3", size))
    tracemalloc.start()
    with pytest.raises(DataError, match=r"expected 1000000000000, as the header says"):
        read_arpa(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000
