"""Which texts may be stored or asked for. Apart from `terms`, whose tables of words take time to load."""

from __future__ import annotations

from memoranda.errors import InvalidInput, InvalidType

MAX_TEXT = 1_000_000
"""The largest number of characters in one text."""


def clean_text(text: object, name: str = "content") -> str:
    """Return the text if it can be stored; otherwise raise `InvalidInput` with the reason."""
    if not isinstance(text, str):
        raise InvalidType(f"{name} must be a string, not {type(text).__name__}")
    if not text.strip():
        raise InvalidInput(f"{name} is empty: give some text")
    if len(text) > MAX_TEXT:
        raise InvalidInput(f"{name} has {len(text):,} characters; at most {MAX_TEXT:,} fit: split it into several")
    if "\0" in text:
        raise InvalidInput(f"{name} holds a NUL byte at position {text.index(chr(0))}: remove it")
    return check_unicode(text, name)


MAX_QUERY = 10_000
"""How many characters of a query are read: more would change no answer, and hold up others."""


def clean_query(text: object) -> str:
    """Return what is read of a query; "" for a blank one, which finds nothing: an agent may well send it."""
    return "" if isinstance(text, str) and not text.strip() else clean_text(text, "query")[:MAX_QUERY]


def check_unicode(text: str, name: str) -> str:
    """Return the text if it can be encoded as UTF-8; a lone surrogate cannot."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{name} holds a lone surrogate at position {error.start}: not valid Unicode") from error
    return text
