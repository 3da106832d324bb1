"""`prep`: raw text to a corpus directory {train,valid,test}.txt and corpus.json.

The cleaned text goes to a nameless file first, since where to cut it is known only at its end. The
three files appear together and corpus.json last: where it stands, the corpus is whole.
"""

import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from charlm.errors import ConfigError, DataError
from charlm.text.corpus.cleaning import REASONS, Cleaner, Limits, Rules, Source
from charlm.text.corpus.embedded import pydoc_sentences
from charlm.text.corpus.normalisation import Normalisation
from charlm.text.corpus.split import (
    SPLITS,
    SUMMARY,
    Block,
    Counts,
    copy_block,
    cut,
    parse_shares,
    whole,
)
from charlm.text.io.files import atomic_write, display_name, scratch_file, write_json
from charlm.text.io.lines import UTF8
from charlm.text.io.paths import make_folder
from charlm.version import __version__

FORMAT = 1
FILES = (*(f"{split}.txt" for split in SPLITS), SUMMARY)
RAW = "raw"
CORPORA = {"pydoc": pydoc_sentences}

Json = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class Texts:
    """What is read: files or an embedded corpus, perhaps files of their own for valid and test."""

    raw: tuple[str, ...]
    corpus: str | None
    given: dict[str, str]
    split: str

    def __post_init__(self) -> None:
        """Raises ConfigError unless there is one source of text, and known."""
        if self.corpus is not None and self.corpus not in CORPORA:
            raise ConfigError(f"corpus: found {self.corpus!r}; expected {', '.join(CORPORA)}")
        if bool(self.raw) == (self.corpus is not None):
            found = "both raw files and a corpus" if self.raw else "neither raw files nor a corpus"
            raise ConfigError(f"prep: found {found}; expected one of them; name FILE or --corpus")

    @property
    def name(self) -> str:
        """How messages call the raw text."""
        if self.corpus is not None:
            return self.corpus
        more = f" and {len(self.raw) - 1} more" if len(self.raw) > 1 else ""
        return display_name(self.raw[0]) + more


@dataclass(frozen=True, kw_only=True)
class PrepResult:
    """What a preparation read, dropped and wrote.

    `drops` counts lines by reason, `replaced` the lines in which invalid bytes were replaced.
    `stopped_after_tokens` is None where all was read.
    """

    texts: Texts
    rules: Rules
    sources: tuple[Source, ...]
    drops: dict[str, int]
    replaced: int
    stopped_after_tokens: int | None
    counts: dict[str, Counts]

    @property
    def n_lines_read(self) -> int:
        """All lines that were read: those kept and those dropped."""
        return sum(source.lines for source in self.sources)

    def to_dict(self) -> Json:
        """What corpus.json holds."""
        counts = self.counts.items()
        return {
            "format": FORMAT,
            "version": __version__,
            "options": _options(self.texts, self.rules),
            "normalisation": self.rules.normalise.to_dict(),
            "sources": [source.to_dict() for source in self.sources],
            "lines_read": self.n_lines_read,
            "drops": self.drops,
            "replaced": self.replaced,
            "stopped_after_tokens": self.stopped_after_tokens,
            "counts": {split: n.to_dict() for split, n in counts},
            "sha256": {f"{split}.txt": n.sha256 for split, n in counts},
        }


def _options(texts: Texts, rules: Rules) -> Json:
    return {
        "corpus": texts.corpus,
        "split": texts.split,
        **rules.limits.to_dict(),
        "dedup": rules.dedup,
        "encoding": rules.encoding,
        "invalid": rules.invalid,
    }


def prepare(
    raw: str | Path | Sequence[str | Path] = (),
    *,
    out: str | Path,
    corpus: str | None = None,
    valid: str | Path | None = None,
    test: str | Path | None = None,
    split: str = "90,5,5",
    lower: bool = False,
    unicode: str = "NFC",
    tokenise: str = "none",
    numbers: bool = False,
    min_words: int = 1,
    max_words: int = 0,
    dedup: bool = False,
    encoding: str = UTF8,
    invalid: str = "error",
    max_tokens: int = 0,
) -> PrepResult:
    """Make the corpus directory `out` of raw files or of the corpus "pydoc", a sentence a line.

    Files for valid and test are treated like the rest; what is not given is cut from `raw` by the
    shares of `split`. Limits are words after normalisation; 0 is none; reading ends with the line
    that reaches `max_tokens`. `dedup` drops what `raw` (or a given file) held before. The
    files are in `encoding`, the corpus is in UTF-8.

    Raises:
        ConfigError: options that do not exist or do not go together.
        DataError: unreadable text, nothing left of it, or a corpus in `out` already.
    """
    paths = [raw] if isinstance(raw, str | Path) else raw
    given = {name: str(path) for name, path in (("valid", valid), ("test", test)) if path}
    texts = Texts(raw=tuple(map(str, paths)), corpus=corpus, given=given, split=split)
    normalise = Normalisation(lower, unicode, tokenise, numbers)
    limits = Limits(min_words, max_words, max_tokens)
    rules = Rules(
        normalise=normalise, limits=limits, dedup=dedup, invalid=invalid, encoding=encoding
    )
    return _prepare(texts, rules, out=Path(out))


