"""Encryption keys, and encrypted files: exports, index files and key files. The database itself is SQLCipher's.

An encrypted file is a header and chunks. Each chunk is encrypted with AES-256-GCM under a key of this file alone, with
its position and whether it is the last as the nonce, and the header as additional data. So no chunk can be changed,
moved, left out or taken from another file without an error, and any chunk can be read alone.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import struct
import threading
from contextlib import nullcontext
from functools import lru_cache
from hmac import compare_digest
from hmac import digest as hmac_digest
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, Final
from unicodedata import normalize

from memoranda.errors import EncryptionKeyError, Incompatible, InvalidInput, MissingExtra, Unavailable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from typing_extensions import Buffer

SALT_BYTES: Final = 16
_MIN_CHARS: Final = 16
_MAX_KEY_BYTES: Final = 4096
"""The largest file or output that is read as a key: a device gives bytes for ever."""
_KEY_SECONDS: Final = 60.0
"""How long a file or a command may take to give it: a person may have to unlock a key store."""
_RAW_KEY: Final = re.compile("[0-9a-fA-F]{64}")
# What OWASP recommends for scrypt with 32 MB. A change needs a new version of the format: databases do not record it.
_SCRYPT: Final = {"n": 2**15, "r": 8, "p": 3, "maxmem": 64 * 2**20, "dklen": 32}
_MAGIC: Final = b"MEMOCRPT"
_VERSION: Final = 1
_HEADER: Final = struct.Struct(">8sBI16s8s")
"""Magic, version, size of a chunk, salt, and a value that shows whether the key is right."""
_CHUNK: Final = 256 * 1024
_TAG: Final = 16


class EncryptionKey:
    """A secret that encrypts files: a passphrase, or 64 hexadecimal digits that are the key itself.

    A passphrase is stretched by scrypt, differently for each file. The secret is in no repr, error or log.
    """

    __slots__ = ("_secret",)

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise EncryptionKeyError(f"an encryption key is a text, not {type(text).__name__}")
        secret = normalize("NFC", text).strip()
        if len(secret) < _MIN_CHARS:
            raise EncryptionKeyError(
                f"the encryption key has fewer than {_MIN_CHARS} characters: use a longer passphrase, or 64 random "
                "hexadecimal digits (openssl rand -hex 32)"
            )
        try:
            secret.encode("utf-8")
        except UnicodeEncodeError:
            raise EncryptionKeyError("the encryption key is not valid text: use letters and digits") from None
        self._secret = secret

    def __repr__(self) -> str:
        return "EncryptionKey(…)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EncryptionKey) and compare_digest(self._secret.encode(), other._secret.encode())

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> str:
        raise TypeError("an encryption key is not pickled: read it again where it is needed")

    def reveal(self) -> str:
        """Return the secret itself, to be stored inside an encrypted database."""
        return self._secret

    def derive(self, salt: bytes) -> bytes:
        """Return the 32 bytes that encrypt a database with this salt."""
        if _RAW_KEY.fullmatch(self._secret):
            return bytes.fromhex(self._secret)
        return _stretch(self._secret, salt)

    def derive_for_file(self, salt: bytes) -> bytes:
        """Return the 32 bytes that encrypt one file: never those of a database, even for the same salt."""
        return hmac_digest(self.derive(salt), b"memoranda file" + salt, "sha256")


@lru_cache(maxsize=16)  # it takes a third of a second by design, and every store of a process asks again
def _stretch(secret: str, salt: bytes) -> bytes:
    try:
        return hashlib.scrypt(secret.encode("utf-8"), salt=salt, **_SCRYPT)
    except ValueError as error:  # no memory for it
        raise Unavailable("there is not enough memory to derive a key from the passphrase: 32 MB are needed") from error


def make_key(value: str | EncryptionKey | None) -> EncryptionKey | None:
    """Return the key of a text; None for None."""
    return value if value is None or isinstance(value, EncryptionKey) else EncryptionKey(value)


def random_key() -> str:
    """Return a new key as 64 hexadecimal digits."""
    return os.urandom(32).hex()


def is_encrypted_file(path: Path) -> bool:
    """Return whether a file is in the format of this module. SQLCipher's databases are not."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def seal(data: bytes, key: EncryptionKey) -> bytes:
    """Return the bytes as an encrypted file."""
    buffer = io.BytesIO()
    writer = EncryptedWriter(buffer, key)
    writer.write(data)
    writer.finish()
    return buffer.getvalue()


