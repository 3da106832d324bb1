"""Kaldi's n-best lists as text archives: texts, `utt-A-1 we know`, and costs, `utt-A-1 87.29`.

A key is the utterance's id, a dash and a rank; ids may hold dashes themselves. Sorted by key, rank
10 comes before rank 2, so hypotheses are read by rank and written back where they stood. Costs are
negative natural logs; those in `acwt` are without the acoustic scale. No file says with which
acoustic scale and language model weight a list was ranked.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from charlm.errors import ConfigError, DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.reading.archives import Archive, check_left, finite_number, some_of, split_line
from charlm.nbest.reading.format import FEATURE, Piece, Sample, Source
from charlm.nbest.reading.list_lines import Lines, lines_of, names_in, open_lines
from charlm.nbest.reading.policies import check_options, plain_words, refuse_twice, score_text
from charlm.nbest.reading.repairs import filled
from charlm.nbest.reading.templates import (
    ListBuilder,
    OtherLine,
    Row,
    Template,
    TemplateFormat,
    template_of,
)
from charlm.text.io.files import unpacked_name

KEY = re.compile(r"(.+)-([0-9]{1,9})", re.DOTALL)
TEXTS = ("words_text", "text", "words.txt")  # the first of these that a folder holds is read
# The files of Kaldi's rescoring scripts, and the features that they hold.
COSTS = {
    "acwt": "am",
    "lmwt": "graph",  # language model, transitions and lexicon together
    "lmwt.withlm": "graph",
    "lmwt.nolm": "graph_nolm",  # without the language model
    "lmwt.lmonly": "old_lm",
    FEATURE: FEATURE,
}


class KaldiFormat(TemplateFormat):
    """A file of texts with `features` as files of costs, or a folder with both.

    A folder is written as a folder: the texts, the costs as they were, and new costs `charlm`. For
    a file of texts, only the costs `charlm` are written, as Kaldi's own tools do; without new
    scores, or when re-ranked, the texts are written instead. Keys connect archives, so a hypothesis
    keeps its key when lists are re-ranked: lines change places, and other archives with the same
    keys remain valid.
    """

    name = "kaldi"

    def __init__(self) -> None:
        self._text_name = ""  # the name of a folder's file of texts; empty if a file is read

    def claims(self, sample: Sample) -> bool:
        """Keys with ranks from 1 on, each once, and no `|||`; a folder with texts and costs."""
        if sample.names:
            texts, costs = _files_in(sample.names)
            return bool(texts and costs)
        seen: set[str] = set()
        ids: set[str] = set()
        for line in sample.lines:
            key, _, _ = line.partition(" ")
            found = re.fullmatch(r"([^\t]+)-([1-9][0-9]*)", key)
            if not key.strip(" \t"):
                continue
            if found is None or key in seen or (found[1] not in ids and found[2] != "1"):
                return False
            if "|||" in line:  # Moses, or another format
                return False
            seen.add(key)
            ids.add(found[1])
        return bool(seen)

    def read(self, source: Source) -> Iterator[NbestList]:
        check_options(source, self.name, "features")
        with ExitStack() as stack:
            text, costs = source.path, dict(source.features)
            self._text_name = ""
            if str(text) != "-" and Path(text).is_dir():
                text, costs = self._in_folder(Path(text), costs)
                lines = stack.enter_context(open_lines(text, rules=source.rules))
            else:
                lines = stack.enter_context(lines_of(source))
            archives = {
                name: Archive(stack.enter_context(open_lines(path, rules=source.rules)))
                for name, path in costs.items()
            }
            rows = _rows(lines, archives, source)
            for found in ListBuilder(source, name=lines.name, ragged=True).lists(rows):
                assert isinstance(found.original, Template)
                taken = {costs[name].name: archives[name].taken() for name in archives}
                nbest = replace(found, original=replace(found.original, beside=taken))
                yield filled(nbest, archives, notices=source.notices)

    def _in_folder(
        self, folder: Path, features: Mapping[str, Path]
    ) -> tuple[Path, dict[str, Path]]:
        texts, costs = _files_in(names_in(folder))
        if not texts:
            raise DataError(
                f"{folder}: found none of {', '.join(TEXTS)}; expected a file of texts beside the "
                "costs"
            )
        self._text_name = texts[0]
        names = {texts[0], FEATURE, *costs.values()}  # the files that will be written
        for name, path in features.items():
            if name in costs or path.name in names:
                raise ConfigError(
                    f"feature {name!r}: {folder} holds one of this name, or a file called "
                    f"{path.name!r}; expected other names, since both are to be written"
                )
            names.add(path.name)
        return folder / texts[0], {
            **{name: folder / file for name, file in costs.items()},
            **features,
        }

    def key(self, nbest: NbestList, which: int) -> str:
        original = nbest.hypotheses[which].original
        assert isinstance(original, tuple)
        return str(original[0])

    def write(self, lists: Iterable[Rescored], *, reranked: bool) -> Iterator[Piece]:
        """For a folder, one piece per file and list; else the texts, or the costs `charlm`."""
        for item in lists:
            if not self._text_name and item.scores and not reranked:
                yield Piece("", _costs(item))
                continue
            yield Piece(self._text_name, self.filled(item, reranked=reranked))
            if self._text_name:
                beside = template_of(item).beside
                yield from (Piece(name, text) for name, text in beside.items() if text)
                if item.scores:
                    yield Piece(FEATURE, _costs(item))

    def piece(self, hypothesis: Hypothesis, score: float | None, *, at: Hypothesis) -> str:
        assert isinstance(hypothesis.original, tuple)
        return "".join(hypothesis.original)


def _costs(item: Rescored) -> str:
    """The costs `charlm` in the order of the file, since Kaldi needs its archives sorted."""
    lines = [""] * len(item.scores)
    slots = template_of(item).slots
    for slot, hypothesis, score in zip(slots, item.nbest.hypotheses, item.scores, strict=True):
        refuse_twice(hypothesis)
        assert isinstance(hypothesis.original, tuple)
        lines[slot] = f"{hypothesis.original[0]} {score_text(0.0 - score, hypothesis)}\n"
    return "".join(lines)


def _files_in(names: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Files of texts in order of preference, and files of costs by the features that they hold.

    Of several files of one feature, the later ones are features of their own, named as they are.
    """
    plain = {str(unpacked_name(name)): name for name in names if "/" not in name}
    costs: dict[str, str] = {}
    for name, file in plain.items():
        feature = COSTS.get(name) or (name[5:] if name.startswith("lmwt.") else "")
        if feature:
            costs[file if feature in costs else feature] = file
    return [plain[name] for name in TEXTS if name in plain], costs


