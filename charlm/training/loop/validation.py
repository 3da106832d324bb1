"""The validation text as a model reads it between epochs: in streams or sentences, as in training.

The resulting perplexity decides which weights are kept and how the learning rate changes. Figures
to report come from `charlm eval`.
"""

from collections.abc import Iterator

import numpy as np

from charlm.model.language_model import LanguageModel
from charlm.scoring.likelihood.nll import FormVectors, Nlls, sentence_nlls, streams_nll
from charlm.text.corpus.tokens import END
from charlm.text.vocabulary.encoding import EncodedText, Ids
from charlm.text.vocabulary.vocabulary import Inventory
from charlm.training.recipe.recipe import Recipe

SENTENCES_AT_ONCE = 1024


def validation_chunks(
    model: LanguageModel,
    text: EncodedText,
    *,
    inventory: Inventory,
    recipe: Recipe,
    columns: slice = slice(None),
) -> Iterator[tuple[Nlls, Ids]]:
    """nll_TB in nats and form ids, chunk by chunk; sentence by sentence if it is trained that way.

    Only the streams or sentences in `columns` are read: the share of one of several processes.
    """
    vectors = FormVectors(model, inventory, oov_input=recipe.oov_input)
    if not recipe.batching.by_sentence:
        yield from streams_nll(
            vectors,
            text.ids,
            spellings=text.spellings,
            n_streams=recipe.batch_size,
            columns=columns,
        )
        return
    ends = np.flatnonzero(text.ids == END) + 1
    sentences = np.split(text.ids, ends[:-1])[columns]
    for first in range(0, len(sentences), SENTENCES_AT_ONCE):
        some = sentences[first : first + SENTENCES_AT_ONCE]
        nlls = sentence_nlls(vectors, some, spellings=text.spellings)
        yield np.concatenate(nlls)[:, None], np.concatenate(some)[:, None]
