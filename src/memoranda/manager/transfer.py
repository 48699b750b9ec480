"""Backups, exports, imports and archives, and what checks and repairs a database.

What only one method needs is imported there: the remote client imports this module's base, and it must load no engine.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from os import PathLike
from typing import TYPE_CHECKING

from memoranda.errors import InvalidInput, InvalidType
from memoranda.manager.recall import ManagerMethods
from memoranda.types import ANY, AnyUser, Progress
from memoranda.validation import check_flag, check_path, check_progress

if TYPE_CHECKING:
    from memoranda.results.maintenance import CheckReport, RepairReport
    from memoranda.results.workflows import Backup, ExportReport, ImportReport
    from memoranda.security.encryption import EncryptionKey
    from memoranda.storage.base import Store


class BackupMethods(ManagerMethods):
    """Back up, check, repair, export and import the database, and move memories to archives."""

    def backup(
        self,
        target: str | PathLike[str],
        *,
        force: bool = False,
        progress: Progress | None = None,
        encryption_key: str | None = None,
    ) -> Backup:
        """Copy the database with every write acknowledged before the call. Writes may go on during it.

        Where the key file of the database is lost or not its own, the backup has none, and says so in `problems`.

        Args:
            target: The file to write; one that ends with `.zst` is compressed.
            force: Replace a file of this name.
            progress: Called with (done, total).
            encryption_key: Encrypts the backup with this key. An encrypted database uses its own when None.
        """
        from memoranda.security.encryption import make_key
        from memoranda.transfer.export import back_up

        target, progress, force = check_path(target, "target"), check_progress(progress), check_flag(force, "force")
        opened = self._components.open()
        made = back_up(opened.store, target, force=force, progress=progress, key=make_key(encryption_key))
        problem = opened.key.problem()
        return made if problem is None else replace(made, problems=(problem,))

    def check(self) -> CheckReport:
        """Check that file, rows, search terms, vectors and index agree, and that no receipt or record was changed."""
        from memoranda.maintenance.health import check

        opened = self._components.open()
        return check(opened.store, opened.partitions, opened.key, opened.executions)

    def repair(self, progress: Progress | None = None) -> RepairReport:
        """Rebuild what is derived from the rows. It never deletes a memory."""
        from memoranda.maintenance.health import repair

        opened = self._components.open()
        return repair(
            opened.store, opened.vectors, opened.partitions, opened.key, opened.executions, check_progress(progress)
        )

    def export_jsonl(
        self,
        target: str | PathLike[str],
        *,
        agent: str | None = None,
        user: str | AnyUser | None = ANY,
        session: str | None = None,
        progress: Progress | None = None,
        encryption_key: str | None = None,
        plain: bool = False,
    ) -> ExportReport:
        """Write conversations, memories, their links, ended sessions and execution records to a JSON Lines file.

        Args:
            target: The file to write; one that ends with `.zst` is compressed.
            agent, user, session: The scope; the whole tenant by default. Sessions and execution records belong to
                no user: they are left out when a user is named.
            progress: Called with (memories done, total).
            encryption_key: Encrypts the file with this key. An encrypted database uses its own when None.
            plain: Leave the file unencrypted although the database is encrypted.
        """
        from memoranda.transfer.export import export_file

        if check_flag(plain, "plain") and encryption_key is not None:
            raise InvalidInput("an export is plain or encrypted with a key: give plain or encryption_key, not both")
        store, scope = self._components.open().store, self._scope(agent, user, session)
        key = None if plain else _file_key(encryption_key, store)
        return export_file(store, scope, check_path(target, "target"), check_progress(progress), key)

    def import_jsonl(
        self,
        source: str | PathLike[str],
        *,
        include_forgotten: bool = False,
        progress: Progress | None = None,
        encryption_key: str | None = None,
    ) -> ImportReport:
        """Load an export. What exists is unchanged, and importing again adds nothing.

        Args:
            source: The file.
            include_forgotten: Also load what was forgotten here since the export; it is left out and counted otherwise.
            progress: Called with (memories done, total).
            encryption_key: The key of an encrypted file; that of the database when None.
        """
        from memoranda.transfer.importing import import_file

        source, progress = check_path(source, "source"), check_progress(progress)
        opened, components = self._components.open(), self._components
        receipts = None if check_flag(include_forgotten, "include_forgotten") else components.receipts
        key = _file_key(encryption_key, opened.store)
        return import_file(
            opened.store, opened.vectors, components.executions, self._tenant, source, receipts, progress, key
        )

    def archive_to(
        self,
        target: str | PathLike[str],
        *,
        agent: str | None = None,
        user: str | AnyUser | None = ANY,
        session: str | None = None,
        older_than: timedelta | None = None,
        archived: bool = False,
        remove: bool = False,
        progress: Progress | None = None,
        encryption_key: str | None = None,
    ) -> ExportReport:
        """Write memories to a new compressed file, with their earlier versions, links and messages.

        `restore_from` reads it. What is removed is in the file exactly as it was. Pinned memories are not removed,
        nor is what replaced a memory that stays.

        Args:
            target: The file; its name ends with `.zst`.
            agent, user, session: The scope; the whole tenant by default.
            older_than: Only what was stored longer ago than this.
            archived: Only what takes no part in recall any more: archived, or expired.
            remove: Remove them from the store once the file is on disk.
            progress: Called with (memories done, total).
            encryption_key: Encrypts the file with this key. An encrypted database uses its own when None.
        """
        from memoranda.transfer.copying import Choice, archive_memories

        if not isinstance(older_than, timedelta | None):
            raise InvalidType(f"older_than must be a timedelta, not {type(older_than).__name__}")
        now, scope = self._components.clock(), self._scope(agent, user, session)
        try:
            before = None if older_than is None else now - older_than
        except OverflowError:
            raise InvalidInput(
                f"older_than of {older_than} is too long, as it goes back before year 1: use a shorter time"
            ) from None
        choice = Choice(scope, now, before, check_flag(archived, "archived"))
        remove, path = check_flag(remove, "remove"), check_path(target, "target")
        store = self._components.open().store
        key = _file_key(encryption_key, store)
        return archive_memories(store, choice, path, remove=remove, progress=check_progress(progress), key=key)

    def restore_from(
        self,
        source: str | PathLike[str],
        *,
        progress: Progress | None = None,
        encryption_key: str | None = None,
    ) -> ImportReport:
        """Bring back what `archive_to` wrote: under the same ids and with its links, in the store it came from.

        What is still there is unchanged, and what was forgotten since stays out.

        Args:
            source: The file.
            progress: Called with (memories done, total).
            encryption_key: The key of an encrypted file; that of the database when None.
        """
        return self.import_jsonl(source, progress=progress, encryption_key=encryption_key)


def _file_key(given: str | None, store: Store) -> EncryptionKey | None:
    """Return the key of a file that is written or read: the given one, or else that of the database."""
    from memoranda.security.encryption import make_key
    from memoranda.storage.base import encryption_key

    return make_key(given) or encryption_key(store)