def _prepare(texts: Texts, rules: Rules, *, out: Path) -> PrepResult:
    shares = dict(zip(SPLITS, parse_shares(texts.split), strict=True))
    with _new_folder(out), ExitStack() as files:
        cleaned = {
            role: _clean(role, texts, rules=rules, into=files.enter_context(scratch_file(out)))
            for role in (RAW, *texts.given)
        }
        raw, all_cleaned = cleaned[RAW], cleaned.values()
        blocks = _blocks(cleaned, texts, shares=shares)
        with _whole_corpus(out):
            counts = _write(blocks, out)
            result = PrepResult(
                texts=texts,
                rules=rules,
                sources=tuple(source for each in all_cleaned for source in each.sources),
                drops={why: sum(each.drops[why] for each in all_cleaned) for why in REASONS},
                replaced=sum(each.n_replaced for each in all_cleaned),
                stopped_after_tokens=raw.n_words if raw.is_full else None,
                counts=counts,
            )
            write_json(out / SUMMARY, result.to_dict())
    return result


@contextmanager
def _new_folder(out: Path) -> Iterator[None]:
    """A folder without a corpus; one that is made for it goes again if there is none in the end."""
    _refuse_corpus(out)
    is_new = not out.exists()
    make_folder(out)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):  # somebody else may have put something there
                out.rmdir()
        raise


@contextmanager
def _whole_corpus(out: Path) -> Iterator[None]:
    """All files of a corpus appear in the folder, or none."""
    _refuse_corpus(out)  # another process may have been at work there, and is not to lose its own
    try:
        yield
    except BaseException:
        for name in FILES:
            (out / name).unlink(missing_ok=True)
        raise


def _refuse_corpus(out: Path) -> None:
    for name in FILES:
        if os.path.lexists(out / name):
            raise DataError(
                f"{out}: holds {name} already; expected a folder without a corpus; name another "
                "--out, or remove the old one first"
            )


def _clean(role: str, texts: Texts, *, rules: Rules, into: BinaryIO) -> Cleaner:
    """What is left of the raw text, or of the file given for a split."""
    if role == RAW:
        cleaner = Cleaner(rules, into=into)
        name = texts.name
        if texts.corpus is not None:
            shown = f"{texts.corpus} of Python {platform.python_version()}"
            cleaner.read_corpus(CORPORA[texts.corpus](), name=shown)
        for path in texts.raw:
            cleaner.read_file(path, role=role)
    else:
        limits = replace(rules.limits, max_tokens=0)  # they are there to be used whole
        cleaner = Cleaner(replace(rules, limits=limits), into=into)
        name = display_name(texts.given[role])
        cleaner.read_file(texts.given[role], role=role)
    if not cleaner.n_kept:
        drops = ", ".join(f"{n} {reason}" for reason, n in cleaner.drops.items() if n)
        n_lines = sum(cleaner.drops.values())
        found = f"nothing is left of {n_lines} lines ({drops})" if n_lines else "holds no lines"
        raise DataError(f"{name}: {found}; expected text, one sentence a line")
    return cleaner


def _blocks(
    cleaned: dict[str, Cleaner], texts: Texts, *, shares: dict[str, float]
) -> dict[str, Block]:
    """The text of each split: a given file's, or its share of the raw text's."""
    blocks = {role: whole(cleaner.into) for role, cleaner in cleaned.items()}
    raw = blocks.pop(RAW)
    left = {split: share for split, share in shares.items() if split not in blocks}
    blocks |= dict(zip(left, cut(raw, list(left.values())), strict=True))
    for split in SPLITS:
        if blocks[split].start == blocks[split].end:
            raise DataError(
                f"{texts.name}: {cleaned[RAW].n_kept} lines cut {texts.split} leave none for "
                f"{split}; expected one in each split; give more text, other shares (--split), "
                "or files (--valid, --test)"
            )
    return blocks


def _write(blocks: dict[str, Block], out: Path) -> dict[str, Counts]:
    """Write the three files; none stands under its name before all are on the disk."""
    with ExitStack() as files:
        return {
            split: copy_block(
                blocks[split], files.enter_context(atomic_write(out / f"{split}.txt"))
            )
            for split in SPLITS
        }
