"""A small BERT with random weights, written as a model folder, and its forward pass in plain numpy."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
PIECES = "[PAD] [UNK] [CLS] [SEP] the cat sat on mat a dog ran ##s ##ning . , ?"
WORDS = PIECES.split()
LAYERS, HEADS, HIDDEN, INNER, POSITIONS = 3, 4, 32, 64, 24


def make_weights(seed: int = 7) -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(seed)

    def dense(name: str, rows: int, columns: int) -> dict[str, Array]:
        return {f"{name}.weight": rng.normal(0, 0.3, (rows, columns)), f"{name}.bias": rng.normal(0, 0.1, rows)}

    def norm(name: str) -> dict[str, Array]:
        return {f"{name}.weight": rng.normal(1, 0.1, HIDDEN), f"{name}.bias": rng.normal(0, 0.1, HIDDEN)}

    weights: dict[str, Array] = {
        "embeddings.word_embeddings.weight": rng.normal(size=(len(WORDS), HIDDEN)),
        "embeddings.position_embeddings.weight": rng.normal(size=(POSITIONS, HIDDEN)),
        "embeddings.token_type_embeddings.weight": rng.normal(size=(2, HIDDEN)),
        **norm("embeddings.LayerNorm"),
    }
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        for part in ("query", "key", "value"):
            weights |= dense(f"{layer}.attention.self.{part}", HIDDEN, HIDDEN)
        weights |= dense(f"{layer}.attention.output.dense", HIDDEN, HIDDEN) | norm(
            f"{layer}.attention.output.LayerNorm"
        )
        weights |= dense(f"{layer}.intermediate.dense", INNER, HIDDEN)
        weights |= dense(f"{layer}.output.dense", HIDDEN, INNER) | norm(f"{layer}.output.LayerNorm")
    return {name: array.astype(np.float32) for name, array in weights.items()}


def write_folder(
    folder: Path, weights: dict[str, NDArray[np.float32]], *, prefix: str = "", dtype: str = "F32"
) -> Path:
    folder.mkdir(parents=True)
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "vocab_size": len(WORDS),
        "max_position_embeddings": POSITIONS,
        "layer_norm_eps": 1e-12,
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    named = {prefix + name: array for name, array in weights.items()}
    (folder / "model.safetensors").write_bytes(safetensors(named, dtype))
    return folder


def safetensors(tensors: dict[str, NDArray[np.float32]], dtype: str = "F32") -> bytes:
    contents: dict[str, object] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, array in tensors.items():
        data = _to_bytes(array, dtype)
        contents[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    header = json.dumps(contents).encode()
    return len(header).to_bytes(8, "little") + header + body


def _to_bytes(array: NDArray[np.float32], dtype: str) -> bytes:
    if dtype == "BF16":
        return (array.view(np.uint32) >> 16).astype(np.uint16).tobytes()
    return array.astype({"F64": np.float64, "F32": np.float32, "F16": np.float16}[dtype]).tobytes()


def forward(
    weights: dict[str, NDArray[np.float32]], ids: list[int], *, heads: int = HEADS, layers: int = LAYERS
) -> Array:
    """The hidden states of the last layer, computed with plain numpy."""
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    state = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    state = _norm(w, "embeddings.LayerNorm", state + w["embeddings.token_type_embeddings.weight"][0])
    for number in range(layers):
        layer = f"encoder.layer.{number}"
        query, key, value = (_dense(w, f"{layer}.attention.self.{part}", state) for part in ("query", "key", "value"))
        attended = np.concatenate(
            [_attend(q, k, v) for q, k, v in zip(*(np.split(x, heads, 1) for x in (query, key, value)), strict=True)], 1
        )
        state = _norm(
            w, f"{layer}.attention.output.LayerNorm", _dense(w, f"{layer}.attention.output.dense", attended) + state
        )
        inner = _dense(w, f"{layer}.intermediate.dense", state)
        activated = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        state = _norm(w, f"{layer}.output.LayerNorm", _dense(w, f"{layer}.output.dense", activated) + state)
    return state


def _dense(w: dict[str, Array], name: str, state: Array) -> Array:
    return state @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def _norm(w: dict[str, Array], name: str, state: Array) -> Array:
    centred = state - state.mean(1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-12) * w[f"{name}.weight"] + w[f"{name}.bias"]


def _attend(query: Array, key: Array, value: Array) -> Array:
    scores = query @ key.T / math.sqrt(query.shape[1])
    shares = np.exp(scores - scores.max(1, keepdims=True))
    return shares / shares.sum(1, keepdims=True) @ value
