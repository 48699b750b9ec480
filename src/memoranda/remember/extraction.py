"""Extraction without a model: utterances become candidate memories and verdicts. Pure, except for additions to `known`.

The importance of a candidate, 0…1, is made of features. Each feature is the probability that the text matters; together
they are the probability that at least one of them does. So more reasons always give a higher score, and no feature
alone reaches 1. What is known already counts less.

    0.1  small talk, a question           "What do you think of that painting?"
    0.4  a statement with details         "We saw a play at the Globe last Friday."
    0.7  a fact, a plan, a preference     "I moved to Lisbon in May." · "I'll send the contract by Friday."
    0.9  health, safety, "remember this"  "I'm allergic to penicillin." · "Please remember: the gate code changes."
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeVar

from memoranda.dates.find import Mention, find_mentions
from memoranda.messages.message import Message, text_of
from memoranda.remember.base import Candidate, Entity, Feature, KnownTexts, NoKnownTexts, Utterance, Verdict
from memoranda.remember.claims import find_claims
from memoranda.remember.entities import find_entities
from memoranda.remember.gate import DialogueContext, dialogue_context, judge
from memoranda.storage.claims import CLAIMS, Claim
from memoranda.text import first_content_words
from memoranda.types import JSON, MemoryType

_EXPLICIT: Final = re.compile(
    r"\b(?:(?:please|you\s+should|must|to)\s+remember\b|remember\s+this\b|please\s+(?:remember|note|keep\s+in\s+mind)|don['’]t\s+forget|never\s+forget"
    r"|keep\s+in\s+mind|note\s+to\s+self|for\s+the\s+record|important\s*:|make\s+a\s+note)|^\s*remember(?:\s*[:,-]|\s+(?:my|our|the)\b)",
    re.I,
)
_SAFETY: Final = re.compile(
    r"\b(?:allerg\w+|anaphyla\w+|epipen|asthma|diabet\w+|insulin|seizures?|epilep\w+|pregnan\w+|medication|prescri\w+"
    r"|surgery|hospital|emergency|diagnos\w+|cancer|stroke|heart\s+(?:attack|condition)|suicid\w+|self-harm|overdos\w+"
    r"|chest\s+pain|blood\s+pressure|penicillin|intoleran\w+|pacemaker)\b",
    re.I,
)
_EXPLICIT_HINTS: Final = ("remember", "note", "mind", "forget", "record", "important")
_SAFETY_HINTS: Final = (
    "allerg", "anaphyla", "epipen", "asthma", "diabet", "insulin", "seizure", "epilep", "pregnan", "medication",
    "prescri", "surgery", "hospital", "emergency", "diagnos", "cancer", "stroke", "heart", "suicid", "self-harm",
    "overdos", "chest", "blood", "penicillin", "intoleran", "pacemaker",
)  # fmt: skip
"""A text without one of these cannot match the pattern, which is slower."""
_QUESTION_ONLY: Final = re.compile(r"^[^.!]*\?\s*$", re.S)
_PREFERENCES: Final = frozenset(("likes", "hobby", "plays", "owns", "visited", "studies", "speaks"))
_INTENTIONS: Final = frozenset(("decided", "will"))
_HEALTH: Final = frozenset(("allergic to", "condition", "diet", "takes"))
_NO_FACTS: Final = _PREFERENCES | _INTENTIONS | _HEALTH
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
    utterances: Sequence[Utterance], known: KnownTexts | None = None, *, importance: float | None = None
) -> Iterator[list[Candidate | Verdict]]:
    """Yield the candidates and verdicts of each utterance."""
    people, prompts = (u.speaker for u in utterances), (u.text for u in utterances if u.role == "system")
    context = no_question = dialogue_context(people, prompts)
    after_question = replace(context, after_question=True)
    texts = NoKnownTexts() if known is None else known
    for utterance in utterances:
        found: list[Candidate | Verdict] = []
        for piece in judge(utterance, context, texts):
            if isinstance(piece, Verdict):
                found.append(piece)
                continue
            found.append(extract_candidate(piece, context, texts.novelty(piece), importance))
            texts.add(piece)
        yield found
        context = after_question if utterance.text.rstrip().endswith("?") else no_question


def extract_candidate(
    utterance: Utterance, context: DialogueContext, novelty: float, importance: float | None = None
) -> Candidate:
    """Return an utterance as a candidate, with everything that rules find in it."""
    offset = utterance.span[0]
    people = {name.capitalize() for name in context.names}
    mentions = find_mentions(utterance.text, utterance.said_at)
    events = tuple(_shift(mention, offset) for mention in mentions)
    entities = find_entities(utterance.text, people)
    claims = find_claims(utterance, events)
    score, features = _score_importance(utterance, entities, mentions, claims, novelty)
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


def _shift(item: _ItemT, offset: int) -> _ItemT:
    return replace(item, span=(item.span[0] + offset, item.span[1] + offset)) if offset else item


def rate_importance(text: str, said_at: datetime) -> tuple[float, tuple[Feature, ...]]:
    """Return the importance of a text from the user that is not part of a conversation, and its features."""
    utterance = Utterance("", "user", "user", said_at, text, (0, len(text)))
    events = find_mentions(text, said_at)
    return _score_importance(utterance, find_entities(text), events, find_claims(utterance, events), 1.0)


def _score_importance(
    utterance: Utterance,
    entities: Sequence[Entity],
    events: Sequence[Mention],
    claims: Sequence[Claim],
    novelty: float,
) -> tuple[float, tuple[Feature, ...]]:
    features = tuple(_find_features(utterance, entities, events, claims))
    unimportant = 1.0
    for feature in features:
        unimportant *= 1 - feature.weight
    score = 1 - unimportant
    if utterance.role in ("assistant", "tool"):
        score *= _ASSISTANT_FACTOR
    # A request to remember something counts in full, however often it was said.
    if not any(feature.name == "explicit" for feature in features):
        score *= 1 - _KNOWN_PENALTY * (1 - novelty)
    return max(_MIN_IMPORTANCE, round(score, 3)), features


def _find_features(
    utterance: Utterance, entities: Sequence[Entity], events: Sequence[Mention], claims: Sequence[Claim]
) -> Iterator[Feature]:
    content_words = min(0.35, 0.06 * len(first_content_words(utterance.text)))
    yield Feature("words", 0.05 if _QUESTION_ONLY.match(utterance.text) else content_words)
    lowered = utterance.text.lower()
    attributes = {claim.attribute for claim in claims}
    if utterance.role == "user" and any(hint in lowered for hint in _EXPLICIT_HINTS) and _EXPLICIT.search(lowered):
        yield Feature("explicit", 0.85)
    mentions_safety = any(hint in lowered for hint in _SAFETY_HINTS) and _SAFETY.search(lowered)
    if mentions_safety or attributes & _HEALTH:
        yield Feature("safety", 0.85 if claims else 0.4)
    if attributes - _NO_FACTS:
        yield Feature("personal fact", 0.5)
    if attributes & _PREFERENCES:
        yield Feature("preference", 0.35)
    if attributes & _INTENTIONS:
        yield Feature("commitment", 0.4)
    if events:
        yield Feature("date", 0.2)
    names = [entity for entity in entities if entity.kind not in ("quantity", "phone", "email")]
    if len(names) < len(entities):
        yield Feature("number", 0.15)
    if names:
        yield Feature("names", min(0.3, 0.12 * len(names)))


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
