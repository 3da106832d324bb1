"""Which labels of decoders are words: of lattices and hypotheses, and of lists of words.

`<unk>` is one. Noise stands in hypotheses, and marks do not; no model reads noise unless it has
seen it in a text.
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
