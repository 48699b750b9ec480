"""Files whose name ends with `.zst` are compressed with Zstandard."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from memoranda.errors import Incompatible, MissingExtra, Unavailable
from memoranda.files import open_to_read, open_to_write, temporary_file
from memoranda.security.encryption import EncryptionKey

SUFFIX: Final = ".zst"
_CHUNK: Final = 1 << 20
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
        if not name.endswith(SUFFIX):
            yield file
            return
        with _zstandard().ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False) as writer:
            yield writer


@contextmanager
def open_export_to_read(path: Path, key: EncryptionKey | None) -> Iterator[Callable[[], BinaryIO]]:
    """Yield a function that returns the file from its start, decrypted and decompressed; each call begins again."""
    with open_to_read(path, key) as file:
        if path.suffix != SUFFIX:
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
        raise MissingExtra(f"a file that ends with {SUFFIX}", "zstd") from error
    return zstandard
