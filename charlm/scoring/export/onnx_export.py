"""A run as two networks for onnxruntime, in a folder.

Where Python code uses a size as a plain number, torch's exporter silently makes it a constant, and
the network works for one batch size only. So the exported networks are compared with torch at
several batch sizes.
"""

import copy
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from charlm.errors import ConfigError
from charlm.interface.json_results import JsonResult
from charlm.model.build import PARTS
from charlm.model.contract import Context, Encoder, Output, state_leaves, with_leaves
from charlm.model.forms import Forms
from charlm.model.outputs.vocabulary import VocabularyVectors
from charlm.run.exported_folder import ENCODE, HASHED, STEP, ExportedInfo, ExportPrecision, Leaf
from charlm.run.folder import EXPORT, VOCABULARY
from charlm.run.onnx_model import N_EDGES, OnnxModel, form_inputs, missing_package
from charlm.run.stored_weights import LoadedRun, load_run
from charlm.run.which import which_run
from charlm.runtime import set_threads, versions
from charlm.scoring.export.export_options import ExportOptions
from charlm.scoring.export.quantisation import quantise, quiet
from charlm.settings import Settings
from charlm.text.io.files import sha256_of, write_bytes
from charlm.text.io.paths import make_folder
from charlm.version import __version__

OPSET = 20
BATCHES = (1, 3, 64)  # batch sizes for trials; the export itself uses the second
TOLERANCE = 1e-4  # nats; in a trial the difference was 1e-6
STEPS_TRIED = 3
# What the exporter cannot follow: sizes that depend on the values of numbers.
REFUSED = {
    "output 'hierarchical'": "its clusters are looked up by what they hold",
    "output 'class'": "its classes are looked up by what they hold",
}
# These encoders are exported for one length, that of the longest spelling.
FIXED_LENGTH = {"char-lstm", "char-ngram"}

Names = Sequence[str]


@dataclass(frozen=True)
class OnnxExport(JsonResult):
    """The result of an export to ONNX."""

    model: Path
    folder: Path
    precision: str
    n_bytes: dict[str, int]  # of each file
    largest_difference: float  # of log-probabilities from torch's in trials, in nats
    seconds: float


def export_onnx(options: ExportOptions) -> OnnxExport:
    """Write a run as a folder that needs no torch; see `charlm.run.exported_folder`.

    Raises:
        ConfigError: no model was given; a part that cannot be exported; a missing package.
        DataError: a run that is not what was expected; a folder that is something else.
    """
    began = time.perf_counter()
    assert options.onnx is not None
    require_exporter("--onnx")
    folder = Path(options.onnx)
    path = which_run(options.model, newest_allowed=False)
    difference = export_run(path, folder, int8=options.int8, threads=options.threads)
    return OnnxExport(
        model=path,
        folder=folder,
        precision="int8" if options.int8 else "fp32",
        n_bytes={name: (folder / name).stat().st_size for name in (*HASHED, EXPORT)},
        largest_difference=difference,
        seconds=time.perf_counter() - began,
    )


def export_run(path: Path, folder: Path, *, int8: bool, threads: int | None) -> float:
    """Write a run to a folder, and return how far its log-probabilities are from torch's."""
    set_threads(threads)
    run = load_run(path, device=torch.device("cpu"))
    require_exportable(run)
    _make_empty(folder)
    part_names = [f"{place} {run.settings[place]['type']!r}" for place in ("context", "output")]
    encoder_name = f"encoder {run.settings['encoder']['type']!r}"
    with torch.no_grad(), quiet():
        step = _exported(_Step(run), *_step_example(run), part=" or ".join(part_names))
        encode = _exported(_Encode(run.model.encoder), *_encode_example(run), part=encoder_name)
    write_bytes(folder / STEP, step)
    write_bytes(folder / ENCODE, encode)
    run.inventory.save(folder / VOCABULARY)
    info_of(run, folder).save(folder)  # last, since it makes the folder an export
    try:
        difference = _checked(run, folder)
    except BaseException:  # what was refused, or not tried to its end, is none
        (folder / EXPORT).unlink()
        raise
    if int8:
        (folder / EXPORT).unlink()
        for name in (STEP, ENCODE):
            quantise(folder / name)
        info_of(run, folder, precision="int8").save(folder)
        difference = largest_difference(run, folder)
    return difference


