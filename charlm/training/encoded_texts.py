"""The encoded text that a run holds while it trains."""

import errno
from pathlib import Path

from charlm.errors import DataError
from charlm.run.folder import ENCODED
from charlm.text.corpus.sentences import split_path
from charlm.text.vocabulary.encoded_text import reopen_text
from charlm.text.vocabulary.encoding import EncodedText
from charlm.text.vocabulary.vocabulary import Inventory
from charlm.training.plan import Plan
from charlm.training.train_options import Watcher


def encoded_texts(plan: Plan, inventory: Inventory, *, oov_input: str) -> dict[str, EncodedText]:
    """The training and validation text of a run, encoded into it where they are not yet.

    Raises:
        DataError: something else stands in their place, or as `reopen_text`.
    """
    folder = plan.folder / ENCODED
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        # A stranger's run could have its link's target written to, and emptied at the end.
        raise DataError(f"{folder}: is a link or a file; expected charlm's own folder; remove it")
    folder.mkdir(exist_ok=True)
    return {
        split: reopen_text(
            split_path(plan.data, split),
            inventory,
            stem=folder / split,
            max_tokens=plan.max_tokens if split == "train" else 0,
            oov_input=oov_input,
            threads=plan.threads,
        )
        for split in ("train", "valid")
    }


def remove_encoded(folder: Path, watcher: Watcher) -> None:
    """Encoded text is needed while a training runs, and made again where it is missing."""
    names = [f"{split}.{kind}" for split in ("train", "valid") for kind in ("ids", "json")]
    try:
        for name in (*names, *(f".{name}.partial" for name in names)):
            (folder / ENCODED / name).unlink(missing_ok=True)
        (folder / ENCODED).rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EISDIR):
            raise
        watcher.note(
            f"{folder / ENCODED}: holds what is not charlm's; the run counts as unfinished until "
            "it is moved away"
        )
