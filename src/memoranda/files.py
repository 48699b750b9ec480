"""Files that a crash cannot damage: atomic replacement, and files with checksums.

Files whose name ends with `.zst` are compressed with Zstandard.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias, cast

from memoranda.errors import (
    EncryptionKeyError,
    Incompatible,
    InvalidInput,
    MemorandaError,
    MissingExtra,
    NotFound,
    Unavailable,
)
from memoranda.security.encryption import EncryptedWriter, EncryptionKey, is_encrypted_file, open_encrypted
from memoranda.types import JSON

if os.name == "posix":
    import fcntl

PRIVATE = 0o600
FORMAT_VERSION = 1
_PREFIX = struct.Struct("<8sII32s")
"""The start of a checksummed file: kind, format version, size and sha256 of the JSON header that follows."""
_FOOTER = struct.Struct("<8sQ")
"""The end of a file that begins with what other programs read: kind, and where the prefix is."""
_CHUNK = 1 << 20
_ABANDONED_SECONDS = 10.0
"""A file that was just made may not be locked yet."""
_MAX_HEADER_BYTES = 64 * 1024 * 1024
_Layout: TypeAlias = dict[str, tuple[int, int, str]]
"""Section name → offset, size and sha256."""


_BESIDE_DATABASE = ("-wal", "-shm", "-journal", ".lock", ".key")


@contextmanager
def atomic_replace(target: Path, mode: int = PRIVATE, *, database: bool = False) -> Iterator[Path]:
    """Yield a temporary file to write, which replaces the target when the block succeeds.

    The file is on disk before it replaces the target. When the block raises, the temporary file is deleted and the
    target is unchanged. A database or a file that belongs to one is replaced only where the caller writes such a file.
    """
    if "\0" in str(target):
        raise InvalidInput(f"{str(target)!r} is not the name of a file: it holds a NUL character")
    if target.exists() and not target.is_file():
        raise InvalidInput(f"{target} is not an ordinary file: name another one")
    if not database:
        refuse_database(target)
    if database:
        delete_abandoned(target)
    temporary, lock = _create_partial(target, mode)
    try:
        with lock:
            yield temporary
            fsync_file(temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    fsync_folder(target.parent)


def _create_partial(target: Path, mode: int) -> tuple[Path, BinaryIO]:
    """Create an empty file beside the target; return it with a lock, which shows that it is being written."""
    path = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.partial")
    lock = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode), "r+b")
    if os.name == "posix":
        fcntl.flock(lock, fcntl.LOCK_EX)
    else:
        lock.close()  # there a file that is open can be neither renamed nor deleted
    return path, lock


def delete_abandoned(target: Path) -> None:
    """Overwrite and delete unfinished copies beside a file, whose writers were killed."""
    if os.name != "posix":
        return
    for path in target.parent.glob(f".{escape(target.name)}.*.partial"):
        # One that is locked is being written. It may also be gone, or belong to somebody else.
        with suppress(OSError), path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if time.time() - os.fstat(file.fileno()).st_mtime > _ABANDONED_SECONDS:
                overwrite(file)
                path.unlink()
                for beside in path.parent.glob(f"{escape(path.name)}-*"):  # what SQLite has beside a database
                    shred(beside)


def refuse_database(target: Path, *, backups: bool = True) -> None:
    """Raise `InvalidInput` for a database or a file that belongs to one; optionally not for a backup that none uses.

    It looks for the files beside it first: to open and close a database ends SQLite's locks on it in this process.
    """
    owners = [target.name.removesuffix(suffix) for suffix in _BESIDE_DATABASE if target.name.endswith(suffix)]
    for name in (target.name, *filter(None, owners)):
        database = target.with_name(name)
        has_log, has_journal, was_open = (
            database.with_name(name + suffix).exists() for suffix in ("-wal", "-journal", ".lock")
        )
        refuses_closed = backups or name != target.name
        if has_log or has_journal or (refuses_closed and (was_open or _starts_like_database(database))):
            raise InvalidInput(f"{target} is a database or belongs to one, and would be lost: choose another name")


def _starts_like_database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


class NoSuchFile(NotFound, FileNotFoundError):
    """There is no file of the name that a caller gave; also what Python's `open` raises."""


