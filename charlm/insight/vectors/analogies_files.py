"""Files of analogy questions, and how many a model answers, section by section.

Google's layout (`: section`, then four words a line) and tables with `# section` and a heading
a1 a2 b1 b2. A question whose answer is outside the vocabulary can never be answered: it is counted
as left out, and not as wrong.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

from charlm.errors import DataError
from charlm.insight.vectors.analogies import Question, read_question, right_answers
from charlm.insight.vectors.cache import Tell
from charlm.insight.vectors.inputs import Asked, Paths, asked_of, paths_of
from charlm.insight.vectors.taps import At, Reader
from charlm.text.io.files import display_name
from charlm.text.io.lines import read_lines, split_words

HEADING = ["a1", "a2", "b1", "b2"]
NO_SECTION = "-"


@dataclass(frozen=True)
class Answers:
    """How many questions of a section were asked and answered."""

    section: str
    n_questions: int
    n_known: int = 0  # of four words of the vocabulary
    n_known_right: int = 0
    n_spelled: int = 0  # further ones, asked with words read by their spelling
    n_spelled_right: int = 0

    @property
    def accuracy_known(self) -> float | None:
        """Of the known; None of nothing."""
        return self.n_known_right / self.n_known if self.n_known else None

    @property
    def accuracy(self) -> float | None:
        """Of all that were asked; None of nothing."""
        n_asked = self.n_known + self.n_spelled
        return (self.n_known_right + self.n_spelled_right) / n_asked if n_asked else None

    def to_dict(self) -> dict[str, object]:
        """As JSON."""
        return {
            **asdict(self),
            "accuracy_known": self.accuracy_known,
            "accuracy": self.accuracy,
        }


@dataclass(frozen=True)
class AnalogyScore:
    """The answers to a file of questions at one tap."""

    file: str
    tap: str
    sections: tuple[Answers, ...]

    @property
    def total(self) -> Answers:
        """Over all sections."""
        names = ("n_questions", "n_known", "n_known_right", "n_spelled", "n_spelled_right")
        sums = {name: sum(getattr(each, name) for each in self.sections) for name in names}
        return Answers("total", **sums)

    def to_dict(self) -> dict[str, object]:
        """As JSON."""
        return {
            "file": self.file,
            "at": self.tap,
            "sections": [each.to_dict() for each in self.sections],
            "total": self.total.to_dict(),
        }


def analogy_accuracy(
    files: Paths,
    *,
    model: str | Path | None = None,
    at: At = None,
    raw: bool = False,
    lower: bool = False,
    device: str = "auto",
    tell: Tell | None = None,
) -> tuple[AnalogyScore, ...]:
    """How many questions of each file are answered at each tap, section by section.

    The rest as `neighbours`.

    Raises:
        ConfigError: as `neighbours`.
        DataError: a file of another format.
    """
    paths = paths_of(files)
    asked = asked_of(model, at=at, raw=raw, lower=lower, device=device, tell=tell)
    results = []
    for path in paths:
        sections = _read_sections(path, asked.reader)
        results += [_score(sections, asked, tap=tap, name=str(path)) for tap in asked.taps]
    return tuple(results)


def _read_sections(path: str | Path, reader: Reader) -> dict[str, list[Question]]:
    name = display_name(path)
    sections: dict[str, list[Question]] = {}
    section = NO_SECTION
    for number, line in read_lines(path):
        fields = split_words(line)
        if fields and fields[0] in (":", "#"):
            section = " ".join(fields[1:]) or NO_SECTION
        elif len(fields) == len(HEADING):
            if fields != HEADING:
                sections.setdefault(section, []).append(read_question(fields, reader))
        elif fields:
            raise DataError(
                f"{name}:{number}: found {len(fields)} words; expected four words, or : section"
            )
    if not sections:
        raise DataError(f"{name}: no question in it; expected four words a line")
    return sections


def _score(
    sections: dict[str, list[Question]], asked: Asked, *, tap: str, name: str
) -> AnalogyScore:
    questions = [each for section in sections.values() for each in section]
    results = iter(right_answers(questions, asked, tap=tap))
    answers = []
    for section, listed in sections.items():
        outcomes = [(each.is_known, next(results)) for each in listed]
        asked_ones = [(is_known, right) for is_known, right in outcomes if right is not None]
        known = [right for is_known, right in asked_ones if is_known]
        spelled = [right for is_known, right in asked_ones if not is_known]
        numbers = (len(listed), len(known), sum(known), len(spelled), sum(spelled))
        answers.append(Answers(section, *numbers))
    return AnalogyScore(name, tap, tuple(answers))
