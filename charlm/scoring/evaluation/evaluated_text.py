"""One text under one model: read once, in blocks of bounded size, counted, and reported.

Only the reader knows what the model is, a run or an exported one. Nats are converted here: all
results are in log10. Nothing here imports torch.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from charlm.errors import ConfigError, DataError
from charlm.interface.options import require_data, require_one_stdin, several
from charlm.scoring.evaluation.evaluate_options import EvaluateOptions, states_of
from charlm.scoring.likelihood.streams import as_words
from charlm.text.corpus.normalisation.hashed_text import ReadText
from charlm.text.corpus.normalisation.normalisation import with_further
from charlm.text.corpus.normalisation.spelling_rules import options_advised
from charlm.text.corpus.sentences import BLOCK, blocks, split_path
from charlm.text.corpus.tokens import END_WORD, UNK
from charlm.text.io.files import display_name
from charlm.text.io.lines import TEXT
from charlm.text.io.paths import require_texts
from charlm.text.perplexity.perplexity import Evaluation, Tally
from charlm.text.perplexity.signature import HASH_DIGITS, joined_signature, normalisation_name
from charlm.text.perplexity.spelled_words import Spells
from charlm.text.vocabulary.encoding import FormIds, Ids, encode_sentences
from charlm.version import __version__

if TYPE_CHECKING:
    from charlm.run.onnx_model import OnnxModel
    from charlm.run.stored_weights import LoadedRun

SPLIT = "test"  # of a corpus directory, the default

Nlls = npt.NDArray[np.float32]
Log10s = npt.NDArray[np.float64]


def text_paths(options: EvaluateOptions) -> list[str | Path]:
    """The texts to evaluate: files, or a split of a corpus directory.

    Raises:
        ConfigError: neither files nor data, or both; a split of files; standard input twice.
        DataError: a file does not exist.
    """
    files, data, split = several(options.files), options.data, options.split
    if bool(files) == (data is not None):
        found = "both files and --data" if files else "neither files nor --data"
        raise ConfigError(f"found {found}; expected one of them; give either")
    if data is not None:
        return [split_path(data, split or SPLIT)]
    require_data(data, split)
    require_one_stdin([*files, options.map])
    require_texts(files)
    return files


class Reader(Protocol):
    """Reads the blocks of one text."""

    def nlls(self, sentences: Sequence[Ids], *, spellings: Sequence[str]) -> Mapping[str, Nlls]:
        """For each state, the nll in nats of all tokens of the next block, in order."""


def evaluated_text(
    path: str | Path,
    reader: Reader,
    *,
    model: "LoadedRun | OnnxModel",
    options: EvaluateOptions,
    speller: Spells | None = None,
    adaptation: str = "",
) -> Evaluation:
    """The perplexities of a text; `options` give its rules, its states and the callbacks.

    `adaptation` describes how the reader adapts to the text, for the signature.

    Raises:
        DataError: a text without a sentence, or a model that gives no finite numbers.
    """
    inventory = model.inventory
    states = states_of(options.state, model.learned_single_sentences)
    own = None if options.raw else inventory.normalisation
    normalisation = with_further(own, options.text_rules)
    rules = replace(TEXT, encoding=options.encoding)
    text = ReadText(path, normalisation=normalisation, rules=rules)
    tally = Tally(speller=speller, on_sentence=options.on_sentence)
    for block in blocks(text.sentences(), size=BLOCK):
        form_ids = FormIds(inventory)
        ids = encode_sentences(block, form_ids)
        nlls = reader.nlls(ids, spellings=form_ids.spellings)
        log10s: dict[str, Log10s] = {
            state: _log10s(nlls[state], text=text, model=model) for state in states
        }
        words = as_words(np.concatenate(ids), inventory.n_words)
        tally.add(block, log10s, ids=words, unk=UNK)
    by_state = tally.perplexities(text)
    signed = _signatures(text, model=model, options=options, speller=speller, adaptation=adaptation)
    return Evaluation(
        str(text.path),
        by_state[states[0]].counts,
        by_state,
        signed,
        spelling=tally.spelling if speller else None,
        adaptation=adaptation,
        advice=options_advised(tally.unknown, inventory.word_ids),
        trained_state="sentence" if model.learned_single_sentences else "carried",
    )


def _log10s(nlls: Nlls, *, text: ReadText, model: "LoadedRun | OnnxModel") -> Log10s:
    log10s: Log10s = 0.0 - nlls.astype(np.float64) / math.log(10)  # never -0
    n_wrong = int((~np.isfinite(log10s)).sum())
    if n_wrong:
        raise DataError(
            f"{model.path}: the model is broken: {n_wrong} of {len(log10s)} log probabilities in "
            f"{display_name(text.path)} are NaN or infinite; expected numbers; train it again"
        )
    return log10s


def _signatures(
    text: ReadText,
    *,
    model: "LoadedRun | OnnxModel",
    options: EvaluateOptions,
    speller: Spells | None,
    adaptation: str,
) -> dict[str, str]:
    """By state; that of a file names no split, and a carried state is one stream over the text."""
    return {
        state: joined_signature(
            {
                "charlm": __version__,
                "model": model.weights_sha256[:HASH_DIGITS],
                "vocab": model.inventory.sha256[:HASH_DIGITS],
                "data": text.sha256[:HASH_DIGITS],
                "split": "" if options.data is None else options.split or SPLIT,
                "streams": "1" if state == "carried" else "",
                "state": state,
                "start": END_WORD,
                "oov_input": model.oov_input,
                "norm": normalisation_name(text.normalisation),
                "precision": options.precision,
                "open-vocabulary": speller.sha256[:HASH_DIGITS] if speller else "",
                "adapt": adaptation,
            }
        )
        for state in states_of(options.state, model.learned_single_sentences)
    }
