"""What makes error rates tell little: how hypotheses and references are written differently."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from rapidfuzz.distance import Levenshtein

from charlm.nbest.hypotheses import NbestList
from charlm.nbest.reading.repairs import Notices
from charlm.nbest.references.references import References, by_file
from charlm.text.corpus.normalisation.labels import is_silent, is_word
from charlm.text.corpus.normalisation.normalisation import UNSEEN
from charlm.text.corpus.normalisation.oddities import APOSTROPHES, SAME_LETTERS
from charlm.text.corpus.normalisation.pieces import is_piece
from charlm.text.corpus.signs import LEAST_SHARE, uncut_of
from charlm.text.corpus.tokens import share

ENOUGH = 10  # lists, to tell whether their references are their own
BEGINNING = 200  # characters of a text that tell it from another
PUNCTUATED = re.compile(r"\w[.,;:?!\u2026\u0964\u060c\u061f]+$")
FEW_OTHERS = 1 / 20  # abbreviations, such as Mr.
ONE_OF_EACH = str.maketrans(
    dict.fromkeys(APOSTROPHES, "'") | {other: letter for letter, other in SAME_LETTERS}
)


def note_differences(
    lists: Sequence[NbestList], references: References, *, notices: Notices
) -> None:
    """Note what makes error rates tell little: words written otherwise, noise that nobody wrote."""
    notices.share_astray = max(_share_astray(lists, each) for each in by_file(references))
    notices.share_in_case = _share_in_case(lists, references)
    notices.n_in_other_characters = _n_in_other_characters(lists, references)
    notices.n_in_pieces = _n_on_one_side(is_piece, lists, references, share_of_others=0)
    notices.n_punctuated = _n_on_one_side(
        PUNCTUATED.search, lists, references, share_of_others=FEW_OTHERS
    )
    notices.share_uncut = _share_uncut(references)
    notices.noise_without_reference = _noise_without_reference(lists, references)


def _share_astray(lists: Sequence[NbestList], references: References) -> float:
    """The share of references that are nearer to the list before than to their own.

    By characters, which tell it whatever case, tokeniser or pieces of words they are written in.
    One that is as near to both tells nothing, as a wrong word beside another wrong one.
    """
    n_astray = n_told = 0
    for before, nbest in pairwise(lists):
        said, said_before = (_begun(references[each.id]) for each in (nbest, before))
        own, other = (_begun(each.hypotheses[0].words) for each in (nbest, before))
        # One prompt may be read twice, and the references of counted-bleu are numbers.
        if own and said != said_before and any(map(str.isalpha, said)):
            to_own, to_other = (Levenshtein.distance(each, said) for each in (own, other))
            n_told += to_own != to_other
            n_astray += to_own > to_other
    return share(n_astray, n_told) if n_told >= ENOUGH else 0.0


def _begun(words: Sequence[str]) -> str:
    return " ".join(words).casefold()[:BEGINNING]


def _share_in_case(lists: Iterable[NbestList], references: References) -> float:
    """Among the words that first hypotheses and references share, the share that differ in case."""
    n_same = n_folded = 0
    for nbest in lists:
        first, said = nbest.hypotheses[0].words, references[nbest.id]
        n_same += len({*first} & {*said})
        n_folded += len({word.casefold() for word in first} & {word.casefold() for word in said})
    return 1 - n_same / n_folded if n_folded > n_same else 0.0


def _n_in_other_characters(lists: Iterable[NbestList], references: References) -> int:
    """The words of first hypotheses that only look like those of the references."""
    n_words = 0
    for nbest in lists:
        first, said = {*nbest.hypotheses[0].words}, {*references[nbest.id]}
        n_words += len({*map(_composed, first - said)} & {*map(_composed, said - first)})
    return n_words


def _n_on_one_side(
    is_marked: Callable[[str], object],
    lists: Iterable[NbestList],
    references: References,
    *,
    share_of_others: float,
) -> int:
    """The marked words, if of hypotheses and references one alone has many."""
    first = [word for nbest in lists for word in nbest.hypotheses[0].words]
    said = [word for nbest in lists for word in references[nbest.id]]
    counts = [sum(map(bool, map(is_marked, words))) for words in (first, said)]
    is_one_sided = min(counts) <= share_of_others * max(counts)
    shares = map(share, counts, map(len, (first, said)))
    return sum(counts) if is_one_sided and max(shares) >= LEAST_SHARE else 0


def _share_uncut(references: References) -> float:
    """The share of the references' words that are whole phrases."""
    words = Counter(word for said in references.values() for word in said)
    uncut = uncut_of(words)
    return share(sum(n for word, n in words.items() if uncut.search(word)), words.total())


def _composed(word: str) -> str:
    return UNSEEN.sub("", unicodedata.normalize("NFC", word)).translate(ONE_OF_EACH)


def _noise_without_reference(lists: Iterable[NbestList], references: References) -> list[str]:
    """The labels of noise in hypotheses that no reference has."""
    found = {word for nbest in lists for each in nbest.hypotheses for word in each.words}
    found.difference_update(*references.values())
    return sorted(word for word in found if not is_word(word) and not is_silent(word))
