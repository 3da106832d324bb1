"""What a caller may want to hear of a training while it runs.

A watcher is called between steps, in the first process alone; what it raises ends the training.
"""

from typing import Any, Protocol, runtime_checkable

from charlm.training.estimate import Estimate
from charlm.training.loop.trainer import Trainer


@runtime_checkable
class Watcher(Protocol):
    """What a caller may want to hear; the command line draws it."""

    def note(self, text: str) -> None:
        """Something worth a line."""

    def started(self, trainer: Trainer, *, parameters: dict[str, int], cost: Estimate) -> None:
        """Everything is built and the first step is about to be made."""

    def stepped(self, trainer: Trainer) -> None:
        """A step was made."""

    def epoch_done(self, record: dict[str, Any], *, is_best: bool) -> None:
        """An epoch was made, validated and written down."""


class Silence:
    """A watcher that says nothing."""

    def note(self, text: str) -> None: ...
    def started(self, trainer: Trainer, *, parameters: dict[str, int], cost: Estimate) -> None: ...
    def stepped(self, trainer: Trainer) -> None: ...
    def epoch_done(self, record: dict[str, Any], *, is_best: bool) -> None: ...
