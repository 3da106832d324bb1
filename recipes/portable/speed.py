"""Processor time of a sentence and of a beam's step: a run in fp32 and bf16, exported folders.

python recipes/portable/speed.py RUN FOLDER ... < sentences.txt
"""

import statistics
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from itertools import cycle, islice

import torch

import charlm
from charlm.run.exported_folder import is_exported
from charlm.run.onnx_model import OnnxModel
from charlm.runtime import autocast

ROWS = 64
TIMES = 15

if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
    sys.exit(__doc__)
torch.set_num_threads(1)
cpu = torch.device("cpu")
lines = (raw.decode().strip() for raw in sys.stdin.buffer)  # UTF-8, whatever the locale says
sentences = list(islice(filter(None, lines), TIMES))
words = " ".join(sentences).split()
rows = list(islice(cycle(words), ROWS))


def opened(path: str) -> charlm.ExportedModel | charlm.Model:
    try:
        if is_exported(path):
            return charlm.ExportedModel(OnnxModel(path, threads=1))
        return charlm.load(path, device="cpu")
    except charlm.CharlmError as error:
        sys.exit(str(error))


def milliseconds(work: Callable[[], object]) -> float:
    """Of one call, the median of several; after a first one, which keeps words' vectors."""
    found = []
    for _ in range(TIMES + 1):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return 1e3 * statistics.median(found[1:])


for path in sys.argv[1:]:
    for precision in ("exported",) if is_exported(path) else ("fp32", "bf16"):
        model = opened(path)
        with nullcontext() if precision == "exported" else autocast(cpu, precision):
            for sentence in sentences:
                model.score(sentence)
            at = model.step(model.start(ROWS), rows).state
            turns = cycle(sentences)
            of_sentence = milliseconds(lambda model=model, turns=turns: model.score(next(turns)))
            of_step = milliseconds(
                lambda model=model, at=at: model.finish(model.step(at, rows).state)
            )
        sys.stdout.write(f"{path}\t{precision}\t{of_sentence:.1f}\t{of_step:.1f}\n")
sys.stdout.write(f"{len(words) / len(sentences):.1f} words a sentence, {ROWS} rows, ms\n")
