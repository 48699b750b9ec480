"""Models that run here, by name: the one that comes with the package, and those that were added."""

from __future__ import annotations

import memoranda_models

from memoranda.embedding import models
from memoranda.embedding.onnx import OnnxEmbedder
from memoranda.embedding.spec import DEFAULT_MODEL, ModelSpec
from memoranda.errors import InvalidInput


def default_spec() -> ModelSpec:
    """The model that comes with the package."""
    return ModelSpec(
        name=DEFAULT_MODEL,
        model=memoranda_models.path("e5-small-v2.onnx"),
        vocabulary=memoranda_models.path("vocab.txt"),
        sha256=memoranda_models.SHA256["e5-small-v2.onnx"],
        dimension=384,
        window=512,
        prefixes={"query": "query: ", "passage": "passage: "},
        baseline=0.72,
    )


def open_model(name: str, *, use_gpu: bool = False) -> OnnxEmbedder:
    """The embedder of this name; a model that must be added first says with which command."""
    spec = default_spec() if name == DEFAULT_MODEL else models.find(name)
    if spec is None:
        raise InvalidInput(f"the model {name!r} is not on this machine yet: run `memoranda models add {name}`")
    return OnnxEmbedder(spec, use_gpu=use_gpu)
