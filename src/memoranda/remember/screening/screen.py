"""Screen new memories: put suspects into quarantine, and mask secrets. Pure.

A suspect is stored, but takes no part in recall until somebody releases it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from memoranda.remember.screening.poison import Suspicion, find_poison
from memoranda.remember.sources import find_channel
from memoranda.security.redaction import default_redactor, find_secrets
from memoranda.storage.changes import QUARANTINE, NewMemory
from memoranda.storage.claims import CLAIMS
from memoranda.text.sentences import Span, first_content_words, overlap, sentence_spans
from memoranda.types import JSON

_EDITED: Final = "was changed while in quarantine"
_KEPT_FIELDS: Final = ("content", "role", "message_id", "id", "timestamp", "name", "tool_call_id")
_ABOUT_SECRET: Final = 7
"""Words before a secret that belong to it: "the password of my bank account is"."""
_SAYS_MORE: Final = 4
"""Content words that make a sentence worth keeping without its secret."""


def screen(new: Iterable[NewMemory]) -> None:
    """Put each new memory that looks like poison into quarantine, and keep those there that are in it already."""
    for each in new:
        suspicion = _find_suspicion(each)
        if suspicion is None and (each.quarantined_at is None or QUARANTINE in each.notes):
            continue
        note: dict[str, JSON] = {"reason": suspicion.reason if suspicion else _EDITED}
        if suspicion is not None:
            note |= {"signs": list(suspicion.signs), "score": suspicion.score}
        hold(each, note, each.recorded_at)


def _find_suspicion(new: NewMemory) -> Suspicion | None:
    """Return the strongest suspicion against a new memory: its text, or a name that a prompt shows as well."""
    channel = find_channel(new.trust, new.source, new.scope.session)
    names = (new.message.speaker if new.message else None, new.source)
    found = [
        find_poison(new.content, channel, new.message is not None),
        *(find_poison(name, "outside") for name in names if name),
    ]
    return max((each for each in found if each), key=lambda each: each.score, default=None)


def hold(new: NewMemory, note: dict[str, JSON], since: datetime) -> None:
    """Put a memory into quarantine, with a note of the reason. Its claims count only once it is released."""
    claims = new.notes.get(CLAIMS)
    new.notes = {name: value for name, value in new.notes.items() if name != CLAIMS} | {
        QUARANTINE: note | ({CLAIMS: claims} if claims else {})
    }
    new.quarantined_at = new.quarantined_at or since


def mask_secrets(text: str) -> str:
    """Return the text with every secret masked, each character by one, so that offsets stay.

    A sentence that says nothing else is masked as a whole.
    """
    for start, end in (*find_secrets(text), *secret_sentences(text)):
        text = text[:start] + "█" * (end - start) + text[end:]
    return text


def mask_message_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a message with the secrets in them masked, those that name and date it unchanged."""
    content = fields.get("content")
    if isinstance(content, str):
        content = mask_secrets(content)
    elif isinstance(content, list):
        content = [
            {**part, "text": mask_secrets(part["text"])}
            if isinstance(part, Mapping) and isinstance(part.get("text"), str)
            else part
            for part in content
        ]
    others = default_redactor().object({key: value for key, value in fields.items() if key not in _KEPT_FIELDS})
    return {**fields, **others} | ({"content": content} if "content" in fields else {})


def secret_sentences(text: str) -> list[Span]:
    """Return the sentences that say nothing but a secret; the whole text when it is one, as with a private key."""
    secrets = find_secrets(text)
    if not secrets:
        return []
    sentences = [span for span in sentence_spans(text) if any(overlap(span, secret) for secret in secrets)]
    if any(not any(start <= secret[0] and secret[1] <= end for start, end in sentences) for secret in secrets):
        return [(0, len(text))]
    return [span for span in sentences if not _says_more(text, span, secrets)]


def _says_more(text: str, sentence: Span, secrets: Sequence[Span]) -> bool:
    """Return whether a sentence also says something that has nothing to do with its secrets."""
    left = text[slice(*sentence)]
    for start, end in reversed([secret for secret in secrets if overlap(sentence, secret)]):
        before, after = left[: max(0, start - sentence[0])], left[end - sentence[0] :]
        # The words right before a secret say what it is the secret of.
        left = " ".join(before.split()[:-_ABOUT_SECRET]) + " | " + re.sub(r"^\S*", "", after)
    return len(first_content_words(left)) >= _SAYS_MORE
