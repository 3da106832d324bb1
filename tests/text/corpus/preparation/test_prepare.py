"""From raw files to a corpus directory: every line is accounted for; all or nothing is written."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

import charlm
from charlm.errors import ConfigError, DataError
from charlm.text.corpus.preparation import prepare
from charlm.text.corpus.preparation.cleaning import REASONS
from charlm.text.corpus.preparation.prepare import prep
from charlm.text.corpus.sentences import corpus_normalisation

SPLITS = ("train", "valid", "test")


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Ten lines of equal length."""
    path = tmp_path / "raw.txt"
    path.write_text("".join(f"this is line {n}\n" for n in range(10)))
    return path


def read(out: Path) -> dict[str, str]:
    return {split: (out / f"{split}.txt").read_text() for split in SPLITS}


def lines(out: Path) -> list[str]:
    return "".join(read(out).values()).splitlines()


def test_a_text_is_cut_into_contiguous_blocks(raw: Path, tmp_path: Path) -> None:
    result = prep(raw, out=tmp_path / "c", split="60,20,20")
    expected = raw.read_text().splitlines(keepends=True)
    assert read(tmp_path / "c") == {
        "train": "".join(expected[:6]),
        "valid": "".join(expected[6:8]),
        "test": "".join(expected[8:]),
    }
    assert {split: n.lines for split, n in result.counts.items()} == {
        "train": 6,
        "valid": 2,
        "test": 2,
    }


def test_corpus_json_says_all_about_the_corpus(raw: Path, tmp_path: Path) -> None:
    out = tmp_path / "c"
    result = prep(raw, out=out, split="60,20,20", lower=True, max_words=4)
    written = json.loads((out / "corpus.json").read_text())
    assert written == result.to_dict()
    assert written == {
        "format": 1,
        "version": charlm.__version__,
        "options": {
            "corpus": None,
            "split": "60,20,20",
            "min_words": 1,
            "max_words": 4,
            "max_tokens": 0,
            "dedup": False,
            "encoding": "utf-8",
            "invalid": "error",
        },
        "normalisation": {"lower": True, "unicode": "NFC", "tokenise": "none", "numbers": False},
        "sources": [
            {
                "path": str(raw),
                "role": "raw",
                "lines": 10,
                "sha256": hashlib.sha256(raw.read_bytes()).hexdigest(),
            }
        ],
        "lines_read": 10,
        "drops": dict.fromkeys(REASONS, 0),
        "replaced": 0,
        "unwanted": {},
        "stopped_after_tokens": None,
        "counts": {
            "train": {"lines": 6, "words": 24, "characters": 84},
            "valid": {"lines": 2, "words": 8, "characters": 28},
            "test": {"lines": 2, "words": 8, "characters": 28},
        },
        "sha256": {
            name: hashlib.sha256((out / name).read_bytes()).hexdigest()
            for name in ("train.txt", "valid.txt", "test.txt")
        },
    }


def test_given_files_become_their_split_through_the_same_normalisation(
    raw: Path, tmp_path: Path
) -> None:
    (tmp_path / "v").write_text("VALID 1\nVALID 1\n")
    (tmp_path / "t").write_text("TEST THIS IS LINE 2\n")
    result = prep(
        raw,
        out=tmp_path / "c",
        valid=tmp_path / "v",
        test=tmp_path / "t",
        lower=True,
        numbers=True,
        dedup=True,
        max_tokens=1,
    )
    assert read(tmp_path / "c") == {
        "train": "this is line N\n",
        "valid": "valid N\n",
        "test": "test this is line N\n",
    }
    assert [(s.role, s.lines) for s in result.sources] == [("raw", 1), ("valid", 2), ("test", 1)]


