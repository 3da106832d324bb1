"""ESPnet 2's results: `output.1/1best_recog/{text,score,token,token_int}`, a folder for each rank.

Decoding ran in several processes, each with an `output.*` of its own: their lists follow one
another. An utterance with fewer hypotheses than others is absent from the later folders. The score
is the decoder's weighted sum (natural logs of attention, CTC and language model, with the bonus for
length), printed as a tensor by some versions; its parts are not written.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from charlm.errors import DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.reading.archives import Archive, Value, check_left, finite_number, split_line
from charlm.nbest.reading.format import FEATURE, Format, Piece, Sample, Source
from charlm.nbest.reading.list_lines import Lines, names_in, open_lines
from charlm.nbest.reading.policies import (
    check_options,
    ids_once,
    plain_words,
    refuse_twice,
    score_text,
    with_finite_features,
)
from charlm.nbest.reading.repairs import filled

TEXT = re.compile(r"(?:(.*)/)?([1-9][0-9]{0,3})best_recog/text")
TENSOR = re.compile(r"tensor\(([^,()]*)(?:,.*)?\)")
SCORES = ("score", FEATURE)  # files of features, and the names of these features
FILES = ("text", "token", "token_int", *SCORES)


@dataclass(frozen=True)
class _Rows:
    """Where each hypothesis stood, and what has been read of each file."""

    folders: tuple[str, ...]
    taken: Mapping[str, str]


class EspnetFormat(Format):
    """The feature is `score`; the new feature is a file `charlm` beside each `score`, in nats.

    When re-ranked, the rows of an utterance go to the folders of their new ranks. Of the files in
    the folders, only `text`, `score`, `token`, `token_int` and `charlm` are written.
    """

    name = "espnet"
    weights = {"score": 1.0}

    def __init__(self) -> None:
        # For each process, the text after its last list, and whether it decoded any lists.
        self._rest: list[tuple[dict[str, str], bool]] = []

    def claims(self, sample: Sample) -> bool:
        return any(found[2] == "1" for found in map(TEXT.fullmatch, sample.names) if found)

    def read(self, source: Source) -> Iterator[NbestList]:
        """One list per utterance, in the order of `1best_recog`."""
        check_options(source, self.name)
        folder = Path(source.path)
        if str(source.path) == "-" or not folder.is_dir():
            raise DataError(f"{source.path}: is no folder; expected that of ESPnet's decoding")
        names = frozenset(names_in(folder))
        shards: dict[str, dict[int, str]] = {}
        for path in filter(None, map(TEXT.fullmatch, names)):
            shards.setdefault(path[1] or "", {})[int(path[2])] = path[0].removesuffix("/text")
        if not shards:
            raise DataError(f"{folder}: found no 1best_recog/text; expected ESPnet's results")
        once, self._rest = ids_once(), []
        for shard in sorted(shards, key=_natural):
            ranks = shards[shard]
            if 1 not in ranks:
                raise DataError(f"{folder / shard}: found no 1best_recog/text; expected one")
            with ExitStack() as stack:
                folders = [ranks[rank] for rank in sorted(ranks)]
                there = (f"{where}/{file}" for where in folders for file in FILES)
                files = {
                    name: stack.enter_context(open_lines(folder / name, rules=source.rules))
                    for name in there
                    if name in names
                }
                process, has_lists = _Shard(folders, files, source), False
                for found in process.lists():
                    has_lists = True
                    once(found.id, found.hypotheses[0].place)
                    yield found
                self._rest.append((process.finish(), has_lists))

    def write(self, lists: Iterable[Rescored], *, reranked: bool) -> Iterator[Piece]:
        for item in lists:
            rows = _rows_of(item.nbest)
            if reranked:
                yield from _moved(item, rows)
            else:
                yield from (Piece(name, text) for name, text in rows.taken.items() if text)
            if item.scores:
                yield from _scored(item, item.ranking if reranked else range(len(rows.folders)))
        for rest, has_lists in self._rest:
            if not (reranked and has_lists):  # re-ranked rows are all that their files hold
                yield from (Piece(name, text) for name, text in rest.items() if text)


class _Shard:
    """The folders of one process, read side by side."""

    def __init__(self, folders: Sequence[str], files: Mapping[str, Lines], source: Source) -> None:
        self._folders, self._source = folders, source
        self._text = f"{folders[0]}/text"
        self._first = files[self._text]
        self._archives = {
            name: Archive(lines) for name, lines in files.items() if name != self._text
        }
        self._names = [name for name in SCORES if any(f.endswith(f"/{name}") for f in files)]
        self._blank = ""  # lines since the last list

    def lists(self) -> Iterator[NbestList]:
        """One list for each line of the first rank's text."""
        for line in self._first:
            self._blank += line.raw
            found = split_line(line)
            if found is not None:
                yield self._list(*found)

    def finish(self) -> dict[str, str]:
        """The text after the last list, by file.

        Raises:
            DataError: utterances that the first rank's text lacks, unless some may be missing.
        """
        check_left(self._archives.values(), self._source, beside=self._first.name)
        return self._taken()

    def _list(self, key: str, first: Value) -> NbestList:
        there, found = [], list[Hypothesis]()
        for folder in self._folders:
            is_first = folder == self._folders[0]
            text = first if is_first else self._archives[f"{folder}/text"].find(key)
            if text is not None:
                there.append(folder)
                values = {"text": text, **self._beside(folder, key, text)}
                words = plain_words(text.tail, text.place)
                tails = {file: value.tail for file, value in values.items()}
                found.append(Hypothesis(words, _features(values, self._source), text.place, tails))
        hypotheses = with_finite_features(key, found, source=self._source, ragged=True)
        nbest = NbestList(key, hypotheses, original=_Rows(tuple(there), self._taken()))
        return filled(nbest, self._names, notices=self._source.notices)

    def _beside(self, folder: str, key: str, text: Value) -> dict[str, Value]:
        """The values of an utterance in the other files of a rank."""
        values = {}
        for file in FILES[1:]:
            archive = self._archives.get(f"{folder}/{file}")
            value = None if archive is None else archive.find(key)
            if value is not None:
                values[file] = value
            elif archive is not None and self._source.allow_missing and file not in SCORES:
                self._source.notices.pass_over(f"hypotheses without a line in {file}", 1)
            elif archive is not None and not self._source.allow_missing:
                raise DataError(
                    f"{archive.name}: found no line for {key[:80]!r} of {text.place}; "
                    "expected one; --allow-missing does without"
                )
        return values

    def _taken(self) -> dict[str, str]:
        blank, self._blank = self._blank, ""
        return {
            self._text: blank,
            **{name: archive.taken() for name, archive in self._archives.items()},
        }


