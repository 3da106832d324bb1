"""Any model's scores of texts, token by token: from files of scores, runs and n-gram models.

A stream's kind is found from its content, not its name. A pipe can be read only once, so it is not
looked into, and counts as a file of scores.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np

from charlm.errors import ConfigError, DataError
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.files.arpa_reading import read_arpa, read_arpa_head
from charlm.ngram.files.kenlm_model import BINARY_MAGIC, KenLMModel
from charlm.ngram.files.load import NgramModel, load_ngram
from charlm.ngram.model_sources import file_in_signature
from charlm.ngram.text_perplexity import STATE, evaluate_ngram
from charlm.ngram.word_ids import MARKS, listed_inventory, text_in
from charlm.run.exported_folder import is_exported
from charlm.run.folder import RUN, learned_single_sentences, load_info
from charlm.scoring.evaluation.evaluate import evaluate
from charlm.scoring.evaluation.evaluate_options import State
from charlm.scoring.evaluation.mix_options import MixOptions
from charlm.text.corpus.tokens import END_WORD
from charlm.text.io.files import display_name, open_bytes, sha256_of
from charlm.text.io.lines import LIST, TEXT
from charlm.text.perplexity.perplexity import Evaluation, ScoredSentence
from charlm.text.perplexity.probability_files import START, of_split, read_probabilities
from charlm.text.perplexity.score_streams import WordScores, read_word_scores
from charlm.text.perplexity.signature import normalisation_name
from charlm.text.vocabulary.vocabulary import Inventory, vocabulary_at

Kind = Literal["scores", "probabilities", "run", "n-gram"]

ARPA_START = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t]*\\data\\[ \t\r]*$", re.MULTILINE)
SCORE = re.compile(rb"^\tp\(", re.MULTILINE)  # never a line of an ARPA file
LOOKED_AT = 1 << 16  # first bytes, which tell the kind; SRILM's ARPA may begin with a preamble
# Kinds that fail soonest come first.
ORDER: dict[Kind, int] = {"scores": 0, "probabilities": 1, "n-gram": 2, "run": 3}


def kind_of(stream: str | Path) -> Kind:
    """The kind of a stream: a directory is a run, and a file's first bytes tell its kind.

    Raises:
        DataError: no such file, or a folder that is not a run.
    """
    if str(stream) == "-":
        return "scores"
    path = Path(stream)
    if path.is_dir():
        if not (path / RUN).is_file():
            if is_exported(path):
                raise DataError(
                    f"{stream}: an exported model; expected the run that it was made of, or its "
                    "scores, which `charlm eval --format jsonl` writes"
                )
            raise DataError(
                f"{stream}: a folder, and not a run ({RUN} is missing); expected scores of words, "
                "a run or an n-gram model"
            )
        return "run"
    if not path.exists():
        raise DataError(
            f"{stream}: no such file; expected scores of words, a run or an n-gram model"
        )
    if not path.is_file():
        return "scores"
    with open_bytes(stream) as file:
        head = file.read(LOOKED_AT)
    if START.match(head):
        return "probabilities"
    is_arpa = ARPA_START.search(head) and not SCORE.search(head)  # scored text may hold \data\
    return "n-gram" if is_arpa or head.startswith(BINARY_MAGIC) else "scores"


def ngram_models(options: MixOptions, kinds: Sequence[Kind]) -> dict[int, NgramModel]:
    """The n-gram models by their place among the streams.

    ARPA files that are to become one, or whose words differ while no run says what the words are,
    are read by us, over all their words. As under SRILM's `-mix-lm`, a model gives nothing to a
    word that it lacks, which is not its `<unk>`.
    """
    streams, encoding = options.all_streams, options.encoding
    places = [place for place, kind in enumerate(kinds) if kind == "n-gram"]
    models: dict[int, NgramModel] = {}
    if options.arpa is None:
        models = {place: load_ngram(streams[place], encoding=encoding) for place in places}
        listed = {n: model.words for n, model in models.items() if model.words is not None}
        if "run" in kinds or len({frozenset((*MARKS, *each)) for each in listed.values()}) < 2:
            return models
    else:
        listed = {n: read_arpa_head(streams[n], encoding=encoding)[1] for n in places}
    words = tuple(dict.fromkeys(chain(*listed.values())))
    return models | {n: read_arpa(streams[n], words=words, encoding=encoding) for n in listed}


def stream_scores(
    options: MixOptions,
    *,
    kinds: Sequence[Kind],
    texts: Sequence[str | Path],
    models: Mapping[int, NgramModel],
) -> list[list[WordScores]]:
    """For each of `texts`, each stream's scores of it; a file of scores has one text only.

    Probabilities of the splits of a corpus directory are files with the same name, each in the
    folder of its split. N-gram models read the texts as the runs beside them do: by their rules, in
    their vocabulary. Without runs, those of `models` that list their words are asked for all words
    of all of them.
    """
    streams = options.all_streams
    vocabulary = vocabulary_of_runs(streams, kinds) if "n-gram" in kinds else None
    all_words = _all_words(models)
    rules = replace(LIST, encoding=options.encoding)
    found: dict[int, list[WordScores]] = {}
    for index in sorted(range(len(streams)), key=lambda index: ORDER[kinds[index]]):
        stream = streams[index]
        if kinds[index] == "scores":
            found[index] = [read_word_scores(stream, rules=rules)]
        elif kinds[index] == "probabilities":
            of_data = options.data is not None and options.text is None
            splits = [Path(text).stem for text in texts] if of_data else []
            paths: list[str | Path] = [of_split(stream, split) for split in splits]
            found[index] = [read_probabilities(path, rules=rules) for path in paths or [stream]]
        elif kinds[index] == "n-gram":
            model = models[index]
            words = vocabulary if isinstance(model, KenLMModel) else vocabulary or all_words
            found[index] = _of_ngram(stream, texts, model=model, vocabulary=words, options=options)
        else:
            found[index] = _of_run(stream, texts, options=options)
    by_stream = [found[index] for index in range(len(streams))]
    return [list(each) for each in zip(*by_stream, strict=True)]


def vocabulary_of_runs(streams: Sequence[str | Path], kinds: Sequence[Kind]) -> Inventory | None:
    """The words and text rules of the first run; None if there is no run.

    Runs with different words can be mixed on a text that contains none of the words in which they
    differ. On such a text it does not matter whose vocabulary is used.
    """
    runs = [stream for stream, kind in zip(streams, kinds, strict=True) if kind == "run"]
    inventories = [vocabulary_at(run) for run in runs]
    for run, inventory in zip(runs, inventories, strict=True):
        rules = [each.normalisation for each in (inventories[0], inventory)]
        if rules[0] != rules[1]:
            shown = " and ".join(map(normalisation_name, rules))
            raise ConfigError(
                f"{runs[0]} and {run}: read text by different rules, {shown}; expected the same, "
                "for an n-gram model beside them to follow; drop one of the three"
            )
    return inventories[0] if runs else None


class _Collector:
    """Collects the scored sentences of each text."""

    def __init__(self, source: str | Path) -> None:
        self.source = str(source)
        self.results: list[WordScores] = []
        self._words: list[str] = []
        self._log10_probs: list[float] = []

    def add(self, sentence: ScoredSentence) -> None:
        self._words.extend((*sentence.mapped, END_WORD))
        self._log10_probs.extend(sentence.log10_probs)

    def close(self, result: Evaluation, *, state: str) -> None:
        log10_probs, signature = np.array(self._log10_probs), result.signatures[state]
        n_wasted = sum(result.hidden_words.values())
        self.results.append(
            WordScores(self.source, tuple(self._words), log10_probs, signature, n_wasted)
        )
        self._words.clear()
        self._log10_probs.clear()


def _all_words(models: Mapping[int, NgramModel]) -> Inventory | None:
    """The words of models that were read over all their words; None if none lacks any."""
    for model in models.values():
        if isinstance(model, BackoffModel) and _n_lacking(model):
            return listed_inventory(model.words[len(MARKS) :])
    return None


def _n_lacking(model: NgramModel) -> int:
    return len(model.unlisted.difference(MARKS)) if isinstance(model, BackoffModel) else 0


def _of_ngram(
    path: str | Path,
    texts: Sequence[str | Path],
    *,
    model: NgramModel,
    vocabulary: Inventory | None,
    options: MixOptions,
) -> list[WordScores]:
    in_signature = file_in_signature(model, sha256_of(path))
    rules = replace(TEXT, encoding=options.encoding)
    _tell(options, path, texts)
    collector = _Collector(path)
    for text in texts:
        result = evaluate_ngram(
            model,
            text_in(text, vocabulary, rules=rules),
            in_signature=in_signature,
            vocabulary=vocabulary,
            on_sentence=collector.add,
        )
        collector.close(result, state=STATE)
    found = collector.results or [WordScores(str(path), (), np.empty(0))]
    return [replace(scores, n_lacking=_n_lacking(model)) for scores in found]


def _of_run(
    path: str | Path, texts: Sequence[str | Path], *, options: MixOptions
) -> list[WordScores]:
    is_alone = learned_single_sentences(load_info(path).settings)
    state: State = options.state or ("sentence" if is_alone else "carried")
    collector = _Collector(path)
    _tell(options, path, texts)
    evaluate(
        path,
        files=texts,
        state=state,
        device=options.device,
        threads=options.threads,
        encoding=options.encoding,
        on_sentence=collector.add,
        on_text=partial(collector.close, state=state),
    )
    return collector.results


def _tell(options: MixOptions, model: str | Path, texts: Sequence[str | Path]) -> None:
    if texts and options.on_stage is not None:
        options.on_stage(f"scoring {' and '.join(map(display_name, texts))} with {model}")