def test_what_is_not_given_is_cut_by_the_shares_that_are_left(raw: Path, tmp_path: Path) -> None:
    result = prep(raw, out=tmp_path / "c", valid=raw, split="80,999,20")
    expected = raw.read_text().splitlines(keepends=True)
    assert read(tmp_path / "c") == {
        "train": "".join(expected[:8]),
        "valid": "".join(expected),
        "test": "".join(expected[8:]),
    }
    (sign,) = result.signs
    assert sign.startswith("80% of the words of valid.txt stand in lines that train.txt has, too: ")


@pytest.mark.parametrize(
    ("dotless_i", "word", "n_signs"), [(False, "iğdir", 1), (True, "ığdır", 0)]
)
def test_turkish_is_lowered_as_it_is_asked_for(
    tmp_path: Path, dotless_i: bool, word: str, n_signs: int
) -> None:
    (tmp_path / "raw").write_text("IĞDIR kızı\n", encoding="utf-8")
    options = {"valid": tmp_path / "raw", "test": tmp_path / "raw"}
    result = prep(tmp_path / "raw", out=tmp_path / "c", lower=True, dotless_i=dotless_i, **options)
    assert read(tmp_path / "c")["train"] == f"{word} kızı\n"
    assert len([sign for sign in result.signs if "dotless-i" in sign]) == n_signs


def test_reading_ends_with_the_line_that_reaches_max_tokens(raw: Path, tmp_path: Path) -> None:
    result = prep([raw, raw], out=tmp_path / "c", split="1,1,1", max_tokens=13)
    assert lines(tmp_path / "c") == raw.read_text().splitlines()[:4]
    assert result.stopped_after_tokens == 16
    assert [(s.lines, s.sha256) for s in result.sources] == [(4, None), (0, None)]


def test_reading_that_ends_with_the_text_has_left_nothing_out(raw: Path, tmp_path: Path) -> None:
    exact, whole = (prep(raw, out=tmp_path / str(n), max_tokens=n) for n in (37, 0))
    assert exact.stopped_after_tokens is None
    assert exact.sources == whole.sources
    more = prep([raw, raw], out=tmp_path / "more", max_tokens=40)
    assert more.stopped_after_tokens == 40
    assert [(s.lines, s.sha256) for s in more.sources] == [(10, whole.sources[0].sha256), (0, None)]


def test_a_second_corpus_does_not_replace_the_first(raw: Path, tmp_path: Path) -> None:
    out = tmp_path / "c"
    out.mkdir()
    (out / "valid.txt").write_text("mine")
    with pytest.raises(DataError) as caught:
        prep(raw, out=out)
    assert str(caught.value) == (
        f"{out}: holds valid.txt already; expected a folder without a corpus; name another --out, "
        "or remove the old one first"
    )
    assert {path.name: path.read_text() for path in out.iterdir()} == {"valid.txt": "mine"}


