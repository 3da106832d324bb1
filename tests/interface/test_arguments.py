"""Mistaken arguments of Python callers: one line that says so, or what was plainly meant."""

import inspect
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import charlm
from charlm import decoders
from charlm.errors import ConfigError
from charlm.interface.arguments import checked_call

FUNCTIONS = [name for name in charlm.__all__ if name.islower() and name != "__version__"]
ARRAY = np.array([1, 2])


class Frame:
    """A table as pandas has it, which gives the names of its columns."""

    ndim = 2

    def __iter__(self) -> Iterator[str]:
        return iter(["id", "sentence"])

    def __repr__(self) -> str:
        return "<Frame>"


@pytest.fixture(scope="module")
def model(tiny_run: Path) -> charlm.Model:
    return charlm.load(tiny_run, device="cpu")


@pytest.mark.parametrize(
    ("method", "argument", "message"),
    [
        ("score", ["a", "b"], "sentence: found ['a', 'b']; expected a string, not several"),
        ("score", None, "sentence: found None; expected a string"),
        ("score", Path("a"), "sentence: found PosixPath('a'); expected a string"),
        ("score_many", 3, "sentences: found 3; expected a string or a list of strings"),
        ("score_many", [None], "sentences: found [None]; expected a string or a list of strings"),
        ("score_many", b"a", "sentences: found b'a'; expected a string or a list of strings"),
        (
            "score_many",
            np.array("a"),
            "sentences: found array('a', dtype='<U1'); expected a string or a list of strings",
        ),
        ("score_many", Frame(), "sentences: found <Frame>; expected a string or a list of strings"),
        ("neighbours", ["a", "b"], "word: found ['a', 'b']; expected a string, not several"),
        ("vectors", {"a": 1}, "words: found {'a': 1}; expected a string or a list of strings"),
        ("sample", "3", "n: found '3'; expected a whole number"),
        ("sample", True, "n: found True; expected a whole number"),
    ],
)
def test_a_model_refuses_what_it_cannot_take(
    model: charlm.Model, method: str, argument: object, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        getattr(model, method)(argument)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "option", "value", "message"),
    [
        ("evaluate", "model", 3, "found 3; expected a path or None"),
        ("evaluate", "files", [None], "found [None]; expected a path or a list of paths"),
        ("evaluate", "files", "a\0b", r"found 'a\x00b'; expected a path or a list of paths"),
        ("evaluate", "model", "", "found ''; expected a path or None"),
        ("evaluate", "raw", 1, "found 1; expected True or False"),
        ("evaluate", "split", "dev", "found 'dev'; expected one of 'train', 'valid', 'test' or N"),
        ("evaluate", "on_text", "print", "found 'print'; expected a function or None"),
        ("train", "epochs", 2.5, "found 2.5; expected a whole number or None"),
        ("train", "threads", 10**30, f"found {10**30}; expected a whole number or None"),
        ("train", "lr", 10**400, "expected a number or None"),
        ("score", "metric", "nist", "found 'nist'; expected one of 'wer', 'cer', 'bleu', 'bleu-z"),
        ("score", "scorer", len, "expected a Scorer or None"),
        ("score", "features", {"am": 3}, "found {'am': 3}; expected a list of strings or a dict"),
        ("score", "weight", {"am": "1"}, "expected a list of strings or a dict of numbers"),
        ("sample", "temperature", "hot", "found 'hot'; expected a number"),
    ],
)
def test_a_function_says_which_argument_it_cannot_take(
    name: str, option: str, value: object, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        getattr(charlm, name)(**{option: value})
    assert str(caught.value).startswith(f"{option}: found ")
    assert message in str(caught.value)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_argument_of_a_public_function_goes_unseen(name: str) -> None:
    function = getattr(charlm, name)
    for option in inspect.signature(function).parameters:
        with pytest.raises(ConfigError, match=rf"^{option}: found <object "):
            function(**{option: object()})


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("load", "export")])
def test_a_result_in_the_place_of_a_path_is_no_options(name: str, tiny_run: Path) -> None:
    first = next(iter(inspect.signature(getattr(charlm, name)).parameters.values()))
    kind, message = ConfigError, rf"^{first.name}: found Verification\("
    if first.kind is first.KEYWORD_ONLY:
        kind, message = TypeError, "too many positional arguments"
    with pytest.raises(kind, match=message):
        getattr(charlm, name)(charlm.info(tiny_run, verify=True))


@pytest.mark.parametrize(
    ("sentences", "where"),
    [
        (["a"] * 1000 + [None, "b"], ", in which [1000] is None"),
        (np.array(["a", np.nan], dtype=object), ", in which [1] is nan"),
        ([["a"], ["b"]], ""),  # none of them fits
        ((None for _ in "ab"), ""),  # read only once
    ],
)
def test_the_one_of_many_sentences_that_is_no_string_is_named(
    sentences: Any, where: str, model: charlm.Model
) -> None:
    with pytest.raises(ConfigError) as caught:
        model.score_many(sentences)
    found, _, expected = str(caught.value).partition("; expected ")
    assert found.startswith("sentences: found ")
    assert (", in which" in found) == bool(where)
    assert found.endswith(where)
    assert expected == "a string or a list of strings"


