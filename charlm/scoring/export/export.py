"""`charlm export` and `charlm.export`: a model as ONNX, a page, or an approximating ARPA file.

Errors that would show only at the end, such as a missing folder or a word that ARPA cannot hold,
are looked for before the work begins.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from charlm.errors import ConfigError, DataError
from charlm.interface.json_results import JsonResult
from charlm.interface.options import fields_of, keywords
from charlm.ngram.estimation import require_all_words, thresholds_of
from charlm.ngram.files.arpa_writing import require_arpa_words, write_arpa
from charlm.ngram.files.kenlm_binary import require_arpa_name
from charlm.ngram.model_sources import parse_pruning
from charlm.run.stored_weights import LoadedRun, load_run
from charlm.run.which import which_run
from charlm.runtime import autocast, pick_device, pick_precision, set_threads
from charlm.scoring.export.approximation import Approximator
from charlm.scoring.export.averages_over_text import StreamModel
from charlm.scoring.export.export_options import ExportOptions
from charlm.scoring.export.onnx_export import OnnxExport, export_onnx
from charlm.scoring.export.page.model_page import PageExport, export_page
from charlm.scoring.likelihood.nll import FormVectors
from charlm.scoring.likelihood.streams import as_words
from charlm.text.corpus.normalisation.hashed_text import ReadText
from charlm.text.corpus.sentences import split_path
from charlm.text.io.files import display_name
from charlm.text.io.overwrite import refuse_overwrite
from charlm.text.io.paths import require_place, size_of
from charlm.text.vocabulary.encoding import FormIds, Ids, encode_sentences

# Options of networks and pages, which are made in fp32 on the CPU; the others are for ARPA only.
OF_ALL = {"model", "arpa", "onnx", "page", "int8", "threads", "on_stage"}
ON_CPU = ("device", "cpu")
PRUNE = (0, 0, 1)  # the default


@dataclass(frozen=True)
class Export(JsonResult):
    """The result of an export to ARPA."""

    model: Path
    arpa: Path
    n_sampled: int  # tokens
    sizes: tuple[int, ...]  # n-grams of each order in the file
    n_bytes: int | None  # of the file as it was written; None: of a stream
    weights: dict[str, float]  # of the mixed parts: train, sample, average
    valid_ppls: dict[str, float]  # by sentence: of each part, and of the result (`file`)
    seconds: float

    @property
    def n_ngrams(self) -> int:
        """Number of n-grams of all orders."""
        return sum(self.sizes)


@keywords(ExportOptions)
@refuse_overwrite("arpa", "page")
def export(options: ExportOptions) -> Export | OnnxExport | PageExport:
    """Write a run as networks without torch, as a page, or as an ARPA file that approximates it.

    For ARPA, text is drawn from the model, and n-grams that are too rare in it are left out. At
    each position of that text and of train.txt the model draws further words, whose n-grams are
    added. The models that are mixed get their weights on valid.txt.

    Raises:
        ConfigError: no model was given; a number out of its range; a missing folder; none or
            several of an ARPA file, a folder for ONNX and a page; a part that cannot be exported.
        DataError: a run or text that is not what was expected; a word that ARPA cannot hold.
    """
    outputs = {"--arpa": options.arpa, "--onnx": options.onnx, "--page": options.page}
    given = [name for name, path in outputs.items() if path is not None]
    if len(given) != 1:
        found = " and ".join(given) if given else f"none of {', '.join(outputs)}"
        raise ConfigError(f"found {found}; expected one of them")
    if options.int8 and options.onnx is None:
        raise ConfigError("--int8: found no --onnx; expected the folder of networks; leave it out")
    if options.arpa is None:
        _refuse_options_of_arpa(options, output=given[0])
    if options.page is not None:
        return export_page(options)
    return export_onnx(options) if options.arpa is None else _export_arpa(options)


def _refuse_options_of_arpa(options: ExportOptions, *, output: str) -> None:
    for field in fields_of(ExportOptions):
        value = getattr(options, field.name)
        if field.name not in OF_ALL and value != field.default and (field.name, value) != ON_CPU:
            raise ConfigError(
                f"{field.opt.flag(field.name)} {value}: found {output}, which has no use for it; "
                "expected --arpa; drop one of them"
            )


def _export_arpa(options: ExportOptions) -> Export:
    if options.data is None or options.arpa is None:
        raise ConfigError("--arpa: found no --data; expected the corpus that weights are found on")
    began = time.perf_counter()
    arpa = Path(options.arpa)
    require_place(arpa, option="--arpa")
    require_arpa_name(arpa)
    prune = _thresholds(options)
    set_threads(options.threads)
    device = pick_device(options.device)
    precision = pick_precision(options.precision, device)
    run = load_run(which_run(options.model, newest_allowed=False), device=device)
    require_arpa_words(run.inventory.words, source=str(run.path))
    train, valid = (_word_ids(split_path(options.data, split), run) for split in ("train", "valid"))
    with autocast(device, precision):
        vectors = FormVectors(run.model, run.inventory, oov_input=run.oov_input)
        carries_state = not run.learned_single_sentences
        model = StreamModel(vectors, carries_state=carries_state, source=run.path)
        made = Approximator(model, options, prune=prune).approximation(train, valid)
    write_arpa(made.model, arpa)
    return Export(
        model=run.path,
        arpa=arpa,
        n_sampled=made.n_sampled,
        sizes=made.model.sizes,
        n_bytes=size_of(arpa),
        weights=made.weights,
        valid_ppls=made.valid_ppls,
        seconds=time.perf_counter() - began,
    )


def _thresholds(options: ExportOptions) -> tuple[int, ...]:
    """For each order, the largest count at which n-grams of the drawn text are left out."""
    thresholds = PRUNE[: options.order] if options.prune is None else parse_pruning(options.prune)
    thresholds_of(thresholds, order=options.order)
    require_all_words(thresholds)
    return thresholds


def _word_ids(path: Path, run: LoadedRun) -> Ids:
    """The words of a text in the run's vocabulary, every sentence closed by `</s>`."""
    inventory = run.inventory
    sentences = ReadText(path, normalisation=inventory.normalisation).sentences()
    encoded = encode_sentences(sentences, FormIds(inventory))
    if not encoded:
        raise DataError(f"{display_name(path)}: no sentence; expected one a line")
    return as_words(np.concatenate(encoded), inventory.n_words).astype(np.int32)
