"""Converts an encoder of the BERT family to ONNX: reads its weights and writes the graph."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from memoranda.embedding.model_folder import USUAL_WINDOW, EncoderFamily, EncoderShape
from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memoranda.types import JSON, FloatArray


_GetWeight: TypeAlias = "Callable[[str], FloatArray]"
# Models saved with a head on top have the encoder under one of these prefixes.
_PREFIXES: Final = ("", "bert.", "model.", "roberta.", "mpnet.", "distilbert.")


def build_encoder(shape: EncoderShape, weights: Mapping[str, FloatArray], file: Path) -> None:
    """Write the encoder as an ONNX file: `input_ids` (1, tokens) → `last_hidden_state` (1, tokens, hidden).

    It takes one text at a time, so there is no padding and no mask. Missing weights raise `InvalidInput`.
    """
    get_weight = _weight_getter(weights, shape.family)
    graph = OnnxGraph()
    ids = graph.input("input_ids", "int64", (1, "tokens"))
    positions = get_weight("embeddings.position_embeddings.weight")[shape.first_position :]
    state = _add_embeddings(graph, get_weight, shape, ids, positions)
    bias = _add_relative_bias(graph, get_weight, ids, len(positions)) if shape.family.relative_bias else ""
    for layer in range(shape.layers):
        last = layer == shape.layers - 1
        output = "last_hidden_state" if last else ""
        state = _add_layer(graph, _with_prefix(get_weight, f"encoder.layer.{layer}."), shape, state, bias, output)
    graph.output(state, "float32", (1, "tokens", shape.hidden))
    graph.write(file)


def _add_embeddings(
    graph: OnnxGraph, get_weight: _GetWeight, shape: EncoderShape, ids: str, positions: FloatArray
) -> str:
    words = graph.add("Gather", graph.constant(get_weight("embeddings.word_embeddings.weight")), ids)
    if shape.family.segments:
        # Every token is in the first segment, so the row of that segment is added to the positions.
        positions = positions + get_weight("embeddings.token_type_embeddings.weight")[0]
    start = graph.constant(np.array([0], np.int64))
    length = graph.add("Shape", ids, start=1, end=2)
    used = graph.add("Slice", graph.constant(positions), start, length)
    scale, shift = _add_norm(graph, get_weight, "embeddings.LayerNorm")
    summed = graph.add("Add", words, used)
    return graph.add("LayerNormalization", summed, scale, shift, axis=-1, epsilon=shape.epsilon)


_BUCKETS, _FARTHEST = 32, 128


def _add_relative_bias(graph: OnnxGraph, get_weight: _GetWeight, ids: str, window: int) -> str:
    """Add the bias of each pair of tokens, (1, heads, tokens, tokens), cut from the one of the longest text."""
    table = get_weight("encoder.relative_attention_bias.weight")
    reach = min(window, USUAL_WINDOW)
    distances = np.arange(reach)[None, :] - np.arange(reach)[:, None]
    bias = np.ascontiguousarray(table[_bucket_of(distances)].transpose(2, 0, 1)[None])
    length = graph.add("Shape", ids, start=1, end=2)
    ends = graph.add("Concat", length, length, axis=0)
    starts, axes = graph.constant(np.array([0, 0], np.int64)), graph.constant(np.array([2, 3], np.int64))
    return graph.add("Slice", graph.constant(bias), starts, ends, axes)


def _bucket_of(distances: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bucket of each distance: near ones have their own, far ones share, half of them for each side."""
    half = _BUCKETS // 2
    near = half // 2
    away = np.abs(distances)
    far = near + (np.log(np.maximum(away, 1) / near) / np.log(_FARTHEST / near) * (half - near)).astype(np.int64)
    side = np.where(distances > 0, half, 0)
    return side + np.where(away < near, away, np.minimum(far, half - 1))


def _add_layer(
    graph: OnnxGraph, get_weight: _GetWeight, shape: EncoderShape, state: str, bias: str, output: str
) -> str:
    attended = _add_attention(graph, get_weight, shape, state, bias)
    state = _add_residual(graph, get_weight, shape, "attention.output", attended, state)
    wide = graph.add("MatMul", state, graph.constant(get_weight("intermediate.dense.weight").T))
    activated = graph.add("BiasGelu", wide, graph.constant(get_weight("intermediate.dense.bias")), contrib=True)
    return _add_residual(graph, get_weight, shape, "output", activated, state, output)


