"""Asking any model for its scores of texts, token by token: files of scores, runs, n-gram models.

What a stream is, its content says and not its name. A pipe can be read only once, so it is never
looked into, and is taken for a file of scores.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from charlm.errors import ConfigError, DataError
from charlm.ngram.backoff import TokenScores
from charlm.ngram.kenlm_model import BINARY_MAGIC
from charlm.ngram.load import load_ngram
from charlm.ngram.words import UNK
from charlm.text.corpus import blocks
from charlm.text.files import display_name, open_bytes
from charlm.text.inventory import END_WORD, UNK_WORD
from charlm.text.perplexity import Evaluation, ScoredSentence
from charlm.text.reading import ReadText
from charlm.text.word_scores import WordScores, read_word_scores

StateName = Literal["carried", "sentence"]
Kind = Literal["scores", "run", "n-gram"]
OnStage = Callable[[str], None]

ARPA_START = b"\\data\\"
LOOKED_AT = 4096  # bytes of a file that say what it is; SRILM's ARPA begins with a blank line
BLOCK = 1 << 16  # tokens that an n-gram model scores at a time
ORDER: dict[Kind, int] = {"scores": 0, "n-gram": 1, "run": 2}  # of the quickest to fail first


def kind_of(stream: str | Path) -> Kind:
    """What a stream is: a directory is a run, and of files their first bytes tell.

    Raises:
        DataError: no such file.
    """
    path = Path(stream)
    if path.is_dir():
        return "run"
    if str(stream) != "-" and not path.exists():
        raise DataError(
            f"{stream}: no such file; expected scores of words, a run or an n-gram model"
        )
    if str(stream) == "-" or not path.is_file():
        return "scores"
    with open_bytes(stream) as file:
        head = file.read(LOOKED_AT)
    is_ngram = head.startswith(BINARY_MAGIC) or head.lstrip().startswith(ARPA_START)
    return "n-gram" if is_ngram else "scores"


def answers(
    streams: Sequence[str | Path],
    *,
    kinds: Sequence[Kind],
    texts: Sequence[str | Path],
    state: StateName,
    device: str,
    threads: int | None,
    on_stage: OnStage | None,
) -> list[list[WordScores]]:
    """For each of `texts` what each of `streams` makes of it; a file of scores has one text only.

    Raises:
        ConfigError: an unknown state or device.
        DataError: a broken file, run or text.
    """
    if state not in ("carried", "sentence"):
        raise ConfigError(f"--state {state!r}: expected one of carried, sentence")
    found: dict[int, list[WordScores]] = {}
    for index in sorted(range(len(streams)), key=lambda index: ORDER[kinds[index]]):
        stream = streams[index]
        if kinds[index] == "scores":
            found[index] = [read_word_scores(stream)]
        elif kinds[index] == "n-gram":
            found[index] = _of_ngram(stream, texts, on_stage=on_stage)
        else:
            found[index] = _of_run(
                stream, texts, state=state, device=device, threads=threads, on_stage=on_stage
            )
    by_stream = [found[index] for index in range(len(streams))]
    return [list(each) for each in zip(*by_stream, strict=True)]


def _of_ngram(
    path: str | Path, texts: Sequence[str | Path], *, on_stage: OnStage | None
) -> list[WordScores]:
    model = load_ngram(path)
    _tell(on_stage, path, texts)
    results = []
    for text in texts:
        words: list[str] = []
        log10_probs = [np.empty(0)]
        sentences = ReadText(text, normalisation=None).sentences()
        for block in blocks(sentences, size=BLOCK):
            scores = model.score(block)
            words += _words_as_scored(block, scores)
            log10_probs.append(scores.log10_probs)
        _require_tokens(words, text)
        results.append(WordScores(str(path), tuple(words), np.concatenate(log10_probs)))
    return results


def _words_as_scored(sentences: list[list[str]], scores: TokenScores) -> list[str]:
    words = [word for sentence in sentences for word in (*sentence, END_WORD)]
    for index in np.flatnonzero(scores.word_ids == UNK):
        words[index] = UNK_WORD
    return words


def _require_tokens(words: Sequence[str], text: str | Path) -> None:
    if not words:
        raise DataError(f"{display_name(text)}: no sentence; expected one a line")


def _of_run(
    path: str | Path,
    texts: Sequence[str | Path],
    *,
    state: StateName,
    device: str,
    threads: int | None,
    on_stage: OnStage | None,
) -> list[WordScores]:
    from charlm.scoring.evaluation import evaluate  # torch takes seconds; files need none of it

    results: list[WordScores] = []
    words: list[str] = []
    log10_probs: list[float] = []

    def add(sentence: ScoredSentence) -> None:
        words.extend((*sentence.mapped, END_WORD))
        log10_probs.extend(sentence.log10_probs)

    def close(result: Evaluation) -> None:
        signature = result.signatures[state]
        results.append(WordScores(str(path), tuple(words), np.array(log10_probs), signature))
        words.clear()
        log10_probs.clear()

    _tell(on_stage, path, texts)
    evaluate(
        path,
        files=texts,
        state=state,
        device=device,
        threads=threads,
        on_sentence=add,
        on_text=close,
    )
    return results


def _tell(on_stage: OnStage | None, model: str | Path, texts: Sequence[str | Path]) -> None:
    if on_stage is not None:
        on_stage(f"scoring {' and '.join(map(display_name, texts))} with {model}")
