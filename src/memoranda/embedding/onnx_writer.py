"""Writes an ONNX file: just enough of its protobuf form to state a graph, with no copy of the weights."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Attribute: TypeAlias = int | float
_Parts: TypeAlias = "list[bytes | memoryview]"

_IR_VERSION: Final = 8
_OPSET: Final = 17
_MICROSOFT: Final = "com.microsoft"
# Field numbers of onnx.proto.
_MODEL_IR, _MODEL_PRODUCER, _MODEL_GRAPH, _MODEL_OPSET = 1, 2, 7, 8
_GRAPH_NODE, _GRAPH_NAME, _GRAPH_CONSTANT, _GRAPH_INPUT, _GRAPH_OUTPUT = 1, 2, 5, 11, 12
_TYPE_CODES: Final = {"float32": 1, "int64": 7}


class Graph:
    """A graph under construction: constants and steps go in, a file comes out."""

    def __init__(self) -> None:
        self._nodes: _Parts = []
        self._constants: _Parts = []
        self._puts: _Parts = []
        self._count = 0

    def input(self, name: str, kind: str, shape: Sequence[int | str]) -> str:
        self._puts += _nested(_GRAPH_INPUT, _value(name, kind, shape))
        return name

    def output(self, name: str, kind: str, shape: Sequence[int | str]) -> None:
        self._puts += _nested(_GRAPH_OUTPUT, _value(name, kind, shape))

    def constant(self, array: NDArray[np.generic]) -> str:
        """Keeps the array in the file, and returns its name."""
        name = self._fresh("c")
        whole = np.ascontiguousarray(array)
        shape = [part for size in whole.shape for part in _number(1, size)]
        numbers = _nested(9, [whole.reshape(-1).view(np.uint8).data])
        code = _number(2, _TYPE_CODES[str(whole.dtype)])
        self._constants += _nested(_GRAPH_CONSTANT, shape + code + _text(8, name) + numbers)
        return name

    def step(
        self, operator: str, *inputs: str, output: str = "", contrib: bool = False, **attributes: Attribute
    ) -> str:
        """Adds one operator, and returns the name of what it gives; an empty input is one left out."""
        name = output or self._fresh("v")
        body = [part for given in inputs for part in _text(1, given)] + _text(2, name) + _text(4, operator)
        for key, value in attributes.items():
            body += _nested(5, _attribute(key, value))
        self._nodes += _nested(_GRAPH_NODE, body + (_text(7, _MICROSOFT) if contrib else []))
        return name

    def write(self, file: Path) -> None:
        graph = self._nodes + _text(_GRAPH_NAME, "encoder") + self._constants + self._puts
        opsets = _nested(_MODEL_OPSET, _text(1, "") + _number(2, _OPSET))
        opsets += _nested(_MODEL_OPSET, _text(1, _MICROSOFT) + _number(2, 1))
        head = _number(_MODEL_IR, _IR_VERSION) + _text(_MODEL_PRODUCER, "memoranda")
        with file.open("wb") as out:
            out.writelines(head + _nested(_MODEL_GRAPH, graph) + opsets)

    def _fresh(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"


def _value(name: str, kind: str, shape: Sequence[int | str]) -> _Parts:
    sizes: _Parts = []
    for size in shape:
        sizes += _nested(1, _number(1, size) if isinstance(size, int) else _text(2, size))
    tensor = _number(1, _TYPE_CODES[kind]) + _nested(2, sizes)
    return _text(1, name) + _nested(2, _nested(1, tensor))


def _attribute(key: str, value: Attribute) -> _Parts:
    if isinstance(value, float):
        return [*_text(1, key), _varint(2 << 3 | 5) + struct.pack("<f", value), *_number(20, 1)]
    return _text(1, key) + _number(3, value) + _number(20, 2)


def _text(field: int, value: str) -> _Parts:
    return _nested(field, [value.encode()])


def _nested(field: int, body: _Parts) -> _Parts:
    return [_varint(field << 3 | 2) + _varint(sum(map(len, body))), *body]


def _number(field: int, value: int) -> _Parts:
    return [_varint(field << 3) + _varint(value)]


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers travel as their 64-bit two's complement
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
