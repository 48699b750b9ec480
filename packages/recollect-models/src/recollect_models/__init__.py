"""The model files of Recollect: where they are, and what they must be."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Final

__all__ = ["PACKED", "SHA256", "path"]

_DATA: Final = Path(__file__).parent / "data"

SHA256: Final = MappingProxyType(
    {
        "e5-small-v2.onnx": "d74a213ce7122581aa2e024601e79e969373e7fe3cd3aa78c4996a5c79d4c5ad",
        "ms-marco-MiniLM-L-12-v2.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        "potion-base-8M.npy": "983f14254e8b01e3eca9b3a3d161c92eca5fe2c958d8b9e485cc83807aaab39a",
        "potion-base-8M.scale.npy": "bfbad1c274996aff3bafad8a1d24163d44fc187046489e93b49dd12cae2b7889",
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    }
)
"""Every file by name, with its checksum."""

PACKED: Final = frozenset({"ms-marco-MiniLM-L-12-v2.onnx"})
"""Files kept compressed, since few programs need them; the checksum is that of the file inside."""


def path(name: str) -> Path:
    """Where the file of this name is; names are the keys of `SHA256`. A packed one ends in `.gz`."""
    if name not in SHA256:
        raise KeyError(f"no model file {name!r}: there are {', '.join(SHA256)}")
    found = _DATA / (f"{name}.gz" if name in PACKED else name)
    if not found.is_file():
        raise FileNotFoundError(f"{found} is missing: reinstall recollect-models")
    return found
