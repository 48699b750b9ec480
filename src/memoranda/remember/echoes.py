"""Recognises recalled text that comes back: without its marks, cut, as a list, on one line, or inside an answer. Pure.

Recalled text says what is stored already, so storing it again would make memory its own source. Only text that is
wholly in a known memory counts, so nothing new is lost: a person who says something new with old words is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from memoranda.remember.base import Utterance
from memoranda.remember.importance.words import describes_recurring_event
from memoranda.security.fence import find_recalled_spans
from memoranda.security.id_cipher import read_shown_id
from memoranda.text.sentences import Span, sentence_spans
from memoranda.types import Memory

MAX_PARTS: Final = 60
"""Parts of one text that are looked up."""
_LEAST_WORDS: Final = 3
_CUT_WORDS: Final = 5
"""Words of a cut text; fewer may be anybody's."""
_LINE: Final = re.compile(r"[^\n\r]+")
_MARKS: Final = re.compile(
    r"^\s*(?:</?memoranda-memory[^>\n]*>|Notes recalled from memory\b.*|#{1,3} (?:What holds on )?\d{4}-\d\d-\d\d(?: \(\w+\))?|(?:relevant |recalled |known |user )?"  # noqa: E501
    r"(?:memories|memory|context|notes|facts)(?: about (?:the )?\w+)?\s*:|\w{1,8}\)"
    r"|[^\n,]{1,60}, \d{4}-\d\d-\d\d, score \d\.\d\d, #\d{1,19}"
    r"|[^\n]{1,300} \(\d{1,9} hits?, answerable \d\.\d\d\))\s*$",
    re.IGNORECASE,
)
_BEFORE: Final = re.compile(
    r"^(?:[\s•·|]|[>–—\-+#*]++(?=\s)|\*{1,3}(?=[^\s*])|→ later, on |\(?\d{1,3}[.):]\s|\[\d{1,3}\]\s|\[?\(?\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)?\)?\]?(?: \(\w+\))?[:,\s-]*|[\"'“„«`])+"  # noqa: E501
)
_AFTER_CHARS: Final = "\"'”“»`,; \t\n\r\f\v\xa0"
# A note that `context` adds may quote a text with brackets of its own, and may have been cut.
_AFTER: Final = re.compile(
    r"(?:\[#\d+[^\]\n]*\]?|\(#\d+\)|\((?:no longer true|(?:until|(?:later )?said on) \d{4}-\d\d|disputed by )[^\n]*"
    r"|\((?:[^()\n]{0,80}, )?\d{4}-\d\d-\d\d\)|\s\|)\Z"
)
_BULLET: Final = re.compile(r"\s*[-*•–]\s")
_NOTED: Final = re.compile(
    r"\s*[-*•–]\s.{0,2000}\((?:no longer true|(?:until|(?:later )?said on) \d{4}-\d\d|disputed by )"
)
"""An entry with a note that `context` adds."""
_LEAD_IN: Final = re.compile(r"^[^\n:]{1,60}:\s+(?P<bullet>[-*•–]\s+)?(?=\S)")
_QUOTING: Final = re.compile(
    r"\b(?:i|you|we)\b.*\b(?:told|said|mentioned|noted|wrote|remember|recall)|\b(?:memory|memories|facts|notes?|recalled|remembered)\b",
    re.IGNORECASE,
)
"""Words before a colon that say that a text is quoted: "As you told me: …"."""
_BETWEEN: Final = re.compile(r"[;|•] +(?=\S)")
"""What entries on one line are joined by."""
_JSON: Final = re.compile(r"\s*+(?:```\w*\s*)?(?P<json>[\[{].*[\]}])\s*+(?:```)?\s*+\Z", re.DOTALL)
_JSON_TEXT: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_AFTER_LENGTH: Final = 1_000
"""Characters of the longest mark after a text: a search for marks in the whole of a long text would take seconds."""
_TRUNCATED: Final = ("…", "...", "[…]", "[...]")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d[T\d:.+Z -]*")
_SPEAKER: Final = re.compile(r"^[\w .'’-]{1,40}:\s")
_WORD: Final = re.compile(r"\w+")
# Signs of numbers and the others that make two statements of the same words: "-5" and "5", "12#" and "12*".
_TOKEN: Final = re.compile(r"(?<![\w-])[+\-](?=\.?\d)|\w+|[$€£¥%°&@/=<>*+#~^|\\§¬±×÷]")
_MARKUP: Final = frozenset("*#>|~")
"""Signs that an answer adds to what it repeats."""
_ID: Final = re.compile(r"\[#(\d{1,19})\b")
_PRONOUNS: Final = {
    "you": "i",
    "your": "my",
    "yours": "mine",
    "yourself": "myself",
    "me": "i",
    "are": "am",
    "were": "was",
}


