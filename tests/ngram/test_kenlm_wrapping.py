"""The wrapper of KenLM's module, tested with a small stand-in for the module."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from charlm.errors import ConfigError, DataError
from charlm.ngram.files.kenlm_model import BINARY_MAGIC, KenLMModel
from charlm.ngram.files.load import load_ngram

ANSWERS = {"a": (-1.0, False), "b": (-2.0, False), "zz": (-100.0, True), "</s>": (-0.5, False)}
ARPA = "\\data\\\nngram 1=2\nngram 2=0\n\n\\1-grams:\n-1\tb\n-1\ta\n\n\\2-grams:\n\n\\end\\\n"
PLACE = "lm/read.hh:83 in void lm::Read(util::FilePiece&) [with Voc = ngram::V]"

Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """A module `kenlm` whose models answer as above, or are refused with `error`."""

    def put(*, error: Exception | None = None, answers: dict[str, Any] = ANSWERS) -> None:
        def ask(state: object, word: str, following: object) -> SimpleNamespace:
            log_prob, oov = answers[word]
            return SimpleNamespace(log_prob=log_prob, oov=oov, ngram_length=1)

        def load(path: str, config: object) -> SimpleNamespace:
            if error is not None:
                raise error
            return SimpleNamespace(order=2, BaseFullScore=ask, BeginSentenceWrite=lambda _: None)

        module = SimpleNamespace(
            State=object,
            Config=SimpleNamespace,
            ARPALoadComplain=SimpleNamespace(NONE=0),
            Model=load,
        )
        monkeypatch.setitem(sys.modules, "kenlm", module)

    return put


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    (tmp_path / "a.bin").write_bytes(BINARY_MAGIC + b" format version 5\n\0")
    return tmp_path / "a.bin"


@pytest.fixture
def arpa(tmp_path: Path) -> Path:
    (tmp_path / "a.arpa").write_text(ARPA)
    return tmp_path / "a.arpa"


def test_words_of_a_binary_are_numbered_as_they_come(install: Install, binary: Path) -> None:
    install()
    model = load_ngram(binary)
    scores = model.score([["b", "a", "b", "zz"], ["a"]])
    assert scores.word_ids.tolist() == [3, 4, 3, 0, 2, 4, 2]
    assert (model.order, model.sizes) == (2, ())


def test_kenlms_log10_of_nothing_is_minus_infinity(install: Install, binary: Path) -> None:
    install()
    scores = load_ngram(binary).score([["a", "zz"]])
    assert scores.log10_probs.tolist() == [-1.0, float("-inf"), -0.5]


def test_the_sizes_of_an_arpa_file_are_those_of_its_head(install: Install, arpa: Path) -> None:
    install()
    model = load_ngram(arpa)
    assert isinstance(model, KenLMModel)
    assert model.sizes == (2, 0)


def test_a_probability_of_more_than_1_is_the_models_fault(install: Install, binary: Path) -> None:
    install(answers=ANSWERS | {"a": (1e-4, False)})
    with pytest.raises(DataError, match=r"a.bin: gives a token the log10 probability 0.0001; exp"):
        load_ngram(binary).score([["a"]])


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (f"({PLACE} threw FormatLoadException. bad line x Byte: 7)", "bad line x"),
        (f"({PLACE} threw LoadError because `a != 'b''. Too many.  See c. Byte: 7)", "Too many"),
        (f"({PLACE} threw LoadError.\nOrder 7 is too high.  Try\n cmake)", "Order 7 is too high"),
        ("(End of file Byte: 7)", "End of file"),
        (f"({PLACE} threw E. {'long ' * 60}Byte: 7)", f"{'long ' * 16}..."),
    ],
)
def test_kenlms_reason_is_cut_to_its_first_sentence(
    install: Install, arpa: Path, message: str, reason: str
) -> None:
    install(error=OSError(f"Cannot read model '{arpa}' {message}"))
    with pytest.raises(DataError) as caught:
        load_ngram(arpa, engine="kenlm")
    assert str(caught.value) == (
        f"{arpa}: KenLM does not take it ({reason}); expected an ARPA file or KenLM's binary; try "
        "--engine charlm, which takes it or tells the line"
    )


def test_a_broken_binary_is_not_read_by_us(install: Install, binary: Path) -> None:
    install(error=OSError(f"Cannot read model '{binary}' (x.cc threw E. too short Byte: 1)"))
    with pytest.raises(
        DataError, match=r"a.bin: KenLM does not take it \(too short\); .*; make it"
    ):
        load_ngram(binary)


def test_a_message_that_is_no_utf8_is_no_traceback(install: Install, arpa: Path) -> None:
    install(error=UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"))
    with pytest.raises(DataError, match="KenLM does not take it"):
        load_ngram(arpa, engine="kenlm")


def test_what_kenlm_refuses_is_read_by_us(install: Install, arpa: Path) -> None:
    install(error=OSError("no"))
    assert load_ngram(arpa).score([["a"]]).log10_probs.tolist() == [-1.0, float("-inf")]


def test_kenlm_is_not_asked_to_read_a_pipe(install: Install) -> None:
    install()
    with pytest.raises(ConfigError) as caught:
        load_ngram("-", engine="kenlm")
    assert str(caught.value) == (
        "standard input: KenLM reads no pipe; expected a file, or --engine charlm"
    )
