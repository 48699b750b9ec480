"""Joins recall and context: what was found becomes text for a prompt."""

from __future__ import annotations

import secrets
from datetime import datetime

from memoranda.context.base import MARKER_BYTES, Context
from memoranda.context.pack import distinct, packed
from memoranda.context.render import in_order, rendered
from memoranda.conversation.tokens import default_counter
from memoranda.types import Recall


def prompt_context(found: Recall, budget: int, now: datetime) -> Context:
    """The best of what was found, as text of at most `budget` tokens."""
    hits = distinct(found.hits)
    # Drawn anew for each call, so that no text written before it can know how its fence ends.
    marker = secrets.token_hex(MARKER_BYTES)
    count = default_counter()
    shown = packed(hits, marker, now, budget, count)
    text = rendered(shown, marker, now)
    return Context(
        text,
        hits=in_order(shown),
        left_out=len(hits) - len(shown),
        tokens=count(text) if text else 0,
        recall_id=found.id,
        answerable=found.answerable,
        degraded=found.degraded,
    )
