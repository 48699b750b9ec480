from __future__ import annotations

from datetime import UTC, datetime

from memoranda.messages.message import Message
from memoranda.remember.base import Candidate, Utterance, Verdict
from memoranda.remember.extraction import extract

WEDNESDAY = datetime(2023, 6, 14, 10, 30, tzinfo=UTC)


def message(text: str, *, role: str = "user", name: str | None = "Ana", key: str | None = None) -> Message:
    return Message(role, text, name=name, message_id=key, timestamp=WEDNESDAY)


def utterance(text: str, *, speaker: str = "Ana", key: str = "m") -> Utterance:
    return Utterance(key, "user", speaker, WEDNESDAY, text, (0, len(text)))


def extract_one(text: str, *, role: str = "user", name: str | None = "Ana") -> Candidate | Verdict:
    (found,) = extract([message(text, role=role, name=name)])
    return found


def extract_candidate(text: str, *, role: str = "user", name: str | None = "Ana") -> Candidate:
    found = extract_one(text, role=role, name=name)
    assert isinstance(found, Candidate)
    return found
