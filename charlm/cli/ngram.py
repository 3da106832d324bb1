"""`charlm ngram`: a Kneser–Ney baseline, estimated or loaded, saved and measured.

One command does the work of SRILM's ngram-count and ngram: `--train` or `--lm` says where the model
comes from, `--out` where it goes, and the texts that follow are measured.
"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from charlm.cli.printing import output, perplexities
from charlm.cli.program.build_command import Results, command
from charlm.errors import ConfigError
from charlm.interface.options import Opt
from charlm.ngram.ngram_options import NgramOptions
from charlm.text.io.files import display_name

if TYPE_CHECKING:
    from charlm.ngram.model_sources import ModelInfo


@dataclass(frozen=True, kw_only=True)
class NgramCommand(perplexities.Layout, NgramOptions):
    """What is estimated and measured, and how it is printed."""

    spelling_run: Annotated[
        Path | None,
        Opt(
            "Run whose vocabulary applies, and whose speller adds figures in which words outside "
            "it are spelled instead of being <unk>.",
            flags=("--speller",),
            metavar="RUN",
        ),
    ] = None


@command(NgramCommand)
def ngram(options: NgramCommand, *, as_json: bool) -> Results:
    """Estimate or load a Kneser-Ney model, and measure it.

    The model is interpolated modified Kneser-Ney, equal to lmplz's; texts that are small or have
    few words get fallback discounts. Prints what `charlm eval` prints of a text; --debug 2 adds the
    length of the n-gram that was used, such as [5gram].

    \b
    charlm ngram --train corpus/train.txt --order 5 --out kn5.arpa.gz
    charlm ngram --lm kn5.arpa.gz corpus/test.txt
    """
    perplexities.refuse_contradictions(options, as_json=as_json)
    if not options.files and options.data is None and (options.debug or options.layout != "srilm"):
        option = f"--debug {options.debug}" if options.debug else f"--format {options.layout}"
        raise ConfigError(f"{option}: found no text to measure; expected one; drop it")
    from charlm.ngram.baseline import ngram_baseline

    speller = None
    if options.spelling_run is not None:
        from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary

        speller = OpenVocabulary.at(options.spelling_run)
    on_sentence, on_text = (None, None) if as_json else perplexities.printers(options)
    result = ngram_baseline(
        replace(
            options,
            speller=speller,
            on_model=partial(_tell_model, options),
            on_sentence=on_sentence,
            on_text=on_text,
        )
    )
    yield result
    if result.n_bytes is not None:
        output.say(f"{result.out}: {result.n_bytes:,} bytes")


def _tell_model(options: NgramCommand, info: "ModelInfo") -> None:
    sizes = " + ".join(f"{size:,}" for size in info.sizes)
    n_grams = f", {sizes} n-grams" if sizes else ""
    output.say(f"{info.source}: order {info.order}{n_grams}, {info.seconds:.1f} s")
    if info.fallback_orders:
        output.say(perplexities.fallback_warning(info.fallback_orders))
    output.say_left_out(info.left_out, words=options.vocab, text=info.source)
    if info.lacking:
        output.say(
            f"note: --limit-vocab {options.limit_vocab}: words that {info.source} lacks "
            f"({len(info.lacking):,}): {output.few_words(info.lacking)}"
        )
    if options.lm is None and (options.files or options.data):
        output.say(_words_of(options, info))


def _words_of(options: NgramCommand, info: "ModelInfo") -> str:
    """The vocabulary of a perplexity: over another one it is another figure."""
    if options.limit_vocab is not None:
        words = f"those of {display_name(options.limit_vocab)} that {info.source} has"
        return f"words: {words}; comparable with runs that have just these"
    vocabulary = options.vocab or options.spelling_run
    if vocabulary is not None:
        return f"words: those of {display_name(vocabulary)}; comparable with runs that have them"
    from charlm.ngram.model_sources import parse_pruning

    left_out = 0 if options.prune is None else parse_pruning(options.prune)[0]
    which = f" that stand there at least {left_out + 1} times" if left_out else ""
    return (
        f"words: all types of {info.source}{which}; a run that reads rare ones as <unk> has fewer, "
        "and is comparable only with --vocab RUN"
    )
