"""Lists that come one per line: each is answered, a bad one by its error."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import charlm
from charlm.errors import ProcessError
from charlm.nbest.reading.list_lines import OpenSource
from charlm.scoring.rescoring.serve import Server
from charlm.text.io.lines import MIB

GOOD = '{"id": "u", "hyps": [{"text": "a b", "am": -1}, {"text": "c", "am": -9}]}'
SCORED = '{"id": "u", "hyps": [{"text": "h b", "charlm": -1}]}'  # by an earlier rescoring
UNEVEN = '{"id": "v", "hyps": [{"text": "h", "am": -1}, {"text": "b"}]}'
OTHER = '{"id": "u", "hyps": [{"text": "a b", "other": -1}]}'


Ask = Callable[..., list[dict[str, object]]]


@pytest.fixture
def ask(set_stdin: Callable[[bytes], None], run: Path) -> Ask:
    """What is answered to some bytes on standard input."""

    def served(content: bytes, **options: object) -> list[dict[str, object]]:
        set_stdin(content)
        pieces: list[str] = []
        charlm.serve(model=run, out=pieces.append, **options)
        lines = "".join(pieces)
        assert lines.count("\n") == len(pieces)
        return [json.loads(line) for line in lines.splitlines()]

    return served


def test_an_answer_is_the_list_with_its_scores(ask: Ask, run: Path, tmp_path: Path) -> None:
    (tmp_path / "lists.jsonl").write_text(GOOD)
    pieces: list[str] = []
    charlm.score(tmp_path / "lists.jsonl", model=run, out=pieces.append)
    assert ask(GOOD.encode()) == [json.loads("".join(pieces))]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id": "u"', "standard input:2: not valid JSON"),
        (b'{"id": "u', "standard input:2: not valid JSON (Unterminated string starting at char"),
        (b"[1]", "standard input:2: found no object; expected one a line"),
        (b'{"hyps": []}', "standard input:2: "),
        (b'{"id": {}, "hyps": []}', "standard input:2: "),
        (b'{"id": "u", "hyps": [{"text": "\xff"}]}', "standard input:2: "),
    ],
)
def test_a_bad_line_is_answered_by_its_error_and_the_next_is_served(
    ask: Ask, line: bytes, message: str
) -> None:
    content = b"\n".join([GOOD.encode(), line, b"", GOOD.encode()])
    first, error, last = ask(content, weight=["am=1"])
    assert list(error) == ["error"]
    assert str(error["error"]).startswith(message)
    assert first == last


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id": "u", "hyps": []}', "standard input:2: found no hypothesis of 'u'"),
        (b'{"id": "u", "hyps": [{"text": "a <s> b"}]}', "standard input:2: hypothesis 1"),
        (b'{"id": "u", "hyps": [{"text": "a", "nn": 1}]}', "standard input:2: hypothesis 1: the l"),
        (
            b'{"id": 7, "text": "a", "am": NaN}',
            "standard input:2: utterance '7': the feature 'am' i",
        ),
        (
            OTHER.encode(),
            "standard input:2: hypothesis 1: weight 'am': no such feature; this list has",
        ),
    ],
)
def test_the_error_of_a_list_has_its_id(ask: Ask, line: bytes, message: str) -> None:
    first, error, last = ask(b"\n".join([GOOD.encode(), line, GOOD.encode()]), weight=["am=1"])
    assert error.pop("id") == json.loads(line)["id"]
    assert list(error) == ["error"]
    assert str(error["error"]).startswith(message)
    assert first == last


@pytest.mark.parametrize("layout", ["scored", "ranked", "nbest", "jsonl"])
def test_a_list_without_hypotheses_is_answered_where_it_may_be_one(ask: Ask, layout: str) -> None:
    empty = {"id": "u", "hyps": [], "ref": "a"}
    content = "\n".join([GOOD, json.dumps(empty), "", GOOD]).encode()
    first, found, last = ask(content, write=layout, weight=["am=1"], allow_missing=True)
    told = {"id": "u", "error": "standard input:2: found no hypothesis; expected at least one"}
    assert found == (empty if layout in ("scored", "ranked") else told)
    assert first == last


def test_a_line_too_long_is_answered_by_its_error_and_the_next_is_served(ask: Ask) -> None:
    content = b"\n".join([GOOD.encode(), b"[" * (2 * MIB), GOOD.encode()])
    first, error, last = ask(content, max_line=1)
    assert error == {
        "error": "standard input:2: longer than 1 MiB; expected shorter lines; if they are right, "
        "--max-line MIB lets longer ones pass"
    }
    assert first == last


def test_a_line_does_not_hang_on_those_before_it(ask: Ask) -> None:
    flat = '{"id": "u", "text": "a b"}'
    first, second, third = ask("\r\n".join([GOOD, flat, GOOD]).encode())
    assert first == third
    assert second["charlm"] == first["hyps"][0]["charlm"]  # type: ignore[index]


@pytest.mark.parametrize("layout", ["scored", "ranked", "nbest", "jsonl"])
@pytest.mark.parametrize("given", [7, "7"])
def test_an_id_comes_back_as_it_was_sent(ask: Ask, layout: str, given: int | str) -> None:
    (answer,) = ask(json.dumps({"id": given, "text": "a b"}).encode(), write=layout)
    assert answer["id"] == given


@pytest.mark.parametrize(
    ("layout", "keys"),
    [
        ("ranked", ["id", "hyps"]),
        ("nbest", ["id", "hyps"]),
        ("jsonl", ["id", "rank", "text", "charlm", "total"]),
    ],
)
def test_answers_come_in_the_layouts_that_are_json(ask: Ask, layout: str, keys: list[str]) -> None:
    (answer,) = ask(GOOD.encode(), write=layout, weight=["am=-9"])
    assert list(answer) == keys
    best = answer if layout == "jsonl" else answer["hyps"][0]  # type: ignore[index]
    assert best["text"] == "c"


def test_lines_of_a_recording_follow_each_other_past_a_bad_one(ask: Ask) -> None:
    first, _, second, other = ask(
        "\n".join([GOOD, "{", GOOD, GOOD.replace('"u"', '"other-1"')]).encode(),
        context="previous",
        recordings="^(.*)",
    )
    assert first["hyps"][0]["charlm"] != second["hyps"][0]["charlm"]  # type: ignore[index]
    assert first["hyps"][0]["charlm"] == other["hyps"][0]["charlm"]  # type: ignore[index]


@pytest.mark.parametrize("wrong", [SCORED, UNEVEN])
def test_a_line_that_turns_out_wrong_leaves_memory_and_features_as_they_were(
    ask: Ask, wrong: str
) -> None:
    said = {"context": "previous", "recordings": "^(.)", "allow_missing": wrong == SCORED}
    expected = ask(f"{GOOD}\n{GOOD}\n".encode(), **said)
    found = ask("\n".join([wrong, GOOD, wrong, GOOD]).encode(), **said)
    assert [list(answer) for answer in found[::2]] == [["id", "error"]] * 2
    for answer, as_expected in zip(found[1::2], expected, strict=True):
        assert answer["hyps"] == [
            {**each, "charlm": pytest.approx(each["charlm"], abs=2e-6)}  # type: ignore[index]
            for each in as_expected["hyps"]  # type: ignore[attr-defined]
        ]


@pytest.mark.parametrize("wrong", ["{", SCORED])
def test_a_wrong_line_counts_as_an_error_and_not_as_a_list(
    set_stdin: Callable[[bytes], None], run: Path, wrong: str
) -> None:
    set_stdin(f"{GOOD}\n{wrong}\n".encode())
    result = charlm.serve(model=run, out=lambda text: None)
    assert (result.counts.n_lists, result.n_errors, result.source) == (1, 1, "-")
    assert result.text.n_hypotheses == len(json.loads(GOOD)["hyps"])


def test_the_words_of_a_refused_line_are_not_reported(
    set_stdin: Callable[[bytes], None], run: Path
) -> None:
    refused = '{"id": "u", "text": "qqq q-q"}'  # which has no am
    set_stdin(f"{GOOD}\n{refused}\n".encode())
    asked = {"weight": ["am=1"], "split_hyphens": True}
    result = charlm.serve(model=run, **asked, out=lambda text: None)
    assert result.n_errors == 1
    assert "qqq" not in result.text.unknown
    assert (result.text.n_changed, result.text.by_rule) == (0, {})


def test_a_broken_packed_stream_ends_the_service(
    set_stdin: Callable[[bytes], None], run: Path
) -> None:
    import gzip

    broken = gzip.compress(f"{GOOD}\n".encode() * 3)[:-12]
    set_stdin(broken)
    with pytest.raises(charlm.DataError, match="standard input"):
        charlm.serve(model=run, out=lambda text: None)


def test_a_lost_process_ends_the_serving(set_stdin: Callable[[bytes], None]) -> None:
    def lost(lists: object) -> None:
        raise ProcessError("gone")

    set_stdin(f"{GOOD}\n{GOOD}\n".encode())
    pieces: list[str] = []
    pipeline = SimpleNamespace(run=lost, as_it_is=lambda: None)
    with pytest.raises(ProcessError, match="^gone$"):
        Server(pipeline, OpenSource("-"), "scored").answer(pieces.append)  # type: ignore[arg-type]
    assert pieces == []


def test_without_a_model_lines_are_ranked_by_their_own_features(
    set_stdin: Callable[[bytes], None],
) -> None:
    set_stdin(GOOD.encode())
    pieces: list[str] = []
    charlm.serve(weight=["am=-1"], write="jsonl", out=pieces.append)
    (answer,) = map(json.loads, pieces)
    assert answer == {"id": "u", "rank": 2, "text": "c", "total": 9.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lm": "m"}, "out: found None; expected a function that is given each answer"),
        ({"out": print}, "found neither --model nor --lm, and no weights; expected a model that "),
        (
            {"out": print, "lm": "m", "write": "jsonl", "sort": True},
            "--sort: --write jsonl has no list to sort; expected one of scored, ranked, nbest; ",
        ),
        ({"out": print, "lm": "m", "weight": ["am=x"]}, "--weight 'am=x': expected NAME=NUMBER"),
        (
            {"out": print, "lm": "m", "recordings": "^(.*)-"},
            "--recordings '^(.*)-': each line is on its own; expected --context previous or --ad",
        ),
        ({"out": print, "write": "trn"}, "write: found 'trn'; expected one of 'scored', 'ranked',"),
    ],
)
def test_what_cannot_be_served_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(charlm.ConfigError) as caught:
        charlm.serve(**options)  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)
