"""`charlm export --page`: one HTML file that holds a model in eight bits and runs it offline."""

import base64
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from charlm.interface.json_results import JsonResult
from charlm.run.exported_folder import is_exported
from charlm.run.folder import load_info
from charlm.run.onnx_model import OnnxModel, Vectors
from charlm.run.which import which_run
from charlm.scoring.export.export_options import ExportOptions
from charlm.scoring.export.onnx_export import export_run, require_exporter
from charlm.scoring.export.page.page_weights import (
    PageWeights,
    Product,
    page_weights,
    require_computed,
)
from charlm.scoring.export.page.text_rules import text_rules
from charlm.text.io.files import write_bytes
from charlm.text.io.html_page import html_page, json_block
from charlm.text.io.paths import require_place
from charlm.version import __version__

SCRIPTS = ("model.js", "words.js", "nearest.js", "page.js")
KINDS = {"float32": "f", "int8": "b"}
DIM = 64  # for near words: 10,000 words take 0.6 MB, and a query's product a millisecond


@dataclass(frozen=True)
class PageExport(JsonResult):
    """The result of an export to a page."""

    model: Path
    page: Path
    n_bytes: int
    seconds: float


def export_page(options: ExportOptions) -> PageExport:
    """Write a run, or an exported folder in eight bits, as a page.

    Raises:
        ConfigError: no model was given; a part that the page cannot compute; a missing package.
        DataError: a run or a folder that is not what was expected.
    """
    began = time.perf_counter()
    assert options.page is not None
    require_exporter("--page")
    out = Path(options.page)
    require_place(out, option="--page")
    path = which_run(options.model, newest_allowed=False)
    with _in_eight_bits(path, options) as model:
        content = _page(model, title=path.resolve().name)
    write_bytes(out, content, through_links=True)
    return PageExport(path, out, len(content), time.perf_counter() - began)


@contextmanager
def _in_eight_bits(path: Path, options: ExportOptions) -> Iterator[OnnxModel]:
    if is_exported(path):
        model = OnnxModel(path, threads=options.threads)
        require_computed(model.info.settings, source=path)
        yield model
        return
    require_computed(load_info(path).settings, source=path)  # before half a minute of export
    with TemporaryDirectory() as folder:
        export_run(path, Path(folder), int8=True, threads=options.threads)
        yield OnnxModel(folder, threads=options.threads)


def _page(model: OnnxModel, *, title: str) -> bytes:
    arrays = _Arrays()
    weights = page_weights(model)
    inventory = model.inventory
    vectors_VD, directions_ED = _near_words(model.encode(inventory.words))
    content = {
        "title": title,
        "charlm": __version__,
        "arch": model.info.arch,
        "words": inventory.words,
        "characters": inventory.characters,
        "longest": inventory.max_word_length,
        "rules": text_rules(inventory.normalisation),
        "bySpelling": model.oov_input == "spelling",
        "learnedSentences": model.learned_single_sentences,
        "start": [[float(x) for x in leaf[0]] for leaf in model.initial_state(1)],
        "network": _network(weights, arrays),
        "near": {"vectors": arrays.place(vectors_VD), "directions": arrays.place(directions_ED)},
    }
    parts = {"title": title, "data": json_block(content), "weights": arrays.base64()}
    allowed = "worker-src blob:; "
    return html_page(__package__ or "", scripts=SCRIPTS, parts=parts, allowed=allowed)


def _near_words(vectors_VE: Vectors) -> tuple[npt.NDArray[np.int8], Vectors]:
    """Word vectors as int8, (V, D), of length about 127; and the projection (E, D) to their space.

    The projection keeps the directions in which vectors of length 1 are longest, which preserves
    cosines best. The mean is not subtracted, since cosines are taken from the origin. The result
    only proposes candidates, and the page asks the model itself for their vectors. Of char-small's
    ten nearest words, 64 numbers find five, and 200 candidates nine.
    """
    norms_V1 = np.linalg.norm(vectors_VE, axis=1, keepdims=True)
    units_VE = vectors_VE / np.maximum(norms_V1, 1e-30)
    values_E, turned_EE = np.linalg.eigh(units_VE.T @ units_VE)
    directions_ED = turned_EE[:, np.argsort(-values_E)[:DIM]].astype(np.float32)
    reduced_VD = units_VE @ directions_ED
    reduced_VD /= np.maximum(np.linalg.norm(reduced_VD, axis=1, keepdims=True), 1e-30)
    return np.round(127 * reduced_VD).astype(np.int8), directions_ED


def _network(weights: PageWeights, arrays: "_Arrays") -> dict[str, object]:
    def placed(product: Product) -> dict[str, object]:
        return {
            "weights": arrays.place(product.weights_KN),
            "scales": arrays.place(product.scales_N),
            "bias": arrays.place(product.bias_N),
        }

    return {
        "letters": arrays.place(weights.letters_CE),
        "filters": placed(weights.filters),
        "highways": [list(map(placed, pair)) for pair in weights.highways],
        "lstms": [list(map(placed, pair)) for pair in weights.lstms],
        "output": placed(weights.output),
    }


class _Arrays:
    """Arrays in one row of bytes, each starting at a multiple of four."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._n_bytes = 0

    def place(self, array: np.ndarray) -> dict[str, object]:
        """Add an array and return its place, kind and shape."""
        content = np.ascontiguousarray(array).tobytes()
        place = {"kind": KINDS[array.dtype.name], "at": self._n_bytes, "shape": list(array.shape)}
        content += b"\0" * (-len(content) % 4)
        self._pieces.append(content)
        self._n_bytes += len(content)
        return place

    def base64(self) -> str:
        return base64.b64encode(b"".join(self._pieces)).decode()
