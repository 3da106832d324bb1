"""An exported model run by onnxruntime: word vectors, and steps from state to state.

Nothing here imports torch. The vectors of the vocabulary are computed when they are first needed
and then kept in memory; stored in the folder, they would double its size. An int8 network scales
its input over the whole batch, so rows go through it one at a time: otherwise the results of a row
would depend on the other rows.
"""

import os
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from charlm.errors import ConfigError, DataError
from charlm.interface.options import as_names, beyond_cpu
from charlm.limits import limit_of_cores
from charlm.run.exported_folder import ENCODE, STEP, load_exported
from charlm.run.folder import EXPORT, learned_single_sentences
from charlm.text.corpus.tokens import UNK, UNK_WORD
from charlm.text.io.files import name_in_utf8
from charlm.text.vocabulary.encoding import Ids
from charlm.text.vocabulary.vocabulary import Inventory

if TYPE_CHECKING:
    import onnxruntime

N_EDGES = 2  # the markers of a word's start and end around its letters
LONGEST_REASON = 160  # of what the system says of a library that does not load
FORMS_AT_ONCE = 512  # at 70 letters each, the CNN's windows of this many forms take some 50 MB

# Read when onnxruntime is imported: without it a device's number and a database go to HOME.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

Vectors = npt.NDArray[np.float32]
State = tuple[Vectors, ...]  # of the context, batch first


class OnnxModel:
    """The model in an exported folder."""

    def __init__(self, path: str | Path, *, threads: int | None = None) -> None:
        """Open and check a folder; `threads` None: onnxruntime's own choice.

        Raises:
            ConfigError: onnxruntime is not installed, or does not load.
            DataError: a file is missing, has another hash, or is not a network of charlm's.
        """
        self.path = Path(path)
        self._threads = threads
        self.info, self.inventory = load_exported(self.path)
        self.step_session = _session(self.path / STEP, threads)
        self._encode_session = _session(self.path / ENCODE, threads)
        shapes = {each.name: each.shape for each in self._encode_session.get_inputs()}
        self._inputs = list(shapes)
        # Some encoders are exported for spellings of one length, padding included.
        is_fixed = isinstance((shapes.get("letters") or [""])[-1], int)
        self._width = self.inventory.max_word_length + N_EDGES if is_fixed else 0
        self._leaf_names = [each.name for each in self.step_session.get_inputs()][1:]
        if len(self._leaf_names) != len(self.info.state):
            raise DataError(
                f"{self.path / STEP}: reads {len(self._leaf_names)} tensors of state and "
                f"{len(self.info.state)} are described; export the model again"
            )
        self._is_row_by_row = self.info.precision == "int8"
        self.oov_input, self.weights_sha256 = self.info.oov_input, self.info.weights_sha256
        self.vectors = OnnxVectors(self, by_spelling=self.oov_input == "spelling")
        # Neighbours always read a form by its spelling, whatever the model reads in a text.
        self.spelled_vectors = OnnxVectors(self, by_spelling=True)
        self._require_fit()

    def _require_fit(self) -> None:
        """Try the networks, and raise DataError if they do not match the description."""
        refusals: tuple[type[Exception], ...] = (KeyError, ValueError, *_refusals())
        expected = [(1, self.inventory.n_words), *((1, *leaf.shape) for leaf in self.info.state)]
        try:
            x_BE, state = self.encode([UNK_WORD]), self.initial_state(1)
            for _ in range(2):  # the second step reads the state that the first returned
                log_probs_BV, state = self.step(x_BE, state)
            if [np.shape(each) for each in (log_probs_BV, *state)] != expected:
                raise ValueError("other shapes come out")
        except refusals as error:
            found = str(error).splitlines()[0]
            raise DataError(
                f"{self.path}: {STEP} and {ENCODE} are no networks as {EXPORT} describes them "
                f"({found:.200}); export the model again"
            ) from None

    def __reduce__(self) -> tuple[object, ...]:
        """Reopen the folder on unpickling, since onnxruntime's sessions cannot be pickled."""
        return partial(OnnxModel, threads=self._threads), (self.path.resolve(),)

    @property
    def learned_single_sentences(self) -> bool:
        return learned_single_sentences(self.info.settings)

    def initial_state(self, n_streams: int) -> State:
        """The state before any word."""
        return tuple(np.repeat(leaf[None], n_streams, axis=0) for leaf in self._first)

    @cached_property
    def _first(self) -> list[Vectors]:
        return [
            np.array(leaf.initial or np.zeros(leaf.shape), np.float32).reshape(leaf.shape)
            for leaf in self.info.state
        ]

    def step(self, x_BE: Vectors, state: State) -> tuple[Vectors, State]:
        """Log-probabilities in nats of all words after these vectors, (B, V), and the state."""
        if self._is_row_by_row and len(x_BE) > 1:
            each = [
                self.step(x_BE[[row]], tuple(leaf[[row]] for leaf in state))
                for row in range(len(x_BE))
            ]
            leaves = zip(*(after for _, after in each), strict=True)
            log_probs = np.concatenate([found for found, _ in each])
            return log_probs, tuple(np.concatenate(leaf) for leaf in leaves)
        feed = {"x": x_BE, **dict(zip(self._leaf_names, state, strict=True))}
        log_probs_BV, *after = self.step_session.run(None, feed)
        return log_probs_BV, tuple(after)

    def encode(self, forms: Sequence[str], *, are_unknown: bool = False) -> Vectors:
        """The vector of each form by its spelling, (N, E); `are_unknown`: with `<unk>` as word."""
        blocks = [np.empty((0, self.info.vector_dim), np.float32)]
        at_once = 1 if self._is_row_by_row else FORMS_AT_ONCE
        for first in range(0, len(forms), at_once):
            some = forms[first : first + at_once]
            inputs = form_inputs(self.inventory, some, width=self._width)
            if are_unknown:
                inputs["words"][:] = UNK
            feed = {name: inputs[name] for name in self._inputs}
            blocks += self._encode_session.run(None, feed)
        return np.concatenate(blocks)


