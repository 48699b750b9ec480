"""Conversations on disk: text that is written whole, and JSON that is read back."""

from __future__ import annotations

import json
from pathlib import Path

from memoranda.errors import Incompatible
from memoranda.files import replacing
from memoranda.types import JSON

_ORDINARY = 0o666  # what the program's own umask leaves of it, as for any file that a user asks for


def write_atomically(path: Path, text: str) -> None:
    """Puts the text on disk under that name; after a crash the file is the old one or this one."""
    with replacing(path, _ORDINARY) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")


def read_json(path: Path) -> JSON:
    """The file's data; `Incompatible` when it is damaged."""
    try:
        data: JSON = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise Incompatible(f"{path} is damaged or not JSON: {error}") from error
    return data
