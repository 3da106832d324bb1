"""`charlm.report`: the page about one or several runs, or pictures of them with their numbers.

The first run is looked at in detail, the others stand beside it where runs can be compared.
"""

from dataclasses import dataclass
from pathlib import Path

from charlm.errors import ConfigError, DataError
from charlm.insight.pictures import OF_A_TEXT, PICTURES, canvas, draw, require_picture
from charlm.insight.pictures.subject import Subject
from charlm.insight.report.charts import charts_of
from charlm.insight.report.content import content_of
from charlm.insight.report.page import page
from charlm.insight.report_options import ReportOptions
from charlm.options import keywords
from charlm.short_repr import ShortRepr
from charlm.text.io.files import write_bytes
from charlm.text.io.overwrite import keeps_inputs, require_distinct
from charlm.text.io.paths import make_folder, require_place

PAGE = Path("report.html")


@dataclass(frozen=True)
class Report(ShortRepr):
    """What was written, and what was not."""

    runs: tuple[str, ...]
    files: tuple[Path, ...]
    missing: tuple[str, ...]  # sections of the page, or pictures, each with its reason
    notes: tuple[str, ...]  # what to mind about the perplexities
    gate: dict[str, object] | None  # of a run with a gate between words and characters

    def to_dict(self) -> dict[str, object]:
        return {
            "runs": list(self.runs),
            "files": [str(path) for path in self.files],
            "missing": list(self.missing),
            "notes": list(self.notes),
            "gate": self.gate,
        }


@keeps_inputs("out", "data_out")
@keywords(ReportOptions)
def report(options: ReportOptions) -> Report:
    """Write the page about `runs` to `out` (report.html), or one picture, or all into a folder.

    The text in `data` is read on the spot, and Kneser–Ney is estimated from its train.txt. One
    picture goes to `out` (PICTURE.png; or .svg), its numbers to `data_out`.

    Raises:
        ConfigError: options that contradict each other or do not exist; one run twice; a picture
            that the first run cannot give; no data for one that needs a text.
        DataError: a run or text that is not what was expected.
    """
    _check(options)
    _check_heeded(options)
    subject, out = Subject(options), options.out
    if options.picture is not None:
        return _one_picture(subject, options.picture, data_out=options.data_out)
    written = _Written([], {})
    if options.pictures is not None:
        _write_pictures(subject, Path(options.pictures), written=written)
    if options.pictures is None or out is not None:
        _write_page(subject, Path(out or PAGE), written=written)
    return _result(subject, written)


def _check(options: ReportOptions) -> None:
    picture, pictures, data_out = options.picture, options.pictures, options.data_out
    require_place(options.out, option="--out")
    require_place(data_out, option="--data-out")
    require_distinct({"--out": options.out, "--data-out": data_out})
    if picture is not None:
        require_picture(picture)
        canvas.require_format(options.out or f"{picture}.png")
        if pictures is not None:
            raise ConfigError("found both --picture and --pictures; expected one of them; give one")
    elif pictures is not None and Path(pictures).is_file():
        raise ConfigError(f"--pictures {pictures}: is a file; expected a folder, or a new name")
    if picture is None and data_out is not None:
        raise ConfigError(
            f"--data-out {data_out}: without --picture there is nothing to write; give both"
        )


def _check_heeded(options: ReportOptions) -> None:
    """Refuse what nothing that is made would heed."""
    picture, pictures, at, filter = options.picture, options.pictures, options.at, options.filter
    if filter is not None and pictures is None and picture != "filter":
        raise ConfigError(f"--filter {filter}: is for the picture 'filter'; add --picture filter")
    if at is not None and picture not in (None, "words"):
        raise ConfigError(f"--at {at}: is for the page and the picture 'words'; leave it out")
    if picture is not None or (pictures is not None and options.out is None):
        for option, value in {"--word": options.word, "--table": options.table}.items():
            if value:
                raise ConfigError(f"{option}: is for the page, which is not made; leave it out")


@dataclass(frozen=True)
class _Written:
    """What is on the disk so far, and what could not be."""

    files: list[Path]
    missing: dict[str, list[str]]  # by reason: what there is not for it


def _one_picture(subject: Subject, picture: str, *, data_out: str | Path | None) -> Report:
    drawn, out = draw(picture, subject), Path(subject.options.out or f"{picture}.png")
    canvas.save(drawn, out)
    written = _Written([out], {})
    if data_out is not None:
        canvas.save_rows(drawn, data_out)
        written.files.append(Path(data_out))
    return _result(subject, written)


def _write_pictures(subject: Subject, folder: Path, *, written: _Written) -> None:
    """Every picture that the runs can give; a text that was given and is wrong stops it all."""
    subject.check()
    make_folder(folder)
    for name in PICTURES:
        try:
            drawn = draw(name, subject)
        except (ConfigError, DataError) as error:
            if name in OF_A_TEXT and subject.options.data is not None:
                raise
            written.missing.setdefault(str(error), []).append(f"picture {name}")
            continue
        for suffix in canvas.FORMATS:
            canvas.save(drawn, folder / f"{name}{suffix}")
        canvas.save_rows(drawn, folder / f"{name}.tsv")
        names = [f"{name}{suffix}" for suffix in (*canvas.FORMATS, ".tsv")]
        written.files.extend(folder / each for each in names)


def _write_page(subject: Subject, out: Path, *, written: _Written) -> None:
    subject.check()
    content = content_of(subject)
    charts = charts_of(subject, content.sections)
    write_bytes(out, page(content.sections, charts=charts), through_links=True)
    written.files.append(out)
    for section, reason in content.missing:
        written.missing.setdefault(reason, []).append(section)


def _result(subject: Subject, written: _Written) -> Report:
    return Report(
        runs=tuple(map(str, subject.paths)),
        files=tuple(written.files),
        missing=tuple(f"{', '.join(names)}: {why}" for why, names in written.missing.items()),
        notes=subject.notes,
        gate=subject.gate_figures,
    )