def _add_attention(
    graph: OnnxGraph, get_weight: _GetWeight, shape: EncoderShape, state: str, relative_bias: str
) -> str:
    parts = [f"attention.self.{part}" for part in ("query", "key", "value")]
    weight = np.concatenate([get_weight(f"{part}.weight").T for part in parts], axis=1)
    bias = np.concatenate([get_weight(f"{part}.bias") for part in parts])
    inputs = [state, graph.constant(weight), graph.constant(bias)]
    if relative_bias:
        inputs += ["", "", relative_bias]  # no mask and no past
    return graph.add("Attention", *inputs, contrib=True, num_heads=shape.heads)


def _add_residual(
    graph: OnnxGraph, get_weight: _GetWeight, shape: EncoderShape, name: str, value: str, state: str, output: str = ""
) -> str:
    """Add a dense layer, the residual connection to the state, and the layer norm."""
    product = graph.add("MatMul", value, graph.constant(get_weight(f"{name}.dense.weight").T))
    bias = graph.constant(get_weight(f"{name}.dense.bias"))
    scale, shift = _add_norm(graph, get_weight, f"{name}.LayerNorm")
    inputs = product, state, scale, shift, bias
    return graph.add("SkipLayerNormalization", *inputs, output=output, contrib=True, epsilon=shape.epsilon)


def _add_norm(graph: OnnxGraph, get_weight: _GetWeight, name: str) -> tuple[str, str]:
    return graph.constant(get_weight(f"{name}.weight")), graph.constant(get_weight(f"{name}.bias"))


def _with_prefix(get_weight: _GetWeight, prefix: str) -> _GetWeight:
    return lambda name: get_weight(prefix + name)


def _weight_getter(weights: Mapping[str, FloatArray], family: EncoderFamily) -> _GetWeight:
    """Return a function that finds a weight by the name that BERT gives it."""
    first_name = "embeddings.word_embeddings.weight"
    prefix = next((prefix for prefix in _PREFIXES if prefix + first_name in weights), None)
    if prefix is None:
        raise InvalidInput(f"the weights hold no {first_name}: not an encoder of the BERT family")

    def get_weight(name: str) -> FloatArray:
        named = prefix + _name_in(family, name)
        if named not in weights:
            raise InvalidInput(f"the weights hold no {named}: not a complete encoder")
        return weights[named]

    return get_weight


def _name_in(family: EncoderFamily, name: str) -> str:
    layer = re.match(r"encoder\.layer\.\d+\.", name)
    head, rest = (layer.group(), name[layer.end() :]) if layer else ("", name)
    for ours, theirs in family.names:
        if head.startswith(ours):
            head = theirs + head[len(ours) :]
        elif layer and rest.startswith(ours):
            rest = theirs + rest[len(ours) :]
            break
    return head + rest


Attribute: TypeAlias = int | float
_Chunks: TypeAlias = "list[bytes | memoryview]"

_IR_VERSION: Final = 8
_OPSET: Final = 17
_MICROSOFT: Final = "com.microsoft"
# Field numbers of onnx.proto.
_MODEL_IR, _MODEL_PRODUCER, _MODEL_GRAPH, _MODEL_OPSET = 1, 2, 7, 8
_GRAPH_NODE, _GRAPH_NAME, _GRAPH_CONSTANT, _GRAPH_INPUT, _GRAPH_OUTPUT = 1, 2, 5, 11, 12
_TYPE_CODES: Final = {"float32": 1, "int64": 7}


