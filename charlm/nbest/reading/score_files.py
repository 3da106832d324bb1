"""Formats without room for another feature: scores go to a separate file, one log10 per line.

The tools of these formats do the same: the RNNLM toolkit prints a number for each hypothesis, and
SRILM keeps folders of scores beside the folder of lists. With new scores, such a list is therefore
written as its scores alone; when re-ranked, as its lines in their new order. `Source.features`
names files of scores to read beside a list, including files written here.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from charlm.errors import ConfigError, DataError, first_few
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.reading.format import Sample, Source
from charlm.nbest.reading.list_lines import Line, Lines, lines_of, open_lines
from charlm.nbest.reading.policies import (
    CONTROL,
    LN10,
    check_options,
    number,
    plain_words,
    score_text,
)
from charlm.nbest.reading.repairs import WITHOUT_HYPOTHESIS, filled
from charlm.nbest.reading.templates import ListBuilder, OtherLine, Row, TemplateFormat
from charlm.text.io.files import display_name
from charlm.text.io.paths import PACKED

ENDINGS = (*PACKED, ".Z", ".score", ".nbest")  # no part of an utterance's id


class ScoresBesideFormat(TemplateFormat):
    """A format that holds only what its tool writes or reads, and so no new scores."""

    is_alone: ClassVar[bool] = False  # whether every line is a list of its own

    def piece(self, hypothesis: Hypothesis, score: float | None, *, at: Hypothesis) -> str:
        assert isinstance(hypothesis.original, str)
        return hypothesis.original

    def filled(self, item: Rescored, *, reranked: bool) -> str:
        """The list as it was, or re-ranked; with scores and not re-ranked, the scores alone."""
        if reranked or not item.scores:
            return super().filled(item, reranked=reranked)
        pairs = zip(item.scores, item.nbest.hypotheses, strict=True)
        return "".join(score_text(score / LN10, hypothesis) + "\n" for score, hypothesis in pairs)

    def _gathered(
        self, rows: Iterable[Row | OtherLine], source: Source, name: str, *, file: str = ""
    ) -> Iterator[NbestList]:
        with ExitStack() as stack:
            beside = {
                feature: stack.enter_context(open_lines(path, rules=source.rules))
                for feature, path in source.features.items()
            }
            builder = ListBuilder(source, name=name, file=file, is_alone=self.is_alone)
            yield from builder.lists(_with_features(rows, beside, name))


class ScoreFileFormat(ScoresBesideFormat):
    """Such a format with one hypothesis per line."""

    @abstractmethod
    def row(self, line: Line, key: str) -> Row | OtherLine:
        """A line as a row; `key` is the id that the file's name gives.

        Raises:
            DataError: FILE:LINE of a line that is no hypothesis.
        """

    def read(self, source: Source) -> Iterator[NbestList]:
        """One list per id; files of features hold a log10 for each hypothesis."""
        check_options(source, self.name, "features")
        with lines_of(source) as lines:
            rows = (self.row(line, "") for line in lines)
            yield from self._gathered(rows, source, lines.name)


def row_of_scores(line: Line, fields: list[str], *, key: str) -> Row:
    """A hypothesis with the log10 scores of two models, a number of words, and the words."""
    features = {
        "am": LN10 * number(fields[0], f"{line.place}: the acoustic score"),
        "old_lm": LN10 * number(fields[1], f"{line.place}: the language model score"),
        "nwords": number(fields[2], f"{line.place}: the number of words"),
    }
    return Row(line, key, plain_words(" ".join(fields[3:]), line.place), features, line.text)


def _with_features(
    rows: Iterable[Row | OtherLine], beside: Mapping[str, Lines], name: str
) -> Iterator[Row | OtherLine]:
    """The rows, each with the next number of every file."""
    for row in rows:
        if isinstance(row, Row):
            for feature, lines in beside.items():
                if feature in row.features:
                    raise ConfigError(
                        f"{row.line.place}: found the feature {feature!r} in the list itself; "
                        "expected another name for the file of scores"
                    )
                line = next(lines, None)
                if line is None:
                    raise DataError(
                        f"{lines.name}: found no number for the hypothesis at {row.line.place}; "
                        "expected one a line for each hypothesis"
                    )
                text = line.text.strip(" \t")
                row.features[feature] = LN10 * number(text, line.place)
        yield row
    for lines in beside.values():
        line = next(lines, None)
        if line is not None:
            raise DataError(
                f"{line.place}: found a number more than {name} has hypotheses; expected one a "
                "line for each hypothesis"
            )


class UtteranceFormat(ScoreFileFormat):
    """A list is a file of its own, named after its utterance; a folder holds many.

    For a folder, each piece that is written has the name of the file that was read, so scores
    become a folder of scores. The id is the name without `.gz`, `.score` and the like.
    """

    def read(self, source: Source) -> Iterator[NbestList]:
        """One list per file, by name; beside a folder, each feature is a folder as well."""
        check_options(source, self.name, "features")
        if str(source.path) == "-" or not Path(source.path).is_dir():
            with lines_of(source) as lines:
                yield from self._one(lines, utterance_of(lines.name), source)
            return
        files, beside = files_of(source.path), _folders_beside(source)
        _check_scores(files, beside, source=source)
        for key, path in files.items():
            features = {name: scores[key] for name, scores in beside.items() if key in scores}
            own = replace(source, features=features)
            with open_lines(path, rules=source.rules) as lines:
                for found in self._one(lines, key, own, file=path.name):
                    yield filled(found, beside, notices=source.notices)

    def _one(
        self, lines: Lines, key: str, source: Source, *, file: str = ""
    ) -> Iterator[NbestList]:
        rows = [self.row(line, key) for line in lines]
        if any(isinstance(row, Row) for row in rows):
            yield from self._gathered(rows, source, lines.name, file=file)
            return
        if not source.allow_missing:
            raise DataError(
                f"{lines.name}: found no hypothesis; expected at least one; "
                "--allow-missing leaves the utterance out"
            )
        source.notices.pass_over(WITHOUT_HYPOTHESIS, 1)


def utterance_of(name: str) -> str:
    """The id that a file's name gives; a list of standard input, which has none, is called `-`."""
    if name == display_name("-"):
        return "-"
    key = Path(name).name
    while key.endswith(ENDINGS):
        key = key[: key.rindex(".")]
    return key


