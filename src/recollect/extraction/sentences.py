"""A text as sentences, each where it stands. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from recollect.extraction.base import Span

_END: Final = re.compile(
    r"(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bSt)(?<!\bvs)(?<!\be\.g)(?<!\bi\.e)[.!?…]+[\"'”’)\]]*(?=\s|$)|[。！？]|\n+"
)
_WORDS: Final = re.compile(r"\S")


def sentence_spans(text: str) -> Iterator[Span]:
    """Where the sentences stand, without the blanks around them."""
    start = 0
    for end in (*(match.end() for match in _END.finditer(text)), len(text)):
        first = _WORDS.search(text, start, end)
        if first is not None:
            yield first.start(), first.start() + len(text[first.start() : end].rstrip())
        start = end
