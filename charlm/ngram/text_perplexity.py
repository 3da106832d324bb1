"""Perplexities of texts under an n-gram model, read once, in blocks of bounded size.

Every sentence starts from `<s>`, or without context if it is to have no marks: so there is one
state, `sentence`. A word that the model does not know is `<unk>`, as under `ngram -unk`; if the
model lists no `<unk>`, such words have probability 0 and are left out and counted.
"""

from collections import Counter
from collections.abc import Callable, Mapping

from charlm.ngram.files.load import NgramModel
from charlm.ngram.word_ids import UNK, mapped
from charlm.text.corpus.normalisation.hashed_text import ReadText
from charlm.text.corpus.normalisation.spelling_rules import options_advised
from charlm.text.corpus.sentences import BLOCK, blocks
from charlm.text.corpus.tokens import START_WORD
from charlm.text.perplexity.perplexity import Evaluation, ScoredSentence, Tally
from charlm.text.perplexity.signature import HASH_DIGITS, joined_signature, normalisation_name
from charlm.text.perplexity.spelled_words import Spells
from charlm.text.vocabulary.vocabulary import Inventory
from charlm.version import __version__

STATE = "sentence"


def evaluate_ngram(
    model: NgramModel,
    text: ReadText,
    *,
    in_signature: Mapping[str, str],
    split: str = "",
    vocabulary: Inventory | None = None,
    speller: Spells | None = None,
    marked: bool = True,
    on_sentence: Callable[[ScoredSentence], object] | None = None,
) -> Evaluation:
    """The perplexities of a text; `in_signature` says in the signature what the model is.

    Words outside the `vocabulary` that the text is in are `<unk>` whatever the model knows; those
    of them that the model does know are counted. `speller` adds figures in which words that
    are `<unk>` are spelled. Sentences that are not `marked` have neither `<s>` before them nor
    `</s>` behind: their first word has no context, and words alone are counted.

    Raises:
        DataError: a text without a sentence, or that is not what was expected.
    """
    tally = Tally(speller=speller, marked=marked, on_sentence=on_sentence)
    for block in blocks(text.sentences(), size=BLOCK):
        scores = model.score([mapped(words, vocabulary) for words in block], marked=marked)
        log10s, ids, lengths = {STATE: scores.log10_probs}, scores.word_ids, scores.lengths
        tally.add(block, log10s, ids=ids, unk=UNK, lengths=lengths)
    by_state = tally.perplexities(text)
    words = dict.fromkeys(model.words or ())  # a binary does not list its words
    signature = joined_signature(
        {
            "charlm": __version__,
            **in_signature,
            "open-vocabulary": speller.sha256[:HASH_DIGITS] if speller else "",
            "vocab": vocabulary.sha256[:HASH_DIGITS] if vocabulary else "",
            "data": text.sha256[:HASH_DIGITS],
            "split": split,
            "state": STATE,
            "start": START_WORD if marked else "none",
            "end": "" if marked else "none",
            "norm": normalisation_name(text.normalisation),
            "precision": model.precision,
        }
    )
    return Evaluation(
        str(text.path),
        by_state[STATE].counts,
        by_state,
        {STATE: signature},
        spelling=tally.spelling if speller else None,
        advice=options_advised(tally.unknown, vocabulary.word_ids if vocabulary else words),
        hidden_words={} if vocabulary is None else _known_to(model, tally.unknown),
    )


def _known_to(model: NgramModel, outside: Counter[str]) -> dict[str, int]:
    """The words outside a vocabulary that the model itself knows, with their counts."""
    if not outside:
        return {}
    counts = dict(outside.most_common())
    scores = model.score([mapped(list(counts), None)], marked=False)
    pairs = zip(counts.items(), scores.word_ids.tolist(), strict=True)
    return {word: count for (word, count), word_id in pairs if word_id != UNK}
