"""An estimate of the tokens of a text, by rules."""

from __future__ import annotations

import re
from typing import Final

_PIECE: Final = re.compile(r"[A-Za-z\u00c0-\u024f]+|\d+|[^\W\d_]+|\n\s*|[^\w\s]+|_+| {2,}")


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens GPT-4o's vocabulary needs, by rules and without a dependency.

    Compared with the exact count, sums over English dialogue, code and JSON are 0 to 8 % higher, and single texts from
    5 % lower to 20 % higher; other scripts are counted high.
    """
    return sum(_estimate_piece(match.group()) for match in _PIECE.finditer(text))


def _estimate_piece(piece: str) -> int:
    size, first = len(piece), piece[0]
    if first.isdigit():
        return -(-size // 3)
    if piece.isascii():
        return _estimate_ascii(size, first)
    if first < "\u0250":  # a Latin word with accents
        return 1 + (size - 1) // 4
    if first < "\u0530":  # Greek and Cyrillic
        return (size + 3) // 4
    return -(-3 * size // 4) if first.isalpha() else 2 * size


def _estimate_ascii(size: int, first: str) -> int:
    if first.isalpha():
        return 1 if size <= 10 else 1 + (size - 5) // 6
    return 1 if first in "\n " else max(1, (size + 2) // 3)
