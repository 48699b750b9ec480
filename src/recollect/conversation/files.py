"""Files that are either the old one or the new one, never half of each."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

from recollect.errors import Incompatible
from recollect.types import JSON


def write_atomically(path: Path, text: str) -> None:
    """Puts the text on disk under that name; after a crash the file is the old one or this one."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def read_json(path: Path) -> JSON:
    """The file's data; `Incompatible` when it is damaged."""
    try:
        data: JSON = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise Incompatible(f"{path} is damaged or not JSON: {error}") from error
    return data


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":  # elsewhere a folder cannot be opened, and a rename is on disk with its file
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
