"""BERT in torch, with the weights of a quantised ONNX file; and back into the same graph."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn
from torch.nn import functional

HIDDEN, HEADS, LAYERS, VOCABULARY, POSITIONS = 384, 12, 12, 30_522, 512
_EPSILON = 1e-12
_HEAD_SCALE = 0.02


class Embeddings(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(VOCABULARY, HIDDEN)
        self.position_embeddings = nn.Embedding(POSITIONS, HIDDEN)
        self.token_type_embeddings = nn.Embedding(2, HIDDEN)
        self.LayerNorm = nn.LayerNorm(HIDDEN, _EPSILON)

    def forward(self, ids: Tensor, types: Tensor) -> Tensor:
        positions = torch.arange(ids.shape[1], device=ids.device)
        words = self.word_embeddings(ids) + self.token_type_embeddings(types)
        found: Tensor = self.LayerNorm(words + self.position_embeddings(positions))
        return found


class SelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(HIDDEN, HIDDEN) for _ in range(3))

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        split = [part(states).unflatten(2, (HEADS, -1)).transpose(1, 2) for part in (self.query, self.key, self.value)]
        mixed = functional.scaled_dot_product_attention(*split, attn_mask=mask[:, None, None, :])
        return mixed.transpose(1, 2).flatten(2)


class Output(nn.Module):
    """A dense layer whose result is added to its residual and normalized."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, HIDDEN)
        self.LayerNorm = nn.LayerNorm(HIDDEN, _EPSILON)

    def forward(self, states: Tensor, residual: Tensor) -> Tensor:
        normalized: Tensor = self.LayerNorm(self.dense(states) + residual)
        return normalized


class Layer(nn.Module):
    # The names of the parts are those of the initializers in the ONNX files.
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.ModuleDict({"self": SelfAttention(), "output": Output(HIDDEN)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(HIDDEN, 4 * HIDDEN)})
        self.output = Output(4 * HIDDEN)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        attended = self.attention["output"](self.attention["self"](states, mask), states)
        found: Tensor = self.output(functional.gelu(self.intermediate["dense"](attended)), attended)
        return found


class Bert(nn.Module):
    """An encoder; with `is_reranker`, also the pooler and the classifier of a cross-encoder."""

    def __init__(self, *, is_reranker: bool, layers: int = LAYERS) -> None:
        super().__init__()
        self.embeddings = Embeddings()
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList([Layer() for _ in range(layers)])})
        self.is_reranker = is_reranker
        if is_reranker:
            self.pooler = nn.ModuleDict({"dense": nn.Linear(HIDDEN, HIDDEN)})
            self.classifier = nn.Linear(HIDDEN, 1)

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        """Return one logit per row for a reranker, else one unit vector: the mean over the tokens."""
        states = self.states(ids, mask, types)[-1]
        if self.is_reranker:
            return self.logits(states)
        weights = mask[:, :, None].float()
        return functional.normalize((states.float() * weights).sum(1) / weights.sum(1), dim=1)

    def states(self, ids: Tensor, mask: Tensor, types: Tensor) -> list[Tensor]:
        """Return the state of every token after each layer."""
        found = [self.embeddings(ids, types)]
        for layer in self.encoder["layer"]:
            found.append(layer(found[-1], mask))
        return found[1:]

    def logits(self, states: Tensor) -> Tensor:
        """Return the logit of each row from the states of the last layer."""
        logits: Tensor = self.classifier(torch.tanh(self.pooler["dense"](states[:, 0])))
        return logits[:, 0].float()


class _Product(NamedTuple):
    """A quantised matrix product of the graph."""

    parameter: str
    quantised: str
    scale: str
    zero_point: str


def load(file: Path, *, is_reranker: bool) -> Bert:
    """Return the model in the file, its weights back in float32."""
    graph = onnx.load(file).graph
    stored = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    weights = {_plain(name): value for name, value in stored.items() if value.dtype == np.float32}
    for product in _products(graph):
        steps = stored[product.quantised].astype(np.float32) - stored[product.zero_point]
        weights[product.parameter] = (steps * stored[product.scale]).T
    for name in _tables(stored):
        steps = stored[f"{name}_quantized"].astype(np.float32) - stored[f"{name}_zero_point"]
        weights[_plain(name)] = steps * stored[f"{name}_scale"]
    model = Bert(is_reranker=is_reranker, layers=_layers(graph))
    model.load_state_dict({name: _known(weights, name, value) for name, value in model.state_dict().items()})
    return model


