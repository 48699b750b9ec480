"""The gate: decides which parts of a message may become memories, and gives the reason for the others. Pure.

The message log keeps every message, whatever the gate decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from memoranda.dates.find import find_mentions
from memoranda.messages.message import ROLES
from memoranda.remember.base import KnownMatch, KnownTexts, Rule, Utterance, Verdict
from memoranda.remember.claims.retractions import WITHDRAWAL
from memoranda.remember.dialogue import DialogueContext
from memoranda.remember.echoes import merge_spans
from memoranda.remember.importance.pleasantries import is_bare_answer, is_noise, is_pleasantry, names_by_emoji
from memoranda.remember.screening.screen import mask_secrets, secret_sentences
from memoranda.security.fence import find_recalled_spans
from memoranda.security.id_cipher import IdText
from memoranda.text.sentences import (
    Span,
    first_content_words,
    first_words,
    has_content,
    is_name_of,
    words_of,
)
from memoranda.types import Status

SECRET_REASON: Final = "holds a secret: a password, key or card number"
_SYSTEM_PROMPT: Final = re.compile(
    r"\s*(?:#+\s*)?(?:system(?:\s+(?:prompt|message|instructions?))?\s*:\s*)?you\s+are\s+(?:chatgpt|claude|gemini|an?\s+"
    r"(?:helpful|friendly|large|ai|expert\s+ai|intelligent|virtual)\b[^.\n]{0,60}\b(?:assistant|language\s+model|agent|chatbot))\b",
    re.I,
)
_CLAUSE: Final = re.compile(r"\W*(?:i|we|he|she|they|it|this|that|everyone|nobody|someone)(?:['’]\w+)?\s+\w", re.I)
"""Somebody, and what they do: "She did." """
_ARTICLES: Final = frozenset(("the", "a", "an", "this", "that", "these", "those", "some", "any"))
_MAX_REASON: Final = 80
"""How many characters of a known text a reason repeats."""
_SHINGLE: Final = 5
"""Words in a run that is compared with the system prompt."""
_RESTATED: Final = 0.6
"""The share of a text's word runs that must be in a system prompt for the text to restate it."""


def dialogue_context(
    names: Iterable[str], system_prompts: Iterable[str], before: DialogueContext | None = None
) -> DialogueContext:
    """Return the context of a conversation, given what was before its first message."""
    people = {word.lower() for name in set(names) for word in words_of(name)}
    runs = {run for prompt in system_prompts for run in _shingles(prompt)}
    known = before or DialogueContext()
    return replace(known, names=frozenset(people.difference(ROLES)), instructions=frozenset(runs))


def with_question(utterance: Utterance, context: DialogueContext) -> str:
    """Return what an utterance says: with the question before it, if it would say nothing without."""
    if utterance.stated:
        return f"{utterance.question} {utterance.text}"
    if not context.question or _check_content(utterance, replace(context, question="")) is None:
        return utterance.text
    return f"{context.question} {utterance.text}"


def judge(utterance: Utterance, context: DialogueContext, known: KnownTexts) -> Iterator[Utterance | Verdict]:
    """Yield the parts of an utterance that may become memories, and a verdict for each part that may not."""
    if not utterance.text.strip():
        yield reject(utterance, "empty", "the message has no text")
        return
    if utterance.role == "system":
        yield reject(utterance, "system", "a system prompt is an instruction, not something said")
        return
    recalled = merge_spans([*find_recalled_spans(utterance.text), *utterance.echoes])
    for piece in _split(utterance, recalled, "echo", "recalled text coming back"):
        if isinstance(piece, Verdict):
            yield piece
            continue
        for part in _split(_masked(piece), secret_sentences(piece.text), "secret", SECRET_REASON):
            yield part if isinstance(part, Verdict) else _check(part, context, known) or part


def _check(utterance: Utterance, context: DialogueContext, known: KnownTexts) -> Verdict | None:
    return (
        _check_system_prompt(utterance, context)
        or _check_content(utterance, context)
        or check_duplicate(replace(utterance, text=with_question(utterance, context)), known)
    )


