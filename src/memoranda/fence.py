"""The fence: the marks around recalled text in a prompt. They are defined here and nowhere else."""

from __future__ import annotations

import re
from typing import Final

FENCE: Final = "memoranda-memory"
"""The name in both marks of a fence. Rendered stored text never contains it as a mark."""
MARKER_BYTES: Final = 8
"""Random bytes in the marker of one call."""

_MARK: Final = re.compile(rf"<(/?){FENCE} ([0-9a-f]{{{2 * MARKER_BYTES}}})>\n?")


def open_mark(marker: str) -> str:
    """Return the line that opens a fence."""
    return f"<{FENCE} {marker}>"


def close_mark(marker: str) -> str:
    """Return the line that closes a fence; it closes only a fence with the same marker."""
    return f"</{FENCE} {marker}>"


def remove_recalled(text: str) -> str:
    """Return the text without its fenced parts, so that recalled text is not remembered again.

    An open mark without its close mark stays.
    """
    kept: list[str] = []
    position = 0
    for start, end in find_recalled_spans(text):
        kept.append(text[position:start])
        position = end
    return "".join(kept) + text[position:]


def find_recalled_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each fenced part, marks included."""
    if FENCE not in text:
        return []
    marks = [(match[2], bool(match[1]), match.start(), match.end()) for match in _MARK.finditer(text)]
    last_close = {marker: start for marker, closes, start, _ in marks if closes}
    spans: list[tuple[int, int]] = []
    begin, current = 0, None
    # One pass over the marks, so that a text with very many marks does not take long.
    for marker, closes, start, end in marks:
        if current is None and not closes and last_close.get(marker, -1) > start:
            begin, current = start, marker
        elif current == marker and closes:
            spans.append((begin, end))
            current = None
    return spans
