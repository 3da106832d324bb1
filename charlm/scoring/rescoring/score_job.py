"""What the options of `charlm score` ask for, checked before any model is loaded."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from charlm.errors import ConfigError
from charlm.nbest.duplicates import Dedup
from charlm.nbest.format import OnNan, Source
from charlm.nbest.weights import Weights
from charlm.text.io.lines import UTF8, LineRules
from charlm.text.io.overwrite import require_distinct
from charlm.text.io.paths import require_place

Write = Literal["scored", "ranked", "nbest", "kaldi", "trn", "text", "tsv", "jsonl", "none"]
SAME_FORMAT = ("scored", "ranked")
LISTS = (*SAME_FORMAT, "nbest")  # all hypotheses of each list
SERVED = (*SAME_FORMAT, "nbest", "jsonl")
ContextName = Literal["none", "previous"]
Paths = str | Path | Sequence[str | Path]
Given = Weights | str | Path | None  # weights: themselves, a file of them, or the lists' own
Out = str | Path | Callable[[str], object] | None  # a file, a folder, what takes text, or nowhere


def written_encoding(layout: Write, encoding: str) -> str:
    """The encoding of what is written of lists in an encoding: theirs in their own format."""
    return encoding if layout in SAME_FORMAT else UTF8


def as_paths(paths: Paths) -> list[str | Path]:
    """One path or several, as a list."""
    return [paths] if isinstance(paths, str | Path) else list(paths)


def as_names(names: str | Sequence[str]) -> tuple[str, ...]:
    """`a,b` or a list of names."""
    split = names.split(",") if isinstance(names, str) else names
    return tuple(name.strip() for name in split if name.strip())


def as_files(features: Sequence[str] | Mapping[str, str | Path]) -> dict[str, Path]:
    """`NAME=FILE` texts as a mapping.

    Raises:
        ConfigError: another text, or a name twice.
    """
    if isinstance(features, Mapping):
        return {name: Path(path) for name, path in features.items()}
    files: dict[str, Path] = {}
    for text in features:
        name, _, path = text.partition("=")
        if not name or not path or name in files:
            raise ConfigError(f"--features {text!r:.80}: expected NAME=FILE, each name once")
        files[name] = Path(path)
    return files


def is_folder(out: str | Path, *, lists: str | Path, layout: Write) -> bool:
    """Whether a path is that of a folder: by a slash, or a new one where the lists are of one."""
    if Path(out).exists() and not str(out).endswith("/"):
        return Path(out).is_dir()
    is_one = layout in SAME_FORMAT and str(lists) != "-" and Path(lists).is_dir()
    return is_one or str(out).endswith("/")


@dataclass(frozen=True)
class Reading:
    """How lists are read, those of the tuning as those that are written."""

    format: str
    columns: tuple[str, ...]
    features: Mapping[str, Path]
    on_nan: OnNan
    allow_missing: bool
    length_penalty: float
    rules: LineRules

    def source(self, path: str | Path) -> Source:
        """A list at a path."""
        return Source(
            path,
            features=self.features,
            columns=self.columns,
            on_nan=self.on_nan,
            allow_missing=self.allow_missing,
            length_penalty=self.length_penalty,
            rules=self.rules,
        )


@dataclass(frozen=True)
class Tuning:
    """What weights are looked for, and on what."""

    lists: str | Path
    refs: str | Path
    features: tuple[str, ...]
    ranges: Sequence[str]
    restarts: int
    folds: int
    seed: int


@dataclass(frozen=True)
class Asked:
    """The options that say which lists and files there are, as the user gave them."""

    lists: str | Path | None
    tune: str | Path | None
    refs: str | Path | None
    test_refs: str | Path | None
    weights: str | Path | None
    out: Out
    write: Write
    explain: str | None
    serve: bool
    sort: bool = False
    dedup: Dedup = "none"

    def check(self) -> None:
        """Raises ConfigError for options that contradict each other."""
        if self.serve:
            self._check_served()
        elif self.lists is None:
            self._check_without_lists()
        if self.tune is None and self.test_refs is not None:
            raise ConfigError(
                f"--test-refs {self.test_refs}: is of LIST where --refs is of --tune, and there is "
                "none; expected --refs"
            )
        if self.tune is not None and self.refs is None:
            raise ConfigError(
                f"--tune {self.tune}: found no --refs; expected the references of its lists"
            )
        if "-" in map(str, (self.tune, self.refs, self.test_refs)):
            raise ConfigError("--tune and --refs: expected files; only LIST may be standard input")
        if self.write == "none" and self.out is not None and not callable(self.out):
            raise ConfigError(f"--out {self.out}: --write none writes no list; drop one of them")
        if self.explain is not None and self.dedup == "sum":
            raise ConfigError(
                "--explain --dedup sum: two hypotheses are explained, and sums are of more; "
                "expected --dedup max or none"
            )
        if self.sort and self.write not in LISTS:
            raise ConfigError(
                f"--sort: --write {self.write} has no list to sort; expected one of "
                f"{', '.join(LISTS)}; drop one of them"
            )
        self._check_places()

    def _check_places(self) -> None:
        """What is written is looked at before the work of an hour."""
        weights = None if self.tune is None else self.weights
        require_place(weights, option="--weights")
        if not isinstance(self.out, str | Path):
            return
        if not is_folder(self.out, lists=self.lists or "-", layout=self.layout):
            require_place(self.out, option="--out")
        require_distinct({"--out": self.out, "--weights": weights})

    @property
    def layout(self) -> Write:
        """How lists are written."""
        return "ranked" if self.sort and self.write == "scored" else self.write

    @property
    def own_refs(self) -> str | Path | None:
        """The references of the lists that are written."""
        return self.refs if self.tune is None else self.test_refs

    def tuning(
        self,
        features: tuple[str, ...],
        ranges: Sequence[str],
        *,
        restarts: int,
        folds: int,
        seed: int,
    ) -> Tuning | None:
        """What weights are looked for; None: they are given."""
        if self.tune is None or self.refs is None:
            return None
        return Tuning(self.tune, self.refs, features, ranges, restarts, folds, seed)

    def _check_without_lists(self) -> None:
        if self.tune is None:
            raise ConfigError("found neither LIST nor --tune; expected lists to score; name a file")
        if self.weights is None:
            raise ConfigError(
                f"--tune {self.tune}: found no --weights; expected a file that the weights are "
                "written to"
            )
        is_file = self.out is not None and not callable(self.out)
        for option, given in (
            ("--test-refs", self.test_refs),
            ("--explain", self.explain),
            ("--out", self.out if is_file else None),
        ):
            if given is not None:
                raise ConfigError(f"{option}: found no LIST that it is for; name one, or drop it")

    def _check_served(self) -> None:
        for option, given in (
            ("LIST", self.lists),
            ("--explain", self.explain),
            ("references of LIST", self.own_refs),
        ):
            if given is not None:
                raise ConfigError(
                    f"--serve: found {option} {given}; the lists come through standard input, one "
                    "a line, and are answered at once; drop one of them"
                )
        if self.write not in SERVED:
            raise ConfigError(
                f"--serve --write {self.write}: answers are JSON lines; expected one of "
                f"{', '.join(SERVED)}"
            )
