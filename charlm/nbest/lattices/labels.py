"""Which labels of a lattice are words, which are noise, and which are nothing.

Noise stands in the hypotheses, as it does in n-best lists, but no model reads it that does not know
it: it does not move a history. `<unk>` is a word.
"""

import re

SILENT = frozenset(("<eps>", "!NULL", "<s>", "</s>", "!SENT_START", "!SENT_END", ""))
# [laugh]  <noise>, but not <unk> nor <unk>:form  {breath}  -pau- of SRILM  !SIL of Kaldi
NOISE = re.compile(r"\[.*\]|<(?!(?i:unk)\b).*>|\{.*\}|-pau-|!SIL")


def is_silent(label: str) -> bool:
    """Whether a label stands for nothing, not even in a hypothesis."""
    return label in SILENT


def is_word(label: str) -> bool:
    """Whether a label is a word, and neither noise nor nothing."""
    return label not in SILENT and not NOISE.fullmatch(label)
