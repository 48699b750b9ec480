"""Remembering and recalling: our own verbs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from memoranda.manager.base import Verbs
from memoranda.types import JSON, AnyUser, ArmScore, MemoryType, Outcomes, Progress, Recall, WhyNot
from memoranda.validation import check_datetime, check_id, check_integer, check_limit, make_filter, make_scope

if TYPE_CHECKING:
    from memoranda.remember.pipeline import Content
    from memoranda.results import Context


class RecallVerbs(Verbs):
    """Remember, recall, explain, and write it down for a prompt."""

    def remember(
        self,
        content: Content | Sequence[Content],
        *,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
        type: MemoryType | str | None = None,
        source: str | None = None,
        importance: float | None = None,
        metadata: Mapping[str, JSON] | None = None,
        at: datetime | str | None = None,
        idempotency_key: str | None = None,
        keep_all: bool = False,
        progress: Progress | None = None,
    ) -> Outcomes:
        """What became of each text and message, all in one commit; what is known already is not stored again.

        A text is kept as it is. A message is read: greetings, secrets, repetitions and the like are refused with
        their reason, and stay in the ledger of what was said; with `keep_all`, every message becomes a memory.
        """
        call = self._call(agent, user, session, type, source, metadata, importance=importance, at=at)
        return self._components.remember.remember(content, replace(call, keep_all=keep_all), idempotency_key, progress)

    def recall(
        self,
        query: str,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        types: Sequence[MemoryType | str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int = 10,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        mode: str | None = None,
        explain: bool = False,
        shared: bool = False,
    ) -> Recall:
        """The memories that fit a question, best first, and why each was found.

        With `shared`, what the shared knowledge says comes among them, its source named in each hit. `now` is the
        asker's clock for words like "last week"; with `as_of`, what was known and true at that time answers. Mode
        `fast` runs no neural model, `best` reads the best hits once more with a reranker.
        """
        scope, kept = make_scope(self._tenant, agent, user, session), make_filter(where, types)
        recall = self._components.recall.recall
        ask = partial(recall, query, limit=check_limit(limit), now=now, as_of=as_of, mode=mode, explain=explain)
        wanted = shared or MemoryType.SHARED in kept.types
        return self._components.knowledge.recall(ask, scope, kept, limit) if wanted else ask(scope, kept)

    def why(self, recall: Recall, memory_id: int) -> tuple[ArmScore, ...]:
        """What each arm and boost said of one hit of a recall."""
        from memoranda.recall.explain import why  # numpy comes with it

        return why(recall, check_id(memory_id))

    def why_not(
        self,
        query: str,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        types: Sequence[MemoryType | str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int = 10,
        now: datetime | str | None = None,
    ) -> WhyNot:
        """Which step left out a memory that one expected, or where it stands."""
        scope, kept = make_scope(self._tenant, agent, user, session), make_filter(where, types)
        expected = check_id(memory_id)
        return self._components.recall.why_not(query, expected, scope, kept, check_limit(limit), now=now)

    def context(
        self,
        query: str,
        *,
        budget: int = 1500,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        types: Sequence[MemoryType | str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int = 30,
        now: datetime | str | None = None,
        mode: str | None = None,
    ) -> Context:
        """What is remembered on a question as text for a prompt, at most `budget` tokens; "" when nothing was found."""
        room, moment = (
            check_integer(budget, "budget"),
            self._components.clock() if now is None else check_datetime(now, "now"),
        )
        found = self.recall(
            query, agent=agent, user=user, session=session, types=types, where=where, limit=limit, now=moment, mode=mode
        )
        from memoranda.recall.render import render_context

        return render_context(found, room, moment)
