"""The paths and checksums of Memoranda's model files."""

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
        "e5-dialogue.onnx": "de22d667d5140674292c3301522649a3915b1f32ff1a13b33ba5c1d7df6bf758",
        "potion-base-8M.npy": "983f14254e8b01e3eca9b3a3d161c92eca5fe2c958d8b9e485cc83807aaab39a",
        "potion-base-8M.scale.npy": "bfbad1c274996aff3bafad8a1d24163d44fc187046489e93b49dd12cae2b7889",
        "reranker-small.onnx": "2d46f4b15fbeff1ee75433d992b06c7730b6b80a6f9239d60548e5ef4febb4ee",
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    }
)
"""Every file by name, with its checksum; for a packed file, the checksum of its content."""

PACKED: Final = ".packed"
"""The suffix of a compressed file: a line of lengths, then as many zlib streams, unpacked in parallel."""


def path(name: str) -> Path:
    """Return the path of the file of this name, a key of `SHA256`. The path of a packed file ends in `.packed`."""
    return find(Path(__file__).parent / "data", name, SHA256)


def find(folder: Path, name: str, known: Mapping[str, str]) -> Path:
    """Return the path of the file of this name in a folder of model files, packed or not."""
    if name not in known:
        raise KeyError(f"no model file {name!r}: there are {', '.join(known)}")
    for found in (folder / f"{name}{PACKED}", folder / name):
        if found.is_file():
            return found
    raise FileNotFoundError(f"{folder / name} is missing: reinstall {folder.parent.name.replace('_', '-')}")


def unpacked(file: Path) -> bytes:
    """Return the content of a packed file; raise `ValueError` when it is damaged."""
    try:
        with file.open("rb") as packed:
            streams = [packed.read(int(length)) for length in packed.readline().split()]
        if not streams:
            raise ValueError("it is empty")
        with ThreadPoolExecutor(len(streams), "unpack") as pool:
            return b"".join(pool.map(zlib.decompress, streams))
    except (ValueError, zlib.error) as error:
        raise ValueError(f"{file} is damaged: {error}") from error
