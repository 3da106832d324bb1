"""The output of `charlm score`: lists on stdout, remarks on stderr."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import charlm
from charlm.cli import app
from charlm.cli.printing import output
from charlm.cli.score import score

LISTS = "id\tam\ttext\nu\t-1\tthe cat\nu\t-2\tthe Dog\nu\t-3\t\nu\t-3\tthe cat\nv\t-1\ta bird sat\n"
REFS = "u the Dog\nv a bird sat\n"


@pytest.fixture(autouse=True)
def at_home(at_home: Path) -> None:
    """A folder with lists, references and the run `exp/first`."""
    Path("lists.tsv").write_text(LISTS)
    Path("refs").write_text(REFS)


def ask(*arguments: str) -> Result:
    options = ["--device", "cpu", "--threads", "1"]
    return CliRunner().invoke(app, ["score", *arguments, *options])


def timeless(text: str) -> str:
    return re.sub(r"[0-9.]+ s$", "T s", text, flags=re.M)


TOLD = """\
lists: 2, 5 hypotheses, 9 words; format tsv; T s
words: 0.00% changed by the model's text rules, 22.22% unknown to the model
most frequent unknown: Dog (1), bird (1)
empty hypotheses: 1, scored as the end of a sentence
texts that occur earlier in their list: 1, scored once
sharing: 2.00 tokens a prefix
another hypothesis is the best one now: 1 list
the best hypothesis is empty: 1 list
nn: exp/first
weights: am -1
without a weight: nn, words, oov; charlm tune finds some
"""


def test_the_lists_go_to_stdout_and_what_is_told_to_stderr() -> None:
    result = ask("lists.tsv", "--model", "exp/first", "--weight", "am=-1", "--weight", "nn=0")
    assert result.exit_code == 0
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert ["\t".join([*line[:2], line[3]]) for line in lines] == LISTS.splitlines()
    assert all(float(line[2]) < 0 for line in lines[1:])
    assert timeless(result.stderr) == TOLD


def test_what_is_told_goes_to_stdout_where_the_lists_do_not() -> None:
    chosen = ["--weight", "am=-1", "--weight", "nn=0", "--refs", "refs", "--out", "out.trn"]
    result = ask("lists.tsv", "--model", "exp/first", *chosen, "--write", "trn")
    assert (result.exit_code, result.stderr) == (0, "")
    assert Path("out.trn").read_text() == "(u)\na bird sat (v)\n"
    lines = result.stdout.splitlines()
    assert "weights: am -1" in lines
    table = {name: rest for name, *rest in (re.split("  +", line) for line in lines)}
    assert table[""] == ["rate", "sub", "del", "ins", "of"]
    assert table["first-best"] == ["20.00 %", "1", "0", "0", "5"]
    assert table["rescored"] == ["40.00 %", "0", "2", "0", "5"]
    oracles = {name: row[0] for name, row in table.items() if re.match("oracle|worst", name)}
    assert oracles == {
        "oracle of 1": "20.00 %",
        "oracle of 2": "0.00 %",
        "oracle": "0.00 %",
        "worst": "40.00 %",
    }
    assert (
        "limit: the choice, by models and weights: 0% of the errors left, and 0% of the "
        "first-best's, are in every hypothesis of their list"
    ) in lines
    assert "share of the gap from first-best to oracle that was recovered: -100.0%" in lines
    assert "lists: 0 better, 1 worse, 2 in all" in lines
    assert lines[-1].startswith("metric: wer|")


def test_what_was_put_right_is_a_warning_a_kind_whatever_goes_to_stdout() -> None:
    Path("lists").mkdir()
    Path("lists/text").write_text("u-1 <s> the cat </s>\nu-2 a bird </s>\nv-1 a bird\n")
    Path("lists/acwt").write_text("u-1 2\nx-1 1\n")
    chosen = ["lists", "--model", "exp/first", "--allow-missing", "--out", "out"]
    chosen += ["--weight", "nn=0"]
    for more in ([], ["--json"]):
        told = ask(*chosen, *more).stderr.splitlines()
        assert [line for line in told if line.startswith("warning")] == [
            "warning: <s> or </s> at the ends of 2 hypotheses: left out, every sentence is scored "
            "with its end",
            "warning: am: missing in 1 hypothesis, which got the worst of the list",
            "warning: am: missing in 1 hypothesis, which got 0, since no hypothesis of the list "
            "has it",
            "warning: keys of acwt that the texts lack: 1, passed over",
        ]


def test_the_same_words_together_are_told_with_how_they_count() -> None:
    found = [
        line
        for how in ("none", "sum", "max")
        for line in ask("lists.tsv", "--weight", "am=1", "--sort", "--dedup", how).stderr.split(
            "\n"
        )
        if line.startswith("texts")
    ]
    told = "texts that occur earlier in their list: 1"  # and no model scored them
    assert found == [
        told,
        f"{told}, ranked by the sum over them",
        f"{told}, ranked by the best of them",
    ]


def test_of_sentences_nothing_is_told_that_only_lists_have() -> None:
    Path("a.txt").write_text("the cat\nlooooook at the Dog\n")
    result = ask("a.txt", "--model", "exp/first")
    assert [float(line) < 0 for line in result.stdout.splitlines()] == [True, True]
    assert result.stderr.startswith("sentences: 2, 6 words; format text; ")
    of_lists = ("lists", "hypothes", "texts that", "sharing", "weight")
    assert [each for each in of_lists if each in result.stderr] == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("utt-1 the cat\nutt-2 a bird\n", "utt-1, utt-2"),
        ("the cat (ann_1)\na bird (ann_2)\n", "(ann_1), (ann_2)"),
        ("1984 the cat\n1984 a bird\nthe cat 2\n", ""),
        ("the cat (laughs)\na bird (laughs)\n", ""),
    ],
)
def test_ids_that_are_read_as_words_are_pointed_out(text: str, named: str) -> None:
    Path("a.txt").write_text(text)
    told = ask("a.txt", "--model", "exp/first", "--format", "text").stderr
    warning = f"warning: sentences begin or end with {named}, which look like ids"
    assert told.startswith(warning) == bool(named)
    assert ("warning" in told) == bool(named)


def test_scores_of_words_leave_lists_with_scores_in_their_order() -> None:
    told = ask("lists.tsv", "--model", "exp/first", "--write", "word-scores").stderr
    assert "weights: none: lists keep their order" in told
    assert "COUNT NOTHING" not in told


def test_scores_of_words_and_costs_by_kaldis_script_are_of_the_same_sum() -> None:
    archive = "u-A-1 the cat\nu-A-10 the Dog\nu-A-2\n"
    Path("words_text").write_text(archive)
    chosen = ["words_text", "--format", "kaldi", "--model", "exp/first"]
    lines = ask(*chosen, "--write", "word-scores").stdout.splitlines()
    found = {line.split()[0]: [float(each) for each in line.split()[1:]] for line in lines}
    assert {key: len(each) for key, each in found.items()} == {"u-A-1": 3, "u-A-10": 3, "u-A-2": 1}
    # The script's own call, recorded by a stand-in for charlm.
    Path("charlm").write_text('#!/bin/sh\nprintf "%s\\n" "$@" >calls\n')
    Path("charlm").chmod(0o755)
    script = Path(__file__).parents[2] / "recipes" / "rescoring" / "rnnlm_compute_scores.sh"
    path = f"{Path.cwd()}:{os.environ['PATH']}"
    four = ["exp/first", "temp", "words_text", "scores"]
    kaldis = ["bash", script, "--rnnlm-ver", "kaldirnnlm", *four]
    subprocess.run(kaldis, check=True, env={**os.environ, "PATH": path})
    command, *arguments = Path("calls").read_text().splitlines()
    assert command == "score"
    assert ask(*arguments).exit_code == 0
    costs = [line.split() for line in Path("scores").read_text().splitlines()]
    assert [key for key, _ in costs] == ["u-A-1", "u-A-10", "u-A-2"]
    for key, cost in costs:
        assert float(cost) == pytest.approx(-sum(found[key]), rel=1e-6)
    assert subprocess.run(["bash", script, *four[1:]], check=False).returncode == 1


def test_an_endless_unknown_word_is_not_told_to_its_end() -> None:
    Path("a.txt").write_text("x" * 5000 + "\n")
    told = ask("a.txt", "--model", "exp/first").stderr.splitlines()
    assert f"most frequent unknown: {'x' * 60} (1)" in told


def test_of_several_models_it_is_told_whose_score_is_written() -> None:
    Path("a.txt").write_text("the cat\n")
    alone = ask("a.txt", "--model", "exp/first")
    both = ask("a.txt", "--model", "exp/first", "--model", "exp/first")
    assert both.stdout == alone.stdout
    told = "written as `charlm`: nn; --write nbest holds all, and their total"
    assert told in both.stderr.splitlines()
    assert "written as" not in alone.stderr


def test_capitals_that_the_model_does_not_know_are_pointed_out() -> None:
    Path("a.txt").write_text("THE CAT\nA DOG SAT XX\n")
    hint = "case: 83% of the unknown words would be known by --lower: THE > the, CAT > cat, A > a"
    assert hint in ask("a.txt", "--model", "exp/first").stderr.splitlines()
    assert "case:" not in ask("a.txt", "--model", "exp/first", "--lower").stderr


def test_characters_that_nobody_sees_are_shown_in_unknown_words() -> None:
    Path("a.txt").write_text("t\xadhe c\xadat\na d\xadog s\xadat\n")
    told = ask("a.txt", "--model", "exp/first").stderr
    assert "most frequent unknown: t<00AD>he (1), c<00AD>at (1)" in told
    assert "unseen characters: " in told
    assert "t<00AD>he > the" in told


def test_a_ranking_by_the_new_scores_alone_is_pointed_out() -> None:
    result = ask("lists.tsv", "--model", "exp/first", "--write", "ranked")
    assert (
        "note: THE RECOGNISER'S SCORES COUNT NOTHING: ranked by nn alone, without am of the lists; "
        "charlm tune finds weights, --weight sets one"
    ) in result.stderr.splitlines()


def test_without_weights_the_lists_order_stands_beside_the_new_scores() -> None:
    Path("best.tsv").write_text("id\tam\ttext\nu\t-1\tthe the the\nu\t-2\tthe cat\n")
    options = ["best.tsv", "--model", "exp/first", "--out", "scored.tsv"]
    lines = ask(*options).stdout.splitlines()
    assert "another hypothesis is the best one now: 0 lists" in lines
    told = "weights: none: lists keep their order; --weight sets one, charlm tune finds some"
    assert told in lines
    assert Path("scored.tsv").read_text().startswith("id\tam\tcharlm\ttext\nu\t-1\t")
    ranked = ask(*options, "--weight", "nn=1").stdout.splitlines()
    assert "another hypothesis is the best one now: 1 list" in ranked


def test_without_a_model_it_is_told_what_ranks() -> None:
    said = "no model: no score is added to the lists"
    result = ask("lists.tsv", "--weight", "am=-1")
    assert (result.exit_code, result.stdout) == (0, LISTS)
    assert {said, "weights: am -1"} <= {*result.stderr.splitlines()}
    result = ask("lists.tsv", "--refs", "refs", "--write", "none")
    lines = result.stdout.splitlines()
    told = "weights: none: lists keep their order; --weight sets one, charlm tune finds some"
    assert {said, told} <= {*lines}
    assert "lists: 0 better, 0 worse, 2 in all" in lines
    assert lines[lines.index("error       first-best  rescored") + 1].startswith("other word")


def test_without_weights_a_sum_over_the_same_words_counts_how_often_they_come() -> None:
    Path("votes.tsv").write_text("id\tam\ttext\nu\t-1\ta\nu\t-2\tb\nu\t-3\tb\n")
    result = ask("votes.tsv", "--dedup", "sum", "--write", "kaldi")
    assert result.stdout == "u b\n"
    assert (
        "weights: none: a text counts as often as its list has it; --weight sets one, charlm tune "
        "finds some"
    ) in result.stderr.splitlines()


def test_what_the_others_agree_with_is_chosen() -> None:
    Path("votes.tsv").write_text("id\tam\ttext\nu\t-1\tx y\nu\t-2\ta c\nu\t-3\ta b\n")
    result = ask("votes.tsv", "--mbr", "wer", "--write", "trn")
    assert result.stdout == "a c (u)\n"
    assert {
        "chosen by the lowest expected error (minimum Bayes risk, wer)",
        "weights: none: all hypotheses of a list are equally likely; --weight sets one, charlm "
        "tune finds some",
    } <= {*result.stderr.splitlines()}


def test_a_p_that_is_too_small_for_a_number_is_not_0() -> None:
    given = ["--refs", "refs", "--columns", "id,am,text", "--weight", "am=1", "--write", "none"]

    def told(n_lists: int, *metric: str) -> str:
        ids = [f"u{number}" for number in range(n_lists)]
        Path("lists").write_text("".join(f"{id}\t-2\tb\n{id}\t-1\ta\n" for id in ids))
        Path("refs").write_text("".join(f"{id} a\n" for id in ids))
        return ask("lists", *given, *metric).stdout

    # 2 · 0.5 ** 1100 is below all floats.
    assert "-100.00 % to -100.00 %, p < 1e-290 (matched pairs)\n" in told(1100)
    assert ", p = 1 (1000 random sign flips)\n" in told(40, "--metric", "bleu")
    drawn = told(40, "--metric", "chrf")
    assert re.search(r"^ +1 - chrf\nfirst-best +100\.00 %\nrescored +0\.00 %$", drawn, re.M)


def test_why_is_a_table() -> None:
    result = ask("lists.tsv", "--model", "exp/first", "--weight", "am=9", "--explain", "u:1,2")
    lines = result.stdout.splitlines()
    assert lines[0] == "u: hypothesis 1 against 2; log10"
    header = "winner other nn winner nn other difference so far"
    assert lines[2].split() == header.split()
    assert [line.split()[0] for line in lines[3:8]] == ["am", "(features)", "the", "cat", "</s>"]
    found = re.fullmatch(r"decided by the features, which bring (.*); the difference .*", lines[-1])
    assert found is not None
    assert lines[4].split()[2] == found[1]  # the sum in the table
    tied = ask("lists.tsv", "--model", "exp/first", "--weight", "nn=0", "--explain", "u:1,2")
    assert tied.stdout.splitlines()[-1] == (
        "decided by nothing: the totals are equal, and the larger am or the list's order decides"
        "; the difference is 0.000"
    )


def test_a_narrow_terminal_marks_the_deciding_word_beside_its_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(output, "terminal_width", lambda: 40)
    shown = ask("lists.tsv", "--model", "exp/first", "--explain", "u:1,2").stdout
    (marked,) = re.findall("^.* <$", shown, re.M)
    assert re.search(r"[+-][0-9.]+ +[+-][0-9.]+  <$", marked)


def test_why_marks_a_word_as_unknown() -> None:
    Path("two.tsv").write_text("u\t0\tthe catz sat\nu\t0\tthe cat sat\n")
    result = ask("two.tsv", "--model", "exp/first", "--explain", "u")
    *_, remark, _, verdict = result.stdout.splitlines()
    assert remark == "* not in the vocabulary of nn"
    assert re.fullmatch(r"decided by .*'catz\*'.*, which brings \+[0-9.]+; .*", verdict)


def test_why_says_where_the_other_has_a_word_more() -> None:
    Path("two.tsv").write_text("u\t0\tthe cat\nu\t0\tthe cat zat\n")
    result = ask("two.tsv", "--model", "exp/first", "--explain", "u:1,2")
    assert "\ndecided by no word against 'zat*', which brings +" in result.stdout


def test_why_does_not_hide_the_rates_that_were_asked_for() -> None:
    asked = ["lists.tsv", "--model", "exp/first", "--explain", "u:1,2"]
    why = ask(*asked).stdout
    both = ask(*asked, "--refs", "refs").stdout
    assert both.startswith(f"{why}\nlists: 2, 5 hypotheses, ")
    assert "\nrescored " in both


@pytest.mark.parametrize("more", [["--write", "ranked"], ["--sort"], ["--out", "-"]])
def test_why_stands_where_the_lists_would_and_does_not_hide_them(more: list[str]) -> None:
    result = ask("lists.tsv", "--model", "exp/first", "--explain", "u:1,2", *more)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--explain: its answer goes to standard output in the place" in result.stderr
    assert ask("lists.tsv", "--explain", "u:1,2", *more, "--out", "l").exit_code == 0
    assert Path("l").is_file()


def test_json_is_what_the_library_returns() -> None:
    result = ask("lists.tsv", "--model", "exp/first", "--write", "none", "--json")
    found, again = json.loads(result.stdout), charlm.score("lists.tsv", model="exp/first").to_dict()
    assert found | {"seconds": 0} == again | {"seconds": 0}


def test_the_examples_in_the_help_work() -> None:
    Path("sentences.txt").write_text("the cat sat\n")
    examples = re.findall(r"^ *charlm score (.*)$", score.__doc__ or "", re.M)
    assert len(examples) == 2
    for example in examples:
        assert ask(*shlex.split(example)).exit_code == 0
    assert len(Path("ranked.tsv").read_text().splitlines()) == len(LISTS.splitlines())


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            ["lists.tsv", "--tune", "dev.tsv", "--refs", "r", "--weights", "w.json"],
            1,
            "charlm: --tune: is a command of its own now: charlm tune DEV --refs REFS --out "
            "weights.json finds weights, and charlm score LIST --weights weights.json takes them\n",
        ),
        (["--serve"], 1, "charlm: --serve: is a command of its own now: charlm serve answers JSON"),
        (["lists.tsv", "--tuned", "am"], 1, "charlm: --tuned: belongs to charlm tune, which finds"),
        (["none.tsv", "--model", "exp/first"], 1, "charlm: none.tsv: "),
        (
            ["lists.tsv", "--model", "exp/first", "--weight", "ab=1"],
            1,
            "charlm: weight 'ab': no such feature; this list has am, nn, words, oov\n",
        ),
        (
            ["lists.tsv", "--model", "exp/first", "--json"],
            2,
            "--json: the lists go to standard output; give --out FILE",
        ),
        (["lists.tsv", "--write", "word-scores"], 1, "charlm: --write word-scores: found neither"),
        (["lists.tsv", "--write", "html"], 2, "Invalid value for '--write'"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_a_status(
    arguments: list[str], status: int, message: str
) -> None:
    result = ask(*arguments)
    assert (result.exit_code, result.stdout) == (status, "")
    if status == 1:
        assert result.stderr.startswith(message)
        assert result.stderr.count("\n") == 1
    else:
        assert message in re.sub(r"[\s│]+", " ", result.stderr)


def start(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "charlm", "score", *arguments, "--model", "exp/first"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"},
    )


NESTED = '{"id": "u", "hyps": [{"text": "the cat"}]}\n'


def test_a_filter_whose_reader_is_gone_ends_silently() -> None:
    process = start("-", "--format", "jsonl", "--line-buffered")
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(NESTED)
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == "u"
    process.stdout.close()
    process.stdin.write(NESTED.replace("u", "v"))
    process.stdin.close()
    errors = process.stderr.read()
    assert (process.wait(timeout=300), errors) == (-signal.SIGPIPE, "")


def test_the_text_rules_of_a_copy_are_told_with_what_they_changed() -> None:
    Path("a.txt").write_text("the-cat sat, xx\n")
    Path("rules.tsv").write_text("xx\tcat\n")
    told = ask(
        *("a.txt", "--model", "exp/first", "--split-hyphens", "--punctuation", "drop"),
        *("--map", "rules.tsv"),
    ).stderr.splitlines()
    assert (
        "copies for the models: --split-hyphens, --punctuation drop, --map (1 rules); words "
        "changed: 1 by hyphens, 1 by punctuation, 1 by map"
    ) in told


def test_weights_that_were_tuned_under_other_text_rules_are_pointed_out() -> None:
    text = {"lower": True, "unicode": "none", "tokenise": "none", "numbers": False}
    Path("w.json").write_text(json.dumps({"format": 1, "weights": {"nn": 1}, "text": text}))
    options = ("lists.tsv", "--model", "exp/first", "--weights", "w.json")
    note = "note: the weights were tuned on words read under other rules"
    assert note not in ask(*options).stderr
    for own in (("--split-hyphens",), ("--punctuation", "keep")):
        assert f"{note} (--lower): rules on the command line" in ask(*options, *own).stderr
    text["lower"] = False
    Path("w.json").write_text(json.dumps({"format": 1, "weights": {"nn": 1}, "text": text}))
    assert note not in ask(*options).stderr
    assert f"{note} (none): rules on the command line" in ask(*options, "--split-hyphens").stderr
