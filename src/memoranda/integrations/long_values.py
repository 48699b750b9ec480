"""Texts of any length, for adapters that keep files or transcripts.

What is too long for one value of an item is kept in parts, which are not searched.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final

from memoranda.errors import Incompatible
from memoranda.integrations.managers import OwnedNamespace

_PART: Final = 80_000
"""Characters in one value: even if each is written as an escape in JSON, they fit."""


class LongValues:
    """Keeps the parts of long texts in a namespace of their own."""

    def __init__(self, parts: OwnedNamespace) -> None:
        self._parts = parts

    def store(self, text: str) -> dict[str, Any]:
        """Return what to keep of a text in an item: the text itself, or where its parts are."""
        if len(text) <= _PART:
            return {"text": text}
        parts = {uuid.uuid4().hex: text[start : start + _PART] for start in range(0, len(text), _PART)}
        self._parts.put(parts, index=False)
        return {"parts": list(parts)}

    def load(self, value: Mapping[str, Any]) -> str:
        """Return the text."""
        if "text" in value:
            return str(value["text"])
        found = [part for part in map(self._parts.get, value["parts"]) if part is not None]
        if len(found) < len(value["parts"]):
            raise Incompatible("a part of a long value is missing: restore a backup")
        return "".join(part.value for part in found)

    def drop(self, value: Mapping[str, Any] | None) -> None:
        """Delete the parts, once no item refers to them."""
        if value and value.get("parts"):
            self._parts.delete(value["parts"])