class OnnxGraph:
    """An ONNX graph under construction, written as protobuf without the onnx package."""

    def __init__(self) -> None:
        self._nodes: _Chunks = []
        self._constants: _Chunks = []
        self._inputs_and_outputs: _Chunks = []
        self._count = 0

    def input(self, name: str, kind: str, shape: Sequence[int | str]) -> str:
        """Add an input and return its name."""
        self._inputs_and_outputs += _encode_message(_GRAPH_INPUT, _encode_value_info(name, kind, shape))
        return name

    def output(self, name: str, kind: str, shape: Sequence[int | str]) -> None:
        """Declare a value as an output."""
        self._inputs_and_outputs += _encode_message(_GRAPH_OUTPUT, _encode_value_info(name, kind, shape))

    def constant(self, array: NDArray[np.generic]) -> str:
        """Add a constant and return its name."""
        name = self._new_name("c")
        whole = np.ascontiguousarray(array)
        shape = [chunk for size in whole.shape for chunk in _encode_integer(1, size)]
        numbers = _encode_message(9, [whole.reshape(-1).view(np.uint8).data])
        code = _encode_integer(2, _TYPE_CODES[str(whole.dtype)])
        self._constants += _encode_message(_GRAPH_CONSTANT, shape + code + _encode_text(8, name) + numbers)
        return name

    def add(self, operator: str, *inputs: str, output: str = "", contrib: bool = False, **attributes: Attribute) -> str:
        """Add an operator and return the name of its output.

        Args:
            operator: The ONNX operator.
            *inputs: The names of its inputs; an empty name omits an optional input.
            output: The name of the output; generated by default.
            contrib: Whether it is one of onnxruntime's own operators.
            **attributes: Its attributes.
        """
        name = output or self._new_name("v")
        body = [chunk for item in inputs for chunk in _encode_text(1, item)]
        body += _encode_text(2, name) + _encode_text(4, operator)
        for key, value in attributes.items():
            body += _encode_message(5, _encode_attribute(key, value))
        self._nodes += _encode_message(_GRAPH_NODE, body + (_encode_text(7, _MICROSOFT) if contrib else []))
        return name

    def write(self, file: Path) -> None:
        """Write the model file."""
        graph = self._nodes + _encode_text(_GRAPH_NAME, "encoder") + self._constants + self._inputs_and_outputs
        opsets = _encode_message(_MODEL_OPSET, _encode_text(1, "") + _encode_integer(2, _OPSET))
        opsets += _encode_message(_MODEL_OPSET, _encode_text(1, _MICROSOFT) + _encode_integer(2, 1))
        head = _encode_integer(_MODEL_IR, _IR_VERSION) + _encode_text(_MODEL_PRODUCER, "memoranda")
        with file.open("wb") as out:
            out.writelines(head + _encode_message(_MODEL_GRAPH, graph) + opsets)

    def _new_name(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"


def _encode_value_info(name: str, kind: str, shape: Sequence[int | str]) -> _Chunks:
    sizes: _Chunks = []
    for size in shape:
        sizes += _encode_message(1, _encode_integer(1, size) if isinstance(size, int) else _encode_text(2, size))
    tensor = _encode_integer(1, _TYPE_CODES[kind]) + _encode_message(2, sizes)
    return _encode_text(1, name) + _encode_message(2, _encode_message(1, tensor))


def _encode_attribute(key: str, value: Attribute) -> _Chunks:
    if isinstance(value, float):
        return [*_encode_text(1, key), _encode_varint(2 << 3 | 5) + struct.pack("<f", value), *_encode_integer(20, 1)]
    return _encode_text(1, key) + _encode_integer(3, value) + _encode_integer(20, 2)


def _encode_text(field: int, value: str) -> _Chunks:
    return _encode_message(field, [value.encode()])


def _encode_message(field: int, body: _Chunks) -> _Chunks:
    return [_encode_varint(field << 3 | 2) + _encode_varint(sum(map(len, body))), *body]


def _encode_integer(field: int, value: int) -> _Chunks:
    return [_encode_varint(field << 3) + _encode_varint(value)]


def _encode_varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are encoded as their 64-bit two's complement
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


_NUMPY_TYPES: Final = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


class Weights(Mapping[str, "FloatArray"]):
    """The tensors of a safetensors file by name, as float32. Each is read on access."""

    def __init__(self, file: Path) -> None:
        try:
            self._bytes: NDArray[np.uint8] = np.memmap(file, np.uint8, "r")
            start = 8 + int.from_bytes(self._bytes[:8].tobytes(), "little")
            contents: dict[str, dict[str, JSON]] = json.loads(self._bytes[8:start].tobytes())
        except ValueError as error:  # an empty file, or one without a JSON header
            raise InvalidInput(f"{file} is not a safetensors file: {error}") from error
        self._file = file
        self._numbers = self._bytes[start:]
        self._contents = {name: entry for name, entry in contents.items() if name != "__metadata__"}

    def __getitem__(self, name: str) -> FloatArray:
        entry = self._contents[name]
        match entry:
            case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [int(start), int(end)]}:
                if dtype in _NUMPY_TYPES:
                    return self._read(name, dtype, shape, self._numbers[start:end])
        raise InvalidInput(f"{self._file}: {name} has a type that cannot be read: {entry}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._contents)

    def __len__(self) -> int:
        return len(self._contents)

    def _read(self, name: str, dtype: str, shape: list[JSON], data: NDArray[np.uint8]) -> FloatArray:
        try:
            numbers = data.view(_NUMPY_TYPES[dtype]).reshape(np.array(shape, int))
        except ValueError as error:
            raise InvalidInput(f"{self._file} is cut short or damaged at {name}: {error}") from error
        if dtype == "BF16":
            return (numbers.astype("<u4") << 16).view(np.float32)
        return np.asarray(numbers, np.float32)
