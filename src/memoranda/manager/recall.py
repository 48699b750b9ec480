"""Remember and recall, and the base of the classes that hold the manager's methods.

What only one method needs is imported there: the remote client imports these classes, and they must load no engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from memoranda.results.recall import Replay, WhyNot
from memoranda.text.checks import clean_text
from memoranda.types import JSON, AnyUser, ArmScore, MemoryType, Outcomes, Progress, Recall, Scope
from memoranda.validation import (
    check_datetime,
    check_flag,
    check_id,
    check_integer,
    check_limit,
    check_progress,
    make_filter,
    make_scope,
)

if TYPE_CHECKING:
    from memoranda.manager.components import Components
    from memoranda.remember.new_memory import WriteOptions
    from memoranda.remember.pipeline import Content
    from memoranda.results.recall import Context


def as_text(value: object, name: str = "content") -> str:
    """Return a text, or the text of a message that stands for it."""
    if isinstance(value, str):
        return value
    from memoranda.messages import parsing

    return parsing.as_text(value, name)


class ManagerMethods:
    """A tenant and its components. Each subclass has the methods of one theme; `MemoryManager` has them all."""

    _tenant: str
    _components: Components

    def _scope(self, agent: object, user: object, session: object = None) -> Scope:
        return make_scope(self._tenant, agent, user, session)

    def _write_options(self, scope: Scope, **options: object) -> WriteOptions:
        """Check the options of a write: `type`, `source`, `metadata`, `importance`, `at` and `ttl`."""
        from memoranda.remember.new_memory import check_options

        return check_options(scope, self._components.clock(), self._components.short_term_ttl, **options)


class RecallMethods(ManagerMethods):
    """Remember, recall, explain a recall, and write recalled memories as text for a prompt."""

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
        ttl: float | None = None,
        idempotency_key: str | None = None,
        keep_all: bool = False,
        progress: Progress | None = None,
        strict: bool = False,
    ) -> Outcomes:
        """Store texts and messages in one commit and return an outcome for each memory.

        A text is stored as it is, a message only if it is worth it: greetings, secrets, repetitions and the like are
        rejected with a reason, but every message stays in the message log. What is known already is not stored again.

        Args:
            content: A text, a `Message`, a message as a dict, or a list of them.
            agent, user, session: The owner of the memories.
            type: The type of the memories; chosen by the content when None.
            source: Where the content comes from.
            importance: From 0 to 1; scored when None.
            metadata: A JSON object stored with each memory.
            at: When it was said; the time of the message, or now, when None.
            ttl: Seconds until the memories expire; by default only `short_term` and `working` ones do.
            idempotency_key: A repeated call with the same key stores nothing again, and raises `Conflict` when what it
                stored was forgotten.
            keep_all: Store every message.
            progress: Called with (done, total) while texts are embedded.
            strict: Raise `ExtractionFailed` when the language model fails, after storing everything else. By default
                `failure` of the result has the reason, and the messages are queued for the model.
        """
        options = self._write_options(
            self._scope(agent, user, session),
            type=type,
            source=source,
            metadata=metadata,
            importance=importance,
            at=at,
            ttl=ttl,
        )
        options = replace(options, keep_all=check_flag(keep_all, "keep_all"))
        return self._components.remember.remember(
            content, options, idempotency_key, check_progress(progress), strict=check_flag(strict, "strict")
        )

    def recall(
        self,
        query: Content,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        types: Sequence[MemoryType | str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int = 10,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        min_score: float | None = None,
        mode: str | None = None,
        explain: bool = False,
        shared: bool = False,
    ) -> Recall:
        """Return the memories that answer a question, best first, each with the reasons why it was found.

        Args:
            query: The question, or a message that asks it; one without a word finds nothing.
            agent, user, session: The scope to search.
            types: Only memories of these types.
            where: Filters; see `MemoryManager`.
            limit: The maximum number of hits.
            now: The asker's time, for words like "last week"; the manager's clock when None.
            as_of: Answer from what was true at this time, by what is known now.
            known_at: Answer from what was known at this time.
            min_score: The lowest score of a hit, 0…1; any when None.
            mode: `fast` runs no neural model; by default the best hits of dialogues are reranked with a small one, with
                `best` those of any text with a larger one.
            explain: Add an explanation to the result.
            shared: Also search the shared knowledge; such hits name their source.
        """
        scope, filters = self._scope(agent, user, session), make_filter(where, types)
        ask = partial(
            self._components.recall.recall,
            as_text(query, "query"),
            limit=check_limit(limit),
            now=now,
            as_of=as_of,
            known_at=known_at,
            min_score=min_score,
            mode=mode,
            explain=check_flag(explain, "explain"),
        )
        if check_flag(shared, "shared") or MemoryType.SHARED in filters.types:
            found = self._components.knowledge.recall(ask, scope, filters, limit)
        else:
            found = ask(scope, filters)
        parameters = {**ask.keywords, "types": types, "where": where, "shared": shared}
        return self._components.ledger.record(scope, parameters, found)

    def replay(
        self,
        recall_id: str,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Replay:
        """Return a past recall as it was answered, whatever was added, edited, archived or superseded since.

        Hits that were deleted or forgotten since are named by their position, and the result is not `complete`.

        Args:
            recall_id: The `id` of a `Recall`, or the `recall_id` of a `Context`.
            agent, user, session: The scope in which it was asked.
        """
        return self._components.ledger.replay(self._scope(agent, user, session), clean_text(recall_id, "recall_id"))

    def why(
        self,
        recall: Recall | str,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> tuple[ArmScore, ...]:
        """Return what each search arm and boost contributed to one hit of a recall.

        Args:
            recall: A recall, or the id of a past one.
            memory_id: The memory of the hit.
            agent, user, session: The scope of a past recall.
        """
        from memoranda.recall.explain import why  # loads numpy

        if isinstance(recall, str):
            return why(self.replay(recall, agent=agent, user=user, session=session), check_id(memory_id))
        return why(recall, check_id(memory_id))

    def why_not(
        self,
        query: Content,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        types: Sequence[MemoryType | str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int = 10,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        min_score: float | None = None,
    ) -> WhyNot:
        """Return which step of `recall` left out an expected memory, or its rank if none did.

        Args:
            query: The question.
            memory_id: The expected memory.
            agent, user, session, types, where, limit, now, as_of, known_at, min_score: As in `recall`.
        """
        scope, filters = self._scope(agent, user, session), make_filter(where, types)
        return self._components.recall.why_not(
            as_text(query, "query"),
            check_id(memory_id),
            scope,
            filters,
            check_limit(limit),
            now=now,
            as_of=as_of,
            known_at=known_at,
            min_score=min_score,
        )

    def context(
        self,
        query: Content,
        *,
        budget: int = 1500,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        types: Sequence[MemoryType | str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int = 30,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        min_score: float | None = None,
        mode: str | None = None,
    ) -> Context:
        """Return the memories that answer a question as text for a prompt; "" when nothing relevant was found.

        What the user asked for once and for all ("always answer in French") comes first, whatever the question is. Then
        comes what holds: now, or at the time that is named. A memory that may no longer be true says what was said
        later, and one that other sources contradict says so.

        Args:
            query: The question.
            budget: The maximum number of tokens.
            min_score: The lowest score of a memory that is shown; 0 shows all. By default, what is hardly related to
                the question is left out.
            agent, user, session, types, where, limit, now, as_of, known_at, mode: As in `recall`.
        """
        from memoranda.recall.render import RELEVANT, render_context

        max_tokens = check_integer(budget, "budget")
        moment = self._components.clock() if now is None else check_datetime(now, "now")
        found = self.recall(
            query,
            agent=agent,
            user=user,
            session=session,
            types=types,
            where=where,
            limit=limit,
            now=moment,
            as_of=as_of,
            known_at=known_at,
            min_score=RELEVANT if min_score is None else min_score,
            mode=mode,
        )
        then = as_of if as_of is not None else known_at
        at = moment if then is None else check_datetime(then, "as_of")
        scope, filters = self._scope(agent, user, session), make_filter(where, types)
        times = {"now": moment, "as_of": as_of, "known_at": known_at}
        wishes = self._components.recall.standing_wishes(
            as_text(query, "query"), scope, filters, check_limit(limit), **times
        )
        if wishes.hits:
            self._components.ledger.record(scope, {**times, "types": types, "where": where}, wishes)
        floor = RELEVANT if min_score is None else None
        return render_context(found, max_tokens, at, floor=floor, wishes=wishes.hits)
