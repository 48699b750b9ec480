"""The path and checksum of the reranker for Memoranda's mode `best`."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Final

__all__ = ["SHA256", "path"]

SHA256: Final = MappingProxyType(
    {"ms-marco-MiniLM-L-12-v2.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"}
)
"""The file by name, with the checksum of its unpacked content."""


def path(name: str) -> Path:
    """Return the path of the file. It ends in `.packed`; read it with `memoranda_models.unpacked`."""
    from memoranda_models import find

    return find(Path(__file__).parent / "data", name, SHA256)
