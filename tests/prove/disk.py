"""What a disk may hold after the power went off: made from the record of what a program did to its files.

A write is certain once its file was synced, a name once its folder was. Of the rest, any part may be there: none, all,
some of the writes, single sectors of a write. The changes of names of a folder are there up to some point, as every
file system with a journal keeps their order. Within one sector the later write never comes before the earlier one.
"""

from __future__ import annotations

import json
import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.prove.ledger import Operation, State
from tests.prove.shim import Event

SECTOR: Final = 512
_NOT_KEPT: Final = ("-shm",)
"""Files whose content a program does not expect to find again."""


@dataclass(slots=True, eq=False)
class DiskFile:
    """A file, whatever its name: what is certain to be on disk, and what was done to it since."""

    content: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Offset and data of a write; the new size and None for a truncation."""
    seen: bytearray | None = None
    """What a program reads, once a sync has failed: the system may have dropped what it could not write, and a later
    sync writes only what was written after that."""

    def sync(self) -> None:
        if self.seen is None:
            for offset, data in self.pending:
                _apply(self.content, offset, data)
        else:
            for offset, data in self.pending:
                _apply(self.seen, offset, data)
                if data is None:
                    _apply(self.content, offset, None)
                else:
                    _copy_sectors(self.seen, self.content, offset, len(data), None)
        self.pending.clear()

    def fail_sync(self) -> None:
        """Drop what was not synced from the disk, though a program still reads it."""
        self.seen = bytearray(self.content) if self.seen is None else self.seen
        for offset, data in self.pending:
            _apply(self.seen, offset, data)
        self.pending.clear()

    def image(self, rng: random.Random, mode: str) -> bytes:
        """Return what may be on disk."""
        # What a failed sync left behind may be on disk all the same.
        certain = self.seen if self.seen is not None and mode == "all" else self.content
        if mode == "none" or not self.pending:
            return bytes(certain)
        newest, found = bytearray(certain), bytearray(certain)
        last = rng.randint(0, len(self.pending))
        for number, (offset, data) in enumerate(self.pending):
            _apply(newest, offset, data)
            if (mode == "prefix" and number >= last) or (mode in ("some", "torn") and rng.random() < 0.5):
                continue
            if data is None:
                _apply(found, offset, None)
            else:
                _copy_sectors(newest, found, offset, len(data), rng if mode == "torn" else None)
        return bytes(found)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    if data is None:
        del content[offset:]
    else:
        content[offset : offset + len(data)] = data


def _copy_sectors(newest: bytearray, found: bytearray, offset: int, size: int, tear: random.Random | None) -> None:
    """Copy the sectors that a write touches, as the page cache has them; with `tear`, each with a chance of a half."""
    start, end = offset // SECTOR * SECTOR, min(-(-(offset + size) // SECTOR) * SECTOR, len(newest))
    if tear is None:
        _apply(found, start, bytes(newest[start:end]))
        return
    for sector in range(start, end, SECTOR):
        if tear.random() < 0.5:
            _apply(found, sector, bytes(newest[sector : min(sector + SECTOR, end)]))


MODES: Final = ("none", "all", "prefix", "some", "torn")


@dataclass(slots=True)
class Disk:
    """The files of one folder. `obeys_sync` is False for a disk on which a sync does nothing."""

    folder: str
    obeys_sync: bool = True
    names: dict[str, DiskFile] = field(default_factory=dict)
    """Names that are certain to be on disk."""
    changes: list[dict[str, DiskFile | None]] = field(default_factory=list)
    """Changes of names since the folder was synced; None for a name that is gone."""
    _open: dict[int, DiskFile] = field(default_factory=dict)
    _folders: set[int] = field(default_factory=set)

    @classmethod
    def with_files_of(cls, folder: Path, *, obeys_sync: bool = True) -> Disk:
        files = {file.name: DiskFile(bytearray(file.read_bytes())) for file in folder.iterdir()}
        return cls(str(folder), obeys_sync, files)

    def current(self) -> dict[str, DiskFile]:
        """Return the names as a running program sees them."""
        return self._names_after(len(self.changes))

    def apply(self, event: Event) -> bool:
        """Do what the event says; return whether the power can go off with another result than before it."""
        match event.kind:
            case "O":
                return self._open_file(event)
            case "C":
                self._open.pop(event.fd, None)
                self._folders.discard(event.fd)
                return False
            case "W":
                self._open[event.fd].pending.append((event.offset, event.first))
            case "T":
                self._open[event.fd].pending.append((event.offset, None))
            case "S":
                self._sync(event.fd)
            case "F":
                if event.fd in self._open:
                    self._open[event.fd].fail_sync()
            case "R" | "L" | "U":
                self._change_names(event)
            case _:
                return False
        return True

    def image(self, rng: random.Random, mode: str) -> dict[str, bytes]:
        """Return what may be on disk now: the content of each file by name."""
        kept = {"none": 0, "all": len(self.changes)}.get(mode, rng.randint(0, len(self.changes)))
        names = self._names_after(kept)
        return {name: file.image(rng, mode) for name, file in names.items() if not name.endswith(_NOT_KEPT)}

    def _names_after(self, kept: int) -> dict[str, DiskFile]:
        names: dict[str, DiskFile | None] = dict(self.names)
        for change in self.changes[:kept]:
            names |= change
        return {name: file for name, file in names.items() if file is not None}

    def _open_file(self, event: Event) -> bool:
        if event.path == self.folder:
            self._folders.add(event.fd)
            return False
        name = Path(event.path).name
        file, created = self.current().get(name), False
        if file is None:
            file, created = DiskFile(), True
            self.changes.append({name: file})
        if event.offset & os.O_TRUNC:
            file.pending.append((0, None))
        self._open[event.fd] = file
        return created

    def _sync(self, fd: int) -> None:
        if not self.obeys_sync:
            return
        if fd in self._folders:
            self.names, self.changes = self.current(), []
        elif fd in self._open:
            self._open[fd].sync()

    def _change_names(self, event: Event) -> None:
        name, other = Path(event.path).name, Path(os.fsdecode(event.second)).name
        file = self.current().get(name)
        if event.kind == "U":
            self.changes.append({name: None})
        else:
            self.changes.append({other: file} | ({name: None} if event.kind == "R" else {}))


@dataclass(slots=True)
class Progress:
    """What the program had done when the power went off, from the notes in its record."""

    states: list[State] = field(default_factory=lambda: [{}])
    """What the store may hold: one state, and one more after each operation whose outcome is unknown."""
    under_way: Operation | None = None
    acknowledged: int = 0

    def read(self, note: bytes) -> None:
        if note == b"done":
            assert self.under_way is not None
            self.states = [self.under_way.apply(state) for state in self.states]
            self.under_way = None
            self.acknowledged += 1
        elif note == b"refused":
            self.under_way = None
        elif note == b"unknown":
            assert self.under_way is not None
            self.states += [self.under_way.apply(state) for state in self.states]
            self.under_way = None
        else:
            values = json.loads(note)
            self.under_way = Operation(**values | {"drop": tuple(values["drop"])})

    @property
    def state(self) -> State:
        return self.states[0]

    def allows(self, found: State) -> bool:
        return any(
            found == state or (self.under_way is not None and self.under_way.can_lead(state, found))
            for state in self.states
        )
