"""How perplexities are printed, and a text's scores in the layouts of older tools.

With `--debug` or another format stdout holds that layout and nothing else, since programs read it
by line and field; everything else goes to stderr.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from charlm.cli.printing import output
from charlm.cli.printing.output import counted
from charlm.errors import ConfigError, first_few
from charlm.interface.options import Opt
from charlm.text.perplexity.perplexity import MANY, MOST_DECIMALS, shown_ppl

if TYPE_CHECKING:
    from charlm.scoring.evaluation.comparison.bootstrap import Difference
    from charlm.scoring.evaluation.comparison.results import MeanDifference
    from charlm.text.perplexity.perplexity import Evaluation, Perplexity, ScoredSentence
    from charlm.text.perplexity.spelled_words import Spelling

LEAST_DECIMALS = 2  # of a difference
READ = {
    "carried": "one stream, the state carried over sentence ends",
    "sentence": "each sentence on its own",
}
TRAINED = {
    "carried": "with its state carried over their ends (train --for sentences is for them)",
    "sentence": "for single sentences",
}


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How scores are printed: options of the command, not of its function."""

    layout: Annotated[
        Literal["srilm", "kenlm", "jsonl", "probabilities"],
        Opt(
            "What is printed: what SRILM's `ngram -ppl` or KenLM's `query` prints, a JSON object "
            "for each sentence, or a line for each token but the first, with its probability and "
            "word, for `charlm mix`.",
            "Layout",
            flags=("--format",),
        ),
    ] = "srilm"
    debug: Annotated[
        int,
        Opt(
            "As SRILM's -debug: 1 adds sentences, 2 also their words.",
            "Layout",
            least=0,
            most=2,
            metavar="0|1|2",
        ),
    ] = 0


def refuse_contradictions(asked: Layout, *, as_json: bool) -> None:
    """Raises ConfigError if several layouts are asked for: stdout holds one."""
    if asked.debug and asked.layout != "srilm":
        raise ConfigError(f"--debug and --format {asked.layout}: expected one of them; drop either")
    if as_json and (asked.debug or asked.layout != "srilm"):
        raise ConfigError("--json and a layout of words: expected one of them; drop either")


def printers(
    asked: Layout,
) -> tuple[Callable[["ScoredSentence"], None] | None, Callable[["Evaluation"], None]]:
    """The functions that print a sentence, and a text when it is finished."""
    from charlm.text.perplexity import layouts
    from charlm.text.perplexity.probability_files import probability_lines

    layout, debug = asked.layout, asked.debug
    alone = bool(debug) or layout != "srilm"  # whether stdout belongs to the layout
    n_sentences = 0  # of all texts, so far

    def print_total(result: "Evaluation") -> None:
        perplexity = next(iter(result.by_state.values()))
        if layout == "srilm":
            output.write(layouts.srilm_total(result.name, perplexity))
        elif layout == "kenlm":
            output.write(layouts.kenlm_total(perplexity))
        block = _block(result, has_srilms_line=layout == "srilm")
        if alone:
            output.say(block)
        else:
            output.write(f"\n{block}\n")

    def print_sentence(sentence: "ScoredSentence") -> None:
        nonlocal n_sentences
        n_sentences += 1
        if layout == "srilm":
            output.write(layouts.srilm_sentence(sentence, debug=debug))
        elif layout == "kenlm":
            output.write(layouts.kenlm_sentence(sentence))
        elif layout == "probabilities":
            if shown := probability_lines(sentence, first=int(n_sentences == 1)):
                output.write(shown)
        else:
            output.write(layouts.jsonl_sentence(sentence))

    return (print_sentence if alone else None), print_total


def _block(result: "Evaluation", *, has_srilms_line: bool) -> str:
    """The further perplexities side by side with their denominators, and the signatures."""
    counts, first = result.counts, next(iter(result.by_state.values()))
    tokens = (
        f"{counted(first.n_tokens, 'word')}, without <s> and </s>"
        if counts.n_unmarked
        else f"{counted(first.n_tokens, 'token')}, each </s> one of them"
    )
    rows: list[tuple[str, Callable[[Perplexity], str], str]] = [
        ("ppl", lambda p: shown_ppl(p.ppl), tokens),
        ("ppl1", lambda p: shown_ppl(p.ppl1), counted(first.n_words, "word")),
        (
            "ppl-known",
            lambda p: shown_ppl(p.ppl_known),
            f"{counted(first.n_known_tokens, 'token')}, without <unk>",
        ),
        (
            "bits/char",
            lambda p: shown_bits(p.bits_per_character),
            f"{counts.n_characters} characters",
        ),
        ("bits/byte", lambda p: shown_bits(p.bits_per_byte), f"{counts.n_bytes} bytes"),
    ]
    header = "".join(f"  {state:>10}" for state in result.by_state) + "  over"
    lines: list[tuple[str, str]] = [("", header)]
    for name, measure, over in rows:
        lines.append((name, _figures(map(measure, result.by_state.values()), over)))
    if result.spelling is not None and not result.open_obstacle:
        for name, measure, over in (rows[0], *rows[3:]):
            figures = map(measure, result.open_by_state.values())
            lines.append((f"{name}-open", _figures(figures, over)))
    width = max(len(name) for name, _ in lines)
    return "\n".join(
        [*(f"{name:{width}}{rest}" for name, rest in lines), *_remarks(result, has_srilms_line)]
    )


