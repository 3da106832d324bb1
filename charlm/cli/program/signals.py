"""What a signal does to a command: `kill`, Ctrl-C, a closed terminal or pipe.

A command that works for hours and can save its state takes the first signal as a request
(`StopRequest`); any other command ends at once and tidies up on its way out.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Self

# Batch systems send the last two as a warning, some time before they kill.
KILLING = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
ENDING = (signal.SIGINT, *KILLING)
IMPORTING = "<frozen importlib._bootstrap>"  # what the code of `import` is called in a frame
_raised: list[int] = []  # the signals that have become an exception


def die_of_closed_pipes() -> None:
    """End silently when nobody reads any more (`charlm eval ... | head`), as other tools do.

    Python ignores the signal and raises BrokenPipeError instead. Any pipe can cause it: code that
    writes to a program it has started must handle that program's end in another way.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def outlive_closed_pipes() -> None:
    """Go on when nobody reads stdout any more, for a command whose result goes elsewhere."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


class EndedBySignal(SystemExit):
    """`kill`, `timeout`, a closed terminal: the program tidies up on its way out.

    Of Ctrl-C: it has done so, and said it.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number


def tidy_up_when_ended() -> None:
    """Let `kill` and its like end the program as Ctrl-C does, with no temporary file left behind.

    A second signal ends it at once, as does the first in one of several processes, which may be
    waiting for another within torch, where Python handles no signal. Signals that are ignored, as
    under nohup, stay so.
    """
    if "RANK" in os.environ:
        return
    for number in ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    for each in KILLING:
        signal.signal(each, signal.SIG_DFL)
    _raise(number, frame)


def _raise(number: int, frame: FrameType | None) -> None:
    """End the work by an exception; during an import, end the process at once.

    While torch or NumPy are loaded they turn an exception into an error of their own, or abort.
    """
    while frame is not None:
        if frame.f_code.co_filename == IMPORTING:
            _die(number)
        frame = frame.f_back
    _raised.append(number)
    raise _exception(number)


def _exception(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else EndedBySignal(number)


@contextmanager
def undisguised() -> Iterator[None]:
    """Let an error after a signal be the signal's end of the program, which it comes from.

    An exception between any two lines becomes another one in code that did not expect it there: a
    torch mode that was not yet entered fails when it is left.
    """
    _raised.clear()
    try:
        yield
    except Exception as error:  # of any kind: it depends on where the signal came
        if _raised:
            raise _exception(_raised[0]) from error
        raise


def _die(number: int) -> None:
    if number == signal.SIGINT:
        with suppress(OSError):
            os.write(2, b"charlm: interrupted\n")
        os._exit(128 + number)
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


class StopRequest:
    """Whether a signal has asked this process to stop, for work that asks after each step.

    Until it asks for the first time nothing can be saved, and a signal ends the process. From then
    on the first one is a request, and a second one ends the process wherever it is. Signals that
    are ignored, as under nohup, stay so. Of several processes all but rank 0 ignore signals: it
    tells them when to stop.
    """

    def __init__(self, *, is_rank_0: bool) -> None:
        self.number = 0  # of the signal that asked; 0: none has
        self._is_rank_0 = is_rank_0
        self._can_wait = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in ENDING:
                before = signal.getsignal(number)
                if before is not signal.SIG_IGN:
                    self._before[number] = before
                    signal.signal(number, self._take if self._is_rank_0 else signal.SIG_IGN)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def __call__(self) -> bool:
        """Whether to stop here."""
        self._can_wait = True
        return bool(self.number)

    @property
    def name(self) -> str:
        return "Ctrl-C" if self.number == signal.SIGINT else signal.Signals(self.number).name

    def _take(self, number: int, frame: FrameType | None) -> None:
        for each in self._before:
            signal.signal(each, signal.SIG_DFL)
        self.number = number
        if not self._can_wait:
            _raise(number, frame)
