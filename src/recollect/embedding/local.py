"""Models that run here, by name: the one that comes with the package, and those that were added."""

from __future__ import annotations

import recollect_models

from recollect.embedding import models
from recollect.embedding.onnx import OnnxEmbedder
from recollect.embedding.spec import DEFAULT_MODEL, ModelSpec
from recollect.errors import InvalidInput


def default_spec() -> ModelSpec:
    """The model that comes with the package."""
    return ModelSpec(
        name=DEFAULT_MODEL,
        model=recollect_models.path("e5-small-v2.onnx"),
        vocabulary=recollect_models.path("vocab.txt"),
        sha256=recollect_models.SHA256["e5-small-v2.onnx"],
        dimension=384,
        window=512,
        prefixes={"query": "query: ", "passage": "passage: "},
        baseline=0.72,
    )


def open_model(name: str, *, use_gpu: bool = False) -> OnnxEmbedder:
    """The embedder of this name; a model that must be added first says with which command."""
    spec = default_spec() if name == DEFAULT_MODEL else models.find(name)
    if spec is None:
        raise InvalidInput(f"the model {name!r} is not on this machine yet: run `recollect models add {name}`")
    return OnnxEmbedder(spec, use_gpu=use_gpu)
