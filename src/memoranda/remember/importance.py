"""How much something is worth remembering, 0…1, from features that can be shown. Pure.

Every feature is a chance that the text matters; together they are the chance that at least one of them does. So more
reasons always weigh more, and none of them alone reaches 1. What is known already counts less.

    0.1  small talk, a question           "What do you think of that painting?"
    0.4  something told with details      "We saw a play at the Globe last Friday."
    0.7  a fact, a plan, a preference     "I moved to Lisbon in May." · "I'll send the contract by Friday."
    0.9  health, safety, "remember this"  "I'm allergic to penicillin." · "Please remember: the gate code changes."
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from memoranda.dates.find import Mention
from memoranda.lexicon import first_content_words
from memoranda.remember.base import Entity, Feature, Utterance
from memoranda.storage.claims import Claim

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
"""A text without one of these needs no look at the pattern."""
_QUESTION_ONLY: Final = re.compile(r"^[^.!]*\?\s*$", re.S)
_PERSONAL: Final = frozenset(("likes", "hobby", "plays", "owns", "visited", "studies", "speaks"))
_INTENT: Final = frozenset(("decided", "will"))
_HEALTH: Final = frozenset(("allergic to", "condition", "diet", "takes"))
_NO_FACTS: Final = _PERSONAL | _INTENT | _HEALTH
_ASSISTANT_SHARE: Final = 0.6
_KNOWN_SHARE: Final = 0.5
_LEAST: Final = 0.05
"""What passed the gate has_content something."""


def weigh(
    utterance: Utterance,
    entities: Sequence[Entity],
    events: Sequence[Mention],
    claims: Sequence[Claim],
    novelty: float = 1.0,
) -> tuple[float, tuple[Feature, ...]]:
    """The importance, and the features it is made of."""
    features = tuple(_features(utterance, entities, events, claims))
    chance = 1.0
    for feature in features:
        chance *= 1 - feature.weight
    score = 1 - chance
    if utterance.role in ("assistant", "tool"):
        score *= _ASSISTANT_SHARE
    # Somebody who asks for it to be remembered means it, however often it was said.
    if not any(feature.name == "explicit" for feature in features):
        score *= 1 - _KNOWN_SHARE * (1 - novelty)
    return max(_LEAST, round(score, 3)), features


def _features(
    utterance: Utterance, entities: Sequence[Entity], events: Sequence[Mention], claims: Sequence[Claim]
) -> Iterable[Feature]:
    yield Feature("words", 0.05 if _QUESTION_ONLY.match(utterance.text) else _of_words(utterance.text))
    lowered = utterance.text.lower()
    if utterance.role == "user" and _holds(lowered, _EXPLICIT_HINTS, _EXPLICIT):
        yield Feature("explicit", 0.85)
    if _holds(lowered, _SAFETY_HINTS, _SAFETY) or any(claim.attribute in _HEALTH for claim in claims):
        yield Feature("safety", 0.85 if claims else 0.4)
    if any(_is_fact(claim) for claim in claims):
        yield Feature("personal fact", 0.5)
    if any(claim.attribute in _PERSONAL for claim in claims):
        yield Feature("preference", 0.35)
    if any(claim.attribute in _INTENT for claim in claims):
        yield Feature("commitment", 0.4)
    yield from _details(entities, events)


def _holds(lowered: str, hints: Iterable[str], pattern: re.Pattern[str]) -> bool:
    return any(hint in lowered for hint in hints) and pattern.search(lowered) is not None


def _of_words(text: str) -> float:
    """A little for every telling word; `MAX_WORDS` of them reach the most."""
    return min(0.35, 0.06 * len(first_content_words(text)))


def _details(entities: Sequence[Entity], events: Sequence[Mention]) -> Iterable[Feature]:
    if events:
        yield Feature("date", 0.2)
    if any(entity.kind in ("quantity", "phone", "email") for entity in entities):
        yield Feature("number", 0.15)
    named = sum(entity.kind not in ("quantity", "phone", "email") for entity in entities)
    if named:
        yield Feature("names", min(0.3, 0.12 * named))


def _is_fact(claim: Claim) -> bool:
    return claim.attribute not in _NO_FACTS
