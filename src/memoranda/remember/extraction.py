"""Extraction without a model: utterances become candidate memories and verdicts. Pure, but for what `known` learns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from memoranda.dates.find import Mention, find_mentions
from memoranda.messages.message import Message
from memoranda.messages.parts import text_of
from memoranda.remember.base import Candidate, Entity, Feature, KnownTexts, NoKnownTexts, Utterance, Verdict
from memoranda.remember.claims import find_claims
from memoranda.remember.entities import find_entities
from memoranda.remember.gate import DialogueContext, dialogue_context, judge
from memoranda.remember.importance import weigh
from memoranda.sentences import Span
from memoranda.storage.claims import CLAIMS
from memoranda.types import JSON, MemoryType


def extract(
    messages: Iterable[Message], known: KnownTexts | None = None, *, importance: float | None = None
) -> list[Candidate | Verdict]:
    """Return what is worth remembering of a conversation, and a verdict for what is not, in the order of the messages.

    `importance` is the caller's own and wins over the score. Each candidate is added to `known`, so that a call
    recognises its own repetitions.
    """
    utterances = [utterance_of(message) for message in messages]
    return [each for found in extract_each(utterances, known, importance=importance) for each in found]


def extract_each(
    utterances: Sequence[Utterance], known: KnownTexts | None = None, *, importance: float | None = None
) -> Iterator[list[Candidate | Verdict]]:
    """Yield the candidates and verdicts of each utterance."""
    context = dialogue_context((u.speaker for u in utterances), (u.text for u in utterances if u.role == "system"))
    answering = replace(context, answering=True)
    texts = NoKnownTexts() if known is None else known
    after_question = False
    for utterance in utterances:
        own_context = answering if after_question else context
        found: list[Candidate | Verdict] = []
        for piece in judge(utterance, own_context, texts):
            if isinstance(piece, Verdict):
                found.append(piece)
                continue
            found.append(extract_candidate(piece, own_context, texts.novelty(piece.text), importance))
            texts.add(piece)
        yield found
        after_question = utterance.text.rstrip().endswith("?")


def utterance_of(message: Message) -> Utterance:
    """Return a message as an utterance: its words, who, when."""
    text, speaker = text_of(message), message.name or message.role
    return Utterance(message.message_id, message.role, speaker, message.timestamp, text, (0, len(text)))


def extract_candidate(
    utterance: Utterance, context: DialogueContext, novelty: float, importance: float | None = None
) -> Candidate:
    """Return an utterance that passed the gate as a candidate, with everything that rules find in it."""
    offset = utterance.span[0]
    people = {name.capitalize() for name in context.names}
    mentions = find_mentions(utterance.text, utterance.said_at)
    events = tuple(_shift_event(event, offset) for event in mentions)
    entities = tuple(_shift_entity(entity, offset) for entity in find_entities(utterance.text, people))
    claims = find_claims(utterance, events)
    score, features = weigh(utterance, entities, mentions, claims, novelty)
    return Candidate(
        utterance=utterance,
        content=utterance.text,
        type=MemoryType.EPISODIC,
        importance=score if importance is None else importance,
        features=features,
        entities=entities,
        events=events,
        claims=claims,
    )


def rate_importance(text: str, said_at: datetime) -> tuple[float, tuple[Feature, ...]]:
    """Return how important a text of the user is that is no part of a conversation, and why."""
    utterance = Utterance("", "user", "user", said_at, text, (0, len(text)))
    events = find_mentions(text, said_at)
    return weigh(utterance, find_entities(text), events, find_claims(utterance, events))


def only_candidates(found: Sequence[Candidate | Verdict]) -> list[Candidate]:
    return [each for each in found if isinstance(each, Candidate)]


def to_notes(candidate: Candidate) -> dict[str, JSON]:
    """Return evidence, events, entities, claims and features as JSON to store; what is empty is left out."""
    notes: dict[str, JSON] = {
        "evidence": list(candidate.span),
        "features": {feature.name: round(feature.weight, 3) for feature in candidate.features},
        "events": [_event_json(event) for event in candidate.events],
        "entities": [
            {"kind": entity.kind, "text": entity.text, "span": list(entity.span)} for entity in candidate.entities
        ],
        CLAIMS: [claim.to_json() for claim in candidate.claims],
    }
    return {key: value for key, value in notes.items() if value}


def _event_json(event: Mention) -> JSON:
    return {
        "text": event.text,
        "span": list(event.span),
        "start": event.start.isoformat(),
        "end": event.end.isoformat(),
        "precision": str(event.precision),
        "kind": event.kind,
    }


def _shift(span: Span, offset: int) -> Span:
    return span[0] + offset, span[1] + offset


def _shift_entity(entity: Entity, offset: int) -> Entity:
    return replace(entity, span=_shift(entity.span, offset)) if offset else entity


def _shift_event(event: Mention, offset: int) -> Mention:
    return replace(event, span=_shift(event.span, offset)) if offset else event
