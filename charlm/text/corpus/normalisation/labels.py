"""Which of a decoder's labels are words, in lattices, hypotheses and word lists.

`<unk>` is a word. Hypotheses keep labels of noise but no marks such as `</s>`; a model reads noise
only if its training text held it.
"""

import re
from collections.abc import Callable, Sequence

from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.tokens import CAPITAL_UNK, UNK_WORD

SILENT = frozenset(("<eps>", "!NULL", "<s>", "</s>", "!SENT_START", "!SENT_END", ""))
# [laugh]  <noise>, but not <unk> nor <unk>:form  {breath}  -pau- of SRILM  !SIL of Kaldi
NOISE = re.compile(r"\[.*\]|<(?!(?i:unk)\b).*>|\{.*\}|-pau-|!SIL")
BRACED = re.compile(r"\{[\w-]+\}(?![^ \t])")  # at the start of a line, where JSON has `{"id"`


def is_silent(label: str) -> bool:
    """Whether a label is a mark, which hypotheses leave out."""
    return label in SILENT


def is_word(label: str) -> bool:
    """Whether a label is a word, and neither noise nor a mark."""
    return label not in SILENT and not NOISE.fullmatch(label)


def label_read(label: str, is_known: Callable[[str], bool]) -> str:
    """A word as models read it: `<UNK>` is `<unk>`, unless their vocabulary has it."""
    return UNK_WORD if label == CAPITAL_UNK and not is_known(label) else label


def is_read(label: str, is_known: Callable[[str], bool], *, rules: Normalisation | None) -> bool:
    """Whether models read a label: a word, or noise that their vocabulary has.

    It has `[LAUGH]` if `rules` for the words that they read make it a `[laugh]` of their text.
    """
    return is_word(label) or is_known(label if rules is None else rules.plain(label))


def labels_read(
    labels: Sequence[str], is_known: Callable[[str], bool], *, rules: Normalisation | None
) -> list[str]:
    """What models read of a hypothesis, before `rules` for their words are applied to it."""
    return [label_read(each, is_known) for each in labels if is_read(each, is_known, rules=rules)]
