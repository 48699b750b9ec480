"""Values an agent keeps under a key: short-term ones expire, long-term ones are memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoranda.arguments import make_scope
from memoranda.jsonvalue import copy_json
from memoranda.parts.drafts import common
from memoranda.session.base import Namespace
from memoranda.session.ttl import is_short_term
from memoranda.text import clean_text
from memoranda.types import JSON, MemoryType

if TYPE_CHECKING:
    from memoranda.parts.foundation import Foundation


class Values:
    """`save` and `retrieve` over both kinds of memory."""

    def __init__(self, tenant: str, parts: Foundation) -> None:
        self._tenant = tenant
        self._parts = parts

    def save(
        self, agent: str, key: str, value: JSON, kind: MemoryType, ttl: float | None, *, session: str | None = None
    ) -> bool:
        if is_short_term(kind, ttl):
            self._parts.short_term.set(Namespace(self._tenant, agent=agent), {key: value}, ttl=ttl)
            return True
        name, kept = clean_text(key, "key"), copy_json(value)
        scope = make_scope(self._tenant, clean_text(agent, "agent_id"), session=session)
        call = common(scope, self._parts.now(), self._parts.short_term_ttl, type=kind, source="save")
        self._parts.memories.save(call, name, kept, as_text(name, kept))
        return True

    def retrieve(self, agent: str, key: str, kind: MemoryType, *, session: str | None = None) -> JSON:
        """The value; None when there is none."""
        if is_short_term(kind):
            return self._parts.short_term.get(Namespace(self._tenant, agent=agent), [key]).get(key)
        memory = self._parts.memories.by_key(
            make_scope(self._tenant, clean_text(agent, "agent_id"), session=session), clean_text(key, "key")
        )
        return None if memory is None else memory.value


def as_text(key: str, value: JSON) -> str:
    """A value in words, so that it can be found by what it says."""
    return f"{key.replace('_', ' ')}: {_words(value)}"


def _words(value: JSON) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key.replace('_', ' ')}: {_words(item)}" for key, item in value.items()) or "nothing"
    if isinstance(value, list):
        return ", ".join(_words(item) for item in value) or "nothing"
    return str(value)
