"""`errors`: a table of the errors in the best hypotheses, one utterance a row, for other programs.

Tab-separated, fields quoted as in RFC 4180. `ref` and `hyp` hold the tokens that the metric counts,
one below the other, with single blanks between: as in sclite, `***` stands where only the other
text has one, but texts stay as they are. Tokens are words, or by CER characters, among which the
blank between words is `<space>`. The counts of a column add up to those of the rates.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest

from rapidfuzz.distance import Levenshtein

from charlm.nbest.hypotheses import NbestList, Rescored
from charlm.nbest.reading.format import Piece
from charlm.nbest.references.references import References
from charlm.text.io.table_lines import quoted_field

HEADER = ("id", "recording", "tokens", "correct", "sub", "del", "ins", "ref", "hyp")
GAP = "***"
BLANK = "<space>"  # longer than any other token beside it, so that no text holds it


def write_errors(
    lists: Iterable[Rescored],
    references: References,
    *,
    tokens: Callable[[str], Sequence[str]],
    recording_of: Callable[[NbestList], str],
) -> Iterator[Piece]:
    """A header, then a row for each list, all of which have references; `tokens` cuts texts."""
    yield Piece("", "\t".join(HEADER) + "\n")
    for item in lists:
        texts = (" ".join(words) for words in (references[item.nbest.id], item.best.words))
        reference, hypothesis = map(tokens, texts)
        counts, pairs = Counter[str](), list[tuple[str, str]]()
        for part in Levenshtein.opcodes(reference, hypothesis):
            said = reference[part.src_start : part.src_end]
            heard = hypothesis[part.dest_start : part.dest_end]
            aligned = [*zip_longest(said, heard, fillvalue=GAP)]
            counts[part.tag] += len(aligned)
            pairs += aligned
        sides = (
            " ".join(BLANK if pair[side] == " " else pair[side] for pair in pairs)
            for side in (0, 1)
        )
        numbers = (counts[tag] for tag in ("equal", "replace", "delete", "insert"))
        cells = item.nbest.id, recording_of(item.nbest), str(len(reference)), *map(str, numbers)
        yield Piece("", "\t".join(map(quoted_field, (*cells, *sides))) + "\n")
