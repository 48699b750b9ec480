"""Storage: the `Store` protocol, the tables, and the stores behind it. A URL chooses the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from memoranda import registry
from memoranda.errors import InvalidInput
from memoranda.types import Clock, utc_now

if TYPE_CHECKING:
    from memoranda.results import Backup
    from memoranda.storage.base import Durability, Store


def open_store(url: str | Path, *, durability: Durability = "full", clock: Clock = utc_now) -> Store:
    """Open the store that a URL names, such as `sqlite:///memories.db`; a plain path is a SQLite file."""
    scheme, separator, _ = str(url).partition("://")
    kind = scheme.partition("+")[0] if separator else "sqlite"
    store: Store = registry.resolve("store", kind)(url, durability=durability, clock=clock)
    return store


def database_file(url: str) -> Path | None:
    """Return the file that a URL names; None for a database in memory or on a server."""
    scheme, separator, _ = url.partition("://")
    if separator and scheme.partition("+")[0] != "sqlite":
        return None
    from memoranda.storage.sqlite.store import path_from_url

    return path_from_url(url)


def restore_backup(url: str, backup: Path, *, force: bool) -> tuple[Path, Backup]:
    """Replace the database file that a URL names by a backup; return the file and the backup."""
    from memoranda.storage.sqlite.backup import restore
    from memoranda.storage.sqlite.store import path_from_url

    database = path_from_url(url)
    if database is None:
        raise InvalidInput("a database in memory cannot be restored: name a file")
    return database, restore(backup, database, force=force)
