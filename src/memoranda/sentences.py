"""Splits text into sentences. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, TypeAlias

Span: TypeAlias = tuple[int, int]
"""A part of a text: the offset of its first character, and the offset after its last one."""

_END: Final = re.compile(
    # The punctuation comes first and the conditions on what precedes it follow, so that the search can skip ahead.
    r"[.!?…。！？\n](?:(?<=[。！？])|(?<=\n)\n*|(?<=[.!?…])"
    r"(?<!\bDr.)(?<!\bMr.)(?<!\bMs.)(?<!\bMrs.)(?<!\bSt.)(?<!\bvs.)(?<!\be\.g.)(?<!\bi\.e.)[.!?…]*[\"'”’)\]]*(?=\s|$))"
)
_NOT_BLANK: Final = re.compile(r"\S")


@lru_cache(maxsize=16)  # entities and claims are extracted from the same text one after the other
def sentence_spans(text: str) -> tuple[Span, ...]:
    """Return where each sentence or line is, without the white space around it."""
    return tuple(_find_spans(text))


def split_sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text, without the white space around them."""
    return [text[start:end] for start, end in sentence_spans(text)]


def _find_spans(text: str) -> Iterator[Span]:
    start = 0
    for end in (*(match.end() for match in _END.finditer(text)), len(text)):
        first = _NOT_BLANK.search(text, start, end)
        if first is not None:
            yield first.start(), first.start() + len(text[first.start() : end].rstrip())
        start = end
