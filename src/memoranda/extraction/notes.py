"""What was read from a memory, as plain JSON to store beside it, and back again. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import cast

from memoranda.dates import Mention
from memoranda.extraction.base import Candidate, Claim, Span
from memoranda.types import JSON


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