def info_of(run: LoadedRun, folder: Path, *, precision: ExportPrecision = "fp32") -> ExportedInfo:
    """The contents of export.json for the files of a folder."""
    first = state_leaves(run.model.context.initial_state(1))
    return ExportedInfo(
        arch=run.info.arch,
        settings=run.settings,
        files={name: sha256_of(folder / name) for name in HASHED},
        weights_sha256=run.weights_sha256,
        vocabulary_sha256=run.inventory.sha256,
        oov_input=run.oov_input,
        precision=precision,
        vector_dim=run.model.encoder.dim,
        state=tuple(_leaf(leaf[0]) for leaf in first),
        charlm=__version__,
        versions=versions(),
    )


def _leaf(leaf: Tensor) -> Leaf:
    numbers = tuple(leaf.detach().flatten().tolist()) if leaf.any() else ()
    return Leaf(tuple(leaf.shape), numbers)


def require_exporter(option: str) -> None:
    """Raises ConfigError if a package that torch's exporter imports is missing or broken.

    Raises OSError if there is no temporary folder.
    """
    gettempdir()  # where there is none torch's exporter fails, and a part of the model is blamed
    for name in ("onnx", "onnxscript", "onnxruntime"):
        try:
            __import__(name)
        except ImportError as error:
            wrong = missing_package(name, error=error)
            raise ConfigError(f"{option}: {wrong}; pip install 'charlm[onnx]'") from None


def require_exportable(run: LoadedRun) -> None:
    """Raises ConfigError that names a part which cannot be exported."""
    for place in PARTS:
        for kind in _kinds(run.settings[place]):
            reason = REFUSED.get(f"{place} {kind!r}")
            if reason is not None:
                raise ConfigError(
                    f"{run.path}: --onnx: {place} {kind!r} cannot be exported: {reason}; "
                    "expected another part there"
                )


def _kinds(part: Settings) -> Iterator[str]:
    """The types of a part and of the parts within it."""
    yield part["type"]
    for value in part.values():
        if isinstance(value, dict) and "type" in value:
            yield from _kinds(value)


def _make_empty(folder: Path) -> None:
    """Create the folder, or take one that holds nothing but an earlier export."""
    make_folder(folder)
    others = sorted({path.name for path in folder.iterdir()} - {*HASHED, EXPORT})
    if others:
        raise ConfigError(
            f"--onnx {folder}: holds {others[0]!r:.60}; expected a new folder, or one of an export"
        )
    (folder / EXPORT).unlink(missing_ok=True)  # no export until all is written


