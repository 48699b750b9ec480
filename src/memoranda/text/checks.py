"""Which texts may be stored or asked for. Separate from `terms`, whose tables of words take time to load.

A NUL byte and a lone surrogate are characters to Python and to JSON, and to no database. In a name they are an error;
in a text to search they are replaced; in JSON they are written as escapes, so that a value comes back as it was.
"""

from __future__ import annotations

import re
from typing import Final

from memoranda.errors import InvalidInput, InvalidType

MAX_TEXT = 1_000_000
"""The largest number of characters in one text."""
MAX_QUERY = 10_000
"""How many characters of a query are read: more would change no answer, and hold up others."""
_REPLACEMENT: Final = "\ufffd"
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
_ESCAPED: Final = re.compile(r"((?<!\\)(?:\\\\)*)\\u(?:0000|d[89a-f]..)")
"""A NUL byte or a lone surrogate in JSON, as opposed to an escaped backslash followed by `u0000`."""


def clean_text(text: object, name: str = "content") -> str:
    """Return the text if it can be stored as it is, as a name must be; otherwise raise `InvalidInput`."""
    return check_characters(_check_length(text, name), name)


def storable_text(text: object, name: str = "content") -> str:
    """Return a text to remember, search or embed, with a replacement for each character that cannot be stored."""
    return replace_unstorable(_check_length(text, name))


def clean_query(text: object) -> str:
    """Return what is read of a query; "" for a blank one, which finds nothing: an agent may well send it."""
    return "" if isinstance(text, str) and not text.strip() else storable_text(text, "query")[:MAX_QUERY]


def _check_length(text: object, name: str) -> str:
    if not isinstance(text, str):
        raise InvalidType(f"{name} must be a string, not {type(text).__name__}")
    if not text.strip():
        raise InvalidInput(f"{name} is empty: give some text")
    if len(text) > MAX_TEXT:
        raise InvalidInput(f"{name} has {len(text):,} characters; at most {MAX_TEXT:,} fit: split it into several")
    return plain_text(text)


def plain_text(text: str) -> str:
    """Return a text without what a subclass of `str` adds to it, such as a `repr` that fails."""
    return text if type(text) is str else str.__str__(text)


def check_characters(text: str, name: str) -> str:
    """Return the text if a database can store every character of it."""
    if "\0" in text:
        raise InvalidInput(f"{name} holds a NUL byte at position {text.index(chr(0))}: remove it")
    if found := _find_surrogate(text):
        raise InvalidInput(f"{name} holds a lone surrogate at position {found.start()}: not valid Unicode")
    return text


def replace_unstorable(text: str) -> str:
    """Return the text with U+FFFD in place of each NUL byte and lone surrogate; its length stays the same."""
    return _UNSTORABLE.sub(_REPLACEMENT, text) if "\0" in text or _find_surrogate(text) else text


def replace_in_json(json_text: str) -> str:
    """Return JSON that is searched, with U+FFFD in place of each NUL byte and lone surrogate, escaped or not."""
    text = replace_unstorable(json_text)
    return _ESCAPED.sub(lambda found: f"{found[1]}{_REPLACEMENT}", text) if "\\u" in text else text


def escape_surrogates(json_text: str) -> str:
    """Return JSON that can be encoded as UTF-8: lone surrogates are escaped, as NUL bytes in JSON always are."""
    if _find_surrogate(json_text):
        return _SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", json_text)
    return json_text


def _find_surrogate(text: str) -> re.Match[str] | None:
    return None if text.isascii() else _SURROGATES.search(text)
