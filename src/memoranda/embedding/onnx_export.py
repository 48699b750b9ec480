"""Reads what a model folder says of its model, and refuses what cannot be run here."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from memoranda.embedding.base import NEEDED, InputKind, Pooling
from memoranda.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memoranda.types import JSON, FloatArray


_LONGEST_WINDOW: Final = 512


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A BERT-family model as the Hugging Face libraries save it."""

    path: Path
    shape: BertShape
    window: int
    pooling: Pooling
    prefixes: dict[InputKind, str]


def read_folder(path: Path) -> ModelFolder:
    """What is in the folder; `NotFound` names a missing file, `InvalidInput` what is not supported."""
    for name in NEEDED:
        if not (path / name).is_file():
            raise NotFound(f"{path} has no {name}: a model folder holds {', '.join(NEEDED)}")
    config = _json(path / "config.json")
    _refuse_foreign(path, config)
    return ModelFolder(path, _shape(path, config), _window(path, config), _pooling(path), _prefixes(path))


def _refuse_foreign(path: Path, config: dict[str, JSON]) -> None:
    demands = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
    for key, wanted in demands.items():
        if config.get(key, wanted) != wanted:
            raise InvalidInput(f"{path}: only models with {key} {wanted!r} can be run here, this has {config[key]!r}")
    if _optional_json(path / "tokenizer_config.json").get("do_lower_case") is False:
        raise InvalidInput(f"{path}: only uncased vocabularies can be read here, this one is cased")
    modules = path / "modules.json"
    if modules.is_file() and "models.Dense" in modules.read_text("utf-8"):
        raise InvalidInput(f"{path}: the model has a dense layer after pooling, which cannot be run here")


def _shape(path: Path, config: dict[str, JSON]) -> BertShape:
    match config:
        case {"num_hidden_layers": int(layers), "num_attention_heads": int(heads), "hidden_size": int(hidden)}:
            epsilon = config.get("layer_norm_eps", 1e-12)
            return BertShape(layers, heads, hidden, epsilon if isinstance(epsilon, float) else 1e-12)
    raise InvalidInput(f"{path / 'config.json'} does not say num_hidden_layers, num_attention_heads and hidden_size")


def _window(path: Path, config: dict[str, JSON]) -> int:
    claims = (
        _optional_json(path / "sentence_bert_config.json").get("max_seq_length"),
        config.get("max_position_embeddings"),
    )
    return min([claim for claim in claims if isinstance(claim, int)] + [_LONGEST_WINDOW])


def _pooling(path: Path) -> Pooling:
    config = _optional_json(path / "1_Pooling" / "config.json")
    modes = [key.removeprefix("pooling_mode_") for key, on in config.items() if key.startswith("pooling_mode_") and on]
    if modes == ["cls_token"]:
        return "cls"
    if modes in ([], ["mean_tokens"]):
        return "mean"
    raise InvalidInput(f"{path}: pooling by {' and '.join(modes)} is not known here, only mean_tokens and cls_token")


def _prefixes(path: Path) -> dict[InputKind, str]:
    prompts = _optional_json(path / "config_sentence_transformers.json").get("prompts")
    if not isinstance(prompts, dict):
        return {}
    named: dict[InputKind, JSON] = {
        "query": prompts.get("query"),
        "passage": prompts.get("passage", prompts.get("document")),
    }
    return {kind: prompt for kind, prompt in named.items() if isinstance(prompt, str)}


def _optional_json(file: Path) -> dict[str, JSON]:
    return _json(file) if file.is_file() else {}