def files_of(folder: str | Path) -> dict[str, Path]:
    """The files of a folder by the ids of their utterances, sorted; hidden files are ignored.

    Raises:
        DataError: a subfolder, two files of one utterance, a name that cannot be an id, or no file.
    """
    files: dict[str, Path] = {}
    for path in sorted(path for path in Path(folder).iterdir() if not path.name.startswith(".")):
        if not path.is_file():
            raise DataError(f"{path}: is no file; expected a folder of files, one an utterance")
        key = utterance_of(path.name)
        if CONTROL.search(key):
            raise DataError(
                f"{folder}: the id {key[:80]!r} holds a control character; expected none; rename it"
            )
        if key in files:
            raise DataError(f"{path}: found the id {key!r} of {files[key]} too; expected one file")
        files[key] = path
    if not files:
        raise DataError(f"{folder}: found no file in this folder; expected one an utterance")
    return files


def first_lines(sample: Sample) -> tuple[str, ...]:
    """The beginning of a list; for a folder of files, that of the first file that is not empty.

    Empty for other folders.

    Raises:
        DataError: no file of a folder can be read.
    """
    if not sample.names:
        return sample.lines
    if any("/" in name for name in sample.names):
        return ()
    problem: DataError | None = None
    for name in sample.names:
        path = Path(sample.path, name)
        if not path.is_file():  # a pipe would block; the reader says what it is
            continue
        try:
            with open_lines(path) as lines:
                if found := lines.sample():
                    return found
        except DataError as error:  # somebody's notes beside the lists, perhaps
            problem = problem or error
    if problem:
        raise problem
    return ()


def _folders_beside(source: Source) -> dict[str, dict[str, Path]]:
    """The files of scores of each utterance, by feature."""
    folders = {}
    for feature, folder in source.features.items():
        if not Path(folder).is_dir():
            raise DataError(f"{folder}: is no folder; expected one of scores, a file a list")
        folders[feature] = files_of(folder)
    return folders


def _check_scores(
    files: Mapping[str, Path], beside: Mapping[str, Mapping[str, Path]], *, source: Source
) -> None:
    """Raises DataError for lists without scores or scores without lists, unless allowed."""
    for feature, scores in beside.items():
        missing = [key for key in files if key not in scores]
        surplus = [key for key in scores if key not in files]
        if source.allow_missing:
            source.notices.pass_over(f"files of {feature!r} without a list", len(surplus))
        elif missing or surplus:
            found = f"no {feature!r} for {len(missing)} of {len(files)} utterances"
            if not missing:
                found = f"{feature!r} for {len(surplus)} utterances without a list"
            raise DataError(
                f"{source.path}: found {found} ({first_few(missing or surplus)}); expected a "
                "file each; --allow-missing does without"
            )
