"""Files whose name ends with `.zst` are compressed with Zstandard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from memoranda.errors import Incompatible, MissingExtra
from memoranda.files import open_to_read, open_to_write, temporary_file
from memoranda.security.encryption import EncryptionKey

SUFFIX: Final = ".zst"
_CHUNK: Final = 1 << 20


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
    """Yield a private copy of a compressed file in a folder, which is overwritten and deleted at the end."""
    zstandard = _zstandard()
    with temporary_file(folder, path.name) as plain:
        try:
            with path.open("rb") as file, plain.open("wb") as target:
                unpack = zstandard.ZstdDecompressor().decompressobj()
                while not unpack.eof and (data := file.read(_CHUNK)):
                    target.write(unpack.decompress(data))
                complete = unpack.eof and not unpack.unused_data and not file.read(1)
        except zstandard.ZstdError as error:
            raise Incompatible(f"{path} is damaged, or not compressed as its name says ({error})") from error
        if not complete:
            raise Incompatible(f"{path} is damaged: its end is missing, or there is something after it")
        yield plain


def _rewind(file: BinaryIO) -> BinaryIO:
    file.seek(0)
    return file


def _zstandard() -> Any:
    try:
        import zstandard
    except ModuleNotFoundError as error:
        raise MissingExtra(f"a file that ends with {SUFFIX}", "zstd") from error
    return zstandard
