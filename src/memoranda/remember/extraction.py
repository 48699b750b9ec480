"""Extraction without a model: utterances become candidates and verdicts. Pure, except for additions to `known`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from memoranda.dates.find import Mention, find_mentions
from memoranda.messages.message import Message, text_of
from memoranda.remember.base import (
    Candidate,
    Entity,
    Feature,
    KnownTexts,
    NoKnownTexts,
    Utterance,
    Verdict,
    framing_note,
)
from memoranda.remember.claims.find import find_claims
from memoranda.remember.dialogue import DialogueContext, follow_dialogue
from memoranda.remember.frames import apply_framing
from memoranda.remember.gate import dialogue_context, judge, with_question
from memoranda.remember.importance.score import combine_features, find_features
from memoranda.remember.reading.entities import find_entities
from memoranda.remember.screening.screen import MASK
from memoranda.storage.claims import CLAIMS, FRAMING, VOICE, Claim
from memoranda.types import JSON, MemoryType

_ASSISTANT_FACTOR: Final = 0.6
_KNOWN_PENALTY: Final = 0.5
"""The share of the score that a text without any new term loses."""
_MIN_IMPORTANCE: Final = 0.05
"""What passed the gate has some content."""
_ItemT = TypeVar("_ItemT", Entity, Mention)


def extract(
    messages: Iterable[Message], known: KnownTexts | None = None, *, importance: float | None = None
) -> list[Candidate | Verdict]:
    """Return what is worth remembering in a conversation, and a verdict for what is not, in the order of the messages.

    `importance` replaces the score. Each candidate is added to `known`, so that repetitions in one call are found.
    """
    utterances = []
    for message in messages:
        text, speaker = text_of(message), message.name or message.role
        span = (0, len(text))
        utterances.append(Utterance(message.message_id, message.role, speaker, message.timestamp, text, span))
    return [piece for found in extract_each(utterances, known, importance=importance) for piece in found]


def extract_each(
    utterances: Sequence[Utterance],
    known: KnownTexts | None = None,
    *,
    importance: float | None = None,
    before: DialogueContext | None = None,
) -> Iterator[list[Candidate | Verdict]]:
    """Yield the candidates and verdicts of each utterance.

    Args:
        utterances: What was said, in order.
        known: The texts that are known already.
        importance: Replaces the score.
        before: The conversation before the first one.
    """
    people, prompts = (u.speaker for u in utterances), (u.text for u in utterances if u.role == "system")
    first = dialogue_context(people, prompts, before)
    texts = NoKnownTexts() if known is None else known
    for utterance, context in follow_dialogue(utterances, first):
        found: list[Candidate | Verdict] = []
        for piece in judge(utterance, context, texts):
            if isinstance(piece, Verdict):
                found.append(piece)
                continue
            candidate = extract_candidate(piece, context, texts.novelty(piece), importance)
            content = with_question(piece, context)
            found.append(replace(candidate, content=content))
            texts.add(replace(piece, text=content))
        yield found


def extract_candidate(
    utterance: Utterance, context: DialogueContext, novelty: float, importance: float | None = None
) -> Candidate:
    """Return an utterance as a candidate, with everything that rules find in it."""
    offset = utterance.span[0]
    people = {name.capitalize() for name in context.names}
    mentions = find_mentions(utterance.text, utterance.said_at)
    events = tuple(_shift(mention, offset) for mention in mentions)
    entities = find_entities(utterance.text, people)
    claims = apply_framing(utterance, find_claims(utterance, events))
    claims += _answered_claims(utterance, claims)
    if utterance.role == utterance.speaker == "document":
        claims += _reported_claims(utterance, events, claims)
    claims = tuple(claim for claim in claims if MASK not in claim.value)  # a masked secret is no fact
    score, features = _score_importance(utterance.text, utterance.role, novelty)
    return Candidate(
        utterance=utterance,
        content=utterance.text,
        type=MemoryType.EPISODIC,
        importance=score if importance is None else importance,
        features=features,
        entities=tuple(_shift(entity, offset) for entity in entities),
        events=events,
        claims=claims,
    )


def _answered_claims(utterance: Utterance, known: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return the claims of a fragment together with the question that it answers; the fragment is the evidence."""
    if not utterance.stated:
        return ()
    text, span = utterance.stated, utterance.span
    spoken = replace(utterance, text=text, span=(0, len(text)), asked_about="", skips=0)
    slots = {(claim.subject, claim.attribute) for claim in known}
    found = find_claims(spoken, find_mentions(text, utterance.said_at))
    return tuple(replace(claim, span=span) for claim in found if (claim.subject, claim.attribute) not in slots)


def _reported_claims(utterance: Utterance, events: Sequence[Mention], known: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return the claims in the first person of a page or file that is stored for a user."""
    spoken = find_claims(replace(utterance, speaker=utterance.owner), events)
    return tuple(replace(claim, reported=True) for claim in spoken if claim not in known)


def _shift(item: _ItemT, offset: int) -> _ItemT:
    return replace(item, span=(item.span[0] + offset, item.span[1] + offset)) if offset else item


def rate_importance(text: str) -> tuple[float, tuple[Feature, ...]]:
    """Return the importance of a text from the user that is not part of a conversation, and its features."""
    return _score_importance(text, "user", 1.0)


def _score_importance(text: str, role: str, novelty: float) -> tuple[float, tuple[Feature, ...]]:
    features = find_features(text, role)
    score = combine_features(features)
    if role in ("assistant", "tool"):
        score *= _ASSISTANT_FACTOR
    # A request to remember something counts in full, however often it was said.
    if not any(feature.name == "explicit" for feature in features):
        score *= 1 - _KNOWN_PENALTY * (1 - novelty)
    return max(_MIN_IMPORTANCE, round(score, 3)), features


def only_candidates(found: Sequence[Candidate | Verdict]) -> list[Candidate]:
    return [piece for piece in found if isinstance(piece, Candidate)]


def to_notes(candidate: Candidate) -> dict[str, JSON]:
    """Return evidence, features, events, entities and claims as JSON to store; what is empty is left out."""
    notes: dict[str, JSON] = {
        "evidence": list(candidate.span),
        "features": {feature.name: round(feature.weight, 3) for feature in candidate.features},
        "events": [_event_json(event) for event in candidate.events],
        "entities": [
            {"kind": entity.kind, "text": entity.text, "span": list(entity.span)} for entity in candidate.entities
        ],
        CLAIMS: [claim.to_json() for claim in candidate.claims],
    }
    said = candidate.utterance
    if said.role == "user" and said.owner not in ("user", said.speaker):
        notes[VOICE] = said.owner
    if said.framing:
        notes[FRAMING] = framing_note(said.framing)
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