class TwoLines:
    def __repr__(self) -> str:
        return "of\ntwo"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "of\ntwo",
            "of two: no such folder or file; expected a run, which `charlm train` writes",
        ),
        (TwoLines(), "model: found of two; expected a path or None"),
    ],
)
def test_a_message_is_one_line_whatever_it_shows(model: Any, message: str) -> None:
    with pytest.raises(charlm.CharlmError) as caught:
        charlm.load(model)
    assert str(caught.value) == message
    assert str(pickle.loads(pickle.dumps(caught.value))) == message


@pytest.mark.parametrize(
    ("prune", "same"), [(1, "1"), ([0, 1], "0,1"), (np.array([0, 1]), "0,1"), ("0 1", "0,1")]
)
def test_pruning_may_be_said_in_numbers(corpus_dir: Path, prune: Any, same: str) -> None:
    found = charlm.ngram_baseline(data=corpus_dir, order=2, prune=prune)
    asked = charlm.ngram_baseline(data=corpus_dir, order=2, prune=same)
    assert found.model.n_ngrams == asked.model.n_ngrams
    assert found.texts == asked.texts
    with pytest.raises(ConfigError, match=r"^--prune '0,-1': expected counts from unigrams on"):
        charlm.ngram_baseline(data=corpus_dir, order=2, prune=(0, -1))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_where_several_paths_may_come_one_may_for_type_checkers_too(name: str) -> None:
    takes_several_alone = {
        option
        for option, parameter in inspect.signature(getattr(charlm, name)).parameters.items()
        if parameter.annotation == Sequence[str | Path]
    }
    assert takes_several_alone == ({"streams"} if name == "mix" else set())  # one is no mixture


def test_a_scorer_of_ones_own_is_a_function() -> None:
    with pytest.raises(ConfigError, match="^function: found 3; expected a function$"):
        charlm.FunctionScorer(3)  # type: ignore[arg-type]


def taken(
    names: str | Sequence[str] = (),
    *,
    settings: Sequence[str] = (),
    files: str | Path | Sequence[str | Path] = (),
    n: int = 0,
    rate: float = 0.0,
    lower: bool = False,
    beside: Mapping[str, str | Path] | None = None,
    parts: Mapping[str, object] | None = None,
) -> dict[str, object]:
    return locals()


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("names", iter(["a", "b"]), ("a", "b")),
        ("names", np.array(["a", "b"]), ("a", "b")),
        ("names", "a", "a"),
        ("names", np.str_("a"), "a"),
        ("settings", "a=1", ("a=1",)),  # as one setting, not as letters
        ("settings", ["a=1"], ("a=1",)),
        ("files", (Path(each) for each in "ab"), (Path("a"), Path("b"))),
        ("files", Path("a"), Path("a")),
        ("n", np.int64(3), 3),
        ("rate", 1, 1.0),
        ("rate", np.float32(0.5), 0.5),
        ("lower", np.True_, True),
        ("beside", {"am": Path("a")}, {"am": Path("a")}),
        ("beside", None, None),
        ("parts", {"widths": ARRAY}, {"widths": ARRAY}),
    ],
)
def test_what_is_plainly_meant_is_taken(option: str, value: Any, expected: object) -> None:
    found = checked_call(taken)(**{option: value})[option]
    assert found == expected
    assert type(found) is type(expected)


def test_results_hold_plain_strings_where_numpy_gave_its_own(model: charlm.Model) -> None:
    (found,) = charlm.neighbours(np.array(["cat"]), model=model.path, k=1)  # type: ignore[call-overload]
    assert repr(found).startswith("Neighbourhood(word='cat'")


def test_texts_that_come_one_by_one_are_all_read(tiny_run: Path, corpus_dir: Path) -> None:
    def texts() -> Iterator[Path]:
        yield from (corpus_dir / "valid.txt", corpus_dir / "test.txt")

    found = charlm.evaluate(tiny_run, files=texts(), device="cpu")  # type: ignore[arg-type]
    assert [Path(each.name).name for each in found] == ["valid.txt", "test.txt"]


def test_python_itself_tells_of_arguments_too_many_and_unknown() -> None:
    with pytest.raises(TypeError, match="takes from 0 to 1 positional arguments but 2"):
        checked_call(taken)("a", "b")  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"evaluate\(\): too many positional arguments"):
        charlm.evaluate("exp/first", "corpus")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="unexpected keyword argument 'm'"):
        checked_call(taken)(m=3)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_can_be_sent_to_another_process(name: str) -> None:
    function: Callable[..., object] = getattr(charlm, name)
    assert pickle.loads(pickle.dumps(function)) is function
    assert function.__module__ == "charlm"


def test_the_search_of_decoders_can_be_sent_to_another_process() -> None:
    function = decoders.ctc_beam_search
    assert pickle.loads(pickle.dumps(function)) is function
    assert function.__module__ == "charlm.decoders"
