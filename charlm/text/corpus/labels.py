"""Which labels of decoders are words: of lattices and hypotheses, and of lists of words.

`<unk>` is one. Noise stands in hypotheses, and marks do not; no model reads noise unless it has
seen it in a text.
"""

import re
from collections.abc import Callable

from charlm.text.corpus.tokens import CAPITAL_UNK, UNK_WORD

SILENT = frozenset(("<eps>", "!NULL", "<s>", "</s>", "!SENT_START", "!SENT_END", ""))
# [laugh]  <noise>, but not <unk> nor <unk>:form  {breath}  -pau- of SRILM  !SIL of Kaldi
NOISE = re.compile(r"\[.*\]|<(?!(?i:unk)\b).*>|\{.*\}|-pau-|!SIL")


def is_silent(label: str) -> bool:
    """Whether a label stands for nothing, not even in a hypothesis."""
    return label in SILENT


def is_word(label: str) -> bool:
    """Whether a label is a word, and neither noise nor nothing."""
    return label not in SILENT and not NOISE.fullmatch(label)


def label_read(label: str, is_known: Callable[[str], bool]) -> str:
    """A word as models read it: `<UNK>` is `<unk>`, unless it is a word of theirs."""
    return UNK_WORD if label == CAPITAL_UNK and not is_known(label) else label