def test_while_another_process_writes_there_a_second_is_refused(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, out = prepare._write, tmp_path / "c"

    def beaten(*arguments: Any) -> Any:
        monkeypatch.setattr(prepare, "_write", real)
        with pytest.raises(DataError, match="c: another process makes a corpus there; wait for it"):
            prep([raw, raw], out=out)
        return real(*arguments)

    monkeypatch.setattr(prepare, "_write", beaten)
    prep(raw, out=out)
    assert sorted(os.listdir(out)) == ["corpus.json", "test.txt", "train.txt", "valid.txt"]
    assert sorted(lines(out)) == sorted(raw.read_text().splitlines())


def test_what_somebody_put_there_meanwhile_is_not_lost(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, out = prepare._clean, tmp_path / "c"

    def beaten(*arguments: Any, **options: Any) -> Any:
        (out / "train.txt").write_text("mine")
        return real(*arguments, **options)

    monkeypatch.setattr(prepare, "_clean", beaten)
    with pytest.raises(DataError, match="c: holds train.txt already"):
        prep(raw, out=out)
    assert {path.name: path.read_text() for path in out.iterdir()} == {"train.txt": "mine"}


def test_other_files_in_the_folder_are_left_alone(raw: Path, tmp_path: Path) -> None:
    prep(raw, out=tmp_path, split="1,1,1")
    expected = {"raw.txt", "train.txt", "valid.txt", "test.txt", "corpus.json"}
    assert set(os.listdir(tmp_path)) == expected
    assert raw.read_text().startswith("this is line 0\n")


@pytest.mark.parametrize("n_done", range(4))
def test_a_disk_that_fails_at_any_file_leaves_no_half_corpus(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_done: int
) -> None:
    real = os.replace
    calls = []

    def replace(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) > n_done:
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="No space left"):
        prep(raw, out=tmp_path / "c")
    assert not (tmp_path / "c").exists()
    monkeypatch.undo()
    prep(raw, out=tmp_path / "c")
    assert len(lines(tmp_path / "c")) == 10


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", {}, "{raw}: holds no lines; expected text, one sentence a line"),
        (
            "\n\na\n",
            {"min_words": 2},
            "{raw}: nothing is left of 3 lines (2 empty, 1 too short); expected text, one sentence "
            "a line",
        ),
        (
            "a\nb\n",
            {},
            "{raw}: 2 lines cut 90,5,5 leave none for train; expected a sentence a line, and one "
            "in each split; give more lines, other shares (--split), or files (--valid, --test)",
        ),
        (
            "a b c\n",
            {},
            "{raw}: 1 line cut 90,5,5 leave none for train; expected a sentence a line, and one in "
            "each split; give more lines, other shares (--split), or files (--valid, --test)",
        ),
        (
            "a\nb\n\na\n",
            {"dedup": True},
            "{raw}: 2 of 4 lines (1 empty, 1 duplicate) cut 90,5,5 leave none for train; "
            "expected a sentence a line, and one in each split; give more lines, other shares "
            "(--split), or files (--valid, --test)",
        ),
        ("a\nb\nc\n", {"valid": "empty"}, "{empty}: holds no lines; expected text, one "),
    ],
)
def test_a_text_without_enough_lines_is_refused(
    tmp_path: Path, content: str, options: dict[str, object], message: str
) -> None:
    names = {"raw": tmp_path / "raw", "empty": tmp_path / "empty"}
    names["raw"].write_text(content)
    names["empty"].write_text("")
    if "valid" in options:
        options = {"valid": names["empty"]}
    with pytest.raises(DataError) as caught:
        prep(names["raw"], out=tmp_path / "c", **options)  # type: ignore[arg-type]
    assert str(caught.value).startswith(message.format(**names))
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"raw": ()}, "prep: found neither raw files nor a corpus; expected one of them; name FI"),
        ({"corpus": "pydoc"}, "prep: found both raw files and a corpus; expected one of them; na"),
        (
            {"raw": "-", "valid": "-"},
            "standard input: named twice; expected it once, since it is read once",
        ),
        (
            {"raw": (), "corpus": "pydoc", "encoding": "latin-1"},
            "--encoding latin-1: is for files, and --corpus reads none; drop it",
        ),
        (
            {"raw": (), "corpus": "pydoc", "invalid": "drop"},
            "--invalid drop: is for files, and --corpus reads none; drop it",
        ),
        ({"corpus": "brown"}, "corpus: found 'brown'; expected one of 'pydoc' or None"),
        ({"split": "90"}, "split: found '90'; expected three positive shares"),
        ({"unicode": "NFX"}, "unicode: found 'NFX'; expected one of 'NFC'"),
        ({"tokenise": "moses"}, "tokenise: found 'moses'; expected one of 'none', 'simple'"),
        ({"invalid": "skip"}, "invalid: found 'skip'; expected one of 'error', 'replace', 'drop'"),
        ({"min_words": 0}, "--min-words 0: expected 1 or more"),
        ({"max_words": -1}, "--max-words -1: expected 0 or more"),
        ({"max_tokens": -1}, "--max-tokens -1: expected 0 or more"),
        (
            {"min_words": 2, "max_words": 1},
            "max_words: found 1; expected 2 or more, since sentences of fewer words are left out, "
            "or 0 for no limit",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused_before_anything_is_made(
    raw: Path, tmp_path: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        charlm.prep(**({"raw": raw, "out": tmp_path / "c"} | options))  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)
    assert not (tmp_path / "c").exists()


def test_a_missing_file_is_named_and_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="missing: no such file; expected a text"):
        prep([tmp_path / "missing"], out=tmp_path / "c")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("others", [{"raw": ["bad", "missing"]}, {"test": "missing"}])
