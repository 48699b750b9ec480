from __future__ import annotations

from datetime import UTC, datetime

from memoranda.messages.message import Message
from memoranda.remember.base import Candidate, Utterance, Verdict
from memoranda.remember.extraction import extract
from memoranda.storage.claims import Claim

WEDNESDAY = datetime(2023, 6, 14, 10, 30, tzinfo=UTC)


def utterance(
    text: str, *, role: str = "user", speaker: str = "Ana", key: str = "m1", at: datetime = WEDNESDAY
) -> Utterance:
    return Utterance(key, role, speaker, at, text, (0, len(text)))


def said(text: str, *, role: str = "user", name: str | None = "Ana", key: str | None = None) -> Message:
    return Message(role, text, name=name, message_id=key, timestamp=WEDNESDAY)


def one(text: str, *, role: str = "user", name: str | None = "Ana") -> Candidate | Verdict:
    (found,) = extract([said(text, role=role, name=name)])
    return found


def claims(text: str, *, role: str = "user", name: str | None = "Ana") -> tuple[Claim, ...]:
    found = one(text, role=role, name=name)
    assert isinstance(found, Candidate)
    return found.claims