class FileFailed(Unavailable, OSError):
    """A file that a caller named cannot be read or written; also what Python's `open` raises."""


@contextmanager
def translate_file_errors(path: Path) -> Iterator[None]:
    """Raise our own error, which says what to do, for a file that a caller named."""
    try:
        yield
    except MemorandaError:
        raise
    except OSError as error:
        raise FileFailed(f"{path}: {error.strerror or error}: check its folder, permissions and space") from error
    except MemoryError as error:
        raise FileFailed(f"{path} does not fit into the memory of this machine: split it up") from error


def is_file(path: Path) -> bool:
    """Return whether a caller named an ordinary file; our own error where the system does not let us look."""
    with translate_file_errors(path):
        return path.is_file()


def read_text_file(path: Path) -> str:
    """Return the text of a file that a caller named. Something that is no ordinary file may never end."""
    with translate_file_errors(path):
        if not path.is_file():  # False for a name with a NUL character too
            raise NoSuchFile(f"there is no file {path}")
        try:
            return path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise Incompatible(f"{path} is damaged or not text: {error}") from error


@contextmanager
def temporary_file(folder: Path, name: str) -> Iterator[Path]:
    """Yield an empty private file in a folder, which is overwritten and deleted at the end."""
    delete_abandoned(folder / name)
    path, lock = _create_partial(folder / name, PRIVATE)
    try:
        with lock:
            yield path
    finally:
        if path.exists():
            shred(path)


