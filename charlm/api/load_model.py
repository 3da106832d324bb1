"""`charlm.load`: the model in a run, an exported folder or an ARPA file, as an object.

torch is imported only when a run or a speller is loaded.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from charlm.api.loaded_models import ExportedModel, LoadedModel, NgramLanguageModel
from charlm.errors import ConfigError
from charlm.ngram.files.load import listed_ngram
from charlm.run.exported_folder import is_exported
from charlm.run.folder import require_no_part
from charlm.run.onnx_model import OnnxModel
from charlm.run.which import which_run

if TYPE_CHECKING:
    from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary

PARTS = (".json", ".onnx", ".safetensors")  # of runs and exported models


def load(
    model: str | Path | None = None,
    *,
    device: str = "auto",
    open_vocabulary: bool | str | Path = False,
) -> LoadedModel:
    """The best model of a run: the one named, else $CHARLM_MODEL, else the newest finished one.

    A file is an n-gram model in ARPA format, plain or compressed; a folder that `charlm export
    --onnx` wrote is read without torch. With `open_vocabulary`, words outside the vocabulary get
    the probability of `<unk>` times that of their spelling, by the run's speller, or by that of the
    run named there: only runs have a speller of their own.

    Threads may share a model, and worker processes may be sent one. Start these by `spawn` or
    `forkserver`: in a fork of a process whose threads have just ended, MKL's products may wait for
    a lock that such a thread held.

    >>> model = charlm.load("exp/first", device="cpu")
    >>> "cat" in model.words
    True

    Raises:
        ConfigError: no run is found, or no such device; no speller, or one for another vocabulary.
        DataError: a run or a file that is not what was expected.
    """
    path, speller = which_run(model), None
    if not isinstance(open_vocabulary, bool):
        from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary

        speller = OpenVocabulary.at(open_vocabulary)
    if not path.is_file() and not is_exported(path):
        found = _loaded_run(path, device, speller=speller, has_own=open_vocabulary is True)
    elif open_vocabulary is True:
        raise ConfigError(
            f"open_vocabulary: {path} has no speller of its own; expected the run whose speller"
            " it is to take"
        )
    elif device not in ("auto", "cpu"):
        kind = "an n-gram model" if path.is_file() else "an exported model"
        raise ConfigError(f"{path}: is {kind}, which runs on the CPU; found {device!r}")
    elif path.is_file():
        if path.suffix in PARTS:
            require_no_part(path)
        found = NgramLanguageModel(listed_ngram(path), speller=speller)
    else:
        found = ExportedModel(OnnxModel(path), speller=speller)
    if speller is not None and set(speller.inventory.words) != set(found.words):
        raise ConfigError(
            f"open_vocabulary: {path} has other words than {open_vocabulary}; expected the same, "
            "since <unk> must stand for the same; estimate it with --vocab RUN"
        )
    return found


def _loaded_run(
    path: Path, device: str, *, speller: "OpenVocabulary | None", has_own: bool
) -> LoadedModel:
    from charlm.api.trained_model import Model
    from charlm.run.stored_weights import load_run
    from charlm.runtime import pick_device
    from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary

    run = load_run(path, device=pick_device(device))
    return Model(run, speller=OpenVocabulary.of_run(run) if has_own else speller)
