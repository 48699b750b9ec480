"""Converts a BERT model in the Hugging Face format to ONNX: reads its folder and weights, and writes the graph."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from memoranda.embedding.base import REQUIRED_FILES, InputKind, Pooling
from memoranda.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memoranda.types import JSON, FloatArray


_MAX_WINDOW: Final = 512


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A BERT-family model as the Hugging Face libraries save it."""

    path: Path
    shape: BertShape
    window: int
    pooling: Pooling
    prefixes: dict[InputKind, str]


def read_folder(path: Path) -> ModelFolder:
    """Read the folder; `NotFound` names a missing file, `InvalidInput` says what is not supported."""
    for name in REQUIRED_FILES:
        if not (path / name).is_file():
            raise NotFound(f"{path} has no {name}: a model folder holds {', '.join(REQUIRED_FILES)}")
    config = _read_json(path / "config.json")
    _refuse_unsupported(path, config)
    return ModelFolder(
        path, _read_shape(path, config), _read_window(path, config), _read_pooling(path), _read_prefixes(path)
    )


def _refuse_unsupported(path: Path, config: dict[str, JSON]) -> None:
    supported = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
    for key, value in supported.items():
        if config.get(key, value) != value:
            raise InvalidInput(f"{path}: only models with {key} {value!r} can be run here, this has {config[key]!r}")
    if _read_optional_json(path / "tokenizer_config.json").get("do_lower_case") is False:
        raise InvalidInput(f"{path}: only uncased vocabularies can be read here, this one is cased")
    modules = path / "modules.json"
    if modules.is_file() and "models.Dense" in modules.read_text("utf-8"):
        raise InvalidInput(f"{path}: the model has a dense layer after pooling, which cannot be run here")


def _read_shape(path: Path, config: dict[str, JSON]) -> BertShape:
    match config:
        case {"num_hidden_layers": int(layers), "num_attention_heads": int(heads), "hidden_size": int(hidden)}:
            epsilon = config.get("layer_norm_eps", 1e-12)
            return BertShape(layers, heads, hidden, epsilon if isinstance(epsilon, float) else 1e-12)
    raise InvalidInput(f"{path / 'config.json'} lacks num_hidden_layers, num_attention_heads or hidden_size")


def _read_window(path: Path, config: dict[str, JSON]) -> int:
    limits = (
        _read_optional_json(path / "sentence_bert_config.json").get("max_seq_length"),
        config.get("max_position_embeddings"),
    )
    return min([limit for limit in limits if isinstance(limit, int)] + [_MAX_WINDOW])


def _read_pooling(path: Path) -> Pooling:
    config = _read_optional_json(path / "1_Pooling" / "config.json")
    modes = [key.removeprefix("pooling_mode_") for key, on in config.items() if key.startswith("pooling_mode_") and on]
    if modes == ["cls_token"]:
        return "cls"
    if modes in ([], ["mean_tokens"]):
        return "mean"
    raise InvalidInput(f"{path}: pooling by {' and '.join(modes)} is not supported, only mean_tokens and cls_token")


def _read_prefixes(path: Path) -> dict[InputKind, str]:
    prompts = _read_optional_json(path / "config_sentence_transformers.json").get("prompts")
    if not isinstance(prompts, dict):
        return {}
    by_kind: dict[InputKind, JSON] = {
        "query": prompts.get("query"),
        "passage": prompts.get("passage", prompts.get("document")),
    }
    return {kind: prompt for kind, prompt in by_kind.items() if isinstance(prompt, str)}


def _read_optional_json(file: Path) -> dict[str, JSON]:
    return _read_json(file) if file.is_file() else {}


