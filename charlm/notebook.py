"""How results look in a notebook: tables, and sentences whose words are coloured by surprisal.

Colours are transparent, for light and dark notebooks; every text is escaped.
"""

import math
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape

from charlm.text.corpus.tokens import END_WORD

BITS = math.log2(10)  # in a log10
MOST_BITS = 16.0  # with the strongest colour: a chance of one in 65,536
COLOUR = "213, 94, 0"  # Okabe and Ito's vermilion, as in the report


def bits_of(log10_probs: Sequence[float]) -> tuple[float, ...]:
    """Surprisals in bits: 1 is a probability of 1/2, 10 of 1/1,024."""
    return tuple(0.0 - value * BITS for value in log10_probs)


class ColouredWords:
    """What sentences with the log10 probability of each word, and of the end, have in common."""

    words: tuple[str, ...]
    log10_probs: tuple[float, ...]

    @property
    def log10_prob(self) -> float:
        """Of the whole, the end included where there is one."""
        return math.fsum(self.log10_probs)

    @property
    def bits(self) -> tuple[float, ...]:
        """The surprisal of each word, then of `</s>`: 10 bits are a probability of 1/1,024."""
        return bits_of(self.log10_probs)

    def _repr_html_(self) -> str:
        return coloured_html([(self.words, self.bits)])


def coloured_html(sentences: Iterable[tuple[Sequence[str], Sequence[float]]]) -> str:
    """Paragraphs of words with their bits; a number beyond the words' is that of the end."""
    return "".join(_paragraph(words, bits) for words, bits in sentences)


def runs_from_right(words: Sequence[str]) -> bool:
    """Whether a sentence is written from right to left, by its first letter."""
    letter = next((each for word in words for each in word if each.isalpha()), "")
    return bool(letter) and unicodedata.bidirectional(letter) in ("R", "AL")


def _paragraph(words: Sequence[str], bits: Sequence[float]) -> str:
    direction = "rtl" if runs_from_right(words) else "ltr"  # a word's `bdi` tells only its own
    return f'<p dir="{direction}">{_line(words, bits)}</p>'


def _line(words: Sequence[str], bits: Sequence[float]) -> str:
    shown = [*words, END_WORD][: len(bits)]
    return " ".join(map(_word, shown, bits))


def _word(word: str, bits: float) -> str:
    strength = 0.7 * min(max(bits, 0.0) / MOST_BITS, 1.0)
    style = f"background: rgba({COLOUR}, {strength:.2f}); border-radius: .25em; padding: 0 .2em"
    return f'<span style="{style}" title="{bits:.2f} bits"><bdi>{escape(word)}</bdi></span>'


def table_html(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, told: Iterable[str] = ()
) -> str:
    """A table of texts below sentences that are told of it; the first column names the rows."""
    paragraphs = "".join(f"<p>{escape(sentence)}</p>" for sentence in told)
    head = "".join(f"<th>{escape(each)}</th>" for each in header)
    body = "".join(_row(row) for row in rows)
    top = f"<thead><tr>{head}</tr></thead>" if any(header) else ""
    return f"{paragraphs}<table>{top}<tbody>{body}</tbody></table>"


def _row(cells: Sequence[str]) -> str:
    first, *others = (f"<bdi>{escape(cell)}</bdi>" for cell in cells)
    return f"<tr><th>{first}</th>{''.join(f'<td>{cell}</td>' for cell in others)}</tr>"
