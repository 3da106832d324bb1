"""`charlm serve`: JSON lines in, JSON lines out, with the models kept loaded.

Each line is answered before the next one is read. A wrong line is answered by
`{"id": …, "error": …}` and has no other effect: the program on the other side must neither wait for
an answer nor lose its model.
"""

import io
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from charlm.errors import CharlmError, DataError, ProcessError
from charlm.interface.options import keywords, require_one_stdin
from charlm.nbest.formats import format_of
from charlm.nbest.hypotheses import joining
from charlm.nbest.output.output_layouts import laid_out
from charlm.nbest.reading.format import SAME_FORMAT
from charlm.nbest.reading.json_lists import BLANKS
from charlm.nbest.reading.list_lines import Line, Lines, OpenSource, open_lines
from charlm.nbest.reading.repairs import Notices
from charlm.scoring.rescoring.answers.result import ServeResult, what_was_done
from charlm.scoring.rescoring.one_process import run_with_scorers
from charlm.scoring.rescoring.options.serve_options import ServeOptions
from charlm.scoring.rescoring.options.tuned_rules import with_tuned_rules
from charlm.scoring.rescoring.pipeline import Pipeline
from charlm.scoring.rescoring.run import pipeline_of
from charlm.scoring.rescoring.scorers.build_scorers import Scorers

JSONL = "jsonl"


@keywords(ServeOptions)
def serve(options: ServeOptions) -> ServeResult:
    """Answer the JSON lines of standard input, each before the next is read, until the input ends.

    A line is one list, `{"id": …, "hyps": […]}`, or one hypothesis. A wrong line is answered by
    `{"error": …}`, with its `id` if that can be read.

    Raises:
        ConfigError: options that contradict each other, or do not fit the models.
        DataError: standard input is packed and damaged; a broken run or model.
        ProcessError: another process ended, so that no further line can be answered.
    """
    began = time.perf_counter()
    require_one_stdin(["-", *options.inputs])
    options = with_tuned_rules(options)

    def run(scorers: Scorers) -> ServeResult:
        assert options.out is not None  # it has been checked
        form, notices = format_of(JSONL), Notices()
        pipeline = pipeline_of(options, scorers, form=form, notices=notices)
        source = OpenSource(
            "-",
            on_nan=options.on_nan,
            allow_missing=options.allow_missing,
            rules=options.line_rules,
            notices=notices,
        )
        server = Server(pipeline, source, options.layout, options.join)
        server.answer(options.out)
        done = what_was_done(server.pipeline, form, scorers=scorers, source="-", began=began)
        return ServeResult(**done, dedup=options.dedup, mbr=options.mbr, n_errors=server.n_errors)

    return run_with_scorers(options, run)


class _OneLine(Lines):
    """A single line as a file of its own, with the name of the whole input."""

    def __init__(self, line: Line, name: str) -> None:
        super().__init__(io.BytesIO(), name)
        self._next = line


@dataclass
class Server:
    """Answers lines of standard input."""

    pipeline: Pipeline
    source: OpenSource
    layout: str
    join: str = ""  # the mark of pieces of words
    n_errors: int = 0

    def answer(self, write: Callable[[str], object]) -> None:
        """Answer all lines, until there are no more; blank lines get no answer.

        Raises:
            DataError: standard input is packed and damaged.
            ProcessError: another process is gone, so that no further line can be answered.
        """
        with open_lines("-", rules=self.source.rules) as lines:
            for request in _requests(lines):
                before = self.pipeline.as_it_is()
                try:
                    if answer := self._answer(request, name=lines.name):
                        write(answer + "\n")
                except ProcessError:
                    raise
                except CharlmError as error:
                    self.pipeline = before
                    self.n_errors += 1
                    told = {**_id_of(request), "error": str(error)}
                    write(json.dumps(told, ensure_ascii=False) + "\n")

    def _answer(self, request: Line | DataError, *, name: str) -> str:
        """The line that answers a request; empty for a blank one."""
        if isinstance(request, DataError):
            raise request
        form = format_of(JSONL)
        lists = joining(form.read(replace(self.source, lines=_OneLine(request, name))), self.join)
        results = (result for _, result in self.pipeline.run(lists))
        pieces = laid_out(results, form, layout=self.layout)
        answer = "".join(piece.text for piece in pieces).rstrip("\r\n")
        if not answer and request.text.strip(BLANKS):  # of a list that is passed over
            raise DataError(f"{request.place}: found no hypothesis; expected at least one")
        if answer and self.layout not in SAME_FORMAT:  # in other layouts an id is text
            answer = json.dumps(json.loads(answer) | _id_of(request), ensure_ascii=False)
        return answer


def _id_of(request: Line | DataError) -> dict[str, str | int]:
    """The `id` of a line, as far as it can be read."""
    try:
        value = json.loads("" if isinstance(request, DataError) else request.text)
    except (ValueError, RecursionError):
        return {}
    found = value.get("id") if isinstance(value, dict) else None
    return {"id": found} if isinstance(found, str | int) else {}


def _requests(lines: Lines) -> Iterator[Line | DataError]:
    last = ""
    while True:
        try:
            line = next(lines, None)
        except DataError as error:
            if str(error) == last:  # not a line's error, or its number would differ
                raise
            last = str(error)
            yield error
            continue
        if line is None:
            return
        yield line
