"""Stage 2, without a model: messages → candidate memories and verdicts. Pure, but for what `known` learns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from memoranda.dates import Mention, find_mentions
from memoranda.messages.message import Message
from memoranda.messages.parts import text_of
from memoranda.remember.base import Candidate, Claim, Entity, Feature, Known, NothingKnown, Saying, Verdict
from memoranda.remember.claims import find_claims
from memoranda.remember.entities import find_entities
from memoranda.remember.gate import Setting, judge, setting_of
from memoranda.remember.importance import weigh
from memoranda.sentences import Span
from memoranda.types import JSON, MemoryType


def extract(
    messages: Iterable[Message], known: Known | None = None, *, importance: float | None = None
) -> list[Candidate | Verdict]:
    """What is worth remembering of a conversation, and a verdict for what is not; at least one of them a message.

    In the order of the messages. `importance` is the caller's own and wins over the score. `known` is asked for twins
    and learns each candidate, so that a call recognises its own repetitions.
    """
    sayings = [saying_of(message) for message in messages]
    return [each for found in extract_each(sayings, known, importance=importance) for each in found]


def extract_each(
    sayings: Sequence[Saying], known: Known | None = None, *, importance: float | None = None
) -> Iterator[list[Candidate | Verdict]]:
    """The same, one list a saying."""
    setting = setting_of((s.speaker for s in sayings), (s.text for s in sayings if s.role == "system"))
    memory = NothingKnown() if known is None else known
    answering = replace(setting, answering=True)
    asked = False
    for saying in sayings:
        yield extract_one(saying, answering if asked else setting, memory, importance=importance)
        asked = saying.text.rstrip().endswith("?")


def extract_one(
    saying: Saying, setting: Setting, known: Known, *, importance: float | None = None
) -> list[Candidate | Verdict]:
    """The candidates and verdicts of one message."""
    found: list[Candidate | Verdict] = []
    for piece in judge(saying, setting, known):
        if isinstance(piece, Verdict):
            found.append(piece)
            continue
        found.append(candidate_of(piece, setting, known.novelty(piece.text), importance))
        known.learn(piece)
    return found


def saying_of(message: Message) -> Saying:
    """A message as something said: its words, who, when."""
    text = text_of(message)
    return Saying(
        message.message_id, message.role, message.name or message.role, message.timestamp, text, (0, len(text))
    )


def candidate_of(saying: Saying, setting: Setting, novelty: float, importance: float | None = None) -> Candidate:
    """A piece that passed the gate, with everything that rules can read from it."""
    events = find_mentions(saying.text, saying.said_at)
    offset = saying.span[0]
    entities = tuple(_moved_entity(e, offset) for e in find_entities(saying.text, _people(setting)))
    moved = tuple(_moved_event(event, offset) for event in events)
    claims = find_claims(saying, moved)
    score, features = weigh(saying, entities, events, claims, novelty)
    return Candidate(
        saying=saying,
        content=saying.text,
        type=MemoryType.EPISODIC,
        importance=score if importance is None else importance,
        features=features,
        entities=entities,
        events=moved,
        claims=claims,
    )


def importance_of(text: str, said_at: datetime) -> tuple[float, tuple[Feature, ...]]:
    """How much a text is worth remembering, and why, when it is no part of a conversation: the user's own words."""
    saying = Saying("", "user", "user", said_at, text, (0, len(text)))
    events = find_mentions(text, said_at)
    return weigh(saying, find_entities(text), events, find_claims(saying, events))


def candidates(found: Sequence[Candidate | Verdict]) -> list[Candidate]:
    """Only what passed."""
    return [each for each in found if isinstance(each, Candidate)]


def _people(setting: Setting) -> set[str]:
    return {name.capitalize() for name in setting.names}


def _shifted(span: Span, offset: int) -> Span:
    return span[0] + offset, span[1] + offset


def _moved_entity(entity: Entity, offset: int) -> Entity:
    return replace(entity, span=_shifted(entity.span, offset)) if offset else entity


def _moved_event(event: Mention, offset: int) -> Mention:
    return replace(event, span=_shifted(event.span, offset)) if offset else event


def notes_of(candidate: Candidate) -> dict[str, JSON]:
    """Evidence, events, entities, claims and the features of the importance; what is empty is left out."""
    found: dict[str, JSON] = {
        "evidence": list(candidate.span),
        "features": {feature.name: round(feature.weight, 3) for feature in candidate.features},
        "events": [_event_json(event) for event in candidate.events],
        "entities": [
            {"kind": entity.kind, "text": entity.text, "span": list(entity.span)} for entity in candidate.entities
        ],
        "claims": [_claim_json(claim) for claim in candidate.claims],
    }
    return {key: value for key, value in found.items() if value}


def claims_in(stored: Mapping[str, JSON]) -> tuple[Claim, ...]:
    """The claims of a stored memory."""
    found = stored.get("claims") or []
    return tuple(_claim(item) for item in found if isinstance(item, dict)) if isinstance(found, list) else ()


def _event_json(event: Mention) -> JSON:
    return {
        "text": event.text,
        "span": list(event.span),
        "start": event.start.isoformat(),
        "end": event.end.isoformat(),
        "precision": str(event.precision),
        "kind": event.kind,
    }


def _claim_json(claim: Claim) -> JSON:
    return {
        "subject": claim.subject,
        "attribute": claim.attribute,
        "value": claim.value,
        "span": list(claim.span),
        "said_at": claim.said_at.isoformat(),
        "valid_from": claim.valid_from.isoformat(),
        "valid_to": claim.valid_to.isoformat() if claim.valid_to else None,
        "holds": claim.holds,
        "single": claim.single,
        "trust": claim.trust,
    }


def _claim(item: Mapping[str, JSON]) -> Claim:
    ended = item["valid_to"]
    return Claim(
        subject=str(item["subject"]),
        attribute=str(item["attribute"]),
        value=str(item["value"]),
        span=_span(item["span"]),
        said_at=datetime.fromisoformat(str(item["said_at"])),
        valid_from=datetime.fromisoformat(str(item["valid_from"])),
        valid_to=datetime.fromisoformat(str(ended)) if ended else None,
        holds=bool(item["holds"]),
        single=bool(item["single"]),
        trust=str(item["trust"]),
    )


def _span(value: JSON) -> Span:
    start, end = cast("list[int]", value)
    return start, end
