"""Split a document into chunks to search: at headings first, then between paragraphs, then between sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

_MAX_CHARS: Final = 1000
"""Characters in one chunk, about what the embedding model reads of a text."""

_HEADING: Final = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_UNDERLINE: Final = re.compile(r"^ {0,3}(=+|-{2,})[ \t]*$")
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document."""

    headings: tuple[str, ...]
    """The headings above it, the outermost first."""
    text: str

    @property
    def content(self) -> str:
        """The text with its headings, so that it can be found and understood alone."""
        return f"{' > '.join(self.headings)}\n{self.text}" if self.headings else self.text


def split_document(text: str, *, markdown: bool = True, max_chars: int = _MAX_CHARS) -> list[Chunk]:
    """Return the chunks of a document in order. Every word of it is in exactly one."""
    sections = _split_sections(text) if markdown else [((), text)]
    return [
        Chunk(headings, part)
        for headings, body in sections
        for part in _pack_blocks(_split_blocks(body, markdown=markdown), max_chars)
    ]


def _split_sections(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the headings and text of each section. A heading without text becomes text, so that it is not lost."""
    path: list[tuple[int, str]] = []
    body: list[str] = []
    for item in _parse_headings(text.splitlines()):
        if isinstance(item, str):
            body.append(item)
            continue
        yield from _make_section(path, body)
        level, _ = item
        path = [*(heading for heading in path if heading[0] < level), item]
        body = []
    yield from _make_section(path, body)


def _make_section(path: list[tuple[int, str]], body: list[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    titles = [title for _, title in path]
    if any(line.strip() for line in body):
        yield tuple(titles), "\n".join(body)
    elif titles:
        yield tuple(titles[:-1]), titles[-1]


def _parse_headings(lines: list[str]) -> Iterator[tuple[int, str] | str]:
    """Yield each heading as (level, title), and each other line. A line in a code block is never a heading."""
    fence = ""
    position = 0
    while position < len(lines):
        line, following = lines[position], lines[position + 1] if position + 1 < len(lines) else ""
        position += 1
        fence = _fence_after(line, fence)
        heading = None if fence else _HEADING.match(line)
        if heading and heading[2]:
            yield len(heading[1]), heading[2]
        elif not fence and _can_be_title(line) and (underline := _UNDERLINE.match(following)):
            position += 1
            yield 1 if underline[1][0] == "=" else 2, line.strip()
        else:
            yield line


def _fence_after(line: str, fence: str) -> str:
    """Return the fence of the code block that is open after this line, or "" outside one."""
    found = _FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return found[1]
    closes = found[1][0] == fence[0] and len(found[1]) >= len(fence) and line.strip() == found[1]
    return "" if closes else fence


def _can_be_title(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(("|", "-", "*", ">", "#")) and not _FENCE.match(line)


def _split_blocks(body: str, *, markdown: bool) -> Iterator[str]:
    """Yield paragraphs, lists, tables and code blocks: everything between empty lines."""
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


def _pack_blocks(blocks: Iterable[str], max_chars: int) -> Iterator[str]:
    """Join blocks while they fit, and split a block that does not fit alone."""
    packed = ""
    for block in blocks:
        if packed and len(packed) + 2 + len(block) > max_chars:
            yield packed
            packed = ""
        if len(block) > max_chars:
            *full, block = _split_block(block, max_chars)
            yield from full
        packed = f"{packed}\n\n{block}" if packed else block
    if packed.strip():
        yield packed


def _split_block(block: str, max_chars: int) -> list[str]:
    parts: list[str] = []
    part = ""
    for unit in _split_units(block, max_chars):
        if part and len(part) + len(unit.rstrip()) > max_chars:
            parts.append(part.strip())
            part = ""
        part += unit
    return [item for item in (*parts, part.strip()) if item] or [""]


def _split_units(block: str, max_chars: int) -> Iterator[str]:
    """Yield lines and sentences; a long sentence as its words, a long word in pieces."""
    for line in block.splitlines(keepends=True):
        for sentence in _split_sentences(line):
            if len(sentence) <= max_chars:
                yield sentence
                continue
            for word in re.findall(r"\S+\s*|\s+", sentence):
                yield from (word[start : start + max_chars] for start in range(0, len(word), max_chars))


def _split_sentences(line: str) -> Iterator[str]:
    start = 0
    for end in _SENTENCE_END.finditer(line):
        if end.end() > start:
            yield line[start : end.end()]
        start = end.end()
    if start < len(line):
        yield line[start:]
