"""A disk that fails when told to: SQLite's own file functions, with some calls answered by an error.

It works on the library behind Python's `sqlite3` (driver="sqlite3"), inside the process, without a compiler.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p, cast
from typing import Any, Final

FULL: Final = 13
IO_ERROR_SYNC: Final = 10 | (4 << 8)
IO_ERROR_WRITE: Final = 10 | (3 << 8)

_Open = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
_Write = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_Sync = CFUNCTYPE(c_int, c_void_p, c_int)


class _Methods(Structure):
    """The start of `sqlite3_io_methods`; the rest is copied as it is."""

    _fields_ = (
        ("version", c_int),
        ("close", c_void_p),
        ("read", c_void_p),
        ("write", c_void_p),
        ("truncate", c_void_p),
        ("sync", c_void_p),
        ("rest", c_void_p * 14),
    )


class _VFS(Structure):
    """The start of `sqlite3_vfs`; the rest is copied as it is."""

    _fields_ = (
        ("version", c_int),
        ("file_size", c_int),
        ("max_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", c_void_p),
        ("rest", c_void_p * 20),
    )


class FaultyDisk:
    """Decides for each write and sync whether it fails: `fails(operation, file)` returns an error code or 0.

    `operation` is "write" or "sync"; `file` is the end of the file's name: "-wal", or ".db".
    """

    def __init__(self) -> None:
        import _sqlite3

        self.fails: Callable[[str, str], int] = lambda _operation, _file: 0
        self.library: Any = ctypes.CDLL(_sqlite3.__file__)
        self.library.sqlite3_vfs_find.restype = POINTER(_VFS)
        self._files: dict[int, str] = {}
        self._kept: list[object] = []
        self._patched: dict[int, tuple[_Methods, Any, Any]] = {}
        self._system = self.library.sqlite3_vfs_find(None)
        self._open = _Open(self._system.contents.open)
        self._vfs = _VFS.from_buffer_copy(self._system.contents)
        self._vfs.name = b"faulty"
        self._vfs.next = None
        self._vfs.open = cast(self._keep(_Open(self._open_file)), c_void_p)

    @contextmanager
    def installed(self) -> Iterator[FaultyDisk]:
        """Make every new connection of `sqlite3` use this disk."""
        self.library.sqlite3_vfs_register(ctypes.byref(self._vfs), 1)
        try:
            yield self
        finally:
            self.fails = lambda _operation, _file: 0
            self.library.sqlite3_vfs_register(self._system, 1)
            self.library.sqlite3_vfs_unregister(ctypes.byref(self._vfs))

    def _keep(self, function: Any) -> Any:
        self._kept.append(function)
        return function

    def _open_file(self, vfs: int, name: int, file: int, flags: int, out: int) -> int:
        code = int(self._open(vfs, name, file, flags, out))
        if code == 0 and name:
            path = cast(name, c_char_p).value or b""
            self._files[file] = "-wal" if path.endswith(b"-wal") else ".db"
            methods = cast(file, POINTER(c_void_p))
            methods[0] = cast(ctypes.byref(self._patch(int(methods[0] or 0))), c_void_p)
        return code

    def _patch(self, address: int) -> _Methods:
        """Return a copy of the file functions at this address, with our own write and sync."""
        if address not in self._patched:
            original = cast(address, POINTER(_Methods)).contents
            copy = _Methods.from_buffer_copy(original)
            write, sync = _Write(original.write), _Sync(original.sync)

            def faulty_write(file: int, data: int, size: int, offset: int) -> int:
                return self.fails("write", self._files.get(file, "")) or int(write(file, data, size, offset))

            def faulty_sync(file: int, flags: int) -> int:
                return self.fails("sync", self._files.get(file, "")) or int(sync(file, flags))

            copy.write = cast(self._keep(_Write(faulty_write)), c_void_p)
            copy.sync = cast(self._keep(_Sync(faulty_sync)), c_void_p)
            self._patched[address] = (copy, write, sync)
        return self._patched[address][0]


def can_inject_faults() -> bool:
    """Return whether this Python's `sqlite3` is linked in such a way that its disk can be replaced."""
    try:
        FaultyDisk()
    except (AttributeError, OSError):
        return False
    return True
