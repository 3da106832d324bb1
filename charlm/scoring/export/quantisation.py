"""Networks in eight bits: matrices as int8, and their inputs quantised as they come.

Weights have only seven bits. On a CPU with AVX2 alone, onnxruntime adds two products of eight bits
in sixteen bits, where they may overflow, and the figures would differ from those of other CPUs.

Constants are folded first: the exporter writes a layer's weights as concatenated slices, and
onnxruntime silently leaves an LSTM with computed weights in fp32. So the result is checked for
that.
"""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from charlm.text.io.files import name_in_utf8, write_bytes

KINDS = ["MatMul", "LSTM", "Gather"]  # products, recurrences, tables


def quantise(path: Path) -> None:
    """Replace a network's file by one in int8.

    Raises:
        ValueError: an LSTM stayed in fp32.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    with TemporaryDirectory() as scratch, quiet(), name_in_utf8(path) as name:
        folded, quantised = Path(scratch) / "folded.onnx", Path(scratch) / "quantised.onnx"
        # onnxruntime's symbolic shape inference fails on a Split; ONNX's own works.
        quant_pre_process(name, str(folded), skip_symbolic_shape=True)
        quantize_dynamic(
            str(folded),
            str(quantised),
            op_types_to_quantize=KINDS,
            per_channel=True,
            weight_type=QuantType.QInt8,
            reduce_range=True,
        )
        network = onnx.load(str(quantised))
    if any(node.op_type == "LSTM" for node in network.graph.node):
        raise ValueError(f"{path.name}: an LSTM stayed in fp32")
    write_bytes(path, network.SerializeToString(deterministic=True))


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the exporter and the quantiser, which report their internals and their work."""
    before = logging.root.manager.disable
    handler = logging.NullHandler()  # else `logging.warning` gives the program one, to stderr
    logging.root.addHandler(handler)
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.root.removeHandler(handler)
        logging.disable(before)
