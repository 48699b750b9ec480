"""Upkeep, forgetting, and how it is doing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from memoranda import parts
from memoranda.arguments import check_id, check_ids, make_filter, make_scope
from memoranda.text import clean_text
from memoranda.types import ANY, AnyUser, Memory, MemoryType, Progress
from memoranda.verbs.base import Verbs

if TYPE_CHECKING:
    from memoranda.lifecycle.base import PolicyName, UpkeepSettings
    from memoranda.llm.base import LLM
    from memoranda.parts.forgetting import ForgetReceipt
    from memoranda.parts.past import History
    from memoranda.parts.status import Health, Stats
    from memoranda.parts.upkeep import UpkeepReport


class UpkeepVerbs(Verbs):
    """Upkeep, forgetting, and how it is doing."""

    def upkeep(
        self,
        *,
        policies: Sequence[PolicyName] | None = None,
        settings: UpkeepSettings | None = None,
        agent: str | None = None,
        user: str | AnyUser | None = ANY,
        session: str | None = None,
        llm: LLM | None = None,
        dry_run: bool = False,
        every: timedelta | float | None = None,
        progress: Progress | None = None,
    ) -> UpkeepReport:
        """What was tidied, merged and put away, and why; all of this tenant unless a scope is named.

        With `every` (a timedelta or seconds), it runs now and again after each such time, until `close()`.
        """
        scope = make_scope(self._tenant, agent, user, session)
        order = self._parts.upkeep.order(scope, policies, settings, llm, dry_run)
        return self._parts.upkeep.run(order, every, progress)

    def forget(
        self,
        ids: int | Sequence[int] | None = None,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        types: Sequence[MemoryType | str] | None = None,
        where: Mapping[str, Any] | None = None,
        containing: str | None = None,
        dry_run: bool = False,
    ) -> ForgetReceipt:
        """Erases memories and all that tells of them, down to the bytes of the file; a receipt for each store.

        Named by id, by filter, by a text they contain, or as a whole scope: then what was said goes as well. What
        was made from them, and what came from the same messages, goes with them.
        """
        return self._parts.forgetting.forget(
            make_scope(self._tenant, agent, user, session),
            () if ids is None else tuple(check_ids(ids)),
            make_filter(where, types),
            None if containing is None else clean_text(containing, "containing"),
            dry_run,
        )

    def history(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> History:
        """What a memory was before, what it was made from, and what took its place."""
        return self._parts.past.history(make_scope(self._tenant, agent, user, session), check_id(memory_id))

    def archive(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """Takes a memory out of recall; `get` and `history` still have it, `restore` brings it back."""
        return self._parts.past.archive(make_scope(self._tenant, agent, user, session), check_id(memory_id))

    def restore(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """Brings an archived memory back into recall."""
        return self._parts.past.restore(make_scope(self._tenant, agent, user, session), check_id(memory_id))

    def pin(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """The memory, from now on never tidied away by upkeep."""
        return self._parts.past.pin(make_scope(self._tenant, agent, user, session), check_id(memory_id), True)

    def unpin(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """The memory, from now on like any other."""
        return self._parts.past.pin(make_scope(self._tenant, agent, user, session), check_id(memory_id), False)

    def reembed(self, progress: Progress | None = None) -> int:
        """Moves every memory to this manager's embedding model; how many were embedded."""
        return self._parts.open().reembed(progress)

    def get_stats(self) -> Stats:
        """Counts of what this tenant has."""
        return parts.status.stats(self._parts, self._tenant)

    def health(self) -> Health:
        """Whether everything works, and on what it runs."""
        return parts.status.health(self._parts)
