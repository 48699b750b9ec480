"""The model files of Memoranda: where they are, and what they must be."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Final

__all__ = ["PACKED", "SHA256", "find", "path", "unpacked"]

SHA256: Final = MappingProxyType(
    {
        "e5-small-v2.onnx": "d74a213ce7122581aa2e024601e79e969373e7fe3cd3aa78c4996a5c79d4c5ad",
        "potion-base-8M.npy": "983f14254e8b01e3eca9b3a3d161c92eca5fe2c958d8b9e485cc83807aaab39a",
        "potion-base-8M.scale.npy": "bfbad1c274996aff3bafad8a1d24163d44fc187046489e93b49dd12cae2b7889",
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    }
)
"""Every file by name, with its checksum; of a packed one, the checksum of what is inside."""

PACKED: Final = ".packed"
"""How the name of a compressed file ends: a line of lengths, then as many zlib streams, unpacked side by side."""


def path(name: str) -> Path:
    """Where the file of this name is; names are the keys of `SHA256`. A packed one ends in `.packed`."""
    return find(Path(__file__).parent / "data", name, SHA256)


def find(folder: Path, name: str, known: Mapping[str, str]) -> Path:
    """The file of this name in a folder of model files, packed or not."""
    if name not in known:
        raise KeyError(f"no model file {name!r}: there are {', '.join(known)}")
    for found in (folder / f"{name}{PACKED}", folder / name):
        if found.is_file():
            return found
    raise FileNotFoundError(f"{folder / name} is missing: reinstall {folder.parent.name.replace('_', '-')}")


def unpacked(file: Path) -> bytes:
    """What is inside a packed file; `ValueError` where it is damaged."""
    try:
        with file.open("rb") as packed:
            streams = [packed.read(int(length)) for length in packed.readline().split()]
        if not streams:
            raise ValueError("it holds nothing")
        with ThreadPoolExecutor(len(streams), "unpack") as pool:
            return b"".join(pool.map(zlib.decompress, streams))
    except (ValueError, zlib.error) as error:
        raise ValueError(f"{file} is damaged: {error}") from error
