"""Overwrite the unused bytes of a SQLite file with zeros, some pages at a time.

SQLite overwrites a row that it deletes (`secure_delete`), but not the copies that it left behind when it moved the row
to another page. They lie between the cells of a page, in its free blocks, after the end of an overflow chain, and in
free pages. No reader looks there, so zeros can be written over them while others read; nothing else of the page is
touched. Only while nobody writes, and while the log is empty: the caller holds the lock and has checkpointed.

The format is https://www.sqlite.org/fileformat2.html. A page that does not follow it is not touched.
"""

from __future__ import annotations

import errno
import os
import struct
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from memoranda.errors import Incompatible

MAGIC: Final = b"SQLite format 3\0"
"""The first bytes of a file that is not encrypted."""
_INDEX_INTERIOR, _TABLE_INTERIOR, _INDEX_LEAF, _TABLE_LEAF = 2, 5, 10, 13
_BTREE: Final = (_INDEX_INTERIOR, _TABLE_INTERIOR, _INDEX_LEAF, _TABLE_LEAF)
_MAX_PAGES: Final = _INDEX_INTERIOR << 24
"""In a larger file the number of a page, with which an overflow page begins, can look like a page of a tree."""
_Span: TypeAlias = tuple[int, int]
"""Unused bytes of a page: from, to."""


@dataclass(frozen=True, slots=True)
class PagesOfFile:
    """A database file, page by page."""

    fd: int
    size: int
    """Of a page."""
    usable: int
    """Of a page, without the bytes at its end that an extension reserves."""
    count: int
    first_free: int
    """The first page of the list of free pages; 0 when there is none."""

    def read(self, number: int, length: int | None = None) -> bytes:
        data = os.pread(self.fd, length or self.size, (number - 1) * self.size)
        if len(data) != (length or self.size) or not 0 < number <= self.count:
            raise Incompatible(f"page {number} is not in the file: run check, then repair or restore a backup")
        return data

    def clear(self, number: int, page: bytes, spans: list[_Span]) -> bool:
        """Write zeros over these bytes, unless they are zeros already; return whether any were not."""
        changed = False
        for start, end in spans:
            if page.count(0, start, end) != end - start:
                os.pwrite(self.fd, bytes(end - start), (number - 1) * self.size + start)
                changed = True
        return changed


def open_pages(fd: int) -> PagesOfFile | None:
    """Return the pages of a file; None when its unused bytes cannot be found: encrypted, or of another layout."""
    header = os.pread(fd, 100, 0)
    if len(header) < 100 or header[:16] != MAGIC:
        return None
    size = int.from_bytes(header[16:18]) or 1
    size = 65_536 if size == 1 else size
    auto_vacuum = int.from_bytes(header[52:56])
    count = os.fstat(fd).st_size // size
    if auto_vacuum or count >= _MAX_PAGES:
        return None
    return PagesOfFile(fd, size, size - header[20], count, int.from_bytes(header[32:36]))


def free_pages(pages: PagesOfFile) -> dict[int, _Span]:
    """Return the free pages, each with its unused bytes: all of them, or those after the list that it holds."""
    found: dict[int, _Span] = {}
    trunk = pages.first_free
    while trunk:
        page = pages.read(trunk)
        following, leaves = struct.unpack_from(">II", page)
        if leaves > pages.usable // 4 - 2 or trunk in found:
            raise Incompatible("the list of free pages is damaged: run check, then repair or restore a backup")
        found[trunk] = (8 + 4 * leaves, pages.size)
        found.update((leaf, (0, pages.size)) for leaf in struct.unpack_from(f">{leaves}I", page, 8))
        trunk = following
    return found


def scrub_page(pages: PagesOfFile, number: int, free: dict[int, _Span]) -> bool:
    """Clear the unused bytes of one page and of the overflow chains that begin on it; return whether there were any."""
    page = pages.read(number)
    if number in free:
        return pages.clear(number, page, [free[number]])
    start = 100 if number == 1 else 0
    if page[start] not in _BTREE:
        return False  # an overflow page, which is reached from the cell that it continues
    spans, cells = _layout(pages, page, start)
    changed = pages.clear(number, page, spans)
    for last, span in _overflow_ends(pages, page, page[start], cells):
        changed |= pages.clear(last, pages.read(last), [span])
    return changed


def _layout(pages: PagesOfFile, page: bytes, start: int) -> tuple[list[_Span], tuple[int, ...]]:
    """Return the unused bytes of a page of a tree, and where its cells begin."""
    kind, block, count, content = struct.unpack_from(">BHHH", page, start)
    content = content or 65_536
    pointers = start + (12 if kind in (_INDEX_INTERIOR, _TABLE_INTERIOR) else 8)
    gap = (pointers + 2 * count, content)
    cells = struct.unpack_from(f">{count}H", page, pointers) if gap[0] <= gap[1] <= pages.usable else (0,)
    if any(not content <= cell < pages.usable for cell in cells):
        raise Incompatible("a page of the file is damaged: run check, then repair or restore a backup")
    return [gap, *_free_blocks(pages, page, block, content)], cells


