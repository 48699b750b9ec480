"""Vectors in Qdrant: on a server, or embedded in this process."""

from __future__ import annotations

from memoranda.errors import InvalidInput
from memoranda.index.base import VectorEngine


def open_qdrant(
    *,
    url: str | None = None,
    host: str | None = None,
    port: int | None = None,
    api_key: str | None = None,
    path: str | None = None,
    on_disk: bool = True,
    collection_name: str = "memoranda",
) -> VectorEngine:
    """With `url` or `host` a server; else the embedded engine in the folder `path`, or in a private temporary one.

    The folder belongs to one process at a time; several processes need a server.
    """
    if url is None and host is None:
        from memoranda.index.qdrant_edge import QdrantEdge

        return QdrantEdge(path if on_disk else None, collection_name=collection_name)
    if path is not None:
        raise InvalidInput("a Qdrant server has no path here: give url or host, or path, not both")
    from memoranda.index.qdrant_server import QdrantServer

    return QdrantServer(url=url, host=host, port=port, api_key=api_key, collection_name=collection_name)
