"""Tells where somebody moved to live from a team, a service or a product that they moved to. Pure."""

from __future__ import annotations

import re
from typing import Final

from memoranda.remember.lexicon import topics_in
from memoranda.text.places import is_place, looks_like_place

# How words for departments, services and products end: "Marketing", "Fastmail", "Kubernetes".
_USED: Final = re.compile(
    r"(?:ing|ment|[ts]ion|ance|ence|ship|ness|ics|ity|al|ware|soft|mail|app|bank|tech|net|ify|hub|book|box|gram|chat|pay"
    r"|com|phone|works?|labs?|cloud|base|desk|flow|sky|[^aeiou]es|[a-z]s)$",
    re.I,
)
_RESIDENCE: Final = re.compile(
    r"\b(?:relocat\w+|settled|apartment|flat|house|home|condo|city|town|village|permanently|family"
    r"|with (?:my|our) (?:wife|husband|partner|parents|kids|children)"
    r"|for (?:work|good|school|college)"
    r"|for (?:a|my|his|her|the|our) (?:[\w'’]+ )?job)\b",
    re.I,
)


def names_home(value: str, text: str, old: str | None) -> bool:
    """Return whether a name may be where somebody moved: for all that is known, "I moved to Marketing" names no place.

    Args:
        value: The name.
        text: The clause that holds it.
        old: Where they moved from, if it says so.
    """
    alone = old is None and f"{value} for " not in text  # "from Signal to Threema", "to Kanban for my tasks"
    return is_known_home(value, text, old) or (alone and _may_be_place(value))


def is_known_home(value: str, text: str, old: str | None) -> bool:
    """Return whether a name is known as a place, or the words around it speak of a home."""
    return looks_like_place(value) or (old is not None and is_place(old)) or _RESIDENCE.search(text) is not None


def _may_be_place(name: str) -> bool:
    """Return whether a name may be that of an unknown place: no ordinary word, and nothing that one uses."""
    words = name.split()
    written = all(word.isalpha() and word[1:] == word[1:].lower() for word in words)
    return written and _USED.search(name) is None and not any(topics_in(word) for word in words)
