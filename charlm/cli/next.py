"""`charlm next`: the likeliest next words, a column for each model."""

from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from charlm.api.next_options import NextOptions
from charlm.cli.printing import output
from charlm.cli.program.build_command import command
from charlm.interface.options import several
from charlm.text.io.short_names import short_names

if TYPE_CHECKING:
    from charlm.api.loaded_models import NextWords


@command(NextOptions)
def next_command(options: NextOptions, *, as_json: bool) -> None:
    """Show the likeliest next words.

    Each has its probability after the WORDs, which begin a sentence; without any, as the first word
    of a sentence.

    \b
    charlm next the company said --model exp/first -k 5
    charlm next the company said --model exp/first --lm kn5.arpa
    """
    from charlm.api.next_words import next_words

    if not options.model and not options.lm:
        options = replace(options, model=(output.announced_run(None),))
    results = next_words(options)
    if as_json:
        output.write_json({"models": [each.to_dict() for each in results]})
        return
    for each in dict.fromkeys(map(_beginning, results)):
        output.say(f"after: {each}")
    if not all(chain.from_iterable(each.known for each in results)):
        output.say(f"{output.UNKNOWN} not in the vocabulary")
    paths = [Path(path) for path in (*several(options.model), *several(options.lm))]
    columns = [
        [(near.word, f"{near.probability:.4f}") for near in each.likeliest] for each in results
    ]
    rows = [list(chain.from_iterable(row)) for row in zip_longest(*columns, fillvalue=("", ""))]
    header = list(chain.from_iterable((name, "") for name in short_names(paths)))
    output.table(rows, header=header, labels=0, groups=[2] * len(paths))


def _beginning(result: "NextWords") -> str:
    """The words as they are read, unknown ones marked."""
    pairs = zip(result.words, result.known, strict=True)
    return " ".join(["<s>", *(w if is_known else w + output.UNKNOWN for w, is_known in pairs)])
