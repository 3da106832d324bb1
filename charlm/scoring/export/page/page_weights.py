"""A model's weights from its exported networks, in the eight bits that they have there.

The networks are read by their structure: a product is identified by the nodes before it. So the
page computes what onnxruntime computes, without a second quantisation.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from charlm.errors import ConfigError
from charlm.model.encoders.highway import CARRY_BIAS
from charlm.run.exported_folder import ENCODE, STEP
from charlm.run.onnx_model import OnnxModel
from charlm.settings import Settings

Array = npt.NDArray[Any]

# Options whose other values lead to products that the page does not compute.
COMPUTED: dict[str, dict[str, object]] = {
    "context": {
        **{"gates": "ifo", "peepholes": False, "layer_norm": False},
        **{"recurrent_dropout": 0.0, "zoneout": 0.0, "memory_zoneout": 0.0},  # stepped one by one
        **{"residual": False, "sum_layers": False},
    },
    "output": {"projection": 0},
}


@dataclass(frozen=True)
class Product:
    """x times an int8 matrix, with a scale for each column and a bias."""

    weights_KN: Array
    scales_N: Array
    bias_N: Array


@dataclass(frozen=True)
class PageWeights:
    """All weights that the page computes with."""

    letters_CE: Array  # float32
    filters: Product  # over windows of letters
    highways: tuple[tuple[Product, Product], ...]  # the new values, and the gate
    lstms: tuple[tuple[Product, Product], ...]  # for the input and the state; gates i, o, f, c
    output: Product


def page_weights(model: OnnxModel) -> PageWeights:
    """The weights of a character CNN, highway layers, LSTMs and a softmax.

    Raises:
        ConfigError: weights that are not in eight bits.
    """
    if model.info.precision != "int8":
        raise ConfigError(
            f"{model.path}: found {model.info.precision}; expected a run, or a folder that was "
            "exported with --int8"
        )
    encode, step = (_Network(model.path / name) for name in (ENCODE, STEP))
    filters, *rest = [encode.product(node) for node in encode.nodes("MatMulInteger")]
    (pooled,) = encode.nodes("ReduceMax")
    gates, new = rest[0::2], rest[1::2]
    for gate in gates:
        gate.bias_N[:] += np.float32(CARRY_BIAS)
    (output,) = [step.product(node) for node in step.nodes("MatMulInteger")]
    return PageWeights(
        letters_CE=encode.table(encode.nodes("Gather")[0]),
        filters=Product(
            filters.weights_KN, filters.scales_N, encode.additions(pooled.output[0])[0]
        ),
        highways=tuple(zip(new, gates, strict=True)),
        lstms=tuple(step.lstm(node) for node in step.nodes("DynamicQuantizeLSTM")),
        output=output,
    )


def require_computed(settings: Settings, *, source: Path) -> None:
    """Raises ConfigError for a part, or an option of one, that the page does not compute."""
    encoder = _part(settings, "encoder")
    inner = _part(encoder, "encoder") if encoder.get("type") == "highway" else encoder
    expected = {"encoder": "char-cnn", "context": "lstm", "output": "softmax"}
    for place, wanted in expected.items():
        part = inner if place == "encoder" else _part(settings, place)
        kind = part.get("type")
        if kind != wanted:
            raise ConfigError(
                f"{source}: --page: {place} {kind!r:.60} is not computed there; expected "
                f"{wanted!r}, as char-small has it; export it by --onnx"
            )
        for name, value in COMPUTED.get(place, {}).items():
            found = part.get(name, value)
            if found != value:
                raise ConfigError(
                    f"{source}: --page: {place} of {name} {found!r} is not computed there; "
                    f"expected {value!r}; export it by --onnx"
                )


def _part(settings: Settings, place: str) -> Settings:
    """The settings of a part; empty if a damaged run has none."""
    part = settings.get(place)
    return part if isinstance(part, dict) else {}


class _Network:
    """A network in eight bits, and its constants by name."""

    def __init__(self, path: Path) -> None:
        import onnx
        from onnx import numpy_helper

        self._path = path
        graph = onnx.load(str(path)).graph
        self._nodes = list(graph.node)
        self._constants: dict[str, Array] = {
            each.name: numpy_helper.to_array(each) for each in graph.initializer
        }

    def nodes(self, kind: str) -> list[Any]:
        """The nodes of a kind, in order."""
        return [node for node in self._nodes if node.op_type == kind]

    def table(self, node: Any) -> Array:
        """The table of a lookup, in fp32."""
        stem = node.input[0].removesuffix("_quantized")
        quantised, scale, zero = (
            self._constants[stem + end] for end in ("_quantized", "_scale", "_zero_point")
        )
        table: Array = (quantised.astype(np.float32) - np.float32(zero)) * scale
        return table

    def product(self, node: Any) -> Product:
        """An integer product, with the bias that is added to it, or 0."""
        stem = node.input[1].removesuffix("_quantized")
        weights, scales = self._weights(stem + "_quantized", stem + "_scale")
        (cast,) = self._behind(node.output[0])
        (scaled,) = self._behind(cast.output[0])
        found = self.additions(scaled.output[0])
        return Product(weights, scales, found[0].copy() if found else np.zeros_like(scales))

    def lstm(self, node: Any) -> tuple[Product, Product]:
        """The two products of a layer; the second has a bias of 0."""
        names = list(node.input)
        of_input, of_state = (
            self._weights(names[at], names[scale]) for at, scale in ((1, 8), (2, 10))
        )
        bias = self._constants[names[3]][0]
        half = len(bias) // 2
        both = bias[:half] + bias[half:]
        return (
            Product(of_input[0][0], of_input[1][0], both),
            Product(of_state[0][0], of_state[1][0], np.zeros_like(both)),
        )

    def _behind(self, name: str) -> list[Any]:
        """The nodes that read a result."""
        return [node for node in self._nodes if name in node.input]

    def additions(self, name: str) -> list[Array]:
        """The constants that are added to a result."""
        adding = [node for node in self._behind(name) if node.op_type == "Add"]
        found = [self._constants[x] for node in adding for x in node.input if x in self._constants]
        return [each for each in found if each.ndim == 1]

    def _weights(self, name: str, scale: str) -> tuple[Array, Array]:
        zero = self._constants[scale.removesuffix("_scale") + "_zero_point"]
        if zero.any() or self._constants[name].dtype != np.int8:
            raise ConfigError(f"{self._path}: {name!r} is not symmetric in int8; export it again")
        return self._constants[name], self._constants[scale]