def _free_blocks(pages: PagesOfFile, page: bytes, block: int, content: int) -> Iterator[_Span]:
    while block:
        following, size = struct.unpack_from(">HH", page, block)
        end = block + size
        if block < content or size < 4 or end > pages.usable or (following and following < end):
            raise Incompatible("a page of the file is damaged: run check, then repair or restore a backup")
        yield block + 4, end
        block = following


def _overflow_ends(pages: PagesOfFile, page: bytes, kind: int, cells: tuple[int, ...]) -> Iterator[tuple[int, _Span]]:
    """Yield the last page of each overflow chain that begins on this page, and its unused bytes."""
    if kind == _TABLE_INTERIOR:
        return
    usable = pages.usable
    largest = usable - 35 if kind == _TABLE_LEAF else (usable - 12) * 64 // 255 - 23
    least = (usable - 12) * 32 // 255 - 23
    for cell in cells:
        payload, at = _varint(page, cell + 4 if kind == _INDEX_INTERIOR else cell)
        if payload <= largest:
            continue
        if kind == _TABLE_LEAF:
            _, at = _varint(page, at)
        local = least + (payload - least) % (usable - 4)
        local = local if local <= largest else least
        yield _end_of_chain(pages, int.from_bytes(page[at + local : at + local + 4]), payload - local)


def _end_of_chain(pages: PagesOfFile, number: int, left: int) -> tuple[int, _Span]:
    room = pages.usable - 4
    while left > room:
        number, left = int.from_bytes(pages.read(number, 4)), left - room
    if pages.read(number, 4) != bytes(4):
        raise Incompatible("an overflow chain of the file is damaged: run check, then repair or restore a backup")
    return number, (4 + left, pages.size)


def _varint(page: bytes, at: int) -> tuple[int, int]:
    """Return SQLite's variable-length number, and the position after it."""
    value = 0
    for position in range(at, at + 8):
        value = value << 7 | page[position] & 0x7F
        if page[position] < 0x80:
            return value, position + 1
    return value << 8 | page[at + 8], at + 9


@dataclass(slots=True)
class _SharedHandle:
    users: int = 0
    fd: int | None = None


_handles: dict[tuple[int, int], _SharedHandle] = {}
"""What the stores of this process share, by file."""
_handles_lock = threading.RLock()
_released: deque[tuple[int, int]] = deque()
"""The files whose handle somebody gave up, once for each user."""
_changing = False


@contextmanager
def _change_handles() -> Iterator[None]:
    """Hold the shared handles, and afterwards close those that nobody uses any more.

    Python can finalize a store at any moment, also inside this block and in the same thread: what such a store gives
    up is only noted, and closed by the block that it interrupted.
    """
    global _changing
    with _handles_lock:
        interrupted, _changing = _changing, True
        try:
            yield
        finally:
            try:
                while _released and not interrupted:
                    _give_up(_released.popleft())
            finally:  # also after an interrupt, or nothing would be closed any more
                _changing = interrupted


def _give_up(key: tuple[int, int]) -> None:
    shared = _handles[key]
    shared.users -= 1
    if not shared.users:
        del _handles[key]
        if shared.fd is not None:
            os.close(shared.fd)


class RawFile:
    """A database file beside SQLite, with one handle for all stores of this process on that file.

    Every store has one, so that the handle is closed with the last of them: when any handle on a file is closed, the
    system releases all locks that this process holds on it, those of SQLite among them.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._key: tuple[int, int] | None = None
        with suppress(FileNotFoundError), _change_handles():
            status = path.stat()
            self._key = (status.st_dev, status.st_ino)
            _handles.setdefault(self._key, _SharedHandle()).users += 1

    def open_pages(self) -> PagesOfFile | None:
        """Return the pages of the file; None when its unused bytes cannot be found here."""
        if self._key is None or not hasattr(os, "pread"):  # as on Windows
            return None
        with _change_handles():
            return open_pages(self._descriptor(_handles[self._key]))

    def read_start(self, length: int) -> bytes:
        """Return the first bytes of the file: as many as there are, and none when it does not exist."""
        if self._key is None:
            return b""
        with _change_handles():
            descriptor = self._descriptor(_handles[self._key])
            os.lseek(descriptor, 0, os.SEEK_SET)
            return os.read(descriptor, length)

    def _descriptor(self, shared: _SharedHandle) -> int:
        if shared.fd is None:
            try:
                shared.fd = os.open(self._path, os.O_RDWR)
            except OSError as error:  # a backup on a medium that cannot be written is read all the same
                if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                    raise
                shared.fd = os.open(self._path, os.O_RDONLY)
        return shared.fd

    def close(self) -> None:
        """Give the handle up, once SQLite's own are closed."""
        key, self._key = self._key, None
        if key is not None:
            _released.append(key)
            with _change_handles():
                pass
