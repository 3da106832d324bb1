"""`charlm surprisal`: a table of words that R and pandas read as it is, or minimal pairs judged.

The table is tab-separated; a field that holds a quote, a tab or a line end is quoted, with its
quotes doubled (RFC 4180); missing values are NA. A terminal shows it in columns. Notes go to
stderr.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Literal

from charlm.cli.printing import output
from charlm.cli.program.build_command import Results, command
from charlm.errors import ConfigError
from charlm.interface.options import Opt, several
from charlm.scoring.evaluation.surprisal.surprisal_options import PairOptions, SurprisalOptions
from charlm.text.io.table_lines import quoted_field

if TYPE_CHECKING:
    from charlm.scoring.evaluation.surprisal.minimal_pairs import PairAccuracy, PairResult
    from charlm.scoring.evaluation.surprisal.surprisal_table import SurprisalTable

MISSING = "NA"
OF_TABLES = ("column", "context", "entropy", "previous", "adapt", "adapt_rates")
LM_ZOO = ("sentence_id", "token_id", "token", "surprisal")
PAIR_HEADER = ("model", "by", "name", "pairs", "right", "ties", "unknown", "accuracy", "95 %")


@dataclass(frozen=True, kw_only=True)
class SurprisalCommand(PairOptions, SurprisalOptions):
    """Tables or pairs, and how a table is laid out."""

    pairs: Annotated[
        bool,
        Opt(
            "Judge minimal pairs instead: BLiMP's JSON lines, or a table with two columns of "
            "sentences; the accuracy of a term, and of all, is the mean over its sets."
        ),
    ] = False
    each_pair: Annotated[
        bool,
        Opt(
            "Print a row for each pair, with its surprisals and how it was judged, instead of the "
            "accuracies."
        ),
    ] = False
    layout: Annotated[
        Literal["table", "lm-zoo"],
        Opt("Layout of the output; lm-zoo has LM Zoo's four columns, for one model."),
    ] = "table"


@command(SurprisalCommand)
def surprisal(options: SurprisalCommand, *, as_json: bool) -> Results:
    """Print the surprisal of each word, in bits.

    There is one row for each word as it was written. It holds the item (the number of its sentence,
    from 1 over all files, empty ones counted), your own columns, the number of tokens that the
    model reads for the word, whether they are known, the length (code points in NFC), the count in
    the training text and the Zipf value (of the rarest token: log10 of its occurrences in a billion
    words, each word's count plus 1), and the surprisal under each model, summed over the tokens. An
    unknown word has the count 0, even if it occurs there, and the surprisal of <unk>, which is not
    to be compared: leave it out (column known), or have it spelled (--open-vocabulary). A model of
    text that was made lower-case and tokenised elsewhere reads raw sentences with --lower
    --tokenise simple. R (read.delim) and pandas (sep="\\t") read the table. Missing values are NA;
    words that are spelled NA are kept by reading their column once more, without missing values (R:
    na.strings=""; pandas: usecols=["word"], na_filter=False). --json also has the surprisal of the
    sentences' ends.

    \b
    charlm surprisal items.csv --column sentence --model exp/first --previous 2
    """
    from charlm.scoring.evaluation.surprisal.word_surprisal import surprisal as measure

    _refuse_idle(options, as_json=as_json)
    if not options.model and not options.lm:
        options = replace(options, model=(output.announced_run(None),))
    options = replace(options, on_stage=output.say)
    if options.pairs:
        yield from _judge(options)
        return

    if options.layout == "lm-zoo" and len(several(options.model)) + len(several(options.lm)) > 1:
        raise ConfigError("--layout lm-zoo: has one column of surprisals; expected one model")
    table = measure(options)
    output.say_notes(table.notes)
    yield table
    if options.layout == "lm-zoo":
        _print(LM_ZOO, _lm_zoo_rows(table), labels=3)
    else:
        _print(table.header, table.rows(), labels=len(table.columns) + 3)


def _lm_zoo_rows(table: "SurprisalTable") -> Iterable[tuple[object, ...]]:
    """The words as they were written, and their surprisals, ids from 1."""
    for item in table.items:
        words = zip(item.words, item.by_model[0].words, strict=True)
        for number, (word, scored) in enumerate(words, 1):
            yield item.number, number, word, scored.surprisal


def _print(header: Sequence[str], rows: Iterable[tuple[object, ...]], *, labels: int) -> None:
    """Write a table for programs; on a terminal one for people, in columns and with few digits."""
    if output.is_terminal():
        output.table(([*map(_shown, row)] for row in rows), header=header, labels=labels)
        return
    output.write("\t".join(map(_field, header)))
    for row in rows:
        output.write("\t".join(map(_field, row)))


def _shown(value: object) -> str:
    if value is None:
        return output.NOTHING
    if isinstance(value, str):
        return value  # quotes are for programs
    return f"{value:.3f}" if isinstance(value, float) else _field(value)


def _field(value: object) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"  # as R writes them; pandas reads them, too
    if isinstance(value, float):
        return f"{value:.9g}"  # as many digits as tell fp32 numbers apart
    return quoted_field(str(value))


def _refuse_idle(options: SurprisalCommand, *, as_json: bool) -> None:
    """Refuse an option that changes nothing: its user believes that it does."""
    for option, is_given in (
        ("--layout lm-zoo", options.layout == "lm-zoo"),
        ("--each-pair", options.each_pair),
    ):
        if is_given and as_json:
            raise ConfigError(f"--json and {option}: expected one of them; drop either")
    idle = {
        "with --pairs": (*OF_TABLES, "layout") if options.pairs else (),
        "without --pairs": () if options.pairs else ("each_pair", "pair_columns"),
        "with --layout lm-zoo": ("entropy", "previous") if options.layout == "lm-zoo" else (),
    }
    given = [each.name for each in fields(options) if getattr(options, each.name) != each.default]
    for where, names in idle.items():
        for name in given:
            if name in names:
                option = f"--{name.replace('_', '-')}"
                raise ConfigError(f"{option}: says nothing {where}; drop it")


def _judge(options: SurprisalCommand) -> Results:
    from charlm.scoring.evaluation.surprisal.minimal_pairs import minimal_pairs
    from charlm.scoring.evaluation.surprisal.table_items import notes_on_names

    result = minimal_pairs(options)
    output.say_notes(result.notes)
    if options.each_pair:
        output.say_notes(notes_on_names(result.columns))
        _print(result.header, result.rows(), labels=1)
        return
    yield result
    output.table(_pair_rows(result), header=PAIR_HEADER, labels=3)


def _pair_rows(result: "PairResult") -> Iterable[tuple[str | int, ...]]:
    for k, name in enumerate(result.models):
        kinds = (("set", result.by_set(k)), ("term", result.by_term(k)), ("", [result.total(k)]))
        for kind, groups in kinds:
            for each in groups:
                yield (name, kind or "-", each.name, *_judgement(each))


def _judgement(group: "PairAccuracy") -> tuple[str | int, ...]:
    counts = group.counts()
    numbers = [counts[name] for name in ("n_pairs", "n_right", "n_ties", "n_unknown")]
    if group.accuracy is None or group.interval is None:
        return (*numbers, "-", "-")
    low, high = group.interval
    return (*numbers, f"{group.accuracy:.1%}", f"{low:.1%}–{high:.1%}")