def shown_bits(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"


def _figures(shown: Iterable[str], over: str) -> str:
    return "".join(f"  {value:>10}" for value in shown) + f"  {over}"


def _remarks(result: "Evaluation", has_srilms_line: bool) -> Iterator[str]:
    from charlm.scoring.evaluation.comparison.notes import remarks_on_text

    counts, first_sums = result.counts, next(iter(result.by_state.values())).sums
    on_unknown, *on_text = remarks_on_text(counts)
    yield from (*_read(result), on_unknown)
    if result.advice:
        yield result.advice
    if has_srilms_line and counts.n_oov and not first_sums.n_zeroprobs_oov:
        yield "0 OOVs: SRILM's count, of words without a probability; <unk> has one"
    if result.hidden_words:
        yield _hidden(result.hidden_words)
    if result.spelling is not None:
        yield _spelled(result.spelling, obstacle=result.open_obstacle)
    if n_left_out := first_sums.n_zeroprobs:
        yield (
            f"left out, having no probability: {n_left_out} of {counts.n_tokens} tokens; the bits "
            "count their characters all the same"
        )
    yield from on_text
    if result.adaptation:
        yield (
            f"adapted to the text as it was read, {result.adaptation}: the figures depend on the "
            "order of its sentences"
        )
    if result.log_z_mean is not None:
        yield (
            f"log Z, in nats: mean {result.log_z_mean:.4f}, variance {result.log_z_variance:.4f}; "
            "0 and 0 would make the scores probabilities as they are"
        )
    yield from (f"signature: {signature}" for signature in result.signatures.values())


def _read(result: "Evaluation") -> list[str]:
    """How the model read the text for the first figures, and how it was trained."""
    if not result.trained_state:
        return []
    first, *others = result.by_state
    named = "first figures: " if others else ""
    if first == result.trained_state:
        return [f"{named}{READ[first]}, as the model was trained"]
    return [f"{READ[first]}; the model was trained {TRAINED[result.trained_state]}"]


def _hidden(words: Mapping[str, int]) -> str:
    named = [f"{word!r:.60} {count}" for word, count in words.items()]
    return (
        f"the model knows the words of {sum(words.values())} tokens that are <unk> to the "
        f"vocabulary ({first_few(named, most=5)}); its <unk> was asked for, and what it "
        "gives to these words is lost; estimate it with --vocab RUN"
    )


def _spelled(spelling: "Spelling", *, obstacle: str | None) -> str:
    if obstacle:
        return f"no open-vocabulary figures: {obstacle}"
    if not spelling.n_words:
        return "spelled: no word, since none is outside the vocabulary"
    return (
        f"spelled: {counted(spelling.n_words, 'word')}, {spelling.bits_per_character:.4f} bits/"
        f"char over their {spelling.n_characters} characters, the blank behind each one of them"
    )


def shown_interval(difference: "Difference | MeanDifference") -> list[str]:
    """The difference and its ends, with two significant digits each, also of the width."""
    ppl, low, high = difference.ppl, difference.low, difference.high
    if ppl is None or low is None or high is None or max(map(abs, (ppl, low, high))) >= MANY:
        return [shown_ppl(each) for each in (ppl, low, high)]
    least = _decimals(high - low)
    return [f"{value:z.{max(least, _decimals(value))}f}" for value in (ppl, low, high)]


def _decimals(value: float) -> int:
    """The number of decimals that show two significant digits of a number."""
    wanted = 1 - math.floor(math.log10(abs(value))) if value else 0
    return min(max(wanted, LEAST_DECIMALS), MOST_DECIMALS)


def fallback_warning(orders: tuple[int, ...]) -> str:
    """One line that says that a text gave no discounts for some orders."""
    shown = ", ".join(map(str, orders))
    return (
        f"warning: too little text, or too few words, for Kneser-Ney discounts of order {shown}: "
        "took .5, 1, 1.5 there"
    )
