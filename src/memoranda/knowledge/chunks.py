"""A document → pieces to search: cut at headings first, then between paragraphs, then between sentences. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

MAX_CHARS: Final = 1000
"""Characters in one piece, about what the embedding model reads of a text."""

_HEADING: Final = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_UNDERLINE: Final = re.compile(r"^ {0,3}(=+|-{2,})[ \t]*$")
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])")


@dataclass(frozen=True, slots=True)
class Chunk:
    """One piece of a document."""

    headings: tuple[str, ...]
    """The headings it stands under, the outermost first."""
    text: str

    @property
    def content(self) -> str:
        """The text under its headings, so that it can be understood, and found, alone."""
        return f"{' > '.join(self.headings)}\n{self.text}" if self.headings else self.text


def split(text: str, *, markdown: bool = True, max_chars: int = MAX_CHARS) -> list[Chunk]:
    """The pieces of a document in their order; every word of it is in exactly one."""
    sections = _sections(text) if markdown else [((), text)]
    return [
        Chunk(headings, piece)
        for headings, body in sections
        for piece in _packed(_blocks(body, markdown=markdown), max_chars)
    ]


def _sections(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The text under each heading. A heading with nothing under it stands alone, so that it is not lost."""
    path: list[tuple[int, str]] = []
    body: list[str] = []
    for heading, lines in _headed(text.splitlines()):
        if heading is None:
            body += lines
            continue
        yield from _section(path, body)
        level, title = heading
        path = [(depth, name) for depth, name in path if depth < level] + [(level, title)]
        body = []
    yield from _section(path, body)


def _section(path: list[tuple[int, str]], body: list[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    names = [name for _, name in path]
    if any(line.strip() for line in body):
        yield tuple(names), "\n".join(body)
    elif names:
        yield tuple(names[:-1]), names[-1]


def _headed(lines: list[str]) -> Iterator[tuple[tuple[int, str] | None, list[str]]]:
    """Each heading as (level, title), and the lines between them; what is in a code block is never a heading."""
    fence = ""
    position = 0
    while position < len(lines):
        line, following = lines[position], lines[position + 1] if position + 1 < len(lines) else ""
        position += 1
        fence = _fence_after(line, fence)
        found = None if fence else _HEADING.match(line)
        if found and found[2]:
            yield (len(found[1]), found[2]), []
        elif not fence and _is_title(line) and (under := _UNDERLINE.match(following)):
            position += 1
            yield (1 if under[1][0] == "=" else 2, line.strip()), []
        else:
            yield None, [line]


def _fence_after(line: str, fence: str) -> str:
    """The mark of the code block that we are in after this line; empty outside."""
    mark = _FENCE.match(line)
    if mark is None:
        return fence
    if not fence:
        return mark[1]
    closes = mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and line.strip() == mark[1]
    return "" if closes else fence


def _is_title(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(("|", "-", "*", ">", "#")) and not _FENCE.match(line)


def _blocks(body: str, *, markdown: bool) -> Iterator[str]:
    """Paragraphs, lists, tables and code blocks: whatever empty lines set apart."""
    block: list[str] = []
    fence = ""
    for line in body.splitlines():
        fence = _fence_after(line, fence) if markdown else ""
        if line.strip() or fence:
            block.append(line.rstrip())
        elif block:
            yield "\n".join(block)
            block = []
    if block:
        yield "\n".join(block)


def _packed(blocks: Iterable[str], max_chars: int) -> Iterator[str]:
    """Blocks put together while they fit; one that does not fit alone is cut."""
    piece = ""
    for block in blocks:
        if piece and len(piece) + 2 + len(block) > max_chars:
            yield piece
            piece = ""
        if len(block) > max_chars:
            *whole, block = _cut(block, max_chars)
            yield from whole
        piece = f"{piece}\n\n{block}" if piece else block
    if piece.strip():
        yield piece


def _cut(block: str, max_chars: int) -> list[str]:
    """A long block between lines and sentences, a long sentence between words, a long word anywhere."""
    pieces: list[str] = []
    piece = ""
    for unit in _units(block, max_chars):
        if piece and len(piece) + len(unit.rstrip()) > max_chars:
            pieces.append(piece.strip())
            piece = ""
        piece += unit
    return [each for each in (*pieces, piece.strip()) if each] or [""]


def _units(block: str, max_chars: int) -> Iterator[str]:
    for line in block.splitlines(keepends=True):
        for sentence in _sentences(line):
            yield from [sentence] if len(sentence) <= max_chars else _words(sentence, max_chars)


def _sentences(line: str) -> Iterator[str]:
    start = 0
    for end in _SENTENCE_END.finditer(line):
        if end.end() > start:
            yield line[start : end.end()]
        start = end.end()
    if start < len(line):
        yield line[start:]


def _words(sentence: str, max_chars: int) -> Iterator[str]:
    for word in re.findall(r"\S+\s*|\s+", sentence):
        yield from (word[start : start + max_chars] for start in range(0, len(word), max_chars))
