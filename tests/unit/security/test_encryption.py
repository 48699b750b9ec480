from __future__ import annotations

import io
import os
import pickle
import random
import shlex
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from memoranda.errors import EncryptionKeyError, Incompatible, InvalidInput
from memoranda.files import open_to_write
from memoranda.security import encryption
from memoranda.security.encryption import (
    EncryptedReader,
    EncryptionKey,
    is_sealed,
    open_encrypted,
    random_key,
    read_key,
    seal,
    unseal,
)

PASSPHRASE = "correct horse battery staple"
CHUNK = 256 * 1024
SIZES = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 7]


@pytest.fixture
def key() -> EncryptionKey:
    return EncryptionKey(random_key())


@pytest.mark.parametrize("size", SIZES)
def test_file_of_any_size_is_read_back_whole_and_from_any_position(
    size: int, key: EncryptionKey, tmp_path: Path
) -> None:
    data, path = random.Random(size).randbytes(size), tmp_path / "a"
    with open_to_write(path, key) as file:
        for start in range(0, size, 100_000):
            file.write(data[start : start + 100_000])
    assert size < 64 or data[:64] not in path.read_bytes()
    with open_encrypted(path, key) as reader:
        assert reader.read() == data
        for position in (0, size // 3, max(size - 5, 0), size, size + 10):
            reader.seek(position)
            assert reader.read(10) == data[position : position + 10]
        assert reader.seek(0, io.SEEK_END) == size


def test_passphrase_seals_each_time_differently_and_opens_again() -> None:
    key = EncryptionKey(PASSPHRASE)
    first, second = seal(b"the river", key), seal(b"the river", key)
    assert first != second
    assert is_sealed(first)
    assert unseal(first, EncryptionKey(f"{PASSPHRASE}\n"), "a") == unseal(second, key, "a") == b"the river"


def test_another_key_is_told_apart_from_damage(key: EncryptionKey) -> None:
    sealed = seal(b"the river", key)
    with pytest.raises(EncryptionKeyError, match="another key"):
        unseal(sealed, EncryptionKey(random_key()), "a")
    with pytest.raises(Incompatible, match="damaged") as caught:
        unseal(sealed[:-1] + bytes([sealed[-1] ^ 1]), key, "a")
    assert not isinstance(caught.value, EncryptionKeyError)


def test_any_changed_byte_and_any_cut_is_an_error(key: EncryptionKey) -> None:
    rng = random.Random(5)
    sealed = seal(rng.randbytes(2 * CHUNK + 50), key)
    for _ in range(60):
        place = rng.choice([rng.randrange(40), rng.randrange(len(sealed))])
        changed = bytearray(sealed)
        changed[place] ^= 1 << rng.randrange(8)
        with pytest.raises(Incompatible):
            unseal(bytes(changed), key, "a")
    for cut in (0, 10, 37, 40, CHUNK, len(sealed) - 66, len(sealed) - 1):
        with pytest.raises(Incompatible):
            unseal(sealed[:cut], key, "a")


def test_chunks_cannot_change_places_or_files(key: EncryptionKey) -> None:
    rng, part = random.Random(6), CHUNK + 16
    one, two = seal(rng.randbytes(3 * CHUNK), key), seal(rng.randbytes(3 * CHUNK), key)
    start = len(one) - 3 * part
    swapped = one[:start] + one[start + part : start + 2 * part] + one[start : start + part] + one[start + 2 * part :]
    for forged in (swapped, one[: start + part] + two[start + part :], one[: start + 2 * part]):
        with pytest.raises(Incompatible, match="damaged"):
            unseal(forged, key, "a")


def test_unfinished_file_cannot_be_read(key: EncryptionKey, tmp_path: Path) -> None:
    with suppress(RuntimeError), open_to_write(tmp_path / "a", key) as file:
        file.write(bytes(2 * CHUNK))
        raise RuntimeError
    with pytest.raises(Incompatible), open_encrypted(tmp_path / "a", key) as reader:
        reader.read()


@pytest.mark.parametrize("text", ["", "short", " " * 40, 5, b"x" * 32, "\ud800" * 20])
def test_key_that_is_none_is_refused(text: object) -> None:
    with pytest.raises(EncryptionKeyError):
        EncryptionKey(text)  # type: ignore[arg-type]


def test_key_shows_in_no_repr_and_cannot_be_pickled() -> None:
    key = EncryptionKey(PASSPHRASE)
    assert PASSPHRASE not in f"{key!r} {key} {[key]}"
    with pytest.raises(TypeError):
        pickle.dumps(key)
    assert key == EncryptionKey(PASSPHRASE) != EncryptionKey(random_key())


def test_key_comes_from_file_or_command(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{PASSPHRASE}\n")
    assert read_key(None, str(tmp_path / "key"), None) == EncryptionKey(PASSPHRASE)
    command = f"{sys.executable} -c \"print('{PASSPHRASE}')\""
    assert read_key(None, None, command) == EncryptionKey(PASSPHRASE)
    assert read_key(None, None, None) is None


def test_key_that_cannot_be_read_is_a_typed_error_without_secrets(tmp_path: Path) -> None:
    secret = "a secret argument of a command"
    for file, command in (
        (str(tmp_path / "missing"), None),
        (None, f"/nowhere/command '{secret}'"),
        (None, f"{sys.executable} -c 'import sys; print(\"{secret}\"); sys.exit(3)'"),
        (None, "unbalanced 'quote"),
    ):
        with pytest.raises(EncryptionKeyError) as caught:
            read_key(None, file, command)
        assert secret not in str(caught.value)
        assert caught.value.__cause__ is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such devices")
@pytest.mark.parametrize("file", ["/dev/zero", "large"])
def test_key_file_without_an_end_is_refused(tmp_path: Path, file: str) -> None:
    (tmp_path / "large").write_text(PASSPHRASE * 1000)
    with pytest.raises(InvalidInput, match="more than 4,096 bytes") as caught:
        read_key(None, str(tmp_path / file), None)
    assert PASSPHRASE not in str(caught.value)


def test_key_command_without_an_end_is_refused_and_ended(tmp_path: Path) -> None:
    started = tmp_path / "started"
    endless = f"import os; open({str(started)!r}, 'w').write(str(os.getpid()))\nwhile True: print({PASSPHRASE!r})"
    with pytest.raises(InvalidInput, match="more than 4,096 bytes") as caught:
        read_key(None, None, shlex.join([sys.executable, "-c", endless]))
    assert PASSPHRASE not in str(caught.value)
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
def test_key_that_never_comes_is_waited_for_with_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encryption, "_KEY_SECONDS", 0.2)
    os.mkfifo(tmp_path / "pipe")
    # The command ends, and what it has started keeps its output open.
    for file, command in ((str(tmp_path / "pipe"), None), (None, "sleep 30"), (None, "sh -c 'sleep 2 & true'")):
        with pytest.raises(EncryptionKeyError):
            read_key(None, file, command)


def test_key_named_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="only one"):
        read_key(PASSPHRASE, str(tmp_path / "key"), None)


def test_reader_refuses_what_is_not_an_encrypted_file(key: EncryptionKey) -> None:
    with pytest.raises(Incompatible, match="not an encrypted file"):
        EncryptedReader(io.BytesIO(b"plain text " * 20), key, "a")
