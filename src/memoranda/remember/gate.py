"""What is not worth keeping is not kept, and the caller is told why. Pure.

The verbatim turn stays in the ledger of messages whatever the gate says; it decides what becomes a memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from memoranda.dates import find_mentions
from memoranda.fence import find_recalled_spans
from memoranda.redaction import DEFAULT_PATTERNS, Redactor, may_hold_secret
from memoranda.remember.base import Known, Rule, Saying, Twin, Verdict
from memoranda.remember.patterns import first_telling, first_words, is_named, tells, words_of
from memoranda.sentences import Span, sentence_spans
from memoranda.types import Status

SPOKEN_SECRETS: Final = (
    # "My password is hunter2": a value with a digit or a sign in it, since "my password is too long" is none.
    r"(?P<keep>(?i:\b(?:pass(?:word|code|phrase)|pin(?:\s+code)?|api\s+key|secret\s+key|access\s+token|security\s+code|cvv)"
    r"\s+(?:is|was|=|:)\s+[\"'`]?))(?=\S*[\d!@#$%^&*_+=])[^\s\"'`,;]{3,}",
    r"\b\d{3}-\d{2}-\d{4}\b",  # a US social security number
    r"\b(?:\d{4}[ -]){3}\d{4}\b",  # a payment card
)
# Every spoken secret holds one of these, in lower case, or such a number.
_SPOKEN_MARKS: Final = ("passcode", "passphrase", "pin", "api", "token", "security", "cvv")
_SPOKEN: Final = re.compile(r"\b(?:pass|pin\s+(?:is|was|code|=|:)|api\s+key|access\s+token|security\s+code|cvv)")
_NUMBERS: Final = re.compile(r"\d{3}-\d\d-\d|\d{4}[ -]\d{4}")
_SYSTEM_VOICE: Final = re.compile(
    r"\s*(?:#+\s*)?(?:system(?:\s+(?:prompt|message|instructions?))?\s*:\s*)?you\s+are\s+(?:chatgpt|claude|gemini|an?\s+"
    r"(?:helpful|friendly|large|ai|expert\s+ai|intelligent|virtual)\b[^.\n]{0,60}\b(?:assistant|language\s+model|agent|chatbot))\b",
    re.I,
)
_FIRST_PERSON: Final = re.compile(r"(?:i|i['’]m|i['’]ve|my|we|we['’]re)$", re.I)
_SHINGLE: Final = 5
_RESTATED: Final = 0.6
"""The share of a system prompt's word runs in a text that make it a restatement."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What the gate knows of the conversation around a text."""

    names: frozenset[str] = frozenset()
    """The people in it, in lower case, first names and last names apart."""
    instructions: frozenset[tuple[str, ...]] = frozenset()
    """The runs of words of the system prompts."""
    answering: bool = False
    """Whether the turn before was a question: a word alone can then be an answer."""


def setting_of(names: Iterable[str], system_prompts: Iterable[str]) -> Setting:
    """The setting of a conversation."""
    people = {word.lower() for name in set(names) for word in words_of(name)}
    runs = {run for prompt in system_prompts for run in _runs(prompt)}
    return Setting(frozenset(people - {"user", "assistant", "tool"}), frozenset(runs))


def judge(saying: Saying, setting: Setting, known: Known) -> Iterator[Saying | Verdict]:
    """The parts of a text that may become memories, and a verdict for each part that may not."""
    if not saying.text.strip():
        yield _refused(saying, "empty", "the message has no text")
        return
    if saying.role == "system":
        yield _refused(saying, "system", "a system prompt is an instruction, not something said")
        return
    for piece in _outside_recalled(saying):
        if isinstance(piece, Verdict):
            yield piece
        else:
            yield from _judge_piece(piece, setting, known)


def _judge_piece(saying: Saying, setting: Setting, known: Known) -> Iterator[Saying | Verdict]:
    for piece in _without_secrets(saying):
        if isinstance(piece, Verdict):
            yield piece
            continue
        refusal = _restated(piece, setting) or _says_nothing(piece, setting) or known_already(piece, known)
        yield refusal or piece


def known_already(saying: Saying, known: Known) -> Verdict | None:
    """The verdict on what something known says already; None for news."""
    twin = known.twin(saying)
    if twin is None:
        return None
    status: Status = "rejected" if twin.rule == "echo" else "duplicate"
    return Verdict(saying.message_id, status, twin.rule, _twin_reason(twin), saying.span, twin.of)


