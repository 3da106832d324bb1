"""Which texts are to be evaluated: files, or a split of a corpus directory."""

from pathlib import Path

from charlm.errors import ConfigError, DataError
from charlm.options import several
from charlm.scoring.evaluation.evaluate_options import EvaluateOptions
from charlm.scoring.evaluation.evaluated_text import SPLIT
from charlm.text.corpus.sentences import split_path


def text_paths(options: EvaluateOptions) -> list[str | Path]:
    """Their paths.

    Raises:
        ConfigError: neither files nor data, or both; a split of files.
        DataError: a file that is not there.
    """
    files, data, split = several(options.files), options.data, options.split
    if bool(files) == (data is not None):
        found = "both files and --data" if files else "neither files nor --data"
        raise ConfigError(f"found {found}; expected one of them; give either")
    if data is not None:
        return [split_path(data, split or SPLIT)]
    if split is not None:
        raise ConfigError(f"--split {split}: expected --data DIR, of which it is a part; drop it")
    for path in files:
        # A last file that cannot be read would cost the time of those before it.
        if str(path) == "-":
            continue
        if not Path(path).exists():
            raise DataError(f"{path}: no such file; expected a text")
        if Path(path).is_dir():
            raise DataError(f"{path}: is a folder; expected a file")
    return files
