"""`charlm vocab` from the user's side."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import charlm
from charlm.cli import app
from charlm.cli.vocab import vocab
from charlm.errors import ConfigError

PRINTED = """\
   number  of
V      15  words, with </s> and <unk>
C       8  characters
C      13  with padding, start, end, <unk> and </s>, as Kim et al. count
C      14  with the unknown character, too: rows of a model's table
M       -  morphs: no segmentation
T      45  tokens of train.txt, with </s>

                         train   valid    test
sentences                    5       1       2
words                       40       4      10
types                       16       4       9
OOV words                    3       1       1
OOV words, share         7.50%  25.00%  10.00%
OOV types                    3       1       1
OOV types, share        18.75%  25.00%  11.11%
written <unk>                0       0       2
<unk> as target, share   7.50%  25.00%  30.00%
unknown characters           4       2       0

length  longest words
     6  aaaaa…
     5  bbbbb
     4  cccc
     3  ddd
     2  ee
words cut after 5 characters: 1
"""


@pytest.fixture(autouse=True)
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Thirteen words twice or more, three once: xyz, ab, q, with four letters seen once."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "corpus"
    folder.mkdir()
    words = "aaaaaa bbbbb cccc ddd ee a b c d e f g h"
    train = f"{words}\n{words}\na b c d e f g h a b c\nxyz\nab q\n"
    (folder / "train.txt").write_text(train)
    (folder / "valid.txt").write_text("a b c yz\n")
    (folder / "test.txt").write_text("a b c d <unk>\n<unk> e f g hh\n")
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["vocab", *arguments])


def test_vocab_prints_sizes_splits_and_longest_words() -> None:
    result = run("--data", "corpus", "--max-word-length", "5")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == PRINTED


def test_vocab_prints_the_number_of_morphs_and_how_many_a_word_has() -> None:
    Path("morphs.tsv").write_text("cccc\tcc + cc\nddd\tdd d\n")
    result = run("--data", "corpus", "--morphs", "morphs.tsv", "--json")
    told = json.loads(result.stdout)
    cuts = [["a"] * 6, ["b"] * 5, ["cc", "cc"], ["dd", "d"], ["e", "e"]]
    assert (told["n_morphs"], told["morphs_of_longest"]) == (3, cuts)
    printed = run("--data", "corpus", "--morphs", "morphs.tsv").stdout.splitlines()
    # Parts that no morph covers are cut into letters. The longer words have twice 6 + 5 + 2 + 2 + 2
    # pieces, and there are 27 words of one letter: 61 pieces in 37 words.
    assert printed[5] == "M       3  morphs, 1.65 to a word of train.txt"
    assert printed[6] == "        3  of the words are cut into single letters"
    assert printed[21:27] == [
        "length  longest words  morphs",
        "     6  aaaaaa         a a a a a a",
        "     5  bbbbb          b b b b b",
        "     4  cccc           cc cc",
        "     3  ddd            dd d",
        "     2  ee             e e",
    ]


def test_json_is_one_object_with_what_the_library_returns() -> None:
    result = run("--data", "corpus", "--min-count", "3", "--json")
    expected = charlm.vocab(data="corpus", min_count=3).to_dict()
    assert json.loads(result.stdout) == expected


def test_the_command_and_the_public_function_write_the_same_file() -> None:
    options = {
        **{"size": 9, "min_count": 1, "min_char_count": 3, "max_word_length": 4},
        "morphs": "sentencepiece:20",
    }
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    assert run("--data", "corpus", "--out", "a.json", *arguments).exit_code == 0
    charlm.vocab(data="corpus", out="b.json", **options)  # type: ignore[arg-type]
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes()


def test_an_error_names_an_option_as_it_was_typed() -> None:
    with pytest.raises(ConfigError, match="^min_count: found 100; expected 4 or less, "):
        charlm.vocab(data="corpus", min_count=100)
    result = run("--data", "corpus", "--min-count", "100")
    assert result.stderr.startswith("charlm: --min-count: found 100; expected 4 or less, ")


def test_a_text_of_which_no_word_is_kept_is_warned_of(corpus: Path) -> None:
    (corpus / "train.txt").write_text("each word once\n")
    result = run("--data", "corpus")
    assert result.exit_code == 0
    assert result.stderr == (
        "note: no word but <unk>: none occurs twice in train.txt; `charlm vocab --min-count 1 "
        "--out FILE` takes all, for `charlm train --vocab FILE`; text written without blanks has "
        "to be cut into words first\n"
    )
    assert run("--data", "corpus", "--min-count", "1").stderr == ""


def test_a_text_with_marks_at_its_words_is_told_so_on_stderr() -> None:
    Path("corpus/train.txt").write_text("one, two; one, two; three three\n")
    result = run("--data", "corpus", "--json")
    assert json.loads(result.stdout)["n_words"] == 5
    assert result.stderr.startswith("note: 67% of the words end in a mark (one, two;) and are ")


def test_noise_of_a_list_that_the_text_lacks_is_told() -> None:
    Path("words.txt").write_text("a 1\n!SIL 2\n[a] 3\n[b] 4\n[c] 5\n[d] 6\n")
    result = run("--data", "corpus", "--words", "words.txt")
    assert result.stderr == (
        "note: words.txt: labels of noise that train.txt lacks are left out (5), so that no model "
        "reads them: !SIL, [a], [b], [c] and 1 more\n"
    )


def test_the_example_in_the_help_runs() -> None:
    examples = re.findall(r"^ *charlm vocab (.*)$", vocab.__doc__ or "", re.M)
    assert len(examples) == 3
    Path("lang").mkdir()
    for name in ("hyps.txt", "refs.txt"):
        Path(name).write_text("a b c\n")
    Path("lang/words.txt").write_text("a 1\nowl 2\n")
    printed = [run(*shlex.split(example)) for example in examples]
    assert [result.exit_code for result in printed] == [0, 0, 0]
    assert "     1  of them not in train.txt\n" in printed[1].stdout
    assert Path("vocab.json").is_file()


def test_a_missing_text_to_hold_against_a_vocabulary_is_missed_before_it_is_made() -> None:
    result = run("--data", "corpus", "--out", "v.json", "--against", "none")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "charlm: none: no such file; expected a text\n"
    assert not Path("v.json").exists()


@pytest.mark.parametrize(
    ("option", "value"),
    [("--morphs", "m.txt"), ("--min-char-count", "3"), ("--max-word-length", "9")],
)
def test_what_would_not_be_seen_beside_against_is_refused(option: str, value: str) -> None:
    Path("m.txt").write_text("bbbbb\tbb bbb\n")
    arguments = ("--data", "corpus", "--against", "corpus/test.txt", option, value)
    assert run(*arguments).stderr == (
        f"charlm: {option}: says nothing beside --against; drop it, or give --out\n"
    )
    assert run(*arguments, "--out", "v.json").exit_code == run(*arguments, "--json").exit_code == 0


def test_texts_held_against_a_vocabulary_get_a_rule_for_their_unknown_words() -> None:
    Path("hyps.txt").write_text("CCCC Ee Bbbbb a b zzz zzz\n")
    printed = run("--data", "corpus", "--against", "hyps.txt")
    assert printed.stdout == (
        "5 of 7 words are unknown (71.43%), 4 types\n"
        "\n"
        "rule   known by it  share  types  as\n"
        "case*            3  60.0%      3  CCCC > cccc, Ee > ee, Bbbbb > bbbbb\n"
        "* case: prep --lower, for both texts\n"
        "\n"
        "no rule helps: zzz (2)\n"
    )
    found = json.loads(run("--data", "corpus", "--against", "hyps.txt", "--json").stdout)
    assert found["n_words"] == 15
    assert found["against"]["remedies"][0]["examples"][0] == ["CCCC", "cccc"]
