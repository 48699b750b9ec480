"""Reads a model folder as the Hugging Face libraries save it: its kind, files, sizes, window, pooling and prefixes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import memoranda_models

from memoranda.embedding.base import (
    ONNX_FILES,
    TOKENIZER_FILE,
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    InputKind,
    Pooling,
)
from memoranda.errors import Incompatible, InvalidInput, NotFound, Unavailable

if TYPE_CHECKING:
    from memoranda.types import JSON


def packaged_file(name: str) -> Path:
    """Return the path of a file that comes with the models; `Unavailable` when it is missing."""
    try:
        return memoranda_models.path(name)
    except FileNotFoundError as error:
        raise Unavailable(f"{name} is missing: reinstall memoranda-models") from error


def read_model_file(path: Path) -> bytes:
    """Return the content of a model file; `Incompatible` when a packaged one is damaged or was replaced."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Unavailable(f"{path.name} cannot be read ({error.strerror}): reinstall memoranda-models") from error
    expected = memoranda_models.SHA256.get(path.name)
    # A model that was added has its own vocabulary, often with the same name.
    is_packaged = expected is not None and path == memoranda_models.path(path.name)
    if is_packaged and hashlib.sha256(data).hexdigest() != expected:
        raise Incompatible(f"{path} is damaged (its checksum is wrong): reinstall memoranda-models")
    return data


@dataclass(frozen=True, slots=True)
class EncoderFamily:
    """How the encoders of one type differ from BERT."""

    names: tuple[tuple[str, str], ...] = ()
    """What BERT calls a weight, and what this family calls it: beginnings of names."""
    segments: bool = True
    """Whether there are embeddings of segments."""
    positions_after_padding: bool = False
    """Whether the first position is the one after the padding token's."""
    relative_bias: bool = False
    """Whether the attention has a bias that depends on the distance of two tokens."""


_ROBERTA: Final = EncoderFamily(positions_after_padding=True)
_FAMILIES: Final = {
    "bert": EncoderFamily(),
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "mpnet": EncoderFamily(
        (
            ("attention.self.query", "attention.attn.q"),
            ("attention.self.key", "attention.attn.k"),
            ("attention.self.value", "attention.attn.v"),
            ("attention.output.dense", "attention.attn.o"),
            ("attention.output.LayerNorm", "attention.LayerNorm"),
        ),
        segments=False,
        positions_after_padding=True,
        relative_bias=True,
    ),
    "distilbert": EncoderFamily(
        (
            ("encoder.layer", "transformer.layer"),
            ("attention.self.query", "attention.q_lin"),
            ("attention.self.key", "attention.k_lin"),
            ("attention.self.value", "attention.v_lin"),
            ("attention.output.dense", "attention.out_lin"),
            ("attention.output.LayerNorm", "sa_layer_norm"),
            ("intermediate.dense", "ffn.lin1"),
            ("output.dense", "ffn.lin2"),
            ("output.LayerNorm", "output_layer_norm"),
        ),
        segments=False,
    ),
}
"""The types of models, as config.json names them, that can be built from their weights."""


@dataclass(frozen=True, slots=True)
class EncoderShape:
    """The sizes of an encoder, from its config.json."""

    layers: int
    heads: int
    hidden: int
    epsilon: float
    family: EncoderFamily = _FAMILIES["bert"]
    first_position: int = 0


USUAL_WINDOW: Final = 512
_MAX_WINDOW: Final = 8_192
"""The longest window that a folder may ask for: the memory of a run grows with its square."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A text encoder as the Hugging Face libraries save it."""

    path: Path
    shape: EncoderShape | None
    """The sizes, to build the model from its weights; None for a model that is run from its ONNX file."""
    model: Path
    """The weights, or the ONNX file."""
    tokenizer: Path
    window: int
    pooling: Pooling
    prefixes: dict[InputKind, str]


def read_folder(path: Path) -> ModelFolder:
    """Read the folder; `NotFound` names a missing file, `InvalidInput` says what is not supported."""
    if not (path / "config.json").is_file():
        raise NotFound(f"{path} has no config.json: it is not a model folder as the Hugging Face libraries save it")
    config = _read_json(path / "config.json")
    model = _find_model(path, config)
    _refuse_unsupported(path)
    shape = _read_shape(path, config) if model.suffix == ".safetensors" else None
    tokenizer = _find_tokenizer(path, config)
    window = _read_window(path, config)
    return ModelFolder(path, shape, model, tokenizer, window, _read_pooling(path), _read_prefixes(path, config))


def runs_from_weights(config: Mapping[str, JSON]) -> bool:
    """Return whether a model with this config.json can be built from its weights."""
    return config.get("model_type", "bert") in _FAMILIES


def _find_model(path: Path, config: dict[str, JSON]) -> Path:
    """Return the weights if a model of this family can be built from them, else its ONNX file."""
    onnx = next((path / name for name in ONNX_FILES if (path / name).is_file()), None)
    weights = path / WEIGHTS_FILE
    if weights.is_file() and runs_from_weights(config):
        return weights
    if onnx is not None:
        return onnx
    if weights.is_file():
        raise InvalidInput(
            f"{path}: a model of type {config['model_type']!r} cannot be built from its weights here, only "
            f"{', '.join(_FAMILIES)}: put its ONNX file into the folder as onnx/model.onnx"
        )
    if (path / f"{WEIGHTS_FILE}.index.json").is_file():
        raise InvalidInput(f"{path}: weights in several files cannot be read here: save them as one {WEIGHTS_FILE}")
    if (path / "pytorch_model.bin").is_file():
        raise InvalidInput(
            f"{path}: pytorch_model.bin is a pickle, which can run code, and is never read: "
            f"save the weights as {WEIGHTS_FILE}, or the model as onnx/model.onnx"
        )
    raise NotFound(f"{path} has no {WEIGHTS_FILE} and no onnx/model.onnx: a model folder has one of them")


