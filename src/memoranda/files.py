"""Files that are either the old one or the new one, never half of each."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias

from memoranda.errors import Incompatible, NotFound, Unavailable
from memoranda.types import JSON

PRIVATE = 0o600


@contextmanager
def replacing(target: Path, mode: int = PRIVATE) -> Iterator[Path]:
    """A file to write: when the block ends well it is on disk in the target's place, else it is gone."""
    with aside(target, mode) as draft:
        yield draft
        sync(draft)
        draft.replace(target)
    _sync_folder(target.parent)


@contextmanager
def aside(target: Path, mode: int = PRIVATE) -> Iterator[Path]:
    """A new file next to the target, gone when the block does not put it in place."""
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.partial")
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode))
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Returns when what was written is on disk."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":  # elsewhere a folder cannot be opened, and a rename is on disk with its file
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


FORMAT_VERSION = 1
_PREFIX = struct.Struct("<8sII32s")
_Places: TypeAlias = dict[str, tuple[int, int, str]]
_LARGEST_HEADER = 64 * 1024 * 1024


class SealedFile:
    """An open file whose header has been checked; each section is checked as it is read."""

    def __init__(
        self, file: BinaryIO, path: Path, meta: dict[str, JSON], places: dict[str, tuple[int, int, str]]
    ) -> None:
        self._file = file
        self._path = path
        self._places = places
        self.meta = meta

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def section(self, name: str) -> memoryview:
        """The bytes of a section; `Incompatible` when it is missing or damaged."""
        if name not in self._places:
            raise Incompatible(f"{self._path} has no section {name!r}: delete it, and it is rebuilt")
        start, size, digest = self._places[name]
        self._file.seek(start)
        data = self._file.read(size)
        if hashlib.sha256(data).hexdigest() != digest:
            raise Incompatible(f"{self._path} is damaged in section {name!r}: delete it, and it is rebuilt")
        return memoryview(data)


def write_sealed(path: Path, kind: bytes, meta: Mapping[str, JSON], sections: Mapping[str, memoryview]) -> None:
    """Puts the file in place as one step: after a crash there is the old file or the new one."""
    header = _header(meta, sections)
    prefix = _PREFIX.pack(kind, FORMAT_VERSION, len(header), hashlib.sha256(header).digest())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as draft, draft.open("wb") as file:
            file.write(prefix + header)
            file.writelines(sections.values())
    except OSError as error:
        raise Unavailable(f"Cannot write {path} ({error.strerror}): check the folder and the free space") from error


@contextmanager
def open_sealed(path: Path, kind: bytes) -> Iterator[SealedFile]:
    """The file, header checked; `Incompatible` when it is foreign, truncated or damaged."""
    try:
        file = path.open("rb")
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {path}") from error
    except OSError as error:
        raise Unavailable(f"Cannot read {path} ({error.strerror}): check the path and its permissions") from error
    with file:
        meta, layout, start = _read_header(file, path, kind)
        yield SealedFile(file, path, meta, _places(layout, start, path))


def _header(meta: Mapping[str, JSON], sections: Mapping[str, memoryview]) -> bytes:
    layout: list[JSON] = [
        {"name": name, "size": data.nbytes, "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in sections.items()
    ]
    return json.dumps({"meta": dict(meta), "sections": layout}).encode()


def _read_header(file: BinaryIO, path: Path, kind: bytes) -> tuple[dict[str, JSON], list[dict[str, JSON]], int]:
    prefix = file.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size or prefix[: len(kind)] != kind:
        raise Incompatible(f"{path} is not a file of this kind: delete it, or name another path")
    _, version, size, digest = _PREFIX.unpack(prefix)
    if version != FORMAT_VERSION:
        raise Incompatible(f"{path} has format {version}, this code reads {FORMAT_VERSION}: delete it to rebuild")
    header = file.read(size) if size <= _LARGEST_HEADER else b""
    if hashlib.sha256(header).digest() != digest:
        raise Incompatible(f"{path} has a damaged header: delete it, and it is rebuilt")
    content = json.loads(header)
    return content["meta"], content["sections"], _PREFIX.size + size


def _places(layout: list[dict[str, JSON]], start: int, path: Path) -> _Places:
    places: _Places = {}
    for entry in layout:
        size = int(str(entry["size"]))
        places[str(entry["name"])] = (start, size, str(entry["sha256"]))
        start += size
    if path.stat().st_size != start:
        raise Incompatible(f"{path} has {path.stat().st_size:,} bytes in place of {start:,}: delete it to rebuild it")
    return places
