"""Upkeep, forgetting, history and health.

What only one method needs is imported there: the remote client imports this module, which must load no engine, and the
manager loads few results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from memoranda.errors import InvalidInput, InvalidType
from memoranda.manager.recall import ManagerMethods
from memoranda.records import ResultList
from memoranda.text.checks import clean_text, storable_text
from memoranda.types import ANY, AnyUser, Memory, MemoryType, Progress, Scope
from memoranda.validation import (
    check_flag,
    check_id,
    check_ids,
    check_limit,
    check_offset,
    check_optional_datetime,
    check_progress,
    make_filter,
    page_of,
)

if TYPE_CHECKING:
    from memoranda.llm.base import LLM
    from memoranda.maintenance.policies import UpkeepSettings
    from memoranda.results.maintenance import (
        ForgetReceipt,
        Health,
        History,
        NameActivity,
        PolicyName,
        Stats,
        UpkeepReport,
        UserActivity,
    )
    from memoranda.results.recall import Fact, FactConflict


class UpkeepMethods(ManagerMethods):
    """Run upkeep, forget, archive and pin memories, and read their history, statistics and health."""

    def upkeep(
        self,
        *,
        policies: Sequence[PolicyName] | None = None,
        settings: UpkeepSettings | None = None,
        agent: str | None = None,
        user: str | AnyUser | None = ANY,
        session: str | None = None,
        llm: LLM | None = None,
        delete: bool = False,
        dry_run: bool = False,
        every: timedelta | float | None = None,
        progress: Progress | None = None,
    ) -> UpkeepReport:
        """Expire, merge, consolidate and archive memories by policy, and report each decision with its reason.

        By default it deletes nothing that anybody said, and archives only what has expired or is small talk.

        Args:
            policies: The policies to run; the default ones when None.
            settings: How the policies decide.
            agent, user, session: The scope; the whole tenant by default.
            llm: The model for policies that use one; the manager's model when None.
            delete: Also delete small talk and expired memories that have been archived for 30 days.
            dry_run: Only report what would be done.
            every: Also repeat it in the background at this interval, a timedelta or seconds, until `close()`.
            progress: Called with (done, total).
        """
        scope = self._scope(agent, user, session)
        delete, dry_run = check_flag(delete, "delete"), check_flag(dry_run, "dry_run")
        options = self._components.upkeep.make_options(scope, policies, settings, llm, delete=delete, dry_run=dry_run)
        return self._components.upkeep.run(options, every, check_progress(progress))

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
        """Erase memories and everything derived from them, including their bytes in the file; return a receipt.

        Memories that came from the same messages are erased too. Without ids, filters and text, the whole scope is
        erased with its messages.

        Args:
            ids: One id, or a list of ids.
            agent, user, session: The scope.
            types: Only memories of these types.
            where: Filters; see `MemoryManager`.
            containing: Only memories that contain this text.
            dry_run: Only report what would be erased.
        """
        return self._components.eraser.forget(
            self._scope(agent, user, session),
            () if ids is None else _some_ids(ids),
            make_filter(where, types),
            None if containing is None else storable_text(containing, "containing"),
            check_flag(dry_run, "dry_run"),
        )

    def forget_again(self, receipts: Sequence[ForgetReceipt] = ()) -> ForgetReceipt | None:
        """Erase what was forgotten before and is here again; None when nothing is.

        After an old backup was restored, pass the receipts that were kept elsewhere: the backup does not have them.
        What somebody said after it was forgotten is kept.
        """
        from memoranda.results.maintenance import ForgetReceipt

        if not isinstance(receipts, Sequence) or not all(isinstance(each, ForgetReceipt) for each in receipts):
            raise InvalidType("receipts must be a list of ForgetReceipt, as forget() and receipts() return them")
        return self._components.eraser.forget_again(list(receipts))

    def receipts(self, *, user: str | AnyUser | None = ANY, limit: int = 100, offset: int = 0) -> list[ForgetReceipt]:
        """Return the receipts of what was forgotten, newest first. Names in them are pseudonyms.

        Args:
            user: The user that was named in `forget`; by default the receipts of the whole tenant.
            limit: The largest number of receipts.
            offset: How many to leave out at the beginning.
        """
        scope = self._scope(None, user, None)
        found = self._components.receipts.find(scope.user, check_limit(limit), check_offset(offset))
        return ResultList(found, "receipt")

    def receipt(self, receipt_id: str) -> ForgetReceipt:
        """Return one receipt by its id."""
        return self._components.receipts.get(clean_text(receipt_id, "receipt_id"))

    def verify_receipt(self, receipt: ForgetReceipt | str) -> bool:
        """Return whether this store signed a receipt, given itself or by its id, exactly as it is."""
        from memoranda.results.maintenance import ForgetReceipt

        if not isinstance(receipt, ForgetReceipt | str):
            raise InvalidType(f"receipt must be a ForgetReceipt or its id, not {type(receipt).__name__}")
        receipts = self._components.receipts
        return receipts.verify(self.receipt(receipt) if isinstance(receipt, str) else receipt)

    def history(
        self,
        memory_or_slot: int | str,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> History:
        """Return the earlier versions of a memory, what it was made from, and what replaced it.

        For a slot, return the history of the memory that holds its current value, with every value it ever had.

        Args:
            memory_or_slot: The id of a memory, or a slot as `Fact.slot` names it: `"ana/city"`.
            agent, user, session: The scope it must be in.
        """
        scope = self._scope(agent, user, session)
        if not isinstance(memory_or_slot, str):
            return self._components.history.history(scope, check_id(memory_or_slot))
        facts = self._components.facts
        values = facts.values(scope, clean_text(memory_or_slot, "slot"))
        history = self._components.history.history(scope, facts.current(values).memory_id)
        return replace(history, values=tuple(values))

    def facts(
        self,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Fact]:
        """Return what is known: the current value of each slot, since when, who said it, and what it replaced.

        Args:
            agent, user, session: The scope.
            as_of: What was true at this time.
            known_at: What was known at this time.
            limit: The maximum number of facts; None for all.
            offset: How many to leave out at the beginning.
        """
        found = self._components.facts.facts(
            self._scope(agent, user, session),
            check_optional_datetime(as_of, "as_of"),
            check_optional_datetime(known_at, "known_at"),
        )
        return ResultList(page_of(found, limit, offset), "fact")

    def conflicts(
        self,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[FactConflict]:
        """Return where sources disagree, and what each of them says, the most trusted one first.

        Args:
            agent, user, session: The scope.
            limit: The maximum number of conflicts; None for all.
            offset: How many to leave out at the beginning.
        """
        found = self._components.facts.conflicts(self._scope(agent, user, session))
        return ResultList(page_of(found, limit, offset), "conflict")

    def archive(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """Take a memory out of recall. `get` and `history` still return it; `restore` undoes it.

        Args:
            memory_id: The id of the memory.
            agent, user, session: The scope it must be in.
        """
        return self._components.history.archive(self._scope(agent, user, session), check_id(memory_id))

    def restore(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """Return an archived or expired memory to recall; one that had expired lasts from now on.

        Args:
            memory_id: The id of the memory.
            agent, user, session: The scope it must be in.
        """
        return self._components.history.restore(self._scope(agent, user, session), check_id(memory_id))

    def pin(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """Pin a memory: upkeep never archives or deletes it.

        Args:
            memory_id: The id of the memory.
            agent, user, session: The scope it must be in.
        """
        return self._components.history.pin(self._scope(agent, user, session), check_id(memory_id), True)

    def unpin(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """Unpin a memory: upkeep treats it like any other.

        Args:
            memory_id: The id of the memory.
            agent, user, session: The scope it must be in.
        """
        return self._components.history.pin(self._scope(agent, user, session), check_id(memory_id), False)

    def reembed(self, progress: Progress | None = None) -> int:
        """Embed every memory with this manager's model and return how many were embedded."""
        return self._components.open().vectors.reembed(check_progress(progress))

    def get_stats(self) -> Stats:
        """Return counts of this tenant's memories, values, sessions and executions."""
        from memoranda.maintenance.health import collect_stats

        components, opened = self._components, self._components.open()
        short_term, sessions = components.short_term, components.sessions
        return collect_stats(opened.store, opened.partitions, short_term, sessions, self._tenant)

    def users(self, limit: int = 100, offset: int = 0) -> list[UserActivity]:
        """Return who has memories or messages in this tenant, and how many memories, in the order of their names.

        Args:
            limit: The maximum number of users.
            offset: How many to leave out at the beginning.
        """
        from memoranda.storage.read import count_by_user

        start, now = check_offset(offset), self._components.clock()
        most = start + check_limit(limit)
        store = self._components.open().store
        found = store.read(lambda tx: count_by_user(tx, self._tenant, most, now), tenant=self._tenant)
        return ResultList(found[start:], "user")

    def agents(self, limit: int = 100, offset: int = 0, *, user: str | AnyUser | None = None) -> list[NameActivity]:
        """Return the agents that have memories or messages, and how many memories, in the order of their names.

        Args:
            limit: The maximum number of agents.
            offset: How many to leave out at the beginning.
            user: Whose memories count: those of no user when None, of all users when ANY.
        """
        return self._count_names("agent", self._scope(None, user), limit, offset)

    def sessions(
        self, limit: int = 100, offset: int = 0, *, agent: str | None = None, user: str | AnyUser | None = None
    ) -> list[NameActivity]:
        """Return the sessions that have memories or messages, and how many memories, in the order of their names.

        Args:
            limit: The maximum number of sessions.
            offset: How many to leave out at the beginning.
            agent: Whose memories count; any agent's when None.
            user: Whose memories count: those of no user when None, of all users when ANY.
        """
        return self._count_names("session", self._scope(agent, user), limit, offset)

    def _count_names(self, column: str, scope: Scope, limit: int, offset: int) -> list[NameActivity]:
        from memoranda.storage.read import count_by_name

        start, now = check_offset(offset), self._components.clock()
        most = start + check_limit(limit)
        store = self._components.open().store
        found = store.read(lambda tx: count_by_name(tx, column, scope, most, now), tenant=scope.tenant)
        return ResultList(found[start:], column)

    def health(self) -> Health:
        """Return whether everything works, and the versions and settings in use."""
        from memoranda.embedding.base import runs_model
        from memoranda.embedding.cross_encoder import find_small_problem
        from memoranda.maintenance.health import collect_health

        components, opened = self._components, self._components.open()
        mirror, key_problem = components.executions.mirror, opened.executions.key_problem()
        problems = [*(mirror.problems if mirror else ()), *components.upkeep.problems]
        if components.config.use_gpu:
            from memoranda.embedding.local import find_gpu_problem

            problems += [problem for problem in [find_gpu_problem()] if problem is not None]
        if (embedder := opened.vectors.embedder) is not None and runs_model(embedder):
            problems += [problem for problem in [find_small_problem()] if problem is not None]
        return collect_health(
            opened.store,
            opened.vectors,
            opened.partitions,
            components.short_term,
            components.sessions,
            components.config.durability,
            problems if key_problem is None else [*problems, key_problem],
        )


def _some_ids(ids: int | Sequence[int]) -> tuple[int, ...]:
    """Return the checked ids; an empty list is an error, since without ids the whole scope would be erased."""
    found = tuple(check_ids(ids))
    if not found:
        raise InvalidInput("ids is empty, so nothing was erased: leave ids out to erase the whole scope")
    return found
