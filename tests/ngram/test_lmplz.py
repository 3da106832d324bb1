"""lmplz as an engine: its input, and the use of its answer; programs stand in for it."""

import errno
import gzip
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from charlm.errors import ConfigError, DataError
from charlm.ngram import lmplz
from charlm.ngram.lmplz import LmplzResult, estimate_with_lmplz

HEAD = "\\data\\\nngram 1=5\nngram 2=2\n\n\\1-grams:\n"
UNK_LINE = "-1.5\t<unk>\t0\n"
REST = (
    "0\t<s>\t-0.3\n-0.7\t</s>\t0\n-0.7\tthe\t-0.3\n-0.9\t{unk}\t-0.1\n\n"
    "\\2-grams:\n-0.1\t<s> {unk}\n-0.2\t{unk} the\n\n\\end\\\n"
)
ANSWER = HEAD + UNK_LINE + REST
SENTENCES = [["the", "<unk>"], [], ["<unk>:owl"], ["ÿ", "a<unk>b", "BZh"]]
HOW = "build it from KenLM's source with cmake and Boost, and name it with --lmplz PATH"

Play = Callable[[str], Path]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where the model is to go, in an empty folder."""
    (tmp_path / "models").mkdir()
    return tmp_path / "models" / "kn.arpa"


def answering(answer: str) -> str:
    """Code that reads the text and answers, with the stand-in for `<unk>` where {unk} is."""
    content = answer.format(unk="\udcff").encode(errors="surrogateescape")
    return f"sys.stdin.buffer.read(); sys.stdout.buffer.write({content!r})"


def run(program: Path, out: Path, *, sentences: Any = SENTENCES, **options: Any) -> LmplzResult:
    chosen = {"order": 2, "prune": (0,), **options}
    return estimate_with_lmplz(sentences, out, program=program, **chosen)


def test_unk_is_restored_and_lmplzs_own_left_out(play: Play, out: Path) -> None:
    result = run(play(answering(ANSWER)), out)
    assert out.read_text() == HEAD.replace("1=5", "1=4") + REST.format(unk="<unk>")
    assert result == LmplzResult(n_ngrams=(4, 2), fallback_orders=())


@pytest.mark.parametrize(("start", "shown"), [("lmplz", "0"), ("srilm", "-99")])
def test_the_start_of_sentences_is_written_as_asked(
    play: Play, out: Path, start: str, shown: str
) -> None:
    run(play(answering(ANSWER)), out, start=start)
    rest = REST.format(unk="<unk>").replace("0\t<s>", f"{shown}\t<s>", 1)
    assert out.read_text() == HEAD.replace("1=5", "1=4") + rest


@pytest.mark.parametrize(
    ("sentences", "prune"),
    [([["a<unk>b"]], (0,)), ([["<unk>"], [], []], (1,))],
    ids=["no unk", "one so rare that lmplz prunes it"],
)
def test_where_no_unk_is_left_lmplzs_own_stays(
    play: Play, out: Path, sentences: list[list[str]], prune: tuple[int, ...]
) -> None:
    answer = ANSWER.format(unk="owl")
    result = run(play(answering(answer)), out, sentences=sentences, prune=prune)
    assert out.read_text() == answer
    assert result.n_ngrams == (5, 2)


def test_so_few_sentences_that_lmplz_would_prune_their_end_are_refused(
    play: Play, out: Path
) -> None:
    program = play(answering(ANSWER))
    with pytest.raises(DataError) as caught:
        run(program, out, prune=(4,), name="train.txt")
    assert str(caught.value) == (
        "train.txt: 4 sentences, and lmplz makes a broken model where --prune 4 leaves out words "
        "that are as rare as </s>; expected more sentences than that; use --engine charlm"
    )
    assert left_over(out) == []
    run(program, out, order=1, prune=(4,))  # where lmplz leaves </s> alone


def test_lmplz_gets_the_text_with_a_byte_that_is_no_utf8_for_unk(play: Play, out: Path) -> None:
    seen = out.with_name("seen")
    code = f"open({str(seen)!r}, 'wb').write(sys.stdin.buffer.read()); sys.stdin.buffer.seek(0)"
    run(play(f"{code}\n{answering(ANSWER)}"), out)
    assert seen.read_bytes() == b" the \xff\n\n\xff\n" + "ÿ a<unk>b BZh\n".encode()


def test_lmplz_gets_its_options(play: Play, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("charlm.ngram.lmplz.memory_there", lambda: 6_000)
    seen = out.with_name("seen")
    code = f"open({str(seen)!r}, 'w').write(' '.join(sys.argv[1:]))"
    run(play(f"{code}\n{answering(ANSWER)}"), out, order=3, prune=(0, 0, 1))
    *options, memory, prefix, folder = seen.read_text().split(" ")
    assert options == ["--order", "3", "--discount_fallback", "--prune", "0", "0", "1", "--memory"]
    assert memory == "3000b"  # half of what this process may use
    assert (prefix, folder) == ("--temp_prefix", f"{out.parent}/.lmplz-")


def test_fallback_orders_are_counted_from_one(play: Play, out: Path) -> None:
    told = "Substituting fallback discounts for order {}: D1=0.5 D2=1 D3+=1.5\\n"
    code = f"sys.stderr.write('=== 2/5 ===\\n{told.format(0)}{told.format(4)}')"
    result = run(play(f"{code}\n{answering(ANSWER)}"), out)
    assert result.fallback_orders == (1, 5)


def test_the_suffix_says_how_the_model_is_packed(play: Play, out: Path) -> None:
    packed = out.with_suffix(".arpa.gz")
    run(play(answering(ANSWER)), packed)
    assert gzip.decompress(packed.read_bytes()).endswith(b"-0.2\t<unk> the\n\n\\end\\\n")


def test_a_program_that_writes_much_before_it_reads_does_not_block(play: Play, out: Path) -> None:
    many = "-0.1\tthe the\n" * 200_000
    answer = ANSWER.replace("\\2-grams:\n", f"\\2-grams:\n{many}").format(unk="owl")
    (out.with_name("answer")).write_text(answer)
    code = (
        "sys.stderr.write('message\\n' * 100_000)\n"
        f"sys.stdout.write(open({str(out.with_name('answer'))!r}).read())"
    )
    sentences = [["word"] * 50_000] * 4
    run(play(f"{code}\nsys.stdin.buffer.read()"), out, sentences=sentences)
    assert out.stat().st_size == len(answer)


def left_over(out: Path) -> list[str]:
    return sorted(path.name for path in out.parent.iterdir())


THROWN = "file.cc:228 in void util::WriteOrThrow(int) threw FDException because `ret < 1'."
FULL = "No space left on device in fd 1"


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("sys.exit(3)", "(status 3)"),
        ("sys.stderr.write('no order\\n\\n'); sys.exit(1)", "(status 1) and said 'no order'"),
        (
            f'sys.stderr.write("=== 5/5 ===\\n{THROWN}\\n{FULL}\\nTry less\\n"); os.abort()',
            f"(killed by signal {int(signal.SIGABRT)}) and said '{FULL} Try less'",
        ),
        (
            f'sys.stderr.write("{THROWN}"); sys.exit(1)',
            f'(status 1) and said "{THROWN}"',
        ),
        (answering(HEAD), "(status 0)"),
        (answering(ANSWER[:-30]), "(status 0)"),
        (f"{answering(ANSWER)}; sys.exit(1)", "(status 1)"),
        ("pass", "(status 0)"),
    ],
)
def test_a_program_that_fails_says_why_in_one_line_and_leaves_nothing(
    play: Play, out: Path, code: str, how: str
) -> None:
    program = play(code)
    with pytest.raises(DataError) as caught:
        run(program, out)
    assert str(caught.value) == (
        f"{program}: ended without a model {how}; expected KenLM's lmplz and a full ARPA"
    )
    assert left_over(out) == []


def test_a_killed_program_may_have_run_out_of_memory(play: Play, out: Path) -> None:
    program = play(f"os.kill(os.getpid(), {int(signal.SIGKILL)})")
    with pytest.raises(DataError) as caught:
        run(program, out)
    assert str(caught.value) == (
        f"{program}: was killed; expected a model; it may have run out of memory"
    )


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("hello\n" * 100_000, "hello\\n"),
        ("\\data\\\nngram 1=many\n", "ngram 1=many\\n"),
        (HEAD + REST, "0\\t<s>\\t-0.3\\n"),
    ],
    ids=["no ARPA", "no count", "no <unk>"],  # pytest 8 hands ids on, too long for the system
)
def test_another_program_than_lmplz_is_found_out(
    play: Play, out: Path, answer: str, found: str
) -> None:
    program = play(answering(answer))
    with pytest.raises(DataError) as caught:
        run(program, out)
    assert str(caught.value) == (
        f"{program}: wrote '{found}'; expected lmplz's ARPA; is it KenLM's?"
    )
    assert left_over(out) == []


def test_an_old_model_stays_where_a_new_one_fails(play: Play, out: Path) -> None:
    out.write_text("old")
    with pytest.raises(DataError):
        run(play(answering(ANSWER[:-30])), out)
    assert (out.read_text(), left_over(out)) == ("old", ["kn.arpa"])


def is_running(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


SLEEPER = """\
sys.stdin.buffer.read()
open({path!r}, "w").write(str(os.getpid()))
os.kill(os.getppid(), {signal})
time.sleep(60)
"""


def test_ctrl_c_ends_lmplz_too(play: Play, out: Path, tmp_path: Path) -> None:
    told = tmp_path / "pid"
    code = SLEEPER.format(path=str(told), signal=int(signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(play(code), out)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not is_running(int(told.read_text()))
    assert left_over(out) == []


def test_a_full_disk_ends_lmplz_too(
    play: Play, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "pid"
    code = f"open({str(told)!r}, 'w').write(str(os.getpid()))\n{answering(ANSWER)}"

    @contextmanager
    def full(path: Path, **_: bool) -> Iterator[Any]:
        class Full:
            def writelines(self, lines: object) -> None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

        yield Full()

    monkeypatch.setattr(lmplz, "packed_write", full)
    with pytest.raises(OSError, match="No space left") as caught:
        run(play(f"{code}; sys.stdout.flush(); time.sleep(60)"), out)
    assert caught.value.filename == str(out)
    assert not is_running(int(told.read_text()))


@pytest.mark.parametrize("blank", ["\r", "\v", "\f", "\0"])
def test_a_word_that_lmplz_would_cut_is_refused(play: Play, out: Path, blank: str) -> None:
    word = f"a{blank}b"
    with pytest.raises(DataError) as caught:
        run(play(answering(ANSWER)), out, sentences=[["x"], ["x", word]], name="train.txt")
    assert str(caught.value) == (
        f"train.txt:2: word {word!r} holds white space, and lmplz parts words there; "
        "expected words without; clean the text with `charlm prep`"
    )


def test_unk_in_capitals_is_refused_with_its_line(play: Play, out: Path) -> None:
    with pytest.raises(
        DataError, match=r"^t.txt:2: word '<UNK>', which readers of ARPA take for <"
    ):
        run(play(answering(ANSWER)), out, sentences=[["a<UNK>"], ["x", "<UNK>"]], name="t.txt")


def test_a_text_without_a_sentence_is_refused(play: Play, out: Path) -> None:
    with pytest.raises(DataError) as caught:
        run(play(answering(ANSWER)), out, sentences=[], name="train.txt")
    assert str(caught.value) == "train.txt: no sentence; expected one a line"


def test_a_folder_that_is_missing_is_told_by_the_models_name(play: Play, tmp_path: Path) -> None:
    out = tmp_path / "missing" / "kn.arpa"
    with pytest.raises(FileNotFoundError) as caught:
        run(play(answering(ANSWER)), out)
    assert caught.value.filename == str(out)


def test_what_is_no_program_cannot_be_started(out: Path) -> None:
    program = out.with_name("lmplz")
    program.write_bytes(b"no program\n")
    program.chmod(0o755)
    with pytest.raises(ConfigError) as caught:
        run(program, out)
    assert str(caught.value) == (
        f"{program}: cannot be started (Exec format error); expected KenLM's lmplz; {HOW}"
    )
