"""The one place where an error becomes a line on stderr and an exit status.

Typer's `main` exits instead of returning and turns Ctrl-C into status 130 itself, so the boundary
surrounds it: what reaches it is SystemExit, or an error that Typer does not know. Our own mistakes
(ValueError, AssertionError, ...) keep their traceback; CHARLM_TRACEBACK=1 shows that of every
error.
"""

import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from charlm.cli.printing import output
from charlm.cli.program.signals import EndedBySignal, undisguised
from charlm.errors import CharlmError, on_one_line

FAILED = 1
INTERRUPTED = 130
# Of a RuntimeError; torch has a class for a GPU's memory only, and loading it here costs seconds.
OUT_OF_MEMORY = re.compile("out of memory|can't allocate memory")
# Of an ImportError: batch systems limit what torch alone fills.
DOES_NOT_FIT = re.compile(
    "(.+): failed to map segment from shared object(: Cannot allocate memory)?"
)


@contextmanager
def boundary() -> Iterator[None]:
    """Ends with an exit status: 0 done, 1 impossible, 2 not understood, 130 Ctrl-C."""
    try:
        try:
            with undisguised():
                yield
        finally:
            output.flush()
    except EndedBySignal as stop:
        if stop.code != INTERRUPTED:
            signal.signal(stop.number, signal.SIG_DFL)
            signal.raise_signal(stop.number)  # so that the caller sees what ended it
        raise
    except (KeyboardInterrupt, SystemExit) as stop:
        if isinstance(stop, SystemExit) and stop.code != INTERRUPTED:
            raise
        message, status = "interrupted", INTERRUPTED
    except (CharlmError, OSError, MemoryError, RuntimeError, ImportError) as error:
        line = error_line(error)
        if line is None or os.environ.get("CHARLM_TRACEBACK") == "1":
            raise
        message, status = line, FAILED
    else:
        return
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"charlm: {output.escape(on_one_line(message))}\n")
    raise SystemExit(status)


def error_line(error: BaseException) -> str | None:
    """The line for an error that a user can cause; None for a mistake of ours."""
    if isinstance(error, CharlmError):
        return str(error)
    if isinstance(error, OSError):
        return _system_error(error)
    if isinstance(error, MemoryError) or OUT_OF_MEMORY.search(str(error)):
        amount = re.search(r"allocate ([0-9.]+ \w+)", str(error))
        wanted = f" ({amount[1]} asked for)" if amount else ""
        return f"out of memory{wanted}; a smaller batch, model or vocabulary needs less"
    if isinstance(error, ImportError) and (library := DOES_NOT_FIT.fullmatch(str(error))):
        return f"out of memory ({library[1]} cannot be loaded); give the program more (ulimit -v)"
    if isinstance(error, ModuleNotFoundError) and not _is_ours(error.name):
        return (
            f"found no Python package {error.name!r} beside {sys.executable}; expected all that "
            "charlm depends on; install it again with them (pip install ., in its source folder)"
        )
    if isinstance(error, RuntimeError) and "home directory" in str(error):
        return "HOME: not set, and this user has no home folder; expected one; set HOME"
    return None


def _is_ours(module: str | None) -> bool:
    """Whether a module that was not found is part of charlm, or nobody knows which."""
    return module is None or module.partition(".")[0] == "charlm"


def _system_error(error: OSError) -> str:
    if not error.strerror:
        return str(error)
    reason = error.strerror[0].lower() + error.strerror[1:]
    if "temporary directory" in reason:  # Python's tempfile
        reason += "; TMPDIR names a folder that may be written to"
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    return f"{' -> '.join(names)}: {reason}" if names else reason