@dataclass(frozen=True, slots=True)
class _Known:
    id: int
    words: tuple[str, ...]
    speaker: tuple[str, ...]
    from_message: bool
    """Whether it was said in a message; the same plain text twice is a duplicate, which the store finds."""
    may_recur: bool
    """Whether it tells what happened: it may have happened again."""


class EchoIndex:
    """The memories that a text may repeat."""

    def __init__(self, memories: Iterable[Memory]) -> None:
        self._by_start: dict[tuple[str, ...], list[_Known]] = {}
        for memory in memories:
            words, speaker = _words(memory.content), _words(memory.speaker or "")
            may_recur = describes_recurring_event(memory.content)
            known = _Known(memory.id, words, speaker, memory.message_id is not None, may_recur)
            self._by_start.setdefault(_start(words), []).append(known)
        self._speakers = {known.speaker for each in self._by_start.values() for known in each if known.speaker}

    def find(self, utterance: Utterance) -> list[Span]:
        """Return the parts of an utterance that only repeat what is known."""
        if not self._by_start or not utterance.text.strip():
            return []
        if texts := _json_texts(utterance.text):
            is_echo = all(self._is_echo(f'"{text}"', utterance) for text in texts)
            return [(0, len(utterance.text))] if is_echo else []
        parts = list_parts(utterance)
        echoes = [part for part in parts if self._is_echo(utterance.text[slice(*part)], utterance)]
        if not echoes:
            return []
        lines = _lines(utterance.text)
        marks = [span for span in lines if _MARKS.match(utterance.text[slice(*span)])]
        quoting = [
            one for one, next_one in pairwise(lines) if next_one in echoes and _quotes(utterance.text[slice(*one)])
        ]
        return _with_signs_between(utterance.text, sorted({*echoes, *marks, *quoting}))

    def _is_echo(self, part: str, utterance: Utterance) -> bool:
        if self._repeats_known(part, utterance) or find_recalled_spans(part) == [(0, len(part))]:
            return True
        lead = _LEAD_IN.match(part)  # "From my notes: - Ana: I live in Porto [#1]"
        quotes = lead is not None and (_QUOTING.search(lead[0]) is not None or _ID.search(part) is not None)
        if lead is None or not (lead["bullet"] or utterance.role != "user" or quotes):
            return False
        rest = part[lead.start("bullet") if lead["bullet"] else lead.end() :]
        return self._repeats_known(f'"{rest}"' if quotes else rest, utterance)

    def _repeats_known(self, part: str, utterance: Utterance) -> bool:
        core, is_cut = strip_decoration(part)
        words = _words(core)
        return len(words) >= _LEAST_WORDS and any(
            self._repeats(known, words, part, utterance, is_cut=is_cut) for known in self._with_start(words)
        )

    def _with_start(self, words: tuple[str, ...]) -> Iterator[_Known]:
        """Yield the memories that begin like these words, or like what follows the name of a speaker in them."""
        yield from self._by_start.get(_start(words), ())
        for speaker in self._speakers:
            if words[: len(speaker)] == speaker:
                yield from self._by_start.get(_start(words[len(speaker) :]), ())

    def _repeats(self, known: _Known, words: tuple[str, ...], part: str, utterance: Utterance, *, is_cut: bool) -> bool:
        said, role = _without_speaker(words, known), utterance.role
        is_named = known.id in {read_shown_id(int(found)) for found in _ID.findall(part)}
        if any(_same(each, known.words, role) for each in (words, said)):
            is_entry = is_named or said is not words or _NOTED.match(part) is not None
            may_recur = known.may_recur and utterance.message is not None
            return is_entry or role != "user" or (not may_recur and _is_returned(part, utterance, known))
        # A person may break off with "…" as well: of a person's words, only an entry is a cut text.
        is_line = role != "user" or (_BULLET.match(part) is not None and "\n" not in utterance.text.strip())
        is_entry = is_named or (said is not words and (is_cut or _BEFORE.match(part) is not None))
        if not (is_entry or (is_cut and is_line) or role in ("assistant", "tool")):
            return False
        return any(_is_start(each, known.words, role) for each in (words, said))


def _is_returned(part: str, utterance: Utterance, known: _Known) -> bool:
    """Return whether a person's words that a memory has as well come from it: in a list, marked, or as a plain text.

    The same words in a message again are a duplicate, and reported as one.
    """
    if "\n" in utterance.text.strip():
        return True
    core = strip_decoration(part)[0]
    if core != part.strip():
        return _WORD.findall(core) == _WORD.findall(part)  # "3. Liga" says more than "Liga"
    return utterance.message is None and known.from_message


