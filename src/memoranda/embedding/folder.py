"""Reads what a model folder says of its model, and refuses what cannot be run here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memoranda.embedding.base import Kind
from memoranda.embedding.onnx_builder import BertShape
from memoranda.embedding.spec import Pooling
from memoranda.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from memoranda.types import JSON

NEEDED: Final = ("config.json", "model.safetensors", "vocab.txt")
OPTIONAL: Final = (
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "sentence_bert_config.json",
    "tokenizer_config.json",
)
_LONGEST_WINDOW: Final = 512


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A BERT-family model as the Hugging Face libraries save it."""

    path: Path
    shape: BertShape
    window: int
    pooling: Pooling
    prefixes: dict[Kind, str]


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


def _prefixes(path: Path) -> dict[Kind, str]:
    prompts = _optional_json(path / "config_sentence_transformers.json").get("prompts")
    if not isinstance(prompts, dict):
        return {}
    named: dict[Kind, JSON] = {
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
