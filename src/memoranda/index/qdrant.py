"""Choose between a Qdrant server and Qdrant's embedded engine."""

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
    """Open a server with `url` or `host`; else the embedded engine in a folder, which one process at a time can use.

    Args:
        url: The address of a server.
        host: The host name of a server.
        port: The port of the server; 6333 when None.
        api_key: The key for the server.
        path: The folder of the embedded engine; a temporary one when None.
        on_disk: Whether to use `path`; when False, the embedded engine uses a temporary folder.
        collection_name: The name of the collection, or the folder inside `path`.
    """
    if url is None and host is None:
        from memoranda.index.qdrant_edge import QdrantEdge

        return QdrantEdge(path if on_disk else None, collection_name=collection_name)
    if path is not None:
        raise InvalidInput("a Qdrant server takes no path: give url or host, or path, not both")
    from memoranda.index.qdrant_server import QdrantServer

    return QdrantServer(url=url, host=host, port=port, api_key=api_key, collection_name=collection_name)