def unseal(data: bytes, key: EncryptionKey, name: str) -> bytes:
    """Return what was encrypted; an error names the file."""
    return EncryptedReader(io.BytesIO(data), key, name).readall()


def is_sealed(data: bytes) -> bool:
    return data.startswith(_MAGIC)


class EncryptedWriter(io.RawIOBase):
    """Encrypts what is written to it into another file, which stays open."""

    def __init__(self, target: BinaryIO, key: EncryptionKey) -> None:
        super().__init__()
        salt = os.urandom(SALT_BYTES)
        file_key = key.derive_for_file(salt)
        self._header = _HEADER.pack(_MAGIC, _VERSION, _CHUNK, salt, _check_value(file_key))
        self._cipher = _aes_gcm(file_key)
        self._target = target
        self._buffer = bytearray()
        self._chunks = 0
        target.write(self._header)

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        self._buffer += data
        # One byte is always kept back: the last chunk is marked, and only the end shows which one that is.
        while len(self._buffer) > _CHUNK:
            self._seal_chunk(bytes(self._buffer[:_CHUNK]), last=False)
            del self._buffer[:_CHUNK]
        return memoryview(data).nbytes

    def finish(self) -> None:
        """Write the last chunk. Without it the file is incomplete, and cannot be read."""
        self._seal_chunk(bytes(self._buffer), last=True)
        self._buffer.clear()

    def _seal_chunk(self, data: bytes, *, last: bool) -> None:
        self._target.write(self._cipher.encrypt(_nonce(self._chunks, last), data, self._header))
        self._chunks += 1


