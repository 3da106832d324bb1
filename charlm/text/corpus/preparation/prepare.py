"""`prep`: raw text to a corpus directory {train,valid,test}.txt and corpus.json.

The cleaned text goes to a nameless file first, since only at its end is it known where to cut it.
The three files appear together and corpus.json last: if it is there, the corpus is complete.
"""

import os
import platform
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from charlm.errors import ConfigError, DataError, first_few
from charlm.interface.options import keywords, require_one_stdin, several
from charlm.interface.short_repr import ShortRepr
from charlm.text.corpus.normalisation.oddities import Finding, oddities
from charlm.text.corpus.preparation.cleaning import REASONS, Cleaner, RawSource, normalisation_of
from charlm.text.corpus.preparation.embedded import pydoc_sentences
from charlm.text.corpus.preparation.prep_options import PrepOptions
from charlm.text.corpus.signs import (
    signs_of_dotless_i,
    signs_of_raw_text,
    signs_of_repetition,
    signs_of_windows,
)
from charlm.text.corpus.split import (
    SPLITS,
    SUMMARY,
    ByteRange,
    SplitCounts,
    copy_block,
    cut,
    parse_shares,
    shares_of_train,
    whole,
)
from charlm.text.io.atomic import try_to_lock
from charlm.text.io.files import atomic_write, display_name, scratch_file, write_json
from charlm.text.io.paths import make_folder, require_there
from charlm.version import __version__

FORMAT = 1
FILES = (*(f"{split}.txt" for split in SPLITS), SUMMARY)
RAW = "raw"
# The options that corpus.json holds; its normalisation and sources tell the others.
RECORDED = (
    "corpus",
    "split",
    "min_words",
    "max_words",
    "max_tokens",
    "dedup",
    "encoding",
    "invalid",
)

Json = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class PrepResult(ShortRepr):
    """What a preparation read, dropped and wrote.

    `drops` counts lines by reason, `replaced` the lines in which invalid bytes were replaced, and
    `unwanted` the characters that were replaced, by kind. `oddities`, and `signs` that the text
    should be prepared differently, are not in corpus.json.
    `stopped_after_tokens` is None if everything was read.
    """

    options: PrepOptions
    sources: tuple[RawSource, ...]
    drops: dict[str, int]
    replaced: int
    unwanted: dict[str, int]
    oddities: tuple[Finding, ...]
    signs: tuple[str, ...]
    stopped_after_tokens: int | None
    counts: dict[str, SplitCounts]

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
            "options": {name: getattr(self.options, name) for name in RECORDED},
            "normalisation": normalisation_of(self.options).to_dict(),
            "sources": [source.to_dict() for source in self.sources],
            "lines_read": self.n_lines_read,
            "drops": self.drops,
            "replaced": self.replaced,
            "unwanted": self.unwanted,
            "stopped_after_tokens": self.stopped_after_tokens,
            "counts": {split: n.to_dict() for split, n in counts},
            "sha256": {f"{split}.txt": n.sha256 for split, n in counts},
        }


@keywords(PrepOptions)
def prep(options: PrepOptions) -> PrepResult:
    """Make a corpus directory from raw files or from an embedded corpus, a sentence a line.

    Files for valid and test are treated like the rest; a split without a file is cut from the raw
    text by its share. Words are counted after normalisation. The corpus is in UTF-8.

    >>> found = charlm.prep("raw.txt", out="mine", lower=True, split="80,10,10")
    >>> found.n_lines_read, sorted(found.counts)
    (10, ['test', 'train', 'valid'])

    Raises:
        ConfigError: options that do not exist or do not go together.
        DataError: unreadable text, text of which nothing is left, or a folder that already holds a
            corpus.
    """
    _check(options)
    rules = normalisation_of(options).map  # read once: it may be a pipe
    options = replace(options, map=dict(rules))
    out, given = Path(options.out), _given(options)
    shares = parse_shares(options.split, given=given)
    with _new_folder(out), ExitStack() as files:
        cleaned = {
            role: _clean(role, options, into=files.enter_context(scratch_file(out)))
            for role in (RAW, *given)
        }
        raw, all_cleaned = cleaned[RAW], cleaned.values()
        blocks = _blocks(cleaned, options, shares=shares)
        types = sum((each.types for each in all_cleaned), Counter[str]())
        n_c1 = sum(each.n_c1 for each in all_cleaned)
        signs = (
            *signs_of_windows(n_c1, encoding=options.encoding),
            *signs_of_raw_text(types.most_common()),
            *(signs_of_dotless_i(types) if options.lower and not options.dotless_i else ()),
            *signs_of_repetition(shares_of_train(blocks)),
        )
        with _whole_corpus(out):
            counts = _write(blocks, out)
            result = PrepResult(
                options=options,
                sources=tuple(source for each in all_cleaned for source in each.sources),
                drops={why: sum(each.drops[why] for each in all_cleaned) for why in REASONS},
                replaced=sum(each.n_replaced for each in all_cleaned),
                unwanted=dict(sum((each.unwanted for each in all_cleaned), Counter())),
                oddities=tuple(oddities(types.most_common(), unicode=options.unicode)),
                signs=signs,
                stopped_after_tokens=raw.n_words if raw.has_stopped else None,
                counts=counts,
            )
            write_json(out / SUMMARY, result.to_dict())
    return result


