"""`PersistentMemory` on this package's own engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memoranda.context.defuse import defused, defused_name
from memoranda.manager import MemoryManager
from memoranda.messages.message import Message
from memoranda.persistence.base import Found, Names, Saved
from memoranda.types import JSON, Hit, MemoryType, Outcome, Outcomes

_KEPT = ("stored", "duplicate", "superseded")


class Stored:
    """A `Keeper` over a `MemoryManager`; every call is inside the names."""

    def __init__(self, manager: MemoryManager, names: Names, *when_closed: Callable[[], object]) -> None:
        self._manager = manager
        self._names = names
        self._when_closed = when_closed

    def record(self, messages: Sequence[Message]) -> Outcomes:
        names = self._names
        return self._manager.remember(list(messages), agent=names.agent, user=names.user, session=names.session)

    def context(self, query: str, limit: int, budget: int) -> str:
        names = self._names
        return self._manager.context(
            query, budget=budget, agent=names.agent, user=names.user, session=names.session, limit=limit
        )

    def save(self, contents: Sequence[str], thinking: str) -> Saved:
        names = self._names
        metadata: dict[str, JSON] = {"thinking": thinking} if thinking.strip() else {}
        outcomes = self._manager.remember(
            list(contents),
            agent=names.agent,
            user=names.user,
            session=names.session,
            type=MemoryType.SEMANTIC,
            source="agent",
            metadata=metadata,
        )
        return _answer(contents, outcomes)

    def search(self, query: str, limit: int) -> list[Found]:
        names = self._names
        hits = self._manager.recall(query, agent=names.agent, user=names.user, session=names.session, limit=limit)
        return [Found(hit.id, hit.score, _line(hit)) for hit in hits]

    def close(self) -> None:
        for step in self._when_closed:
            step()


def _answer(contents: Sequence[str], outcomes: Sequence[Outcome]) -> Saved:
    lost = [f"{text!r} ({end.reason})" for text, end in zip(contents, outcomes, strict=True) if end.status not in _KEPT]
    known = sum(end.status == "duplicate" for end in outcomes)
    message = f"Saved {len(outcomes) - known - len(lost)}"
    message += f", known already {known}" if known else ""
    message += f", NOT saved {len(lost)}: {'; '.join(lost)}" if lost else ""
    ids: list[int | str] = [end.memory.id for end in outcomes if end.status in _KEPT and end.memory is not None]
    return Saved(success=not lost, message=message, memory_ids=ids)


def _line(hit: Hit) -> str:
    """A memory in words: what, who said it, and when."""
    day = hit.memory.valid_from.date().isoformat()
    who = f"{defused_name(hit.memory.speaker)}, " if hit.memory.speaker else ""
    return f"{defused(hit.content)} ({who}{day})"
