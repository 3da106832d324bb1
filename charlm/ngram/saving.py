"""The file that an n-gram model is saved to: ARPA, or KenLM's binary.

What would fail at the end, a missing folder or tool, is looked for before the work begins.
"""

from dataclasses import dataclass
from pathlib import Path

from charlm.errors import ConfigError
from charlm.ngram.arpa_writing import write_arpa
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.kenlm_binary import find_build_binary, wants_binary, write_binary
from charlm.ngram.ngram_options import Start
from charlm.text.io.paths import require_place, stream_of

LMPLZ: Start = "lmplz"


@dataclass(frozen=True)
class ModelFile:
    """A file that a model goes to."""

    path: Path
    start: Start
    tool: Path | None  # that makes KenLM's binary; None for ARPA

    def save(self, model: BackoffModel) -> None:
        """Write a model, atomically.

        Raises:
            DataError: a word that ARPA cannot hold; the tool failed.
        """
        if self.tool is None:
            write_arpa(model, self.path, start=self.start)
        else:
            write_binary(model, self.path, tool=self.tool)


def model_file(
    out: str | Path | None, *, start: Start | None, beside: Path | None
) -> ModelFile | None:
    """The file that the options name, if any; KenLM's tool may lie `beside` lmplz.

    Raises:
        ConfigError: options that contradict each other; a missing folder or tool.
        DataError: what is there already is no file.
    """
    is_binary = out is not None and wants_binary(out)
    if start is not None and (out is None or is_binary):
        raise ConfigError(
            f"--start {start}: says how an ARPA file is written, and none is; expected --out with "
            "the name of one; drop --start"
        )
    if out is None:
        return None
    require_place(out, option="--out")
    if is_binary and stream_of(out) is not None:
        raise ConfigError(f"--out {out}: a stream; expected a file for KenLM's binary")
    tool = find_build_binary(beside=beside) if is_binary else None
    return ModelFile(Path(out), start or LMPLZ, tool)