def _rows(
    lines: Lines, archives: Mapping[str, Archive], source: Source
) -> Iterator[Row | OtherLine]:
    last, ranks = "", set[str]()
    for line in lines:
        found = split_line(line)
        if found is None:
            yield OtherLine(line)
            continue
        key, value = found
        parts = KEY.fullmatch(key)
        if parts is None:
            raise DataError(
                f"{line.place}: found {key[:80]!r} as the key; expected an utterance's id, a dash "
                "and a rank, as utt-1; if the line begins with the first word of a sentence, the "
                "key is lost"
            )
        last, ranks = parts[1], ranks if parts[1] == last else set()
        if key in ranks:
            raise DataError(f"{line.place}: found the key {key[:80]!r} twice; expected it once")
        ranks.add(key)
        features = _features(key, archives, lines=lines, source=source)
        yield Row(
            line,
            parts[1],
            plain_words(value.tail, line.place),
            features,
            (key, value.tail),
            rank=int(parts[2]),
        )
    check_left(archives.values(), source, beside=lines.name)


def _features(
    key: str, archives: Mapping[str, Archive], *, lines: Lines, source: Source
) -> dict[str, float]:
    features = {}
    for name, archive in archives.items():
        value = archive.find(key)
        if value is not None:
            features[name] = 0.0 - finite_number(value.text, value.place, source=source)
        elif not source.allow_missing:
            missing = [key, *_missing_too(lines, archive)]
            raise DataError(
                f"{archive.name}: found no cost for hypotheses of {lines.name}, "
                f"{some_of(missing)}; expected one for each; --allow-missing takes the highest of "
                "the list"
            )
    return features


def _missing_too(lines: Lines, archive: Archive) -> Iterator[str]:
    for line in lines:
        found = split_line(line)
        if found is not None and archive.find(found[0]) is None:
            yield found[0]
