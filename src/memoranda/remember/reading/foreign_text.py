"""Find the parts of a message that are not its writer's own words, by the layout of the text. Pure.

Quotations and code have marks. Text under a heading, after a label or in a block of lines of one shape is quoted text, a
list or data, unless the words before it announce the writer's own: "Update: I moved to Ghent". In doubt a part is
foreign: it is still recalled, but states no fact about the writer.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from memoranda.remember.reading.lexicon import HAPPENED
from memoranda.text.cache import text_cache
from memoranda.text.sentences import Span

_MARKED: Final = (
    re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|\"\"\".*?(?:\"\"\"|\Z)|/\*.*?(?:\*/|\Z)|<!--.*?(?:-->|\Z)", re.S),
    re.compile(
        r"\"[^\"\n]*\"|“[^“”\n]*”|«[^«»\n]*»|„[^„“”\n]*[“”]|(?<!\w)'[^'\n]{3,}'(?!\w)|(?<!\w)‘[^‘’\n]{3,}’(?!\w)"
    ),
    re.compile(r"^[ \t]*(?:>|\||#|//|--[ \t]|(?:from|to|subject|date|sent|cc)[ \t]*:).*$", re.I | re.M),
    re.compile(r"(?<=[=;(){}])[^\n=;(){}]*?[ \t](?:#|//)[ \t].*$", re.M),  # a comment after code
)
"""Blocks and lines that are marked as a quotation, as code or as a comment."""
_TRANSCRIPT: Final = (
    re.compile(r"^[ \t]*(?:user|assistant|human|ai|system|bot|customer|agent)[ \t]*:[ \t]*\S", re.I | re.M),
    re.compile(r"^[ \t]*(?:from|to|subject|date|sent|cc|re)[ \t]*:", re.I | re.M),
    re.compile(r"^[ \t]*[\[(]?\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?[\])]?[ \t]+\S", re.M),
)
"""Two lines with one of these make the whole text a transcript, a letter or subtitles."""
_FORWARDED: Final = re.compile(
    r"^[^\w\n]*(?:begin )?(?:forwarded|original) message\b|^[ \t]*(?:fwd?|from)[ \t]*:.*\n|-->", re.I | re.M
)
_GREETS: Final = re.compile(r"^[^\n,.!?]{2,40},[ \t]*\n")
_SIGNED: Final = re.compile(r"\n[^\n.!?]{2,30},[ \t]*\n+[ \t]*[A-Z][\w.-]*(?: [A-Z][\w.-]*){0,2}[ \t]*$")
_FIRST_PERSON: Final = re.compile(r"\b(?:i|me|my|mine|we|our|us)\b", re.I)
_ITEM: Final = re.compile(r"[ \t]*(?:[-*•–—+]|\(?\w{1,2}[.)]|\[[ xX]?\])[ \t]+\S")
_COLON: Final = re.compile(r":(?=\s|$)")
_SENTENCE_END: Final = re.compile(r"[.!?…](?=\s)|\n")
_ENDS_SENTENCE: Final = (".", "!", "?", ":", ";", "…", ")")
_SEPARATORS: Final = (re.compile(r"\t"), re.compile(r";"), re.compile(r"\|"), re.compile(r",(?=\S)"))
_POINTS: Final = re.compile(r"\b(?:this|these|following|below|here(?:['’]s| is| are))\b", re.I)
_FIELD: Final = re.compile(r"[ \t]*[\w\"'-]{1,30}:[ \t]+\S")
_VERSE: Final = 4
"""From how many lines on a text without an end of a sentence is a poem, a song or a list."""
_ROWS: Final = 2
_TITLE_WORDS: Final = 5
_NEWS = (
    r"(?:update|news|correction|typo|note|notes|noted|reminder|important|announcement|edit|info|heads[- ]?up|facts?|changes?"
    r"|change of plans?|status|profile|me|result|decision|outcome|conclusion|fyi|btw|ps|p\.s|tl;?dr|anyway|guess what"
    r"|it[’']s official|official|memo|context|background|job|work|home|address|city|family|health|diet|name|phone"
    r"|preferences?|confession|things?|question|answer|situation|truth|truth is|the thing is)s?"
)
_TO_MEMORY = r"(?:remember|note|save|store|record|keep in mind|don['’]t forget|memorize)"
_OWN_LEAD: Final = re.compile(
    r"(?:(?:a |an |the |some |my |our |just |quick |small |big |good |great |bad |sad |short |important |latest |personal |final |new |exciting |life |so"
    r"|ok|okay|well|yes|no|hi|hey|hello|and|but|also|btw|fyi|ps|p\.s|please|actually|sorry|long story short|by the way|for the record|today|yesterday"
    r"|i have|we have|i['’]ve(?: got)?|we['’]ve(?: got)?|here(?:['’]s| is| are)|two|three|a few|a couple of|more|other|work|family|health|money|main|good morning"
    r"|for your (?:records|information)|from (?:now on|me)|as of (?:now|today)|to be (?:clear|honest|fair)|in short|this is what (?:changed|happened)|what (?:changed|happened))\b[\s,!]*+)*"
    rf"(?:{_NEWS}(?: (?:on|about|regarding|for|from|of|with|is) [^:\n]{{1,40}})?|(?:[^:\n]{{0,40}}\b)?about (?:me|myself|us)|(?:in |to )?answer(?:ing)? (?:to )?your (?:\w+ )?questions?"
    rf"|(?:as for|regarding|concerning|re) [^:\n]{{1,40}}|{_TO_MEMORY}(?: (?:this|that|these|the following))?(?: (?:about|for) me)?)?[\s,!.]*",
    re.I,
)
"""Words before a colon or a list that announce the writer's own text: "Update:", "Some facts about me:"."""


