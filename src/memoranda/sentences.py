"""A text as sentences, each where it stands. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, TypeAlias

Span: TypeAlias = tuple[int, int]
"""From the first character up to, not including, the second."""

_END: Final = re.compile(
    # The sign comes first and what may stand before it after that: so the search can skip to the signs.
    r"[.!?…。！？\n](?:(?<=[。！？])|(?<=\n)\n*|(?<=[.!?…])"
    r"(?<!\bDr.)(?<!\bMr.)(?<!\bMs.)(?<!\bMrs.)(?<!\bSt.)(?<!\bvs.)(?<!\be\.g.)(?<!\bi\.e.)[.!?…]*[\"'”’)\]]*(?=\s|$))"
)
_WORDS: Final = re.compile(r"\S")


@lru_cache(maxsize=16)  # the names and the claims of a text are read one after the other
def sentence_spans(text: str) -> tuple[Span, ...]:
    """Where the sentences stand, without the blanks around them."""
    return tuple(_spans(text))


def _spans(text: str) -> Iterator[Span]:
    start = 0
    for end in (*(match.end() for match in _END.finditer(text)), len(text)):
        first = _WORDS.search(text, start, end)
        if first is not None:
            yield first.start(), first.start() + len(text[first.start() : end].rstrip())
        start = end
