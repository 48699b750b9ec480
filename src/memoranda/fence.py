"""The port of stage 8: hits → text for a prompt. The marks around recalled text are defined here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    pass

TokenCounter: TypeAlias = Callable[[str], int]
"""How many tokens a text takes."""

FENCE: Final = "memoranda-memory"
"""The name that both marks of the fence carry; stored text never shows it as a mark."""
MARKER_BYTES: Final = 8

_MARK: Final = re.compile(rf"<(/?){FENCE} ([0-9a-f]{{{2 * MARKER_BYTES}}})>\n?")


def open_mark(marker: str) -> str:
    """The line that opens a fence."""
    return f"<{FENCE} {marker}>"


def close_mark(marker: str) -> str:
    """The line that closes a fence; only the marker of the same call closes it."""
    return f"</{FENCE} {marker}>"


def without_recalled(text: str) -> str:
    """The text without what was recalled into it: an echo is not news. An open mark that nothing closes stays."""
    kept: list[str] = []
    begin = 0
    for start, end in recalled_spans(text):
        kept.append(text[begin:start])
        begin = end
    return "".join(kept) + text[begin:]


def recalled_spans(text: str) -> list[tuple[int, int]]:
    """Where recalled text stands, its marks included: from the first character up to, not including, the second."""
    if FENCE not in text:
        return []
    marks = [(mark[2], bool(mark[1]), mark.start(), mark.end()) for mark in _MARK.finditer(text)]
    closed_at = {marker: start for marker, closes, start, _ in marks if closes}
    spans: list[tuple[int, int]] = []
    begin, inside = 0, None
    # One walk over the marks, so that no text, however many marks it holds, takes long.
    for marker, closes, start, end in marks:
        if inside is None and not closes and closed_at.get(marker, -1) > start:
            begin, inside = start, marker
        elif inside == marker and closes:
            spans.append((begin, end))
            inside = None
    return spans
