"""The vocabulary of a corpus directory, and what is left out of it."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from charlm.errors import ConfigError, DataError
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.preparation.prepare import prep
from charlm.text.vocabulary import build_vocabulary
from charlm.text.vocabulary.build_vocabulary import Coverage, vocab
from charlm.text.vocabulary.counts import _StoredCounts, count_file
from charlm.text.vocabulary.vocabulary import inventory_of, load_inventory

# a 3, b 2, the rest once: the vocabulary is a and b. Letters: a 3, b 2, c 2, d 2, e 1, f 1.
TRAIN = "a b a\n\na b cd dc\nef\n"
# Known: a, b. Literal: <unk> twice, <unk>:xyx. OOV: cd, zz (twice).
VALID = "a cd <unk> zz\nb <unk> <unk>:xyx zz\n"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "train.txt").write_text(TRAIN)
    (tmp_path / "valid.txt").write_text(VALID)
    return tmp_path


def test_the_table_of_kim_et_al_counts_markers_and_ends_of_sentences(data: Path) -> None:
    result = vocab(data=data)
    assert result.n_words == 4  # a, b, </s>, <unk>
    assert result.n_characters == 4  # a, b, c, d
    assert result.n_characters_as_published == 9
    assert result.inventory.n_characters == 10
    assert result.n_tokens == 8 + 4


def test_what_is_out_of_vocabulary_is_told_apart_from_a_literal_unk(data: Path) -> None:
    result = vocab(data=data)
    assert result.splits["valid"] == Coverage(
        n_sentences=2,
        n_words=8,
        n_types=5,  # a, cd, <unk>, zz, b
        n_literal_unk=3,
        n_oov=3,
        n_oov_types=2,
        n_unknown_characters=3 + 4,  # xyx, and zz twice
        n_unknown_character_types=3,
    )
    assert result.splits["valid"].oov_share == 3 / 8
    assert result.splits["valid"].oov_type_share == 2 / 5
    assert result.splits["valid"].unk_share == 6 / 8


def test_words_of_train_that_became_unk_are_out_of_its_own_vocabulary(data: Path) -> None:
    train = vocab(data=data).splits["train"]
    assert (train.n_oov, train.n_oov_types, train.n_literal_unk) == (3, 3, 0)
    assert train.n_unknown_characters == 2  # e and f


def test_a_split_that_does_not_exist_is_left_out(data: Path) -> None:
    assert list(vocab(data=data).splits) == ["train", "valid"]


def test_an_empty_split_has_shares_of_nothing(data: Path) -> None:
    (data / "test.txt").touch()
    test = vocab(data=data).splits["test"]
    assert (test.n_words, test.oov_share, test.oov_type_share, test.unk_share) == (0, 0, 0, 0)


def test_the_longest_words_come_by_length_and_then_by_count(data: Path) -> None:
    (data / "train.txt").write_text("aaa bb cccc bb dd dd dd e f gggg <unk>\n")
    result = vocab(data=data, max_word_length=3)
    assert result.longest_words == ("cccc", "gggg", "aaa", "dd", "bb")
    assert result.inventory.n_cut_words == 2


def test_characters_beyond_the_cut_are_not_read(data: Path) -> None:
    (data / "valid.txt").write_text("axxx\n")
    cut = vocab(data=data, max_word_length=2).splits["valid"]
    assert cut.n_unknown_characters == 1


def test_a_text_of_unk_alone_is_a_vocabulary_of_two(data: Path) -> None:
    (data / "train.txt").write_text("<unk> <unk>\n")
    result = vocab(data=data)
    assert result.inventory.words == ("</s>", "<unk>")
    assert (result.longest_words, result.n_characters) == ((), 0)


def test_the_options_make_the_inventory_and_the_corpus_its_normalisation(data: Path) -> None:
    normalisation = Normalisation(lower=True, numbers=True)
    told = {"normalisation": normalisation.to_dict()}
    (data / "corpus.json").write_text(json.dumps(told))
    (data / "valid.txt").write_text("A zz\n")
    options = {"size": 5, "min_count": 1, "min_char_count": 1, "max_word_length": 7}
    result = vocab(data=data, **options)  # type: ignore[arg-type]  # they are ints
    sentences = [line.split() for line in TRAIN.splitlines()]
    assert result.inventory == inventory_of(
        sentences,
        size=5,
        min_count=1,
        min_char_count=1,
        max_word_length=7,
        normalisation=normalisation,
    )
    assert result.splits["valid"].n_oov == 1  # zz


def test_the_vocabulary_is_written_where_asked_and_nowhere_else(data: Path) -> None:
    before = sorted(data.iterdir())
    vocab(data=data)
    assert sorted(data.iterdir()) == before
    result = vocab(data=data, out=data / "vocab.json")
    assert load_inventory(data / "vocab.json") == result.inventory


def test_the_json_holds_every_figure(data: Path) -> None:
    result = vocab(data=data)
    told = result.to_dict()
    splits = told.pop("splits")
    assert told == {
        "n_words": 4,
        "n_unseen": 0,
        "left_out": [],
        "n_characters": 4,
        "n_characters_as_published": 9,
        "n_characters_with_all_markers": 10,
        "n_morphs": None,
        "morphs_per_word": None,
        "n_in_letters": None,
        "n_tokens": 12,
        "longest_words": ["a", "b"],
        "morphs_of_longest": None,
        "max_word_length": 65,
        "n_cut_words": 0,
        "normalisation": Normalisation().to_dict(),
        "sha256": result.inventory.sha256,
        "counts_sha256": result.inventory.counts_sha256,
    }
    assert isinstance(splits, dict)
    assert list(splits) == ["train", "valid"]
    assert splits["valid"]["oov_share"] == 3 / 8


def test_morphs_are_counted_and_weighed_by_tokens(data: Path) -> None:
    (data / "morphs.tsv").write_text("a\tx y z\nb\tx\n")
    result = vocab(data=data, out=data / "vocab.json", morphs=str(data / "morphs.tsv"))
    assert result.n_morphs == 3
    assert result.morphs_per_word == (3 * 3 + 2 * 1) / 5  # a three times, b twice
    told = result.to_dict()
    assert (told["n_morphs"], told["morphs_per_word"]) == (3, 2.2)
    assert (told["longest_words"], told["morphs_of_longest"]) == (
        ["a", "b"],
        [["x", "y", "z"], ["x"]],
    )
    assert load_inventory(data / "vocab.json") == result.inventory


def test_words_that_a_file_of_morphs_lacks_are_told_where_letters_are_all_they_get(
    tmp_path: Path,
) -> None:
    (tmp_path / "train.txt").write_text("dogs dogs cats cats do do a a so so\n")
    (tmp_path / "morphs.tsv").write_text("dogs\tdog s\ndo\tdo\n")
    result = vocab(data=tmp_path, morphs=str(tmp_path / "morphs.tsv"))
    assert result.n_in_letters == 2  # cats and so; a has only one letter anyway


def test_a_segmenter_that_does_not_exist_is_found_before_the_corpus_is_read(data: Path) -> None:
    with pytest.raises(ConfigError, match="morphs: found 'morfesor'; expected sentencepiece:N, "):
        vocab(data=data / "none", morphs="morfesor")


def test_another_seed_of_hashes_gives_the_same_bytes(data: Path) -> None:
    program = (
        "from charlm.text.vocabulary.build_vocabulary import vocab as b;"
        f"print(b(data={str(data)!r}, out='OUT', morphs='sentencepiece:60').to_dict())"
    )
    (data / "train.txt").write_text(" ".join(f"w{n % 97} é{n % 89}" for n in range(400)) + "\n")
    printed = []
    for seed in ("1", "2"):
        out = data / f"vocab-{seed}.json"
        done = subprocess.run(
            [sys.executable, "-c", program.replace("OUT", str(out))],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=True,
        )
        printed.append((done.stdout, out.read_bytes()))
    assert printed[0] == printed[1]


def test_a_file_that_is_no_vocabulary_is_not_written_over(corpus_dir: Path) -> None:
    text = corpus_dir / "train.txt"
    before = text.read_bytes()
    with pytest.raises(DataError) as caught:
        vocab(data=corpus_dir, out=text)
    assert str(caught.value) == (
        f"{text}: holds something else than a vocabulary; name another --out"
    )
    assert text.read_bytes() == before


def test_a_pipe_in_the_place_of_out_is_refused_and_not_read(
    corpus_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Reading a pipe, as in `--out /dev/stdout | less`, would wait for ever.
    monkeypatch.setattr("charlm.text.vocabulary.build_vocabulary.load_inventory", pytest.fail)
    with pytest.raises(ConfigError, match="pipe: is a device or a pipe; expected a file"):
        vocab(data=corpus_dir, out=pipe)


def test_a_vocabulary_is_written_over_by_the_next(corpus_dir: Path, tmp_path: Path) -> None:
    vocab(data=corpus_dir, out=tmp_path / "vocab.json", size=5)
    (tmp_path / "link.json").symlink_to("vocab.json")
    result = vocab(data=corpus_dir, out=tmp_path / "link.json")
    assert load_inventory(tmp_path / "vocab.json") == result.inventory


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_count": -1}, "--min-count -1: expected 0 or more"),
        ({"min_char_count": 0}, "--min-char-count 0: expected 1 or more"),
        ({"max_word_length": 0}, "--max-word-length 0: expected 1 to 10000"),
        ({"max_word_length": 10_001}, "--max-word-length 10001: expected 1 to 10000"),
    ],
)
def test_a_number_out_of_its_range_is_refused(
    data: Path, options: dict[str, int], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        vocab(data=data, **options)  # type: ignore[arg-type]  # they are ints
    assert str(caught.value) == message


def listed(tmp_path: Path, content: str) -> Path:
    path = tmp_path / "words.txt"
    path.write_text(content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        "zz\nb\ncd\nb\n\n<s>\n</s>\n<unk>\n",
        "<eps> 0\n<UNK> 1\nb 2\ncd 3\nzz 4\n#0 5\n<s> 6\n</s> 7\n",
    ],
    ids=["a list", "Kaldi's words.txt"],
)
def test_the_words_may_be_those_of_a_list(content: str, data: Path, tmp_path: Path) -> None:
    result = vocab(data=data, words=listed(tmp_path, content))
    assert result.inventory.words == ("</s>", "<unk>", "b", "cd", "zz")
    assert result.inventory.counts == (4, 5, 2, 1, 0)  # a thrice, dc and ef are unknown
    assert result.inventory.characters == vocab(data=data).inventory.characters
    assert result.n_unseen == 1
    assert vocab(data=data, min_count=1).n_unseen == 0  # <unk>, which is not met, is no word
    assert result.splits["valid"].n_oov == 1  # a


def test_listed_words_go_through_the_rules_of_the_corpus(tmp_path: Path) -> None:
    raw = tmp_path / "raw.txt"
    raw.write_text("The well-known cat sat .\n" * 30)
    prep(raw, out=tmp_path / "corpus", lower=True, split_hyphens=True, punctuation="drop")
    words = listed(tmp_path, "CAT\ncat\nwell-known\n,\nÜbel\n")
    found = vocab(data=tmp_path / "corpus", words=words).inventory.words
    assert set(found) == {"</s>", "<unk>", "cat", "well", "known", "übel"}


def test_what_marks_a_graph_in_a_symbol_table_is_a_word_of_a_list(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "train.txt").write_text("we are #1\n" * 2)
    numbered = vocab(data=corpus, words=listed(tmp_path, "<eps> 0\nwe 1\n#1 2\n"))
    assert numbered.inventory.words[2:] == ("we",)
    plain = vocab(data=corpus, words=listed(tmp_path, "we\n#1\n"))
    assert plain.inventory.words[2:] == ("#1", "we")


def test_listed_noise_is_a_word_only_where_the_text_has_it(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "train.txt").write_text("a [laugh] b\n" * 2)
    words = listed(tmp_path, "<eps> 0\n!SIL 1\n[laugh] 2\n<SPOKEN_NOISE> 3\na 4\nc 5\n!NULL 6\n")
    result = vocab(data=corpus, words=words)
    assert set(result.inventory.words) == {"</s>", "<unk>", "[laugh]", "a", "c"}
    assert result.left_out == ("!SIL", "<SPOKEN_NOISE>", "!NULL")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("the 1\na 2\nwe\n", ":3: found 'we'; expected a word and its number, as the lines before"),
        (
            "the 1\na 2.5\n",
            ":2: found 'a 2.5'; expected a word and its number, as the lines before",
        ),
        ("the\nwe 2\n", ":2: found 'we 2'; expected one word a line, or Kaldi's words.txt"),
        ("the\na 2 3\n", ":2: found 'a 2 3'; expected one word a line, or Kaldi's words.txt"),
        ("<s>\n</s>\n\n", ": no word; expected one a line, or Kaldi's words.txt"),
        ("<eps> 0\n#0 1\n", ": no word; expected one a line, or Kaldi's words.txt"),
    ],
)
def test_what_is_no_list_of_words_is_said_in_one_line(
    content: str, message: str, data: Path, tmp_path: Path
) -> None:
    path = listed(tmp_path, content)
    with pytest.raises(DataError) as caught:
        vocab(data=data, words=path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_a_list_without_a_word_of_the_text_is_refused(data: Path, tmp_path: Path) -> None:
    path = listed(tmp_path, "A\nB\n!SIL\n")
    with pytest.raises(DataError) as caught:
        vocab(data=data, words=path, out=tmp_path / "vocab.json")
    assert str(caught.value) == (
        f"{path}: none of its words stands in {data}/train.txt; expected words as the text has "
        "them, in its case and spelling"
    )
    assert not (tmp_path / "vocab.json").exists()


@pytest.mark.parametrize("option", ["size", "min_count"])
def test_listed_words_are_not_chosen_once_more(option: str, data: Path, tmp_path: Path) -> None:
    words = listed(tmp_path, "a\n")
    with pytest.raises(ConfigError, match="chooses words, which --words .* lists; leave one out"):
        vocab(data=data, words=words, **{option: 3})


def test_listed_noise_is_looked_for_in_a_text_whose_counts_lie_in_a_file(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data / "train.txt").write_text("a <noise> b\na\n" * 3)
    whole = count_file(data / "train.txt")
    stored = replace(whole, tokens=_StoredCounts(whole.tokens.items()))
    monkeypatch.setattr(build_vocabulary, "count_file", lambda *_, **__: stored)
    result = vocab(data=data, words=listed(tmp_path, "a\n<noise>\n[laugh]\n"))
    assert set(result.inventory.words) == {"</s>", "<unk>", "a", "<noise>"}
    assert result.left_out == ("[laugh]",)


def test_a_word_of_a_list_that_the_texts_map_makes_unk_is_no_second_unk(tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("a xxx b\nb a yyy:q\na b\n")
    mapped = {"xxx": "<unk>", "yyy:q": "<unk>:q"}
    prep(tmp_path / "raw", out=tmp_path / "corpus", split="1,1,1", map=mapped)
    words, out = listed(tmp_path, "a\nb\nxxx\nyyy:q\n"), tmp_path / "vocab.json"
    vocab(data=tmp_path / "corpus", words=words, out=out)
    assert load_inventory(out).words == ("</s>", "<unk>", "a", "b")
    assert load_inventory(out).counts == (1, 1, 1, 1)