def _json(file: Path) -> dict[str, JSON]:
    try:
        found = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise InvalidInput(f"{file} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"{file} must hold a JSON object")
    return found


_Take: TypeAlias = "Callable[[str], FloatArray]"
# Models saved with a head on top carry the encoder under one of these names.
_PREFIXES: Final = ("", "bert.", "model.")


@dataclass(frozen=True, slots=True)
class BertShape:
    """The sizes of a BERT encoder, as its config.json gives them."""

    layers: int
    heads: int
    hidden: int
    epsilon: float


def build_encoder(shape: BertShape, weights: Mapping[str, FloatArray], file: Path) -> None:
    """Writes the graph: `input_ids` (1, tokens) in, `last_hidden_state` (1, tokens, hidden) out.

    For one text at a time, so there is no padding and no mask. Missing weights are `InvalidInput`.
    """
    take = _taker(weights)
    graph = Graph()
    state = _embeddings(graph, take, shape, graph.input("input_ids", "int64", (1, "tokens")))
    for layer in range(shape.layers):
        last = layer == shape.layers - 1
        output = "last_hidden_state" if last else ""
        state = _layer(graph, _within(take, f"encoder.layer.{layer}."), shape, state, output)
    graph.output(state, "float32", (1, "tokens", shape.hidden))
    graph.write(file)


def _embeddings(graph: Graph, take: _Take, shape: BertShape, ids: str) -> str:
    words = graph.step("Gather", graph.constant(take("embeddings.word_embeddings.weight")), ids)
    # Every token is of the first segment, so that segment's row can join the positions.
    places = take("embeddings.position_embeddings.weight") + take("embeddings.token_type_embeddings.weight")[0]
    start = graph.constant(np.array([0], np.int64))
    length = graph.step("Shape", ids, start=1, end=2)
    taken = graph.step("Slice", graph.constant(places), start, length)
    scale, shift = _norm(graph, take, "embeddings.LayerNorm")
    added = graph.step("Add", words, taken)
    return graph.step("LayerNormalization", added, scale, shift, axis=-1, epsilon=shape.epsilon)


def _layer(graph: Graph, take: _Take, shape: BertShape, state: str, output: str) -> str:
    mixed = _attention(graph, take, shape, state)
    state = _joined(graph, take, shape, "attention.output", mixed, state)
    wide = graph.step("MatMul", state, graph.constant(take("intermediate.dense.weight").T))
    bent = graph.step("BiasGelu", wide, graph.constant(take("intermediate.dense.bias")), contrib=True)
    return _joined(graph, take, shape, "output", bent, state, output)


def _attention(graph: Graph, take: _Take, shape: BertShape, state: str) -> str:
    parts = [f"attention.self.{part}" for part in ("query", "key", "value")]
    weight = np.concatenate([take(f"{part}.weight").T for part in parts], axis=1)
    bias = np.concatenate([take(f"{part}.bias") for part in parts])
    constants = graph.constant(weight), graph.constant(bias)
    return graph.step("Attention", state, *constants, contrib=True, num_heads=shape.heads)


def _joined(graph: Graph, take: _Take, shape: BertShape, name: str, value: str, state: str, output: str = "") -> str:
    """The value through its last product, added to the state it came from, normalised."""
    product = graph.step("MatMul", value, graph.constant(take(f"{name}.dense.weight").T))
    bias = graph.constant(take(f"{name}.dense.bias"))
    scale, shift = _norm(graph, take, f"{name}.LayerNorm")
    inputs = product, state, scale, shift, bias
    return graph.step("SkipLayerNormalization", *inputs, output=output, contrib=True, epsilon=shape.epsilon)


def _norm(graph: Graph, take: _Take, name: str) -> tuple[str, str]:
    return graph.constant(take(f"{name}.weight")), graph.constant(take(f"{name}.bias"))


def _within(take: _Take, prefix: str) -> _Take:
    return lambda name: take(prefix + name)


def _taker(weights: Mapping[str, FloatArray]) -> _Take:
    first = "embeddings.word_embeddings.weight"
    prefix = next((prefix for prefix in _PREFIXES if prefix + first in weights), None)
    if prefix is None:
        raise InvalidInput(f"the weights hold no {first}: not a BERT encoder")

    def take(name: str) -> FloatArray:
        if prefix + name not in weights:
            raise InvalidInput(f"the weights hold no {prefix + name}: not a whole BERT encoder")
        return weights[prefix + name]

    return take


Attribute: TypeAlias = int | float
_Parts: TypeAlias = "list[bytes | memoryview]"

_IR_VERSION: Final = 8
_OPSET: Final = 17
_MICROSOFT: Final = "com.microsoft"
# Field numbers of onnx.proto.
_MODEL_IR, _MODEL_PRODUCER, _MODEL_GRAPH, _MODEL_OPSET = 1, 2, 7, 8
_GRAPH_NODE, _GRAPH_NAME, _GRAPH_CONSTANT, _GRAPH_INPUT, _GRAPH_OUTPUT = 1, 2, 5, 11, 12
_TYPE_CODES: Final = {"float32": 1, "int64": 7}


class Graph:
    """A graph under construction: constants and steps go in, a file comes out."""

    def __init__(self) -> None:
        self._nodes: _Parts = []
        self._constants: _Parts = []
        self._puts: _Parts = []
        self._count = 0

    def input(self, name: str, kind: str, shape: Sequence[int | str]) -> str:
        self._puts += _nested(_GRAPH_INPUT, _value(name, kind, shape))
        return name

    def output(self, name: str, kind: str, shape: Sequence[int | str]) -> None:
        self._puts += _nested(_GRAPH_OUTPUT, _value(name, kind, shape))

    def constant(self, array: NDArray[np.generic]) -> str:
        """Keeps the array in the file, and returns its name."""
        name = self._fresh("c")
        whole = np.ascontiguousarray(array)
        shape = [part for size in whole.shape for part in _number(1, size)]
        numbers = _nested(9, [whole.reshape(-1).view(np.uint8).data])
        code = _number(2, _TYPE_CODES[str(whole.dtype)])
        self._constants += _nested(_GRAPH_CONSTANT, shape + code + _text(8, name) + numbers)
        return name

    def step(
        self, operator: str, *inputs: str, output: str = "", contrib: bool = False, **attributes: Attribute
    ) -> str:
        """Adds one operator, and returns the name of what it gives; an empty input is one left out."""
        name = output or self._fresh("v")
        body = [part for given in inputs for part in _text(1, given)] + _text(2, name) + _text(4, operator)
        for key, value in attributes.items():
            body += _nested(5, _attribute(key, value))
        self._nodes += _nested(_GRAPH_NODE, body + (_text(7, _MICROSOFT) if contrib else []))
        return name

    def write(self, file: Path) -> None:
        graph = self._nodes + _text(_GRAPH_NAME, "encoder") + self._constants + self._puts
        opsets = _nested(_MODEL_OPSET, _text(1, "") + _number(2, _OPSET))
        opsets += _nested(_MODEL_OPSET, _text(1, _MICROSOFT) + _number(2, 1))
        head = _number(_MODEL_IR, _IR_VERSION) + _text(_MODEL_PRODUCER, "memoranda")
        with file.open("wb") as out:
            out.writelines(head + _nested(_MODEL_GRAPH, graph) + opsets)

    def _fresh(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"


def _value(name: str, kind: str, shape: Sequence[int | str]) -> _Parts:
    sizes: _Parts = []
    for size in shape:
        sizes += _nested(1, _number(1, size) if isinstance(size, int) else _text(2, size))
    tensor = _number(1, _TYPE_CODES[kind]) + _nested(2, sizes)
    return _text(1, name) + _nested(2, _nested(1, tensor))


def _attribute(key: str, value: Attribute) -> _Parts:
    if isinstance(value, float):
        return [*_text(1, key), _varint(2 << 3 | 5) + struct.pack("<f", value), *_number(20, 1)]
    return _text(1, key) + _number(3, value) + _number(20, 2)


def _text(field: int, value: str) -> _Parts:
    return _nested(field, [value.encode()])


def _nested(field: int, body: _Parts) -> _Parts:
    return [_varint(field << 3 | 2) + _varint(sum(map(len, body))), *body]


def _number(field: int, value: int) -> _Parts:
    return [_varint(field << 3) + _varint(value)]


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers travel as their 64-bit two's complement
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


_TYPES: Final = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


class Weights(Mapping[str, "FloatArray"]):
    """The tensors of a file by name, as float32; each is read when asked for."""

    def __init__(self, file: Path) -> None:
        try:
            self._bytes: NDArray[np.uint8] = np.memmap(file, np.uint8, "r")
            start = 8 + int.from_bytes(self._bytes[:8].tobytes(), "little")
            contents: dict[str, dict[str, JSON]] = json.loads(self._bytes[8:start].tobytes())
        except ValueError as error:  # an empty file, or one that is no JSON where the contents should be
            raise InvalidInput(f"{file} is not a safetensors file: {error}") from error
        self._file = file
        self._numbers = self._bytes[start:]
        self._contents = {name: entry for name, entry in contents.items() if name != "__metadata__"}

    def __getitem__(self, name: str) -> FloatArray:
        entry = self._contents[name]
        match entry:
            case {"dtype": str(kind), "shape": list(shape), "data_offsets": [int(first), int(last)]} if kind in _TYPES:
                return self._read(name, kind, shape, self._numbers[first:last])
        raise InvalidInput(f"{self._file}: {name} is of a kind that cannot be read: {entry}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._contents)

    def __len__(self) -> int:
        return len(self._contents)

    def _read(self, name: str, kind: str, shape: list[JSON], data: NDArray[np.uint8]) -> FloatArray:
        try:
            numbers = data.view(_TYPES[kind]).reshape(np.array(shape, int))
        except ValueError as error:
            raise InvalidInput(f"{self._file} is cut short or damaged at {name}: {error}") from error
        if kind == "BF16":
            return (numbers.astype("<u4") << 16).view(np.float32)
        return np.asarray(numbers, np.float32)
