"""BERT's encoder as an ONNX graph, made from its weights with no other tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from memoranda.embedding.onnx_writer import Graph
from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from memoranda.types import FloatArray

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