def is_reranker(file: Path) -> bool:
    """Return whether a file holds a cross-encoder: only those have a classifier."""
    return any("classifier" in each.name for each in onnx.load(file).graph.initializer)


def _known(weights: Mapping[str, np.ndarray], name: str, new: Tensor) -> Tensor:
    """Return a weight of the file; small random values for the head of a reranker that begins with an embedder."""
    if name in weights:
        return torch.from_numpy(weights[name].copy())
    return torch.randn_like(new) * _HEAD_SCALE if name.endswith("weight") else torch.zeros_like(new)


def save(model: Bert, stock: Path, file: Path) -> None:
    """Write the weights into the graph of the stock file: int8, one scale per column; tables with one scale.

    A model with fewer layers than the graph gets a graph with as many.
    """
    whole = onnx.load(stock)
    graph = whole.graph
    layers = len(model.encoder["layer"])
    if layers < _layers(graph):
        _cut_layers(graph, layers)
    weights = {name: value.detach().float().cpu().numpy() for name, value in model.state_dict().items()}
    values: dict[str, np.ndarray] = {}
    names = {each.name for each in graph.initializer}
    for name in names:
        if _plain(name) in weights:
            values[name] = weights[_plain(name)]
    for product in _products(graph):
        if product.parameter in weights:
            quantised, scale = _per_column(weights[product.parameter].T)
            values |= {product.quantised: quantised, product.scale: scale}
            values[product.zero_point] = np.zeros(len(scale), np.int8)
    for name in _tables(names):
        values |= {f"{name}_{part}": value for part, value in _whole_table(weights[_plain(name)]).items()}
    for each in graph.initializer:
        if each.name in values:
            each.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(values[each.name]), each.name))
    onnx.save(whole, file)


def _layers(graph: onnx.GraphProto) -> int:
    names = (_plain(each.name).split(".") for each in graph.initializer)
    return 1 + max(int(parts[2]) for parts in names if parts[:2] == ["encoder", "layer"])


def _cut_layers(graph: onnx.GraphProto, count: int) -> None:
    """Lead the output of layer `count` past the later layers, and remove what nothing needs any more."""
    last, kept = (f"encoder/layer.{number}/output/LayerNorm/Add_1_output_0" for number in (LAYERS - 1, count - 1))
    for node in graph.node:
        for at, name in enumerate(node.input):
            if name.endswith(last):
                node.input[at] = name.replace(last, kept)
    needed = {each.name for each in graph.output}
    nodes = []
    # A graph lists a node after those whose outputs it takes.
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed.update(node.input)
            nodes.append(node)
    initializers = [each for each in graph.initializer if each.name in needed]
    del graph.node[:], graph.initializer[:], graph.value_info[:]
    graph.node.extend(reversed(nodes))
    graph.initializer.extend(initializers)


def _products(graph: onnx.GraphProto) -> Iterator[_Product]:
    """Yield every product with the name of its weight, which is the path of the node."""
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            path = node.name.rpartition("/")[0].strip("/").removeprefix("bert/")
            name = node.input[1].removesuffix("_quantized")
            yield _Product(f"{path.replace('/', '.')}.weight", node.input[1], f"{name}_scale", node.input[3])


def _tables(names: Iterable[str]) -> list[str]:
    """Return the embedding tables, which are stored as unsigned bytes."""
    stored = [name.removesuffix("_quantized") for name in names if name.endswith("_quantized")]
    return [name for name in stored if "embeddings" in name]


def _plain(name: str) -> str:
    return name.removeprefix("bert.")


def _per_column(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scale = np.maximum(np.abs(weight).max(axis=0), 1e-8) / 127
    return np.rint(weight / scale).astype(np.int8), scale.astype(np.float32)


def _whole_table(table: np.ndarray) -> dict[str, np.ndarray]:
    low, high = min(float(table.min()), 0.0), max(float(table.max()), 0.0)
    scale = np.float32((high - low) / 255)
    zero_point = np.uint8(np.clip(math.floor(-low / scale + 0.5), 0, 255))
    quantised = np.clip(np.rint(table / scale) + float(zero_point), 0, 255).astype(np.uint8)
    return {"quantized": quantised, "scale": np.array(scale), "zero_point": np.array(zero_point)}
