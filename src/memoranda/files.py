"""Files that are either the old one or the new one, never half of each."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PRIVATE = 0o600


@contextmanager
def replacing(target: Path, mode: int = PRIVATE) -> Iterator[Path]:
    """A file to write: when the block ends well it is on disk in the target's place, else it is gone."""
    with aside(target, mode) as draft:
        yield draft
        sync(draft)
        draft.replace(target)
    _sync_folder(target.parent)


@contextmanager
def aside(target: Path, mode: int = PRIVATE) -> Iterator[Path]:
    """A new file next to the target, gone when the block does not put it in place."""
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.partial")
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode))
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Returns when what was written is on disk."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":  # elsewhere a folder cannot be opened, and a rename is on disk with its file
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