def _read_json(file: Path) -> dict[str, JSON]:
    try:
        content = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise InvalidInput(f"{file} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise InvalidInput(f"{file} must hold a JSON object")
    return content


_GetWeight: TypeAlias = "Callable[[str], FloatArray]"
# Models saved with a head on top have the encoder under one of these prefixes.
_PREFIXES: Final = ("", "bert.", "model.")


@dataclass(frozen=True, slots=True)
class BertShape:
    """The sizes of a BERT encoder, from its config.json."""

    layers: int
    heads: int
    hidden: int
    epsilon: float


def build_encoder(shape: BertShape, weights: Mapping[str, FloatArray], file: Path) -> None:
    """Write the encoder as an ONNX file: `input_ids` (1, tokens) → `last_hidden_state` (1, tokens, hidden).

    It takes one text at a time, so there is no padding and no mask. Missing weights raise `InvalidInput`.
    """
    get_weight = _weight_getter(weights)
    graph = OnnxGraph()
    state = _add_embeddings(graph, get_weight, shape, graph.input("input_ids", "int64", (1, "tokens")))
    for layer in range(shape.layers):
        last = layer == shape.layers - 1
        output = "last_hidden_state" if last else ""
        state = _add_layer(graph, _with_prefix(get_weight, f"encoder.layer.{layer}."), shape, state, output)
    graph.output(state, "float32", (1, "tokens", shape.hidden))
    graph.write(file)


def _add_embeddings(graph: OnnxGraph, get_weight: _GetWeight, shape: BertShape, ids: str) -> str:
    words = graph.add("Gather", graph.constant(get_weight("embeddings.word_embeddings.weight")), ids)
    # Every token is in the first segment, so the row of that segment is added to the positions.
    positions = get_weight("embeddings.position_embeddings.weight")
    positions = positions + get_weight("embeddings.token_type_embeddings.weight")[0]
    start = graph.constant(np.array([0], np.int64))
    length = graph.add("Shape", ids, start=1, end=2)
    used = graph.add("Slice", graph.constant(positions), start, length)
    scale, shift = _add_norm(graph, get_weight, "embeddings.LayerNorm")
    summed = graph.add("Add", words, used)
    return graph.add("LayerNormalization", summed, scale, shift, axis=-1, epsilon=shape.epsilon)


def _add_layer(graph: OnnxGraph, get_weight: _GetWeight, shape: BertShape, state: str, output: str) -> str:
    attended = _add_attention(graph, get_weight, shape, state)
    state = _add_residual(graph, get_weight, shape, "attention.output", attended, state)
    wide = graph.add("MatMul", state, graph.constant(get_weight("intermediate.dense.weight").T))
    activated = graph.add("BiasGelu", wide, graph.constant(get_weight("intermediate.dense.bias")), contrib=True)
    return _add_residual(graph, get_weight, shape, "output", activated, state, output)


def _add_attention(graph: OnnxGraph, get_weight: _GetWeight, shape: BertShape, state: str) -> str:
    parts = [f"attention.self.{part}" for part in ("query", "key", "value")]
    weight = np.concatenate([get_weight(f"{part}.weight").T for part in parts], axis=1)
    bias = np.concatenate([get_weight(f"{part}.bias") for part in parts])
    constants = graph.constant(weight), graph.constant(bias)
    return graph.add("Attention", state, *constants, contrib=True, num_heads=shape.heads)


def _add_residual(
    graph: OnnxGraph, get_weight: _GetWeight, shape: BertShape, name: str, value: str, state: str, output: str = ""
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


def _weight_getter(weights: Mapping[str, FloatArray]) -> _GetWeight:
    first_name = "embeddings.word_embeddings.weight"
    prefix = next((prefix for prefix in _PREFIXES if prefix + first_name in weights), None)
    if prefix is None:
        raise InvalidInput(f"the weights hold no {first_name}: not a BERT encoder")

    def get_weight(name: str) -> FloatArray:
        if prefix + name not in weights:
            raise InvalidInput(f"the weights hold no {prefix + name}: not a complete BERT encoder")
        return weights[prefix + name]

    return get_weight


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