def _features(values: Mapping[str, Value], source: Source) -> dict[str, float]:
    features = {}
    for name in SCORES:
        if name in values:
            text, place = values[name].text, values[name].place
            inner = TENSOR.fullmatch(text)
            features[name] = finite_number(
                inner[1].strip() if inner else text, place, source=source
            )
    return features


def _moved(item: Rescored, rows: _Rows) -> Iterator[Piece]:
    """The rows of a list, each in the folder of its new rank."""
    for folder, which in zip(rows.folders, item.ranking, strict=True):
        tails = item.nbest.hypotheses[which].original
        assert isinstance(tails, dict)  # what follows the key in each file of a rank
        for file, tail in tails.items():
            yield Piece(f"{folder}/{file}", f"{item.nbest.id}{tail}\n")


def _scored(item: Rescored, order: Sequence[int]) -> Iterator[Piece]:
    for folder, which in zip(_rows_of(item.nbest).folders, order, strict=True):
        hypothesis = item.nbest.hypotheses[which]
        refuse_twice(hypothesis)
        score = score_text(item.scores[which], hypothesis)
        yield Piece(f"{folder}/{FEATURE}", f"{item.nbest.id} {score}\n")


def _rows_of(nbest: NbestList) -> _Rows:
    assert isinstance(nbest.original, _Rows)
    return nbest.original


def _natural(name: str) -> list[tuple[int, str]]:
    """A sort key that puts output.2 before output.10."""
    parts = re.split(r"([0-9]+)", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
