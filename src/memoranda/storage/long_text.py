"""Columns with long texts. A SQLite file has those compressed; PostgreSQL compresses by itself (TOAST).

Only columns in which no statement searches: words are found in `memories.terms`, and `metadata` and `notes` are
searched as JSON. Hashes of texts, signatures and exports are of the plain text; a seal is of the row as it is stored.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import Dialect, types

LEAST: Final = 1_024
"""Characters of the shortest text that is compressed. It becomes half as long, and takes 7 microseconds to read."""


def pack(text: str | None) -> str | bytes | None:
    """Return a text as a file holds it: compressed, when it is long. UTF-8 is never all noise: it gets shorter."""
    return text if text is None or len(text) < LEAST else zlib.compress(text.encode())


def unpack(stored: str | bytes | None) -> str | None:
    """Return the text that was packed; for damaged bytes another one, as which its hash or signature shows it."""
    if not isinstance(stored, bytes):
        return stored
    try:
        return zlib.decompress(stored).decode()
    except (zlib.error, UnicodeDecodeError):
        return stored.decode(errors="replace")


class LongText(types.TEXT):
    """A text that a SQLite file may hold compressed."""

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any] | None:
        return pack if dialect.name == "sqlite" else None

    def result_processor(self, dialect: Dialect, _coltype: object) -> Callable[[Any], Any] | None:
        return unpack if dialect.name == "sqlite" else None
