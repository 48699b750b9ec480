"""What the LangChain adapters share: an embedder over LangChain's models, and the choice of unlike documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memoranda.embedding.base import Embedder, EmbedderIdentity, InputKind, normalize
from memoranda.embedding.model import EmbeddingModel
from memoranda.errors import Incompatible, MissingExtra
from memoranda.types import FloatArray

try:
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
except ModuleNotFoundError as error:
    raise MissingExtra("the LangChain adapter", "langchain") from error


class LangChainEmbedder:
    """An `Embedder` that uses a LangChain embedding model."""

    def __init__(self, embeddings: Embeddings, dimension: int | None = None) -> None:
        self.embeddings = embeddings
        size = len(embeddings.embed_query("size")) if dimension is None else dimension
        name = getattr(embeddings, "model", None) or getattr(embeddings, "model_name", None)
        self.identity = EmbedderIdentity("langchain", f"{type(embeddings).__name__}:{name or ''}".rstrip(":"), size)

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        if kind == "query":
            rows = [self.embeddings.embed_query(text) for text in texts]
        else:
            rows = self.embeddings.embed_documents(list(texts))
        vectors = np.array(rows, dtype=np.float32).reshape(len(texts), -1)
        if len(texts) and vectors.shape[1] != self.identity.dimension:
            raise Incompatible(f"the model returned {vectors.shape[1]} dimensions, not {self.identity.dimension}")
        return np.stack([normalize(row) for row in vectors]) if len(texts) else vectors


def choose_diverse(
    found: Sequence[tuple[Document, float]], limit: int, relevance: float, embeddings: Embeddings | None
) -> list[Document]:
    """Return documents that are near the query and unlike each other, by maximal marginal relevance.

    Args:
        found: Documents and their scores, the best first.
        limit: The maximum number of documents.
        relevance: How much the score counts, 0 to 1; how unlike the chosen ones a document is counts the rest.
        embeddings: The model that compares documents; the built-in table of words when None, which takes no time.
    """
    if not found or limit < 1:
        return []
    embedder: Embedder = EmbeddingModel("fast") if embeddings is None else LangChainEmbedder(embeddings)
    vectors = embedder.embed([document.page_content for document, _ in found], kind="passage")
    scores, alike = np.array([score for _, score in found]), vectors @ vectors.T
    chosen = [0]
    while len(chosen) < min(limit, len(found)):
        worth = relevance * scores - (1 - relevance) * alike[:, chosen].max(axis=1)
        worth[chosen] = -np.inf
        chosen.append(int(np.argmax(worth)))
    return [found[number][0] for number in chosen]
