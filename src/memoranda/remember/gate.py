"""What is not worth keeping is not kept, and the caller is told why. Pure.

The verbatim turn stays in the ledger of messages whatever the gate says; it decides what becomes a memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from memoranda.dates.find import find_mentions
from memoranda.fence import find_recalled_spans
from memoranda.lexicon import first_content_words, first_words, has_content, is_name_of, words_of
from memoranda.redaction import DEFAULT_PATTERNS, Redactor, may_hold_secret
from memoranda.remember.base import KnownMatch, KnownTexts, Rule, Utterance, Verdict
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
class DialogueContext:
    """What the gate knows of the conversation around a text."""

    names: frozenset[str] = frozenset()
    """The people in it, in lower case, first names and last names apart."""
    instructions: frozenset[tuple[str, ...]] = frozenset()
    """The runs of words of the system prompts."""
    answering: bool = False
    """Whether the turn before was a question: a word alone can then be an answer."""


def dialogue_context(names: Iterable[str], system_prompts: Iterable[str]) -> DialogueContext:
    """The context of a conversation."""
    people = {word.lower() for name in set(names) for word in words_of(name)}
    runs = {run for prompt in system_prompts for run in _shingles(prompt)}
    return DialogueContext(frozenset(people - {"user", "assistant", "tool"}), frozenset(runs))


def judge(utterance: Utterance, context: DialogueContext, known: KnownTexts) -> Iterator[Utterance | Verdict]:
    """The parts of a text that may become memories, and a verdict for each part that may not."""
    if not utterance.text.strip():
        yield _reject(utterance, "empty", "the message has no text")
        return
    if utterance.role == "system":
        yield _reject(utterance, "system", "a system prompt is an instruction, not something said")
        return
    for piece in _outside_recalled(utterance):
        if isinstance(piece, Verdict):
            yield piece
        else:
            yield from _judge_piece(piece, context, known)


def _judge_piece(utterance: Utterance, context: DialogueContext, known: KnownTexts) -> Iterator[Utterance | Verdict]:
    for piece in _without_secrets(utterance):
        if isinstance(piece, Verdict):
            yield piece
            continue
        refusal = _restates_prompt(piece, context) or _says_nothing(piece, context) or check_duplicate(piece, known)
        yield refusal or piece


def check_duplicate(utterance: Utterance, known: KnownTexts) -> Verdict | None:
    """The verdict on what something known says already; None for news."""
    match = known.find_match(utterance)
    if match is None:
        return None
    status: Status = "rejected" if match.rule == "echo" else "duplicate"
    return Verdict(utterance.message_id, status, match.rule, _duplicate_reason(match), utterance.span, match.of)


def _outside_recalled(utterance: Utterance) -> Iterator[Utterance | Verdict]:
    """The text around what was recalled into it: an echo is not news."""
    start = 0
    for first, last in find_recalled_spans(utterance.text):
        yield from _piece(utterance, start, first)
        yield _reject(_part(utterance, first, last), "echo", "recalled text coming back")
        start = last
    yield from _piece(utterance, start, len(utterance.text))


def _without_secrets(utterance: Utterance) -> Iterator[Utterance | Verdict]:
    """The text without the sentences that hold a secret; the whole of it when none does."""
    if not holds_secret(utterance.text):
        yield utterance
        return
    start = 0
    for first, last in _secret_spans(utterance.text):
        yield from _piece(utterance, start, first)
        yield _reject(_part(utterance, first, last), "secret", "holds a secret: a password, key or card number")
        start = last
    yield from _piece(utterance, start, len(utterance.text))


def mask_secrets(text: str) -> str:
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


def _restates_prompt(utterance: Utterance, context: DialogueContext) -> Verdict | None:
    if _SYSTEM_VOICE.match(utterance.text):
        return _reject(utterance, "system", "restates a system prompt")
    if not context.instructions:
        return None
    runs = _shingles(utterance.text)
    if runs and len(runs & context.instructions) >= _RESTATED * len(runs):
        return _reject(utterance, "system", "restates the system prompt of this conversation")
    return None


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = [word.lower() for word in words_of(text)]
    return {tuple(words[n : n + _SHINGLE]) for n in range(len(words) - _SHINGLE + 1)}


def _says_nothing(utterance: Utterance, context: DialogueContext) -> Verdict | None:
    words = first_words(utterance.text, 3)
    if not has_content(utterance.text, context.names) and not find_mentions(utterance.text, utterance.said_at):
        return _reject(utterance, "greeting", "only pleasantries: nothing is said")
    if len(words) <= 2 and not _stands_alone(utterance.text, words, context):
        return _reject(utterance, "fragment", f"{len(words)} words that tell nothing by themselves")
    return None


def _stands_alone(text: str, words: Sequence[str], context: DialogueContext) -> bool:
    """Whether a word or two can be understood: an answer, "I'm vegetarian", two telling words, another script."""
    telling = [word for word in first_content_words(text) if not is_name_of(word, context.names)]
    if context.answering or len(telling) >= 2 or (telling and _FIRST_PERSON.match(words[0])):
        return True
    return any(not word.isascii() and len(word) > 3 for word in telling)


def _duplicate_reason(match: KnownMatch) -> str:
    if match.rule == "echo":
        return f"repeats what {match.of} holds already"
    return f"{'says nearly the same as' if match.rule == 'near_duplicate' else 'the very text of'} {match.of}"


def _piece(utterance: Utterance, start: int, end: int) -> Iterator[Utterance]:
    """The words between two places, without the blanks around them; nothing when there are none."""
    text = utterance.text[start:end]
    if not text.strip():
        return
    first = start + len(text) - len(text.lstrip())
    yield _part(utterance, first, first + len(text.strip()))


def _part(utterance: Utterance, start: int, end: int) -> Utterance:
    if start == 0 and end == len(utterance.text):
        return utterance
    offset = utterance.span[0]
    return replace(utterance, text=utterance.text[start:end], span=(offset + start, offset + end))


def _reject(utterance: Utterance, rule: Rule, reason: str) -> Verdict:
    return Verdict(utterance.message_id, "rejected", rule, reason, utterance.span)