def test_a_missing_file_is_missed_before_another_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad").write_bytes(b"a\nb\xff\n")  # an error as soon as it is read
    with pytest.raises(DataError, match=r"^missing: no such file; expected a text$"):
        charlm.prep(**({"raw": "bad", "out": "c"} | others))


def test_an_error_in_the_second_file_names_it(raw: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.write_bytes(b"a\nb\xff\n")
    with pytest.raises(DataError) as caught:
        prep([raw, bad], out=tmp_path / "c")
    assert str(caught.value).startswith(f"{bad}:2: invalid UTF-8 (byte 0xff at column 2);")


def test_an_embedded_corpus_takes_the_place_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "pydoc_sentences", lambda: iter(["One.", "Two.", "Three."]))
    result = prep(out=tmp_path / "c", corpus="pydoc", split="1,1,1", tokenise="simple")
    assert lines(tmp_path / "c") == ["One .", "Two .", "Three ."]
    assert result.sources[0].sha256 == hashlib.sha256(b"One.\nTwo.\nThree.\n").hexdigest()
    assert result.sources[0].path.startswith("pydoc of Python 3.")


def test_prepared_text_prepared_again_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("".join(f"Don't ({n}) SAY “N” №{n}!\n" for n in range(9)))
    options = {"lower": True, "tokenise": "simple", "numbers": True, "split": "1,1,1"}
    prep(tmp_path / "raw", out=tmp_path / "c", **options)  # type: ignore[arg-type]
    again = [tmp_path / "c" / f"{split}.txt" for split in SPLITS]
    result = prep(again, out=tmp_path / "d", **options)  # type: ignore[arg-type]
    assert lines(tmp_path / "d") == lines(tmp_path / "c")
    assert result.n_lines_read == 9


def test_what_is_said_is_what_a_corpus_holds_and_its_models_know_of(tmp_path: Path) -> None:
    raw, rules, out = tmp_path / "raw.txt", tmp_path / "rules.tsv", tmp_path / "c"
    raw.write_text('"Twenty-one Mr Smith," she said.\n' * 3)
    rules.write_text("mr smith\tmister smith\n")
    prep(raw, out=out, split="1,1,1", lower=True, split_hyphens=True, punctuation="drop", map=rules)
    assert (out / "test.txt").read_text() == "twenty one mister smith she said\n"
    assert corpus_normalisation(out)("Mr SMITH, too") == "mister smith too"


def test_a_map_is_read_once_for_all_files_so_that_a_pipe_will_do(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rules").write_text("line\tverse\n")
    with open(tmp_path / "rules") as file:
        monkeypatch.setattr("sys.stdin", file)
        prep(raw, out=tmp_path / "c", valid=raw, test=raw, map="-")
    assert [text[:15] for text in read(tmp_path / "c").values()] == ["this is verse 0"] * 3
    assert corpus_normalisation(tmp_path / "c").map == (("line", "verse"),)


@pytest.mark.parametrize(
    ("unicode", "kinds"), [("none", ["not in NFC"]), ("NFD", []), ("NFKD", [])]
)
def test_the_unicode_form_that_was_asked_for_is_not_odd(
    tmp_path: Path, unicode: str, kinds: list[str]
) -> None:
    (tmp_path / "raw").write_text("cafe\u0301 ole\u0301\n" * 3)
    result = prep(tmp_path / "raw", out=tmp_path / "c", unicode=unicode)
    assert [each.kind for each in result.oddities] == kinds