def fsync_file(path: Path) -> None:
    """Wait until the content of the file is on disk."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def fsync_folder(folder: Path) -> None:
    """Wait until the names of the files in a folder are on disk."""
    if os.name != "posix":  # elsewhere a folder cannot be opened, and a rename is on disk with its file
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def shred(path: Path) -> None:
    """Overwrite a file and delete it. What a disk or file system keeps elsewhere, such as an SSD, stays."""
    with path.open("r+b") as file:
        overwrite(file)
    path.unlink()


def overwrite(file: BinaryIO) -> None:
    """Write zeros over a file, down to the disk."""
    left = file.seek(0, os.SEEK_END)
    file.seek(0)
    while left > 0:
        left -= file.write(bytes(min(left, _CHUNK)))
    file.flush()
    os.fsync(file.fileno())


class ChecksummedFile:
    """An open file whose header has been verified. Each section is verified when it is read."""

    def __init__(self, file: BinaryIO, path: Path, meta: dict[str, JSON], layout: _Layout) -> None:
        self._file = file
        self._path = path
        self._layout = layout
        self.meta = meta

    def __contains__(self, name: str) -> bool:
        return name in self._layout

    def read_section(self, name: str) -> memoryview:
        """Return the bytes of a section; raise `Incompatible` when it is missing or damaged."""
        if name not in self._layout:
            raise Incompatible(f"{self._path} has no section {name!r}: delete it, and it is rebuilt")
        offset, size, digest = self._layout[name]
        self._file.seek(offset)
        data = self._file.read(size)
        if hashlib.sha256(data).hexdigest() != digest:
            raise Incompatible(f"{self._path} is damaged in section {name!r}: delete it, and it is rebuilt")
        return memoryview(data)


def write_checksummed_file(
    path: Path,
    kind: bytes,
    meta: Mapping[str, JSON],
    sections: Mapping[str, memoryview],
    key: EncryptionKey | None = None,
    *,
    lead: bytes = b"",
) -> None:
    """Write the file atomically: after a crash there is either the old file or the new one.

    Args:
        path: The file to write; missing folders are created.
        kind: Eight bytes that identify the kind of file.
        meta: A JSON object to store in the header.
        sections: The binary content by name.
        key: Encrypts the file; None to leave it unencrypted.
        lead: Bytes that other programs read at the beginning of the file, and this one skips.
    """
    entries: list[JSON] = [
        {"name": name, "size": data.nbytes, "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in sections.items()
    ]
    header = json.dumps({"meta": dict(meta), "sections": entries}).encode()
    prefix = _PREFIX.pack(kind, FORMAT_VERSION, len(header), hashlib.sha256(header).digest())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_replace(path) as temporary, open_to_write(temporary, key) as file:
            file.write(lead + prefix + header)
            file.writelines(sections.values())
            if lead:
                file.write(_FOOTER.pack(kind, len(lead)))
    except OSError as error:
        raise Unavailable(f"Cannot write {path} ({error.strerror}): check the folder and the free space") from error


@contextmanager
def open_to_write(path: Path, key: EncryptionKey | None) -> Iterator[BinaryIO]:
    """Yield a file to write, encrypted with the key if there is one."""
    with path.open("wb") as file:
        if key is None:
            yield file
            return
        writer = EncryptedWriter(file, key)
        yield cast("BinaryIO", writer)
        writer.finish()


def open_to_read(path: Path, key: EncryptionKey | None) -> BinaryIO:
    """Open a file, decrypted with the key if it is encrypted."""
    if not is_encrypted_file(path):
        return path.open("rb")
    if key is None:
        raise EncryptionKeyError(f"{path} is encrypted: give the key that it was written with")
    return open_encrypted(path, key)


@contextmanager
def open_checksummed_file(path: Path, kind: bytes, key: EncryptionKey | None = None) -> Iterator[ChecksummedFile]:
    """Yield the file with its header verified, decrypted with the key if there is one.

    Raise `Incompatible` when the file is of another kind, truncated or damaged, and `NotFound` when it does not exist.
    """
    try:
        file: BinaryIO = path.open("rb") if key is None else open_encrypted(path, key)
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {path}") from error
    except OSError as error:
        raise Unavailable(f"Cannot read {path} ({error.strerror}): check the path and its permissions") from error
    with file:
        start = _find_start(file, kind)
        header, offset = _read_header(file, path, kind, start)
        end = file.seek(0, os.SEEK_END) - (_FOOTER.size if start else 0)
        yield ChecksummedFile(file, path, header["meta"], _read_layout(header["sections"], offset, end, path))


def _find_start(file: BinaryIO, kind: bytes) -> int:
    """Return where the prefix is: after what other programs read, if the footer says so."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _FOOTER.size))
    footer = file.read(_FOOTER.size)
    found, start = _FOOTER.unpack(footer) if len(footer) == _FOOTER.size else (b"", 0)
    file.seek(0)
    return start if found == kind and start < size and file.read(len(kind)) != kind else 0


def _read_header(file: BinaryIO, path: Path, kind: bytes, start: int) -> tuple[dict[str, Any], int]:
    """Return the verified header, and the offset of the first section."""
    file.seek(start)
    prefix = file.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size or prefix[: len(kind)] != kind:
        raise Incompatible(f"{path} is not a file of this kind: delete it, or name another path")
    _, version, size, digest = _PREFIX.unpack(prefix)
    if version != FORMAT_VERSION:
        raise Incompatible(f"{path} has format {version}, this code reads {FORMAT_VERSION}: delete it to rebuild")
    header = file.read(size) if size <= _MAX_HEADER_BYTES else b""
    if hashlib.sha256(header).digest() != digest:
        raise Incompatible(f"{path} has a damaged header: delete it, and it is rebuilt")
    return json.loads(header), start + _PREFIX.size + size


def _read_layout(entries: list[dict[str, Any]], offset: int, end: int, path: Path) -> _Layout:
    layout: _Layout = {}
    for entry in entries:
        size = int(entry["size"])
        layout[str(entry["name"])] = (offset, size, str(entry["sha256"]))
        offset += size
    if end != offset:
        raise Incompatible(f"{path} has {end:,} bytes in place of {offset:,}: delete it to rebuild it")
    return layout


