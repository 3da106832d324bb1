"""What is odd about the words of a text, as a table: `prep` and `vocab --against` print it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from charlm.cli import output

if TYPE_CHECKING:
    from charlm.text.corpus.oddities import Finding


def write_oddities(findings: "Sequence[Finding]") -> None:
    """A row a kind; what nobody sees is shown by its number."""
    output.table(
        [(each.kind, each.n_tokens, " ".join(map(visible, each.words))) for each in findings],
        header=("odd", "words", "as"),
    )


def visible(word: str) -> str:
    """A word whose unseen characters are spelled out."""
    return "".join(c if c.isprintable() else f"<{ord(c):04X}>" for c in word)