class OnnxVectors:
    """Vectors by form id, as `FormVectors` has them in torch; only the vocabulary's are kept."""

    def __init__(self, model: OnnxModel, *, by_spelling: bool) -> None:
        self.model = model
        self.by_spelling = by_spelling  # whether unknown forms are spelled, or are `<unk>`
        n_words = model.inventory.n_words
        self._table_VE = np.empty((n_words, model.info.vector_dim), np.float32)
        self._is_there_V = np.zeros(n_words, np.bool_)

    def of(self, form_ids: Ids, spellings: Sequence[str]) -> Vectors:
        """The vectors of these forms, (N, E); `spellings[i]` is the form with id V + i."""
        words = self.model.inventory.words
        if not self.by_spelling:
            form_ids = np.where(form_ids < len(words), form_ids, UNK).astype(np.int32)
        distinct, where = np.unique(form_ids, return_inverse=True)
        known = distinct[distinct < len(words)]
        lacking = known[~self._is_there_V[known]]
        if len(lacking):
            self._table_VE[lacking] = self.model.encode([words[i] for i in lacking.tolist()])
            self._is_there_V[lacking] = True
        new = [spellings[i - len(words)] for i in distinct[len(known) :].tolist()]
        rows_NE = self._table_VE[known]
        if new:
            rows_NE = np.concatenate([rows_NE, self.model.encode(new, are_unknown=True)])
        found: Vectors = rows_NE[where.reshape(form_ids.shape)]
        return found


def require_no_torch(path: str | Path, options: Any) -> None:
    """Raise ConfigError for an option of a command that needs torch."""
    given: dict[str, Any] = {
        f"--{name.replace('_', '-')}": getattr(options, name, None)
        for name in ("open_vocabulary", "adapt_rates", "gpus", "processes")
    }
    given["--unnormalised, nor weights tuned with it"] = getattr(options, "unnormalised", False)
    given["--adapt"] = getattr(options, "adapt", "none") != "none"
    at = getattr(options, "at", None)
    given[f"--at {','.join(as_names(at or '', option='--at'))}".strip()] = at is not None
    beyond = beyond_cpu(options)
    given[beyond] = beyond
    for option, is_given in given.items():
        if is_given:
            raise ConfigError(
                f"{path}: is an exported model, which knows no {option}; leave it out, or name a "
                "run"
            )


def form_inputs(
    inventory: Inventory, forms: Sequence[str], *, width: int = 0
) -> dict[str, npt.NDArray[np.int64]]:
    """The inputs of encode.onnx, as in `Forms`: word ids, letters, and morphs if there are any.

    The letters are padded to at least `width`.
    """
    ids = inventory.word_ids
    inputs = {
        "words": np.array([ids.get(form, UNK) for form in forms], np.int64),
        "letters": _padded([inventory.spelling(form) for form in forms], width=width),
    }
    if inventory.morphs is not None:
        inputs["morphs"] = _padded([inventory.morph_ids(form) for form in forms])
    return inputs


def _padded(lists: Sequence[Sequence[int]], *, width: int = 1) -> npt.NDArray[np.int64]:
    rows = np.zeros((len(lists), max([width, 1, *map(len, lists)])), np.int64)
    for row, each in zip(rows, lists, strict=True):
        row[: len(each)] = each
    return rows


def _session(path: Path, threads: int | None) -> "onnxruntime.InferenceSession":
    runtime = require_onnxruntime()
    options = runtime.SessionOptions()
    options.log_severity_level = 3  # errors only; the warnings are about optimisations
    options.intra_op_num_threads = threads or limit_of_cores() or 0  # 0: one for each core
    try:
        with name_in_utf8(path) as name:
            return runtime.InferenceSession(
                name, sess_options=options, providers=["CPUExecutionProvider"]
            )
    except _refusals() as error:
        found = str(error).splitlines()[0]
        raise DataError(
            f"{path}: no network that onnxruntime runs ({found:.200}); export the model again"
        ) from None


def _refusals() -> tuple[type[Exception], ...]:
    """The exceptions of onnxruntime for a bad network or input, which have no common base class."""
    known = vars(require_onnxruntime().capi.onnxruntime_pybind11_state).values()
    return tuple(each for each in known if isinstance(each, type) and issubclass(each, Exception))


def require_onnxruntime() -> Any:
    """The onnxruntime module.

    Raises:
        ConfigError: it is not installed, or does not load.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise ConfigError(
            f"{missing_package('onnxruntime', error=error)}; an exported model runs by it; "
            "pip install 'charlm[onnx]'"
        ) from None
    return onnxruntime


def missing_package(name: str, *, error: ImportError) -> str:
    """What is wrong with a package whose import failed.

    One that is there may still not load: made for another processor, C library or NumPy.
    """
    if isinstance(error, ModuleNotFoundError) and error.name == name:
        return f"{name} is not installed"
    return f"{name} does not load ({str(error).partition(chr(10))[0]:.{LONGEST_REASON}})"
