"""Copies of the store, and whether it is whole."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from memoranda import parts
from memoranda.arguments import make_scope
from memoranda.types import ANY, AnyUser, Progress
from memoranda.verbs.base import Verbs

if TYPE_CHECKING:
    from memoranda.parts.checking import CheckReport, RepairReport
    from memoranda.parts.importing import ImportReport
    from memoranda.parts.transfer import ExportReport
    from memoranda.storage.backup import Backup


class CopyVerbs(Verbs):
    """Backup, export, import, check, repair."""

    def backup(self, target: str | PathLike[str], *, force: bool = False, progress: Progress | None = None) -> Backup:
        """A copy of the database with all that was acknowledged before the call; others may write meanwhile."""
        return parts.transfer.back_up(self._parts.open(), target, force=force, progress=progress)

    def check(self) -> CheckReport:
        """Whether file, rows, full text, vectors and search index agree."""
        return parts.checking.check(self._parts.open())

    def repair(self, progress: Progress | None = None) -> RepairReport:
        """Makes again what derives from the rows; no memory is ever deleted by it."""
        return parts.checking.repair(self._parts.open(), progress)

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
        return parts.transfer.export_file(self._parts.open(), scope, target, progress)

    def import_jsonl(self, source: str | PathLike[str], *, progress: Progress | None = None) -> ImportReport:
        """Loads an export; what is there already stays, and running it again adds nothing."""
        engine, executions = self._parts.open(), self._parts.executions
        return parts.importing.import_file(engine, self._tenant, source, executions, progress)
