"""Upkeep, forgetting, and how it is doing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import TYPE_CHECKING, Any

from memoranda.manager.base import Verbs
from memoranda.text import clean_text
from memoranda.types import ANY, AnyUser, Memory, MemoryType, Progress
from memoranda.validation import check_id, check_ids, make_filter, make_scope

if TYPE_CHECKING:
    from memoranda.llm.base import LLM
    from memoranda.maintenance.base import UpkeepSettings
    from memoranda.results import (
        Backup,
        CheckReport,
        ExportReport,
        ForgetReceipt,
        Health,
        History,
        ImportReport,
        PolicyName,
        RepairReport,
        Stats,
        UpkeepReport,
    )


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
        options = self._components.upkeep.make_options(scope, policies, settings, llm, dry_run)
        return self._components.upkeep.run(options, every, progress)

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
        return self._components.eraser.forget(
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
        return self._components.history.history(make_scope(self._tenant, agent, user, session), check_id(memory_id))

    def archive(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """Takes a memory out of recall; `get` and `history` still have it, `restore` brings it back."""
        return self._components.history.archive(make_scope(self._tenant, agent, user, session), check_id(memory_id))

    def restore(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """Brings an archived memory back into recall."""
        return self._components.history.restore(make_scope(self._tenant, agent, user, session), check_id(memory_id))

    def pin(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """The memory, from now on never tidied away by upkeep."""
        return self._components.history.pin(make_scope(self._tenant, agent, user, session), check_id(memory_id), True)

    def unpin(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """The memory, from now on like any other."""
        return self._components.history.pin(make_scope(self._tenant, agent, user, session), check_id(memory_id), False)

    def reembed(self, progress: Progress | None = None) -> int:
        """Moves every memory to this manager's embedding model; how many were embedded."""
        return self._components.open().reembed(progress)

    def get_stats(self) -> Stats:
        """Counts of what this tenant has."""
        from memoranda.maintenance.health import collect_stats

        components = self._components
        return collect_stats(components.open().store, components.short_term, components.sessions, self._tenant)

    def health(self) -> Health:
        """Whether everything works, and on what it runs."""
        from memoranda.maintenance.health import collect_health

        components, opened = self._components, self._components.open()
        mirror = [] if components.mirror is None else components.mirror.problems
        return collect_health(
            opened.store,
            opened.vectors,
            components.short_term,
            components.sessions,
            components.config.durability,
            [*mirror, *opened.partitions.problems, *components.upkeep.problems],
        )


class CopyVerbs(Verbs):
    """Backup, export, import, check, repair."""

    def backup(self, target: str | PathLike[str], *, force: bool = False, progress: Progress | None = None) -> Backup:
        """A copy of the database with all that was acknowledged before the call; others may write meanwhile."""
        from memoranda.transfer.export import back_up

        return back_up(self._components.open().store, target, force=force, progress=progress)

    def check(self) -> CheckReport:
        """Whether file, rows, full text, vectors and search index agree."""
        from memoranda.maintenance.health import check

        opened = self._components.open()
        return check(opened.store, opened.partitions)

    def repair(self, progress: Progress | None = None) -> RepairReport:
        """Makes again what derives from the rows; no memory is ever deleted by it."""
        from memoranda.maintenance.health import repair

        opened = self._components.open()
        return repair(opened.store, opened.vectors, opened.partitions, progress)

    def export_jsonl(
        self,
        target: str | PathLike[str],
        *,
        agent: str | None = None,
        user: str | AnyUser | None = ANY,
        session: str | None = None,
        progress: Progress | None = None,
    ) -> ExportReport:
        """Conversations, memories and their links, ended sessions and execution records as a file of JSON lines.

        All of this tenant unless a scope is named. Sessions and executions are of no user: with one, they stay out.
        """
        scope = make_scope(self._tenant, agent, user, session)
        from memoranda.transfer.export import export_file

        return export_file(self._components.open().store, scope, target, progress)

    def import_jsonl(self, source: str | PathLike[str], *, progress: Progress | None = None) -> ImportReport:
        """Loads an export; what is there already stays, and running it again adds nothing."""
        from memoranda.transfer.importing import import_file

        opened, executions = self._components.open(), self._components.executions
        return import_file(opened.store, opened.vectors, executions, self._tenant, source, progress)
