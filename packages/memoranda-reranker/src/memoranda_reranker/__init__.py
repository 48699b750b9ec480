"""The path and checksum of the reranker for Memoranda's mode `best`."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Final

__all__ = ["SHA256", "path"]

SHA256: Final = MappingProxyType(
    {"reranker-dialogue.onnx": "30da51670b676266128b5ad7bcc52d38805790d5cee253d93a01c3d1ab2dfae6"}
)
"""The file by name, with the checksum of its unpacked content."""


def path(name: str) -> Path:
    """Return the path of the file. It ends in `.packed`; read it with `memoranda_models.unpacked`."""
    from memoranda_models import find

    return find(Path(__file__).parent / "data", name, SHA256)