def _find_tokenizer(path: Path, config: dict[str, JSON]) -> Path:
    """Return the word list of an uncased BERT, which is read without any library; else the tokenizer.json."""
    words, tokenizer = path / VOCABULARY_FILE, path / TOKENIZER_FILE
    cased = _read_optional_json(path / "tokenizer_config.json").get("do_lower_case") is False
    plain = config.get("model_type", "bert") in ("bert", "distilbert") and not cased
    if words.is_file() and plain and _is_word_piece(words):
        return words
    if tokenizer.is_file():
        return tokenizer
    if words.is_file() and cased:
        raise InvalidInput(f"{path}: {VOCABULARY_FILE} of a cased model needs {TOKENIZER_FILE} beside it")
    if any(path.glob("*.model")):
        raise InvalidInput(f"{path}: a SentencePiece file cannot be read here: save the tokenizer as {TOKENIZER_FILE}")
    raise NotFound(f"{path} has no {VOCABULARY_FILE} and no {TOKENIZER_FILE}: a model folder has one of them")


def _is_word_piece(file: Path) -> bool:
    pieces = set(file.read_text("utf-8").split("\n"))
    return {"[CLS]", "[SEP]", "[UNK]"} <= pieces


def _refuse_unsupported(path: Path) -> None:
    modules = path / "modules.json"
    if modules.is_file() and "models.Dense" in modules.read_text("utf-8"):
        raise InvalidInput(f"{path}: the model has a dense layer after pooling, which cannot be run here")


def _read_shape(path: Path, config: dict[str, JSON]) -> EncoderShape:
    family = _FAMILIES[str(config.get("model_type", "bert"))]
    activation = config.get("hidden_act", config.get("activation", "gelu"))
    if activation != "gelu":
        raise InvalidInput(f"{path}: only the activation 'gelu' can be run from weights, this has {activation!r}")
    if config.get("position_embedding_type", "absolute") != "absolute":
        kind = config["position_embedding_type"]
        raise InvalidInput(f"{path}: only absolute positions can be run from weights, this has {kind!r}")
    sizes = {**config, **{ours: config[theirs] for theirs, ours in _OTHER_SIZES.items() if theirs in config}}
    match sizes:
        case {"num_hidden_layers": int(layers), "num_attention_heads": int(heads), "hidden_size": int(hidden)}:
            epsilon = config.get("layer_norm_eps", 1e-12)
            padding = config.get("pad_token_id", 1)
            first = (padding if isinstance(padding, int) else 1) + 1 if family.positions_after_padding else 0
            return EncoderShape(layers, heads, hidden, epsilon if isinstance(epsilon, float) else 1e-12, family, first)
    raise InvalidInput(f"{path / 'config.json'} lacks num_hidden_layers, num_attention_heads or hidden_size")


_OTHER_SIZES: Final = {"n_layers": "num_hidden_layers", "n_heads": "num_attention_heads", "dim": "hidden_size"}
"""What DistilBERT calls them."""


def _read_window(path: Path, config: dict[str, JSON]) -> int:
    """Return the window that the folder names; 512 tokens when it names only how many positions there are."""
    named = _read_optional_json(path / "sentence_bert_config.json").get("max_seq_length")
    positions = config.get("max_position_embeddings")
    limits = [named if isinstance(named, int) else USUAL_WINDOW, _MAX_WINDOW]
    if isinstance(positions, int):
        family = _FAMILIES.get(str(config.get("model_type", "bert")))
        limits.append(positions - 2 if family is not None and family.positions_after_padding else positions)
    return min(limits)


def _read_pooling(path: Path) -> Pooling:
    config = _read_optional_json(path / "1_Pooling" / "config.json")
    modes = [key.removeprefix("pooling_mode_") for key, on in config.items() if key.startswith("pooling_mode_") and on]
    if modes == ["cls_token"]:
        return "cls"
    if modes in ([], ["mean_tokens"]):
        return "mean"
    raise InvalidInput(f"{path}: pooling by {' and '.join(modes)} is not supported, only mean_tokens and cls_token")


_PREFIXES_BY_NAME: Final[dict[str, dict[InputKind, str]]] = {
    "e5": {"query": "query: ", "passage": "passage: "},
    "nomic": {"query": "search_query: ", "passage": "search_document: "},
}
"""Models trained with prefixes that their folders do not always name."""


def _read_prefixes(path: Path, config: dict[str, JSON]) -> dict[InputKind, str]:
    prompts = _read_optional_json(path / "config_sentence_transformers.json").get("prompts")
    if not isinstance(prompts, dict) or not any(prompts.values()):
        words = re.findall(r"[a-z0-9]+", f"{path.resolve().name} {config.get('_name_or_path', '')}".lower())
        return next((dict(found) for name, found in _PREFIXES_BY_NAME.items() if name in words), {})
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
