"""What is in Anthropic's memory stores: its checks, and which of the values in their namespaces are ours."""

from __future__ import annotations

import re
import secrets
import time
import unicodedata
from base64 import b32hexencode
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from memoranda.errors import Conflict, InvalidInput
from memoranda.items.base import Item
from memoranda.text.checks import check_characters

Json: TypeAlias = dict[str, Any]
NEXT: Final = "\1"
"""Added to a key, it makes one right after it."""
_MAX_CONTENT: Final = 102_400
_MAX_PATH: Final = 1024
_MAX_SEGMENTS: Final = 20
_MAX_PAIRS: Final = 16
_KEY: Final = re.compile("[0-9A-V]{1,1700}")
_TEXT: Final = (str,)
_TEXT_OR_NONE: Final = (str, type(None))
_FIELDS: Final[Mapping[str, Mapping[str, tuple[type, ...]]]] = {
    "memory_store": {"name": _TEXT, "description": _TEXT, "metadata": (dict,), "archived_at": _TEXT_OR_NONE},
    "memory": {"path": _TEXT, "content": _TEXT, "content_sha256": _TEXT, "memory_version_id": _TEXT},
    "memory_version": {
        "path": _TEXT_OR_NONE,
        "content": _TEXT_OR_NONE,
        "memory_id": _TEXT,
        "operation": _TEXT,
        "created_by": (dict,),
        "redacted_at": _TEXT_OR_NONE,
    },
}
"""What a value must have to be one of ours: anybody may put others into the same namespaces."""


class ContentChanged(Conflict):
    """The document has another content than the caller expects."""


def path_key(path: str) -> str:
    """Return the key of a path. Keys are in the order of their paths, and fit where a path of 1,024 bytes would not."""
    return b32hexencode(to_bytes(path)).decode("ascii").rstrip("=")


def after_all(prefix: str) -> str:
    """Return the first path after all below a prefix, which ends with a slash."""
    return prefix[:-1] + "0"  # the character after it


def check_page(page: str) -> str:
    """Return the key at which a page of documents begins."""
    if not _KEY.fullmatch(page):
        raise InvalidInput("page must be the next_page of a response to the same request")
    return page


def is_one(item: Item, kind: str) -> bool:
    """Return whether an item is a store, a document or a version, and no other value that somebody put there."""
    value = item.value
    if not isinstance(value, dict) or (value.get("type"), value.get("id")) != (kind, item.key):
        return False
    fields = _FIELDS[kind]
    return _is_time(value.get("created_at")) and all(
        name in value and isinstance(value[name], kinds) for name, kinds in fields.items()
    )


def _is_time(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def new_id(kind: str) -> str:
    """Return an id; those made later sort after those made before."""
    return f"{kind}_{time.time_ns():016x}{secrets.token_hex(6)}"


def current_time() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def check_text(value: object, name: str, least: int, most: int) -> str:
    if not isinstance(value, str) or not least <= len(value) <= most:
        raise InvalidInput(f"{name} must be text of {least} to {most:,} characters")
    return value


def check_name(value: object, name: str, most: int) -> str:
    text = check_characters(check_text(value, name, 1, most), name)
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise InvalidInput(f"{name} holds a control character: remove it")
    return text


def check_object(value: object, name: str) -> Json:
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} must be an object")
    return value


def check_metadata(value: object) -> dict[str, str]:
    pairs = check_object(value, "metadata")
    if len(pairs) > _MAX_PAIRS:
        raise InvalidInput(f"metadata holds {len(pairs)} pairs: at most {_MAX_PAIRS} fit")
    return {
        check_characters(check_text(key, "a key in metadata", 1, 64), "a key in metadata"): check_text(
            text, f"metadata[{key!r}]", 0, 512
        )
        for key, text in pairs.items()
    }


def check_content(value: object) -> str:
    text = "" if value is None else value
    if not isinstance(text, str):
        raise InvalidInput("content must be text")
    if (size := len(to_bytes(text))) > _MAX_CONTENT:
        raise InvalidInput(f"content has {size:,} bytes; at most {_MAX_CONTENT:,} fit: split it up")
    return text


def to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def check_path(value: object) -> str:
    if not isinstance(value, str) or not value.startswith("/"):
        raise InvalidInput("path must be text that begins with /, such as /notes/todo.md")
    segments = value[1:].split("/")
    if len(segments) > _MAX_SEGMENTS or any(segment in ("", ".", "..") for segment in segments):
        raise InvalidInput(f"path must have 1 to {_MAX_SEGMENTS} segments, and none may be empty, . or ..")
    if any(unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cs") for character in value):
        raise InvalidInput("path holds a control or format character: remove it")
    if unicodedata.normalize("NFC", value) != value or len(value.encode()) > _MAX_PATH:
        raise InvalidInput(f"path must be in Unicode Normalization Form C, and at most {_MAX_PATH:,} bytes long")
    return value


def check_hash(document: Json, expected: object) -> None:
    if document["content_sha256"] != expected:
        raise ContentChanged(f"the memory {document['id']} was changed: read it again, then decide")
