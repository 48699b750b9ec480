"""Texts of any length, for adapters that keep files or transcripts.

What is too long for one value of an item is kept in parts, which are not searched.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final

from memoranda.errors import Incompatible

_PART: Final = 80_000
"""Characters in one value: even if each is written as an escape in JSON, they fit."""


class LongValues:
    """Keeps the parts of long texts in a namespace of their own.

    Args:
        memory: The blocking manager.
        namespace: The namespace of the parts.
        owner: The owner, as arguments of the manager's methods.
    """

    def __init__(self, memory: Any, namespace: tuple[str, ...], owner: Mapping[str, str | None]) -> None:
        self._memory = memory
        self._namespace = namespace
        self._owner = owner

    def store(self, text: str) -> dict[str, Any]:
        """Return what to keep of a text in an item: the text itself, or where its parts are."""
        if len(text) <= _PART:
            return {"text": text}
        parts = {uuid.uuid4().hex: text[start : start + _PART] for start in range(0, len(text), _PART)}
        self._memory.put_many(self._namespace, parts, index=False, **self._owner)
        return {"parts": list(parts)}

    def load(self, value: Mapping[str, Any]) -> str:
        """Return the text."""
        if "text" in value:
            return str(value["text"])
        found = [self._memory.get_item(self._namespace, key, **self._owner) for key in value["parts"]]
        if None in found:
            raise Incompatible("a part of a long value is missing: restore a backup")
        return "".join(part.value for part in found)

    def drop(self, value: Mapping[str, Any] | None) -> None:
        """Delete the parts, once no item refers to them."""
        if value and value.get("parts"):
            self._memory.delete_item(self._namespace, value["parts"], **self._owner)
