"""How results look in a notebook: tables, and sentences whose words are coloured by surprisal.

Colours are translucent, so they work on a light or dark background; all text is HTML-escaped.
"""

import math
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape

from charlm.text.corpus.tokens import END_WORD, UNK_WORD, form_of

BITS = math.log2(10)  # bits per unit of log10
MOST_BITS = 16.0  # has the strongest colour: a chance of one in 65,536
COLOUR = "213, 94, 0"  # Okabe and Ito's vermilion, as in the report


def bits_of(log10_probs: Sequence[float]) -> tuple[float, ...]:
    """Surprisals in bits: 1 bit is a chance of one in two, 10 bits one in 1,024."""
    return tuple(0.0 - value * BITS for value in log10_probs)


class ColouredWords:
    """Base of sentence results with a log10 probability for each word and for the end."""

    words: tuple[str, ...]
    log10_probs: tuple[float, ...]

    @property
    def log10_prob(self) -> float:
        """The log10 probability of the whole sentence, including its end where there is one."""
        return math.fsum(self.log10_probs)

    @property
    def bits(self) -> tuple[float, ...]:
        """The surprisal of each word, then of `</s>`; 10 bits are a chance of one in 1,024."""
        return bits_of(self.log10_probs)

    def _repr_html_(self) -> str:
        return coloured_html([(self.words, self.bits)])


def coloured_html(sentences: Iterable[tuple[Sequence[str], Sequence[float]]]) -> str:
    """One paragraph per sentence; one number more than there are words belongs to `</s>`."""
    return "".join(_paragraph(words, bits) for words, bits in sentences)


def runs_from_right(words: Sequence[str]) -> bool:
    """Whether a sentence is written from right to left, judged by its first letter.

    Those of `<unk>` and of `<unk>:form` before the form are none of the text's.
    """
    forms = (form_of(word) for word in words if word != UNK_WORD)
    letter = next((each for form in forms for each in form if each.isalpha()), "")
    return bool(letter) and unicodedata.bidirectional(letter) in ("R", "AL")


def _paragraph(words: Sequence[str], bits: Sequence[float]) -> str:
    direction = "rtl" if runs_from_right(words) else "ltr"  # `bdi` covers only a single word
    line = " ".join(map(_word, (*words, END_WORD), bits))
    return f'<p dir="{direction}">{line}</p>'


def _word(word: str, bits: float) -> str:
    strength = 0.7 * min(max(bits, 0.0) / MOST_BITS, 1.0)
    style = f"background: rgba({COLOUR}, {strength:.2f}); border-radius: .25em; padding: 0 .2em"
    return f'<span style="{style}" title="{bits:.2f} bits"><bdi>{escape(word)}</bdi></span>'


def table_html(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, told: Iterable[str] = ()
) -> str:
    """A table of strings below the sentences of `told`; the first column names the rows."""
    paragraphs = "".join(f"<p>{escape(sentence)}</p>" for sentence in told)
    head = "".join(f"<th>{escape(each)}</th>" for each in header)
    body = "".join(_row(row) for row in rows)
    top = f"<thead><tr>{head}</tr></thead>" if any(header) else ""
    return f"{paragraphs}<table>{top}<tbody>{body}</tbody></table>"


def _row(cells: Sequence[str]) -> str:
    first, *others = (f"<bdi>{escape(cell)}</bdi>" for cell in cells)
    return f"<tr><th>{first}</th>{''.join(f'<td>{cell}</td>' for cell in others)}</tr>"
