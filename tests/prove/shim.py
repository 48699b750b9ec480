"""The library between a program and its files: how it is built, loaded and told what to do, and what it recorded."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

SOURCE: Final = Path(__file__).with_name("shim.c")
_HEAD: Final = struct.Struct("<BiqII")
_COMPILER: Final = "gcc"


def can_build() -> bool:
    return sys.platform == "linux" and shutil.which(_COMPILER) is not None


def build() -> Path:
    """Compile the library, unless this version of it is there already; return its path."""
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    target = Path(tempfile.gettempdir()) / f"memoranda-shim-{os.getuid()}-{digest}.so"
    if not target.exists():
        partial = target.with_suffix(f".{os.getpid()}")
        command = [_COMPILER, "-O2", "-shared", "-fPIC", "-o", str(partial), str(SOURCE), "-ldl", "-lpthread"]
        subprocess.run(command, check=True, capture_output=True)
        partial.replace(target)
    return target


def is_loaded() -> bool:
    return hasattr(ctypes.CDLL(None), "prove_arm")


def load_by_restart() -> None:
    """Start this program again with the library loaded, unless it is."""
    if not is_loaded():
        os.environ["LD_PRELOAD"] = str(build())
        os.execv(sys.executable, [sys.executable, "-m", "tests.prove.run", *sys.argv[1:]])


def _library() -> Any:
    return ctypes.CDLL(None)


def watch(folder: Path, log: Path | None = None) -> None:
    """Watch the files of a folder from now on, and record what is done to them in the log."""
    _library().prove_record(b"" if log is None else str(log).encode(), str(folder).encode())


def note(text: str) -> None:
    """Write a line into the log, between what was done to the files before and after."""
    _library().prove_note(text.encode())


def arm(kinds: str, first: int, times: int, error: int, *, short: bool = False) -> None:
    """Let calls of these kinds fail: `times` of them, beginning with number `first`. With times 0 none fails."""
    _library().prove_arm(kinds.encode(), ctypes.c_long(first), ctypes.c_long(times), error, int(short))


def disarm() -> int:
    """Let no call fail from now on; return how many did."""
    hits = int(_library().prove_hits())
    arm("", 0, 0, 0)
    return hits


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that was done to a file, in the order in which it was done."""

    kind: str
    fd: int
    offset: int
    first: bytes
    second: bytes

    @property
    def path(self) -> str:
        return os.fsdecode(self.first)


def read_log(log: Path) -> Iterator[Event]:
    data, position = log.read_bytes(), 0
    while position < len(data):
        kind, fd, offset, first, second = _HEAD.unpack_from(data, position)
        start = position + _HEAD.size
        position = start + first + second
        yield Event(chr(kind), fd, offset, data[start : start + first], data[start + first : position])