class EncryptedReader(io.RawIOBase):
    """Reads an encrypted file from any position."""

    def __init__(self, source: BinaryIO, key: EncryptionKey, name: str) -> None:
        super().__init__()
        self._source = source
        self._name = name
        self._header = source.read(_HEADER.size)
        self._cipher = self._open(key)
        sealed = source.seek(0, io.SEEK_END) - _HEADER.size
        self._count = max(-(-sealed // (_CHUNK + _TAG)), 1)
        self._size = sealed - self._count * _TAG
        self._position = 0
        self._loaded = (-1, b"")
        if self._size < 0:
            raise self._damaged()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(start + offset, 0)
        return self._position

    def readinto(self, buffer: Buffer, /) -> int:
        # Also at the end: a file that was cut off shows in its last chunk.
        number = min(self._position // _CHUNK, self._count - 1)
        data = self._read_chunk(number)[self._position - number * _CHUNK :]
        view = memoryview(buffer).cast("B")
        count = min(len(view), len(data))
        view[:count] = data[:count]
        self._position += count
        return count

    def close(self) -> None:
        if not self.closed:
            self._source.close()
        super().close()

    def _open(self, key: EncryptionKey) -> AESGCM:
        if len(self._header) < _HEADER.size:
            raise self._damaged()
        magic, version, chunk, salt, check = _HEADER.unpack(self._header)
        if magic != _MAGIC or version != _VERSION or chunk != _CHUNK:
            raise Incompatible(f"{self._name} is not an encrypted file of a version that this program reads")
        file_key = key.derive_for_file(salt)
        if not compare_digest(_check_value(file_key), check):
            raise EncryptionKeyError(f"{self._name} was encrypted with another key: use that one")
        return _aes_gcm(file_key)

    def _read_chunk(self, number: int) -> bytes:
        from cryptography.exceptions import InvalidTag

        if self._loaded[0] != number:
            self._source.seek(_HEADER.size + number * (_CHUNK + _TAG))
            sealed = self._source.read(_CHUNK + _TAG)
            try:
                nonce = _nonce(number, number == self._count - 1)
                self._loaded = (number, self._cipher.decrypt(nonce, sealed, self._header))
            except InvalidTag as error:
                raise self._damaged() from error
        return self._loaded[1]

    def _damaged(self) -> Incompatible:
        return Incompatible(f"{self._name} is damaged or cut off: use another copy")


def open_encrypted(path: Path, key: EncryptionKey) -> io.BufferedReader:
    """Open an encrypted file to read what is in it."""
    file = path.open("rb")
    try:
        return io.BufferedReader(EncryptedReader(file, key, str(path)), _CHUNK)
    except BaseException:
        file.close()
        raise


def read_key_command(command: str) -> str:
    """Return what a command prints: the key. Neither its output nor its arguments appear in an error."""
    import shlex
    import subprocess

    what = "the command that prints the encryption key"
    try:
        arguments, quiet = shlex.split(command), subprocess.DEVNULL
        with subprocess.Popen(arguments, bufsize=0, stdout=subprocess.PIPE, stderr=quiet) as process:
            try:
                assert process.stdout is not None
                data = _read_bounded(process.stdout, what)
                status = process.wait(_KEY_SECONDS)
            finally:
                process.kill()  # it may print for ever, and be waited for at the end of the block
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        if isinstance(error, InvalidInput):
            raise
        name = type(error).__name__
        raise EncryptionKeyError(f"{what} did not run ({name}): check it") from None
    if status != 0:
        raise EncryptionKeyError(f"{what} ended with {status}: run it by hand to see why")
    return _decode_key(data, what)


def read_key_file(path: str) -> str:
    what = f"the file {path} with the encryption key"
    try:
        return _decode_key(_read_bounded(Path(path).expanduser(), what), what)
    except OSError as error:
        raise EncryptionKeyError(f"{what} cannot be read: {error.strerror or 'it gives nothing'}") from None


def _read_bounded(source: Path | IO[bytes], what: str) -> bytes:
    """Return what is in a file or a pipe: it may have no end, or give nothing for ever."""
    found: list[bytes | OSError] = []

    def read() -> None:
        data = b""
        try:
            # Without a buffer, whose lock a read that never ends would keep from whoever closes it.
            with source.open("rb", buffering=0) if isinstance(source, Path) else nullcontext(source) as file:
                while len(data) <= _MAX_KEY_BYTES and (part := file.read(_MAX_KEY_BYTES)):
                    data += part
            found.append(data)
        except OSError as error:
            found.append(error)

    thread = threading.Thread(target=read, name="memoranda-key", daemon=True)
    thread.start()
    thread.join(_KEY_SECONDS)
    [data] = found or [TimeoutError(errno.ETIMEDOUT, f"it gave no end in {_KEY_SECONDS:.0f} seconds")]
    if isinstance(data, OSError):
        raise data
    if len(data) > _MAX_KEY_BYTES:
        raise InvalidInput(
            f"{what} gives more than {_MAX_KEY_BYTES:,} bytes, which is no key: check that it is the one"
        )
    return data


def _decode_key(data: bytes, what: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise EncryptionKeyError(f"{what} cannot be read: it is not text") from None


def read_key(text: str | None, file: str | None, command: str | None) -> EncryptionKey | None:
    """Return the key from where it is; None when none is named, and an error when several are."""
    if sum(value is not None for value in (text, file, command)) > 1:
        raise InvalidInput(
            "the encryption key is named twice: set a key, a key file or a key command, only one of them"
        )
    if file is not None:
        text = read_key_file(file)
    elif command is not None:
        text = read_key_command(command)
    return make_key(text)


def _nonce(number: int, last: bool) -> bytes:
    return struct.pack(">QxxxB", number, last)


def _check_value(file_key: bytes) -> bytes:
    return hmac_digest(file_key, b"memoranda key check", "sha256")[:8]


def _aes_gcm(key: bytes) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise MissingExtra("An encrypted file", "encryption") from error
    return AESGCM(key)
