"""`charlm.report`: the page about one or several runs, or pictures of them with their numbers.

The first run is shown in detail, the others beside it where runs can be compared.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from charlm.errors import ConfigError, DataError, first_few
from charlm.insight.pictures import OF_A_TEXT, PICTURES, canvas, draw
from charlm.insight.pictures.subject import Subject
from charlm.insight.report.charts import charts_of
from charlm.insight.report.content import content_of
from charlm.insight.report.tables import Json
from charlm.insight.report_options import ReportOptions
from charlm.interface.json_results import JsonResult
from charlm.interface.options import keywords, require_data
from charlm.interface.short_repr import ShortRepr
from charlm.run.fonts import drawable
from charlm.text.io.files import unpacked_name, write_bytes
from charlm.text.io.html_page import html_page, json_block
from charlm.text.io.overwrite import refuse_overwrite, require_distinct
from charlm.text.io.paths import make_folder, require_place

PAGE = Path("report.html")
PAGES = (".html", ".htm", "")  # endings
SCRIPTS = ("map.js", "page.js", "build.js")


@dataclass(frozen=True)
class Report(JsonResult, ShortRepr):
    """What was written, and what was not."""

    runs: tuple[str, ...]
    files: tuple[Path, ...]
    missing: tuple[str, ...]  # sections of the page, or pictures, each with its reason
    notes: tuple[str, ...]  # what to mind about the perplexities and the letters
    gate: dict[str, object] | None  # of a run with a gate between words and characters


@keywords(ReportOptions)
@refuse_overwrite("out", "data_out")
def report(options: ReportOptions) -> Report:
    """Write the page about `runs` to `out` (report.html), or one picture, or all into a folder.

    The models read the text in `data` as the first was trained, with the state carried or sentence
    by sentence; Kneser–Ney is estimated from its train.txt. A single picture goes to `out`
    (PICTURE.png; or .svg), its numbers to `data_out`.

    Raises:
        ConfigError: options that contradict each other or do not exist; a run given twice; a
            picture that the first run does not allow; no data for one that needs a text.
        DataError: a run or text that is not what was expected.
    """
    _check(options)
    _refuse_idle_options(options)
    subject, out = Subject(options), options.out
    files: list[Path] = []
    missing: dict[str, list[str]] = {}  # by reason: what there is not for it
    lacking: set[str] = set()  # letters that no font has
    if options.picture is not None:
        files += _write_picture(subject, options.picture, lacking=lacking)
    if options.pictures is not None:
        folder = Path(options.pictures)
        files += _write_pictures(subject, folder, missing=missing, lacking=lacking)
    if options.picture is None and (options.pictures is None or out is not None):
        files.append(_write_page(subject, Path(out or PAGE), missing=missing))
    return Report(
        runs=tuple(map(str, subject.paths)),
        files=tuple(files),
        missing=tuple(f"{', '.join(names)}: {why}" for why, names in missing.items()),
        notes=(*subject.notes, *_on_fonts(lacking)),
        gate=subject.gate_figures,
    )


def _check(options: ReportOptions) -> None:
    picture, pictures, data_out = options.picture, options.pictures, options.data_out
    out = options.out if picture is None else _picture_path(options)
    require_place(out or (PAGE if pictures is None else None), option="--out")
    require_place(data_out, option="--data-out")
    require_distinct({"--out": out, "--data-out": data_out})
    if picture is not None:
        if picture not in PICTURES:
            raise ConfigError(f"--picture {picture!r}: expected one of {', '.join(PICTURES)}")
        canvas.require_format(_picture_path(options))
        if pictures is not None:
            raise ConfigError("found both --picture and --pictures; expected one of them; give one")
    elif options.out is not None and unpacked_name(options.out).suffix.lower() not in PAGES:
        raise ConfigError(
            f"--out {options.out}: names no page, and one would be written there; expected a name "
            "that ends with .html, or beside a picture's --picture NAME"
        )
    elif pictures is not None and Path(pictures).is_file():
        raise ConfigError(f"--pictures {pictures}: is a file; expected a folder, or a new name")
    if picture is None and data_out is not None:
        raise ConfigError(
            f"--data-out {data_out}: without --picture there is nothing to write; give both"
        )


def _refuse_idle_options(options: ReportOptions) -> None:
    """Refuse options that would change nothing in what is written."""
    picture, pictures, at, filter = options.picture, options.pictures, options.at, options.filter
    if options.split != ReportOptions.split:
        require_data(options.data, options.split)
    if options.data is not None and picture is not None and picture not in OF_A_TEXT:
        raise ConfigError(
            f"--data {options.data}: is for the page and the pictures {', '.join(OF_A_TEXT)}; "
            "leave it out"
        )
    if filter is not None and pictures is None and picture != "filter":
        raise ConfigError(f"--filter {filter}: is for the picture 'filter'; add --picture filter")
    if at is not None and picture not in (None, "words"):
        raise ConfigError(f"--at {at}: is for the page and the picture 'words'; leave it out")
    if picture is not None or (pictures is not None and options.out is None):
        for option, value in {"--word": options.word, "--table": options.table}.items():
            if value:
                raise ConfigError(f"{option}: is for the page, which is not made; leave it out")


def _on_fonts(lacking: Collection[str]) -> list[str]:
    if not lacking:
        return []
    letters = sorted(lacking)
    return [
        f"no installed font has {first_few(letters, most=1)} of the pictures' letters, drawn as "
        f"{drawable(letters[0])}; install one that does, such as Noto Sans of the script"
    ]


def _picture_path(options: ReportOptions) -> Path:
    return Path(options.out or f"{options.picture}.png")


def _write_picture(subject: Subject, picture: str, *, lacking: set[str]) -> list[Path]:
    out, data_out = _picture_path(subject.options), subject.options.data_out
    drawn = draw(picture, subject)
    lacking.update(drawn.lacking)
    canvas.save(drawn, out)
    if data_out is None:
        return [out]
    canvas.save_rows(drawn, data_out)
    return [out, Path(data_out)]


def _write_pictures(
    subject: Subject, folder: Path, *, missing: dict[str, list[str]], lacking: set[str]
) -> Iterator[Path]:
    """Write every picture that the runs allow; a wrong text is an error."""
    subject.check()
    make_folder(folder)
    for name in PICTURES:
        try:
            drawn = draw(name, subject)
        except (ConfigError, DataError) as error:
            if name in OF_A_TEXT and isinstance(error, DataError):
                raise
            missing.setdefault(str(error), []).append(f"picture {name}")
            continue
        lacking.update(drawn.lacking)
        for suffix in canvas.FORMATS:
            canvas.save(drawn, folder / f"{name}{suffix}")
            yield folder / f"{name}{suffix}"
        canvas.save_rows(drawn, folder / f"{name}.tsv")
        yield folder / f"{name}.tsv"


def _write_page(subject: Subject, out: Path, *, missing: dict[str, list[str]]) -> Path:
    subject.check()
    content, lacks = content_of(subject)
    write_bytes(out, page(content, charts=charts_of(subject, content)), through_links=True)
    for section, reason in lacks:
        missing.setdefault(reason, []).append(section)
    return out


def page(content: Json, *, charts: str = "") -> bytes:
    """The file, in UTF-8; `charts` are the templates of its charts. A script puts the data in."""
    parts = {"title": str(content["title"]), "charts": charts, "data": json_block(content)}
    return html_page("charlm.insight.report", scripts=SCRIPTS, parts=parts)
