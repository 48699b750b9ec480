"""Reads weights from a safetensors file: a length, a JSON table of contents, then the numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memoranda.types import JSON, FloatArray

_TYPES: Final = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


class Weights(Mapping[str, "FloatArray"]):
    """The tensors of a file by name, as float32; each is read when asked for."""

    def __init__(self, file: Path) -> None:
        try:
            self._bytes: NDArray[np.uint8] = np.memmap(file, np.uint8, "r")
            start = 8 + int.from_bytes(self._bytes[:8].tobytes(), "little")
            contents: dict[str, dict[str, JSON]] = json.loads(self._bytes[8:start].tobytes())
        except ValueError as error:  # an empty file, or one that is no JSON where the contents should be
            raise InvalidInput(f"{file} is not a safetensors file: {error}") from error
        self._file = file
        self._numbers = self._bytes[start:]
        self._contents = {name: entry for name, entry in contents.items() if name != "__metadata__"}

    def __getitem__(self, name: str) -> FloatArray:
        entry = self._contents[name]
        match entry:
            case {"dtype": str(kind), "shape": list(shape), "data_offsets": [int(first), int(last)]} if kind in _TYPES:
                return self._read(name, kind, shape, self._numbers[first:last])
        raise InvalidInput(f"{self._file}: {name} is of a kind that cannot be read: {entry}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._contents)

    def __len__(self) -> int:
        return len(self._contents)

    def _read(self, name: str, kind: str, shape: list[JSON], data: NDArray[np.uint8]) -> FloatArray:
        try:
            numbers = data.view(_TYPES[kind]).reshape(np.array(shape, int))
        except ValueError as error:
            raise InvalidInput(f"{self._file} is cut short or damaged at {name}: {error}") from error
        if kind == "BF16":
            return (numbers.astype("<u4") << 16).view(np.float32)
        return np.asarray(numbers, np.float32)