class _Step(nn.Module):
    """From vectors and a state's leaves to log-probabilities of all words and new leaves."""

    def __init__(self, run: LoadedRun) -> None:
        super().__init__()
        self.context: Context = run.model.context
        self.output: Output = copy.copy(run.model.output)
        vectors = getattr(self.output, "vectors", None)
        if isinstance(vectors, VocabularyVectors):  # composed word vectors are a constant here
            self.register_buffer("table_VE", vectors.of_all().detach().clone())
            fixed = SimpleNamespace(of_all=partial(self.get_buffer, "table_VE"))
            self.output.vectors = fixed  # type: ignore[assignment]  # for `of_all` alone
        self.eval()

    def forward(self, x_BE: Tensor, leaves: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Log-probabilities and new leaves, batch first."""
        state = with_leaves(self.context.initial_state(1), list(leaves))
        h_TBH, state = self.context(x_BE[None], state)
        return (self.output.log_probs(h_TBH[0]), *state_leaves(state))


class _Encode(nn.Module):
    """From word ids, letters and morphs to the forms' vectors."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder.eval()

    def forward(self, inputs: tuple[Tensor, ...]) -> Tensor:
        """The vectors, (N, E)."""
        vectors_NE: Tensor = self.encoder(Forms(*inputs))
        return vectors_NE


Example = tuple[tuple[Any, ...], Any, Names, Names]  # arguments, dynamic axes, names in and out


def _step_example(run: LoadedRun) -> Example:
    size = BATCHES[1]
    leaves = [leaf.contiguous() for leaf in state_leaves(run.model.context.initial_state(size))]
    x_BE = torch.randn(size, run.model.encoder.dim, generator=torch.Generator().manual_seed(1))
    batch = {0: torch.export.Dim.DYNAMIC}
    numbers = range(len(leaves))
    return (
        (x_BE, tuple(leaf.clone() for leaf in leaves)),
        (batch, (batch,) * len(leaves)),
        ["x", *(f"state_{number}" for number in numbers)],
        ["log_probs", *(f"next_{number}" for number in numbers)],
    )


def _encode_example(run: LoadedRun) -> Example:
    is_fixed = not FIXED_LENGTH.isdisjoint(_kinds(run.settings["encoder"]))
    width = run.inventory.max_word_length + N_EDGES if is_fixed else 0
    inputs = form_inputs(run.inventory, _tried_forms(run, BATCHES[1]), width=width)
    tensors = tuple(torch.from_numpy(each) for each in inputs.values())
    moving = torch.export.Dim.DYNAMIC
    axes: dict[str, dict[int, Any]] = {
        "words": {0: moving},
        "letters": {0: moving} if is_fixed else {0: moving, 1: moving},
        "morphs": {0: moving, 1: moving},
    }
    return (tensors,), (tuple(axes[name] for name in inputs),), list(inputs), ["vectors"]


def _exported(
    module: nn.Module, arguments: tuple[Any, ...], axes: Any, *names: Names, part: str
) -> bytes:
    """A network's bytes, without the local file names that the exporter records."""
    names_in, names_out = names
    try:
        program = torch.onnx.export(
            module,
            arguments,
            dynamo=True,
            dynamic_shapes=axes,
            input_names=list(names_in),
            output_names=list(names_out),
            opset_version=OPSET,
            external_data=False,
            verbose=False,
        )
    except torch.onnx.OnnxExporterError as error:
        reason = str(error.__cause__ or error).strip().partition("\n")[0][:200]
        raise ConfigError(f"--onnx: {part} cannot be exported: {reason}") from None
    assert program is not None
    return _plain(program.model_proto)


def _plain(proto: Any) -> bytes:
    import onnx

    graph = proto.graph
    for each in (proto, graph, *graph.node, *graph.input, *graph.output, *graph.initializer):
        del each.metadata_props[:]
        each.doc_string = ""
    del graph.value_info[:]
    onnx.checker.check_model(proto, full_check=True)
    content: bytes = proto.SerializeToString(deterministic=True)
    return content


def _tried_forms(run: LoadedRun, n: int) -> list[str]:
    """Words from the whole vocabulary, and one outside it."""
    words = run.inventory.words
    places = np.linspace(0, len(words) - 1, n).astype(int)
    return [*(words[place] for place in places[:-1]), "no" + words[-1] + "word"]


def _checked(run: LoadedRun, folder: Path) -> float:
    """The largest difference from torch; refuses an export beyond the tolerance."""
    largest = largest_difference(run, folder)
    if not largest <= TOLERANCE:
        parts = " or ".join(f"{place} {run.settings[place]['type']!r}" for place in PARTS)
        raise ConfigError(
            f"{run.path}: --onnx: what was exported differs from torch by {largest:.2g}; expected "
            f"at most {TOLERANCE:g}; {parts} cannot be exported"
        )
    return largest


def largest_difference(run: LoadedRun, folder: Path) -> float:
    """The largest difference of vectors and log-probabilities from torch's, at all batch sizes."""
    model = OnnxModel(folder, threads=torch.get_num_threads())
    # Python's max would pass over NaN.
    return float(np.max([_difference(run, model, size=size) for size in BATCHES]))


@torch.no_grad()
def _difference(run: LoadedRun, model: OnnxModel, *, size: int) -> float:
    forms = _tried_forms(run, size)
    inputs = form_inputs(run.inventory, forms)
    x_BE = run.model.encoder(Forms(*map(torch.from_numpy, inputs.values())))
    differences = [_apart(model.encode(forms), x_BE)]
    state, leaves = run.model.context.initial_state(size), model.initial_state(size)
    for _ in range(STEPS_TRIED):
        h_TBH, state = run.model.context(x_BE[None], state)
        log_probs_BV, leaves = model.step(x_BE.numpy(), leaves)
        differences.append(_apart(log_probs_BV, run.model.output.log_probs(h_TBH[0])))
    return float(np.max(differences))


def _apart(ours: npt.NDArray[np.float32], theirs: Tensor) -> float:
    if ours.shape != tuple(theirs.shape):
        return float("inf")
    return float(np.abs(ours - theirs.numpy()).max(initial=0.0))