def _check(options: PrepOptions) -> None:
    """Check that files are there, that there is one source, and that some lines may be kept.

    Raises:
        ConfigError: not one source of text, one asked for twice, or no line that may be kept.
        DataError: a file that is missing, or a folder in its place.
    """
    paths = [*_raw(options), *_given(options).values()]
    require_one_stdin([*paths, options.map])
    for path in paths:
        if Path(path).is_dir():
            raise DataError(f"{path}: is a folder; {_of_folder(Path(path))}")
    require_there(paths)
    if bool(_raw(options)) == (options.corpus is not None):
        found = (
            "both raw files and a corpus" if options.corpus else "neither raw files nor a corpus"
        )
        raise ConfigError(f"prep: found {found}; expected one of them; name FILE or --corpus")
    for name in ("encoding", "invalid"):
        value = getattr(options, name)
        if value != getattr(PrepOptions, name) and not paths:
            raise ConfigError(f"--{name} {value}: is for files, and --corpus reads none; drop it")
    if 0 < options.max_words < options.min_words:
        raise ConfigError(
            f"max_words: found {options.max_words}; expected {options.min_words} or more, since "
            "sentences of fewer words are left out, or 0 for no limit"
        )


def _of_folder(path: Path) -> str:
    """Advice on a folder that was given for a file."""
    if (path / f"{SPLITS[0]}.txt").is_file():
        return (
            f"expected raw text; it is a corpus already, which other commands take by --data {path}"
        )
    n_texts = len(list(path.glob("*.txt")))
    return f"expected files; {f'{path}/*.txt names {n_texts}' if n_texts else 'name those in it'}"


def _raw(options: PrepOptions) -> tuple[str, ...]:
    """The raw files; an embedded corpus has none."""
    return tuple(map(str, several(options.raw)))


def _given(options: PrepOptions) -> dict[str, str]:
    """The splits that have a file of their own, with it."""
    files = (("valid", options.valid), ("test", options.test))
    return {split: str(path) for split, path in files if path}


def _name(options: PrepOptions) -> str:
    """How messages call the raw text."""
    if options.corpus is not None:
        return options.corpus
    return first_few([*map(display_name, _raw(options))], most=1)


@contextmanager
def _new_folder(out: Path) -> Iterator[None]:
    """A folder without a corpus; if it is new and no corpus comes of it, it is removed again."""
    _refuse_corpus(out)
    is_new = not out.exists()
    make_folder(out)
    with _alone_in(out):
        try:
            yield
        except BaseException:
            if is_new:
                with suppress(OSError):  # somebody else may have put something there
                    out.rmdir()
            raise


@contextmanager
def _alone_in(out: Path) -> Iterator[None]:
    """Hold the system's lock on the folder itself, which ends with the process.

    Of two processes that write into one folder the later would replace what the other made.
    """
    folder = os.open(out, os.O_RDONLY)
    try:
        if not try_to_lock(folder):
            raise DataError(
                f"{out}: another process makes a corpus there; wait for it, or name another --out"
            )
        yield
    finally:
        os.close(folder)


@contextmanager
def _whole_corpus(out: Path) -> Iterator[None]:
    """All files of a corpus appear in the folder, or none."""
    _refuse_corpus(out)  # somebody may have put one there meanwhile
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


def _clean(role: str, options: PrepOptions, *, into: BinaryIO) -> Cleaner:
    """What is left of the raw text, or of the file given for a split."""
    is_raw = role == RAW  # other files are to be used whole
    cleaner = Cleaner(options if is_raw else replace(options, max_tokens=0), into=into)
    if is_raw and options.corpus is not None:
        shown = f"{options.corpus} of Python {platform.python_version()}"
        cleaner.read_corpus(pydoc_sentences(), name=shown)
    paths = _raw(options) if is_raw else (_given(options)[role],)
    for path in paths:
        cleaner.read_file(path, role=role)
    if not cleaner.n_kept:
        name = _name(options) if is_raw else display_name(paths[0])
        found = f"nothing is left{cleaner.told_drops}" if cleaner.told_drops else "holds no lines"
        raise DataError(f"{name}: {found}; expected text, one sentence a line")
    return cleaner


def _blocks(
    cleaned: dict[str, Cleaner], options: PrepOptions, *, shares: dict[str, float]
) -> dict[str, ByteRange]:
    """The text of each split: a given file's, or its share of the raw text's."""
    blocks = {role: whole(cleaner.into) for role, cleaner in cleaned.items()}
    raw = blocks.pop(RAW)
    left = {split: share for split, share in shares.items() if split not in blocks}
    blocks |= dict(zip(left, cut(raw, list(left.values())), strict=True))
    for split in SPLITS:
        if blocks[split].start == blocks[split].end:
            kept = cleaned[RAW].n_kept
            lines = cleaned[RAW].told_drops or (" line" if kept == 1 else " lines")
            raise DataError(
                f"{_name(options)}: {kept}{lines} cut {options.split} leave none for {split}; "
                "expected a sentence a line, and one in each split; give more lines, other shares "
                "(--split), or files (--valid, --test)"
            )
    return blocks


def _write(blocks: dict[str, ByteRange], out: Path) -> dict[str, SplitCounts]:
    """Write the three files; none stands under its name before all are written."""
    with ExitStack() as files:
        return {
            split: copy_block(
                blocks[split], files.enter_context(atomic_write(out / f"{split}.txt"))
            )
            for split in SPLITS
        }
