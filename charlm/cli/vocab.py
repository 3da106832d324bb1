"""`charlm vocab`: the words, characters and morphs of a corpus, and what they leave out.

It prints C three times, since the papers count markers and charlm has one more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from charlm.cli.printing import output
from charlm.cli.program.build_command import command
from charlm.errors import ConfigError
from charlm.interface.options import Opt, require_one_stdin
from charlm.text.corpus.tokens import visible
from charlm.text.io.paths import require_there
from charlm.text.vocabulary.vocab_options import VocabOptions

if TYPE_CHECKING:
    from charlm.nbest.references.unknown_words import UnknownWords
    from charlm.text.vocabulary.build_vocabulary import VocabularyResult


@dataclass(frozen=True, kw_only=True)
class VocabCommand(VocabOptions):
    """A vocabulary, and texts that it is compared with."""

    against: Annotated[
        Sequence[str | Path],
        Opt(
            "Text, lists, lattices or references in which unknown words are looked for, and rules "
            "(case, Unicode form, apostrophes, hyphens, numbers \u2026) that would make them "
            "known; may be repeated.",
            metavar="TEXT",
        ),
    ] = ()


@command(VocabCommand)
def vocab(options: VocabCommand, *, as_json: bool) -> None:
    """List the words and characters of a corpus.

    Prints the numbers of words (V), characters (C) and tokens (T) as Kim et al. count them, what is
    out of vocabulary in each split that exists, and the longest words, with --morphs as they are
    cut. Training without --vocab makes the same vocabulary by itself.

    \b
    charlm vocab --data corpus --out vocab.json
    charlm vocab --data corpus --words lang/words.txt --out vocab.json
    charlm vocab --data corpus --against hyps.txt --against refs.txt
    """
    from charlm.nbest.references.unknown_words import unknown_words
    from charlm.text.vocabulary.build_vocabulary import vocab as build

    for name in ("morphs", "min_char_count", "max_word_length"):
        is_given = getattr(options, name) != getattr(VocabOptions, name)
        if is_given and options.against and options.out is None and not as_json:
            flag = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{flag}: says nothing beside --against; drop it, or give --out")
    require_one_stdin([*options.against, options.words, options.morphs])
    require_there(options.against)  # else missed when the corpus has been counted
    result = build(options)
    output.say_notes(result.inventory.signs)
    output.say_left_out(result.left_out, words=options.words, text="train.txt")
    checked = None
    if options.against:
        checked = unknown_words(result.inventory, options.against, on_stage=output.say)
    if as_json:
        against = {"against": checked.to_dict()} if checked else {}
        output.write_json(result.to_dict() | against)
    elif checked:
        _print_unknown(checked)
    else:
        _print(result)


def _print_unknown(found: "UnknownWords") -> None:
    shown = f"{found.n_unknown / found.n_tokens:.2%}" if found.n_tokens else "0%"
    output.write(
        f"{found.n_unknown} of {found.n_tokens} words are unknown ({shown}), "
        f"{found.n_unknown_types} types"
    )
    if found.remedies:
        output.write("")
        output.table(
            [
                (
                    f"{each.rule}{'*' if each.is_advised else ''}",
                    each.n_tokens,
                    f"{each.share:.1%}",
                    each.n_types,
                    ", ".join(visible(f"{a} > {b}") for a, b in each.examples),
                )
                for each in found.remedies
            ],
            header=("rule", "known by it", "share", "types", "as"),
        )
    for each in found.remedies:
        if each.is_advised:
            output.write(f"* {each.rule}: {each.advice}")
    if found.unexplained:
        words = ", ".join(f"{visible(word)} ({n})" for word, n in found.unexplained)
        output.write(f"\nno rule helps: {words}")
    if found.oddities:
        output.write("")
        output.write_oddities(found.oddities)


def _print(result: "VocabularyResult") -> None:
    published, rows = result.n_characters_as_published, result.inventory.n_characters
    sizes: list[tuple[str, output.Cell, str]] = [
        ("V", result.n_words, "words, with </s> and <unk>"),
        *([("", result.n_unseen, "of them not in train.txt")] if result.n_unseen else []),
        ("C", result.n_characters, "characters"),
        ("C", published, "with padding, start, end, <unk> and </s>, as Kim et al. count"),
        ("C", rows, "with the unknown character, too: rows of a model's table"),
        *_morph_rows(result),
        ("T", result.n_tokens, "tokens of train.txt, with </s>"),
    ]
    output.table(sizes, header=("", "number", "of"), labels=2)
    output.write("")
    _print_splits(result)
    output.write("")
    inventory = result.inventory
    most = inventory.max_word_length
    longest = [(len(w), w if len(w) <= most else f"{w[:most]}…") for w in result.longest_words]
    if (morphs := result.morphs_of_longest) is None:
        output.table(longest, header=("length", "longest words"))
    else:
        cut = [(*row, " ".join(each)) for row, each in zip(longest, morphs, strict=True)]
        output.table(cut, header=("length", "longest words", "morphs"), labels=2)
    output.write(f"words cut after {inventory.max_word_length} characters: {inventory.n_cut_words}")


def _morph_rows(result: "VocabularyResult") -> Iterator[tuple[str, output.Cell, str]]:
    if result.n_morphs is None:
        yield "M", "-", "morphs: no segmentation"
        return
    yield "M", result.n_morphs, f"morphs, {result.morphs_per_word:.2f} to a word of train.txt"
    if n_words := result.n_in_letters:
        yield "", n_words, "of the words are cut into single letters"


def _print_splits(result: "VocabularyResult") -> None:
    counts = list(result.splits.values())
    rows: list[tuple[output.Cell, ...]] = [
        ("sentences", *(n.n_sentences for n in counts)),
        ("words", *(n.n_words for n in counts)),
        ("types", *(n.n_types for n in counts)),
        ("OOV words", *(n.n_oov for n in counts)),
        ("OOV words, share", *(f"{n.oov_share:.2%}" for n in counts)),
        ("OOV types", *(n.n_oov_types for n in counts)),
        ("OOV types, share", *(f"{n.oov_type_share:.2%}" for n in counts)),
        ("written <unk>", *(n.n_literal_unk for n in counts)),
        ("<unk> as target, share", *(f"{n.unk_share:.2%}" for n in counts)),
        ("unknown characters", *(n.n_unknown_characters for n in counts)),
    ]
    output.table(rows, header=("", *result.splits))