COMPRESSED: Final = ".zst"
_PIECE: Final = 1024
"""Compressed bytes that are read at once: they are 32 MB at most when unpacked."""
_DATABASE: Final = b"SQLite format 3\0"
_HEADER: Final = struct.Struct(">16xH10xI")
"""The start of a database: the size of a page, where 1 stands for the largest, and how many there are."""
_LARGEST_PAGE: Final = 65_536


@contextmanager
def open_export_to_write(path: Path, key: EncryptionKey | None, name: str) -> Iterator[BinaryIO]:
    """Yield a file to write: compressed if its final name says so, then encrypted with the key if there is one."""
    with open_to_write(path, key) as file:
        if not name.endswith(COMPRESSED):
            yield file
            return
        with _zstandard().ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False) as writer:
            yield writer


@contextmanager
def open_export_to_read(path: Path, key: EncryptionKey | None) -> Iterator[Callable[[], BinaryIO]]:
    """Yield a function that returns the file from its start, decrypted and decompressed; each call begins again."""
    with open_to_read(path, key) as file:
        if path.suffix != COMPRESSED:
            yield lambda: _rewind(file)
            return
        zstandard = _zstandard()
        decompressor = zstandard.ZstdDecompressor()
        try:
            yield lambda: cast("BinaryIO", BufferedReader(decompressor.stream_reader(_rewind(file), closefd=False)))
        except zstandard.ZstdError as error:
            raise Incompatible(f"{path} is damaged, or not compressed as its name says ({error})") from error


def compress(source: Path, target: Path) -> None:
    """Write a file compressed, with a checksum inside, over an existing one."""
    with source.open("rb") as plain, target.open("wb") as file:
        _zstandard().ZstdCompressor(write_checksum=True).copy_stream(plain, file)


@contextmanager
def decompressed(path: Path, folder: Path) -> Iterator[Path]:
    """Yield a private copy of a compressed database in a folder, which is overwritten and deleted at the end."""
    zstandard = _zstandard()
    with temporary_file(folder, path.name) as plain:
        try:
            with path.open("rb") as file, plain.open("wb") as target:
                limit = _unpacked_size(file, path, folder)
                complete = _unpack(_rewind(file), target, limit)
        except zstandard.ZstdError as error:
            raise Incompatible(f"{path} is damaged, or not compressed as its name says ({error})") from error
        if not complete:
            raise Incompatible(f"{path} is damaged: its end is missing, or there is something after it")
        yield plain


def _unpacked_size(file: BinaryIO, path: Path, folder: Path) -> int:
    """Return how many bytes a compressed database has, which must be free in the folder.

    A file of 100 KB can unpack to gigabytes. A database says in its first bytes how large it is. One that is encrypted
    does not, but hardly gets smaller by being compressed.
    """
    head = _zstandard().ZstdDecompressor().stream_reader(file, closefd=False).read(_HEADER.size)
    size = 2 * path.stat().st_size + _CHUNK
    if len(head) == _HEADER.size and head.startswith(_DATABASE):
        page, pages = _HEADER.unpack(head)
        size = (_LARGEST_PAGE if page == 1 else page) * pages
    free = shutil.disk_usage(folder).free
    if free < size:
        raise Unavailable(
            f"{path} has {size / 1e6:,.0f} MB when unpacked, and {folder} has {free / 1e6:,.0f} MB free: free some "
            "space, then try again; nothing was changed"
        )
    return size


def _unpack(file: BinaryIO, target: BinaryIO, limit: int) -> bool:
    """Write what is compressed in a file to another; return whether it is complete and not longer than the limit."""
    unpack, left = _zstandard().ZstdDecompressor().decompressobj(), limit
    while not unpack.eof and left >= 0 and (data := file.read(_PIECE)):
        left -= target.write(unpack.decompress(data))
    return unpack.eof and left >= 0 and not unpack.unused_data and not file.read(1)


def _rewind(file: BinaryIO) -> BinaryIO:
    file.seek(0)
    return file


def _zstandard() -> Any:
    try:
        import zstandard
    except ModuleNotFoundError as error:
        raise MissingExtra(f"a file that ends with {COMPRESSED}", "zstd") from error
    return zstandard