def _with_signs_between(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the spans, and the gaps between them that contain no word."""
    gaps = [(one[1], other[0]) for one, other in pairwise(spans) if one[1] < other[0]]
    return sorted([*spans, *(gap for gap in gaps if not _WORD.search(text, *gap))])


def _quotes(line: str) -> bool:
    """Return whether a line only introduces a quotation: "Here is what I remember about you:"."""
    return line.rstrip().endswith(":") and _QUOTING.search(line) is not None and len(sentence_spans(line)) == 1


def _json_texts(text: str) -> list[str]:
    """Return the sentences in a text that is JSON, as an agent writes its hits; none for another text."""
    found = _JSON.match(text) if text.lstrip()[:1] in "[{`" else None
    try:
        value = None if found is None else json.loads(found["json"])
    except (ValueError, RecursionError):
        return []
    texts, queue = list[str](), [value]
    while queue:
        item = queue.pop()
        if (
            isinstance(item, str)
            and len(_words(item)) >= _LEAST_WORDS
            and not (_DATE.fullmatch(item) or find_recalled_spans(item))
        ):
            texts.append(item)
        queue += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return texts


def list_parts(utterance: Utterance) -> list[Span]:
    """Return the parts of a text that are compared: its lines, and the sentences of what the user did not say."""
    if _json_texts(utterance.text):
        return [match.span() for match in _JSON_TEXT.finditer(utterance.text)][:MAX_PARTS]
    lines = [part for line in _lines(utterance.text) for part in _split_list(utterance.text, line)]
    if utterance.role == "user" and utterance.message is not None:
        return lines[:MAX_PARTS]
    parts: list[Span] = []
    for start, end in lines:
        sentences = [(start + first, start + last) for first, last in sentence_spans(utterance.text[start:end])]
        parts += [(start, end), *sentences] if len(sentences) > 1 else [(start, end)]
    return parts[:MAX_PARTS]


def _split_list(text: str, line: Span) -> list[Span]:
    """Return the entries of a line that announces recalled text: "Relevant memories: …; …"; else the line."""
    start, end = line
    lead = _LEAD_IN.match(text[start:end])
    if lead is None or not _QUOTING.search(lead[0]):
        return [line]
    ends = [start + match.start() for match in _BETWEEN.finditer(text[start:end])]
    starts = [start, *[start + match.end() for match in _BETWEEN.finditer(text[start:end])]]
    return list(zip(starts, [*ends, end], strict=True))


def merge_spans(spans: Sequence[Span]) -> list[Span]:
    """Return the spans in order, those that overlap joined."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def strip_decoration(part: str) -> tuple[str, bool]:
    """Return a line without bullets, numbers, quotes, dates and the marks of an entry, and whether it was cut short."""
    core = _BEFORE.sub("", _strip_marks(part))
    mark = next((mark for mark in _TRUNCATED if core.rstrip().endswith(mark)), "")
    short = core.rstrip().removesuffix(mark) if mark else core
    return _strip_marks(short).strip(), bool(mark)


def _strip_marks(part: str) -> str:
    """Return a text without the quotes, dates and ids at its end."""
    while True:
        part = part.rstrip(_AFTER_CHARS)
        found = _AFTER.search(part, max(0, len(part) - _AFTER_LENGTH))
        if found is None:
            return part
        part = part[: found.start()]


def to_lookup(part: str) -> str:
    """Return the words by which a memory that a part may repeat is looked up: without a speaker and a cut word."""
    core = strip_decoration(part)[0]
    lead = _LEAD_IN.match(core)
    words = _SPEAKER.sub("", core[lead.end() :] if lead and lead["bullet"] else core)
    may_be_cut = _BULLET.match(part) is not None and words[-1:].isalnum() and len(_words(words)) >= _CUT_WORDS
    return words.rpartition(" ")[0] if may_be_cut else words


def _lines(text: str) -> list[Span]:
    return [match.span() for match in _LINE.finditer(text) if match[0].strip()]


def _words(text: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(text.casefold()))


def _without_speaker(words: tuple[str, ...], known: _Known) -> tuple[str, ...]:
    """Return the words without the name in front of them, as an entry is written."""
    speaker = known.speaker
    return words[len(speaker) :] if speaker and words[: len(speaker)] == speaker else words


def _start(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first words, in which texts that say the same agree."""
    return tuple(_PRONOUNS.get(word, word) for word in words[:2])


def _without_markup(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in _MARKUP)


def _is_start(said: tuple[str, ...], known: tuple[str, ...], role: str) -> bool:
    """Return whether words are the beginning of a text, of which the last one may be cut as well."""
    if not _CUT_WORDS <= len(said) <= len(known):
        return False
    last = known[len(said) - 1]
    whole = (*said[:-1], last) if not said[-1].isdigit() and last.startswith(said[-1]) else said
    return _same(whole, known[: len(said)], role)


def _same(said: tuple[str, ...], known: tuple[str, ...], role: str) -> bool:
    if said == known:
        return len(said) >= _LEAST_WORDS
    if role == "user":
        return False
    said, known = _without_markup(said), _without_markup(known)
    if len(said) != len(known):
        return False
    # An assistant turns "I like my tea" into "you like your tea".
    return tuple(_PRONOUNS.get(word, word) for word in said) == tuple(_PRONOUNS.get(word, word) for word in known)
