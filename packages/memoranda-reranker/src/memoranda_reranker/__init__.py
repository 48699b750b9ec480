"""The path and checksum of the reranker for Memoranda's mode `best`."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Final

__all__ = ["SHA256", "path"]

SHA256: Final = MappingProxyType(
    {"reranker-dialogue.onnx": "8f076cc3c03ae8d41eb5765078d84f74a2ed5f3595453f505e5a427555f5ccab"}
)
"""The file by name, with the checksum of its unpacked content."""


def path(name: str) -> Path:
    """Return the path of the file. It ends in `.packed`; read it with `memoranda_models.unpacked`."""
    from memoranda_models import find

    return find(Path(__file__).parent / "data", name, SHA256)
