"""`charlm info`: the card of a run, or which run a command would take.

A terminal gets a table whose long values are folded within their column; a pipe and a log get one
line for each fact.
"""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from charlm.cli.printing import output
from charlm.cli.program.build_command import command
from charlm.errors import DataError
from charlm.insight.info_options import InfoOptions
from charlm.text.perplexity.perplexity import shown_ppl

if TYPE_CHECKING:
    from charlm.insight.info import RunFacts
    from charlm.insight.info_choice import Choice
    from charlm.run.verification import Verification

CHOSEN = "*"
DIGITS = 12  # of a hash, as in a signature


@command(InfoOptions)
def info(options: InfoOptions, *, as_json: bool) -> None:
    """Show what a run is.

    Its corpora, sizes, perplexities, text rules, time, versions and command.

    \b
    charlm info exp/first
    charlm info exp/first --verify
    charlm info
    """
    if options.run is None and not options.verify:
        from charlm.insight.info_choice import choice  # without torch, which takes two seconds

        _tell_choice(choice(), as_json=as_json)
        return
    from charlm.insight.info import RunFacts
    from charlm.insight.info import info as facts
    from charlm.run.verification import Verification

    result = facts(options)
    if as_json:
        output.write_json(result.to_dict())
    elif isinstance(result, RunFacts):
        write_facts(_facts(result))
    elif isinstance(result, Verification):
        _tell_verification(result)
    if isinstance(result, Verification) and result.misfits:
        names = ", ".join(result.misfits)
        raise DataError(
            f"{options.run}: {names}: not what the run recorded; put back the files that it wrote"
        )


def write_facts(rows: Sequence[tuple[str, str]]) -> None:
    """One row for each fact; for a terminal long values are folded."""
    if not output.is_terminal():
        output.table(rows, header=("what", "value"))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name, style="bold"), Text(output.escape(value)))
    Console(markup=False, emoji=False, highlight=False).print(table)


def _facts(run: "RunFacts") -> list[tuple[str, str]]:
    training = run.training
    by_part = ", ".join(f"{name} {count:,}" for name, count in run.parameters.items())
    speed = f", {training.tokens_per_second:,.0f} tokens/s" if training.tokens_per_second else ""
    counted = "" if run.state == "finished" else " in finished epochs"
    wanted = f" of {training.n_epochs_wanted}" if training.n_epochs_wanted else ""
    n_epochs = training.n_epochs_wanted or training.n_epochs
    epochs = f"{training.n_epochs}{wanted} {output.noun(n_epochs, 'epoch')}"
    if run.epoch is not None and not training.n_epochs:
        epochs = "log.jsonl is missing or empty (--verify tells)"
    best = f", the best of epoch {run.epoch} kept" if run.epoch is not None else ""
    return [
        ("run", run.path),
        ("preset", run.arch),
        ("state", f"{run.state}, {epochs}{best}"),
        *_perplexities(run),
        ("parameters", f"{run.n_parameters:,}: {by_part}"),
        ("V", f"{run.n_words:,} words, with </s> and <unk>"),
        ("C", f"{run.n_characters:,} characters, with 5 markers, as Kim et al. count"),
        *([("M", f"{run.n_morphs:,} morphs")] if run.n_morphs is not None else []),
        ("taps", ", ".join(f"{tap} ({dim})" for tap, dim in run.taps.items()) or "-"),
        ("corpus", run.corpus),
        *_texts(run),
        *_settings(run),
        ("time", f"{training.seconds:,.0f} s{speed}{counted}"),
        ("seed, threads", f"{training.seed}, {training.threads}"),
        ("precision, device", f"{training.precision}, {training.device}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in training.versions.items())),
        ("weights", (run.weights_sha256 or "-")[:DIGITS]),
        (
            "vocabulary",
            f"{run.vocabulary_sha256[:DIGITS]}, its counts {run.counts_sha256[:DIGITS]}",
        ),
        ("command", shlex.join(training.command)),
    ]


def _perplexities(run: "RunFacts") -> list[tuple[str, str]]:
    rows = []
    for each in run.perplexities:
        rows.append((f"{each.split} ppl", f"{shown_ppl(each.ppl)}, as read in training"))
        rows.append(("signature", each.signature))
    if run.weights_sha256 is not None:
        rows.append(("test ppl", f"charlm eval --model {shlex.quote(run.path)} --data DIR"))
    return rows


def _texts(run: "RunFacts") -> list[tuple[str, str]]:
    from charlm.run.card import shown_text

    return [
        (f"{text.split} text", shown_text(vars(text), max_tokens=text.max_tokens))
        for text in run.texts
    ]


def _settings(run: "RunFacts") -> list[tuple[str, str]]:
    from charlm.run.card import shown_options, shown_setting

    return [
        ("text rules", shown_options(run.text_rules)),
        *(
            (part, shown_setting(run.settings.get(part)))
            for part in ("encoder", "context", "output")
        ),
        *([("begun from", shown_options(run.init))] if run.init is not None else []),
        *([("speller", shown_options(run.speller))] if run.speller is not None else []),
        ("recipe", shown_options(run.settings["recipe"])),
    ]


def _tell_verification(verification: "Verification") -> None:
    states = {True: "fits", False: "fits no more", None: "not checked"}
    rows = [(each.name, states[each.fits], each.found) for each in verification.files]
    output.table(rows, header=("file", "state", "found"))


def _tell_choice(choice: "Choice", *, as_json: bool) -> None:
    if as_json:
        output.write_json(choice.to_dict())
        return
    output.write(f"{choice.run}: {choice.reason}" if choice.run else choice.reason)
    output.say(
        "score, tune, serve, mix and compare-kn take only runs that are named; export also takes "
        "$CHARLM_MODEL"
    )
    if not choice.known:
        return
    rows = [
        (
            CHOSEN if each.path == choice.run else "",
            each.path,
            each.arch or "-",
            output.shown_number(each.n_epochs),
            each.state,
        )
        for each in choice.known
    ]
    output.write("")
    output.table(rows, header=("", "run", "preset", "epochs", "state"), labels=2)