@text_cache(256)
def blank_foreign(text: str, *, keep_reported: bool = False) -> str:
    """Return the text with everything that is not its writer's own replaced by spaces.

    `keep_reported` keeps the text after a label that describes an event ("HR just announced it: …"), which may be the writer's.
    """
    if _is_foreign_as_a_whole(text):
        return " " * len(text)
    for pattern in _MARKED:
        text = pattern.sub(lambda found: " " * len(found[0]), text)
    if ":" in text:
        text = _blank(text, _labelled(text, keep_reported=keep_reported))
    if "\n" in text:
        text = _blank(_blank(text, _under_headings(text)), _blocks(text))
    return text


def _is_foreign_as_a_whole(text: str) -> bool:
    """Return whether a text is a transcript, a letter to somebody, or was forwarded."""
    if "\n" not in text:
        return False
    if any(len(pattern.findall(text)) > 1 for pattern in _TRANSCRIPT) or _FORWARDED.search(text):
        return True
    return _GREETS.match(text.lstrip()) is not None and _SIGNED.search(text.rstrip()) is not None


def _blank(text: str, spans: Iterable[Span]) -> str:
    """Return the text without the parts in the first person; the lines stay."""
    for start, end in [span for span in spans if _FIRST_PERSON.search(text, *span)]:
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return text


def _labelled(text: str, *, keep_reported: bool) -> Iterator[Span]:
    """Yield what follows a label in the same line: "Translate: My name is Peter", "Tom: I moved to Vienna"."""
    ends = [0, *(found.end() for found in _SENTENCE_END.finditer(text))]
    for colon in _COLON.finditer(text):
        start = ends[bisect_right(ends, colon.start()) - 1]
        label, after = text[start : colon.start()].strip(), text[colon.end() :]
        own = _OWN_LEAD.fullmatch(_strip_item(label)) or (keep_reported and HAPPENED.search(label))
        if own or not label or not after.split("\n", 1)[0].strip():
            continue
        # "Groceries: milk and eggs. I moved to Ghent": what goes on without a capital is no text of its own.
        goes_on = after.lstrip()[:1].islower() and not label[:1].islower()
        sentence_end = _SENTENCE_END.search(text, colon.end()) if goes_on else None
        end = sentence_end.start() if sentence_end else len(text)
        if _FIRST_PERSON.search(text, colon.end(), end):
            yield start, end
        if sentence_end is None:
            return


def _strip_item(line: str) -> str:
    item = _ITEM.match(line + " x")
    return line if item is None else line[item.end() - 1 :]


def _under_headings(text: str) -> Iterator[Span]:
    """Yield what stands under a heading: a list, or else all the rest of the text."""
    lines = [(start, line) for start, line in _lines(text) if line.strip()]
    for n, (start, line) in enumerate(lines[:-1]):
        is_list = _ITEM.match(lines[n + 1][1]) is not None
        if _ITEM.match(line) or _OWN_LEAD.fullmatch(line.strip(" \t:*_#")):
            continue
        if is_list:
            items = _take_items(lines[n + 1 :])
            yield lines[n + 1][0], items[-1][0] + len(items[-1][1])
        elif line.rstrip().endswith(":") or (n == 0 and _is_title(line)):
            yield start, len(text)
            return
        elif _POINTS.search(line) and lines[n + 1][0] > start + len(line) + 1:
            yield lines[n + 1][0], len(text)  # "Can you answer this?", an empty line, and a letter
            return


def _is_title(line: str) -> bool:
    """Return whether a line is a title: a few words with a capital, no sentence and no word about the writer."""
    words = line.split()
    bare = line.strip()[:1].isupper() and not line.rstrip().endswith((*_ENDS_SENTENCE, ","))
    return bare and len(words) <= _TITLE_WORDS and _FIRST_PERSON.fullmatch(words[0]) is None


def _take_items(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    items: list[tuple[int, str]] = []
    for start, line in lines:
        if _ITEM.match(line) is None:
            break
        items.append((start, line))
    return items


def _blocks(text: str) -> Iterator[Span]:
    """Yield the lines of one shape that follow each other: verses, fields with their values, the rows of a table."""
    lines = list(_lines(text))
    for least, shapes in (
        (_VERSE, [_is_open_ended(line) for _, line in lines]),
        (_ROWS, [_FIELD.match(line) is not None for _, line in lines]),
        (_ROWS, [_count_separators(line) for _, line in lines]),
    ):
        for shape, run in groupby(zip(lines, shapes, strict=True), key=lambda each: each[1]):
            rows = [line for line, _ in run]
            if shape and len(rows) >= least:
                yield rows[0][0], rows[-1][0] + len(rows[-1][1])


def _is_open_ended(line: str) -> bool:
    return len(line.split()) > 1 and not line.rstrip().endswith(_ENDS_SENTENCE) and _ITEM.match(line) is None


def _count_separators(line: str) -> tuple[int, ...]:
    """Return how many separators of columns a line has, of each kind; nothing where it has none."""
    counts = tuple(len(separator.findall(line)) for separator in _SEPARATORS)
    return counts if any(counts) else ()


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with where it starts."""
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1
