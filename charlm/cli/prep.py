"""`charlm prep`: raw text to a corpus directory.

The library checks whether options go together (status 1); this file only prints.
"""

from typing import TYPE_CHECKING

from charlm.cli.printing import output
from charlm.cli.program.build_command import Results, command
from charlm.text.corpus.preparation.prep_options import PrepOptions

if TYPE_CHECKING:
    from charlm.text.corpus.preparation.prepare import PrepResult


@command(PrepOptions)
def prep(options: PrepOptions) -> Results:
    """Make a corpus directory from raw text.

    It holds train.txt, valid.txt, test.txt and corpus.json.
    Prints what each split holds, what became of every line that was read, and what is odd about
    the words. It never overwrites: a folder that holds a corpus already is an error.

    \b
    charlm prep news.txt.gz --out corpus --lower --tokenise simple --numbers
    charlm prep old.txt --encoding latin-1 --out corpus --invalid replace
    charlm prep a.txt b.txt --valid dev.txt --test test.txt --out corpus
    charlm prep --corpus pydoc --out corpus --tokenise simple
    """
    from charlm.text.corpus.preparation.prepare import prep as prepare

    result = prepare(options)
    yield result
    _print(result, encoding=options.encoding)


def _print(result: "PrepResult", *, encoding: str) -> None:
    splits = result.counts.items()
    output.table(
        [(split, n.lines, n.words, n.characters) for split, n in splits],
        header=("split", "lines", "words", "characters"),
    )
    fates = [("read", result.n_lines_read), *((why, n) for why, n in result.drops.items() if n)]
    fates.append(("kept", sum(n.lines for _, n in splits)))
    if result.replaced:
        fates.append(("mended", result.replaced))
    output.write("")
    output.table(fates, header=("lines", "number"))
    if result.unwanted:
        output.write("")
        output.table(
            [(f"{kind}s", n) for kind, n in result.unwanted.items()],
            header=("taken out", "number"),
        )
    if result.oddities:
        output.write("")
        output.write_oddities(result.oddities)
    output.say_notes(result.signs)
    if result.replaced:
        output.say(
            f"bytes that are not {encoding} became U+FFFD in {result.replaced} of "
            f"{result.n_lines_read} lines; is --encoding the text's?"
        )
    if result.stopped_after_tokens is not None:
        output.say(f"stopped after {result.stopped_after_tokens} tokens; the rest was not read")