def _outside_recalled(saying: Saying) -> Iterator[Saying | Verdict]:
    """The text around what was recalled into it: an echo is not news."""
    start = 0
    for first, last in find_recalled_spans(saying.text):
        yield from _piece(saying, start, first)
        yield _refused(_part(saying, first, last), "echo", "recalled text coming back")
        start = last
    yield from _piece(saying, start, len(saying.text))


def _without_secrets(saying: Saying) -> Iterator[Saying | Verdict]:
    """The text without the sentences that hold a secret; the whole of it when none does."""
    if not holds_secret(saying.text):
        yield saying
        return
    start = 0
    for first, last in _secret_spans(saying.text):
        yield from _piece(saying, start, first)
        yield _refused(_part(saying, first, last), "secret", "holds a secret: a password, key or card number")
        start = last
    yield from _piece(saying, start, len(saying.text))


def masked(text: str) -> str:
    """The text with every sentence that holds a secret blotted out, letter by letter: what stands where stays so."""
    if not holds_secret(text):
        return text
    for start, end in _secret_spans(text):
        text = text[:start] + "█" * (end - start) + text[end:]
    return text


def holds_secret(text: str) -> bool:
    """Whether a text shows a password, a key, a token or a card number."""
    return _may_hold_secret(text) and _redactor().text(text) != text


def _may_hold_secret(text: str) -> bool:
    """A look at what every secret has, before the patterns are tried one by one."""
    lowered = text.lower()
    if any(mark in lowered for mark in _SPOKEN_MARKS) and _SPOKEN.search(lowered):
        return True
    return may_hold_secret(lowered) or _NUMBERS.search(text) is not None


@cache  # its patterns are compiled when first needed
def _redactor() -> Redactor:
    return Redactor([*DEFAULT_PATTERNS, *SPOKEN_SECRETS])


def _secret_spans(text: str) -> list[Span]:
    found = [span for span in sentence_spans(text) if holds_secret(text[slice(*span)])]
    # A key over several lines shows itself only in the whole.
    return found or [(0, len(text))]


def _restated(saying: Saying, setting: Setting) -> Verdict | None:
    if _SYSTEM_VOICE.match(saying.text):
        return _refused(saying, "system", "restates a system prompt")
    if not setting.instructions:
        return None
    runs = _runs(saying.text)
    if runs and len(runs & setting.instructions) >= _RESTATED * len(runs):
        return _refused(saying, "system", "restates the system prompt of this conversation")
    return None


def _runs(text: str) -> set[tuple[str, ...]]:
    words = [word.lower() for word in words_of(text)]
    return {tuple(words[n : n + _SHINGLE]) for n in range(len(words) - _SHINGLE + 1)}


def _says_nothing(saying: Saying, setting: Setting) -> Verdict | None:
    words = first_words(saying.text, 3)
    if not tells(saying.text, setting.names) and not find_mentions(saying.text, saying.said_at):
        return _refused(saying, "greeting", "only pleasantries: nothing is told")
    if len(words) <= 2 and not _stands_alone(saying.text, words, setting):
        return _refused(saying, "fragment", f"{len(words)} words that tell nothing by themselves")
    return None


def _stands_alone(text: str, words: Sequence[str], setting: Setting) -> bool:
    """Whether a word or two can be understood: an answer, "I'm vegetarian", two telling words, another script."""
    telling = [word for word in first_telling(text) if not is_named(word, setting.names)]
    if setting.answering or len(telling) >= 2 or (telling and _FIRST_PERSON.match(words[0])):
        return True
    return any(not word.isascii() and len(word) > 3 for word in telling)


def _twin_reason(twin: Twin) -> str:
    if twin.rule == "echo":
        return f"repeats what {twin.of} holds already"
    return f"{'says nearly the same as' if twin.rule == 'near_duplicate' else 'the very text of'} {twin.of}"


def _piece(saying: Saying, start: int, end: int) -> Iterator[Saying]:
    """The words between two places, without the blanks around them; nothing when there are none."""
    text = saying.text[start:end]
    if not text.strip():
        return
    first = start + len(text) - len(text.lstrip())
    yield _part(saying, first, first + len(text.strip()))


def _part(saying: Saying, start: int, end: int) -> Saying:
    if start == 0 and end == len(saying.text):
        return saying
    offset = saying.span[0]
    return replace(saying, text=saying.text[start:end], span=(offset + start, offset + end))


def _refused(saying: Saying, rule: Rule, reason: str) -> Verdict:
    return Verdict(saying.message_id, "rejected", rule, reason, saying.span)