def check_duplicate(utterance: Utterance, known: KnownTexts) -> Verdict | None:
    """Return a verdict if a known text says the same already; None if not."""
    match = known.find_match(utterance)
    if match is None:
        return None
    status: Status = "rejected" if match.rule == "echo" else "duplicate"
    return Verdict(utterance.message_id, status, match.rule, _duplicate_reason(match), utterance.span, match.known_id)


def reject(utterance: Utterance, rule: Rule, reason: str) -> Verdict:
    return Verdict(utterance.message_id, "rejected", rule, reason, utterance.span)


def _masked(utterance: Utterance) -> Utterance:
    text = mask_secrets(utterance.text)
    return utterance if text == utterance.text else replace(utterance, text=text)


def _split(utterance: Utterance, spans: Iterable[Span], rule: Rule, reason: str) -> Iterator[Utterance | Verdict]:
    """Yield a verdict for each of the spans, and the text between them without the white space around it."""
    position = 0
    for start, end in spans:
        yield from _strip(utterance, position, start)
        yield reject(_part(utterance, start, end), rule, reason)
        position = end
    yield from _strip(utterance, position, len(utterance.text))


def _strip(utterance: Utterance, start: int, end: int) -> Iterator[Utterance]:
    text = utterance.text[start:end]
    if text.strip():
        first = start + len(text) - len(text.lstrip())
        yield _part(utterance, first, first + len(text.strip()))


def _part(utterance: Utterance, start: int, end: int) -> Utterance:
    if start == 0 and end == len(utterance.text):
        return utterance
    offset = utterance.span[0]
    return replace(utterance, text=utterance.text[start:end], span=(offset + start, offset + end), stated="")


def _check_system_prompt(utterance: Utterance, context: DialogueContext) -> Verdict | None:
    if _SYSTEM_PROMPT.match(utterance.text):
        return reject(utterance, "system", "restates a system prompt")
    if not context.instructions:
        return None
    runs = _shingles(utterance.text)
    if runs and len(runs & context.instructions) >= _RESTATED * len(runs):
        return reject(utterance, "system", "restates the system prompt of this conversation")
    return None


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = [word.lower() for word in words_of(text)]
    return {tuple(words[n : n + _SHINGLE]) for n in range(len(words) - _SHINGLE + 1)}


def _check_content(utterance: Utterance, context: DialogueContext) -> Verdict | None:
    if utterance.stated:
        return None
    if not _says_something(utterance, context):
        return reject(utterance, "greeting", "only pleasantries: nothing is said")
    words = first_words(utterance.text, 3)
    if len(words) <= 2 and not utterance.retraction and not _is_complete(utterance.text, words, context):
        return reject(utterance, "fragment", "one or two words that mean nothing alone")
    return None


def _says_something(utterance: Utterance, context: DialogueContext) -> bool:
    """Return whether a text is more than pleasantries. Being short is no sign of them: "I got the job!"."""
    text = utterance.text
    if has_content(text, context.names) or find_mentions(text, utterance.said_at):
        return True
    if utterance.retraction or WITHDRAWAL.search(text) or names_by_emoji(text):
        return True
    if context.question and is_bare_answer(text):
        return True
    greets_abroad = any(not is_name_of(word, context.names) for word in first_content_words(text))
    return not greets_abroad and not is_pleasantry(text, context.names)


def _is_complete(text: str, words: Sequence[str], context: DialogueContext) -> bool:
    """Return whether a word or two mean something: an answer, "He died.", "Divorced.", but not "the contract"."""
    content = [word for word in first_content_words(text) if not is_name_of(word, context.names)]
    if context.question or len(content) >= 2 or _CLAUSE.match(text) or names_by_emoji(text):
        return True
    if not content or is_noise(content[0]):
        return False
    return len(words) == 1 or words[0].lower() not in _ARTICLES


def _duplicate_reason(match: KnownMatch) -> str:
    before, after = ("repeats what ", " holds already") if match.rule == "echo" else ("the same statement as ", "")
    known = match.known_id
    if isinstance(known, int):
        return IdText(before, (known,), after)
    if match.rule != "echo" and not known:
        # A plain text has no id before it is stored: it repeats another one of the same call.
        return "this text is remembered already"
    return f"{before}{known if len(known) <= _MAX_REASON else f'{known[:_MAX_REASON]}…'}{after}"
