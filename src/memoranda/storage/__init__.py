"""Storage: the `Store` protocol, the tables, and the stores behind it. A URL chooses the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from memoranda import registry
from memoranda.errors import InvalidInput, MissingExtra
from memoranda.settings import lower_scheme
from memoranda.types import Clock, utc_now

if TYPE_CHECKING:
    from memoranda.results.workflows import Backup, Conversion
    from memoranda.security.encryption import EncryptionKey
    from memoranda.storage.base import Durability, Store
    from memoranda.types import Progress


def open_store(
    url: str | Path,
    *,
    durability: Durability = "full",
    clock: Clock = utc_now,
    key: EncryptionKey | None = None,
    read_url: str | None = None,
    copying: bool = False,
) -> Store:
    """Open the store that a URL names, such as `sqlite:///memories.db`; a plain path is a SQLite file.

    Args:
        url: Where the store is.
        durability: Whether a write waits for the disk.
        clock: A clock to use instead of the system's.
        key: The key of an encrypted store.
        read_url: A standby of a PostgreSQL server, which answers reads that take long.
        copying: Whether to open a store although a copy to it is unfinished, as the copy itself does.
    """
    from memoranda.storage.meta import COPY_UNFINISHED, unfinished_copy

    store = _open(url, durability, clock, key, read_url, begins_anew=copying)
    if not copying and store.get_meta(COPY_UNFINISHED) is not None:
        where = store.status().database
        store.close()
        raise unfinished_copy(where)
    return store


def _open(
    url: str | Path,
    durability: Durability,
    clock: Clock,
    key: EncryptionKey | None,
    read_url: str | None,
    *,
    begins_anew: bool = False,
) -> Store:
    url = lower_scheme(url) if isinstance(url, str) else url
    kind = _kind_of(str(url))
    if read_url is not None:
        return _open_replicated(str(url), lower_scheme(read_url), durability, clock)
    # Only a store that knows encryption gets a key: another one must not take it and store plain text.
    options: dict[str, object] = {} if key is None else {"key": key}
    if begins_anew and kind == "sqlite":
        options["begins_anew"] = True
    try:
        store: Store = registry.resolve("store", kind)(url, durability=durability, clock=clock, **options)
    except TypeError as error:
        if key is None or "key" not in str(error):
            raise
        raise InvalidInput(f"a store of {kind!r} cannot be encrypted here: leave the encryption key out") from error
    return store


def _open_replicated(url: str, read_url: str, durability: Durability, clock: Clock) -> Store:
    if not all(_kind_of(each) in ("postgresql", "postgres") for each in (url, read_url)):
        raise InvalidInput("only a PostgreSQL database has a second URL for reads: leave MEMORY_READ_URL out")
    try:
        from memoranda.storage.postgres.replica import ReplicatedStore
    except ModuleNotFoundError as error:
        raise MissingExtra("a PostgreSQL database", "postgres") from error
    return ReplicatedStore(url, read_url, durability=durability, clock=clock)


def migrate_database(url: str, *, service_role: str | None = None) -> tuple[str, list[str]]:
    """Create the tables in a database or bring them up to date; return its name and what was done.

    Args:
        url: The database, as the role that owns its tables.
        service_role: The role that servers connect as, on a server with roles.
    """
    if _kind_of(url) == "sqlite":
        if service_role is not None:
            raise InvalidInput("a SQLite file has no roles: leave the service role out")
        store = open_store(url)  # which migrates it
        store.close()
        return str(store.path), []
    try:
        from memoranda.storage.postgres.store import migrate
    except ModuleNotFoundError as error:
        raise MissingExtra("a PostgreSQL database", "postgres") from error
    return migrate(url, service_role=service_role)


def database_file(url: str) -> Path | None:
    """Return the file that a URL names; None for a database in memory or on a server."""
    if _kind_of(url) != "sqlite":
        return None
    from memoranda.storage.sqlite.store import path_from_url

    return path_from_url(lower_scheme(url))


def _kind_of(url: str) -> str:
    """Return the name of the kind of store that a URL or a path names."""
    scheme, separator, _ = url.partition("://")
    return scheme.partition("+")[0].lower() if separator else "sqlite"


def restore_backup(
    url: str, backup: Path, *, force: bool, key: EncryptionKey | None = None, backup_key: EncryptionKey | None = None
) -> tuple[Path, Backup]:
    """Replace the database file that a URL names by a backup; return the file and the backup."""
    from memoranda.storage.sqlite.backup import restore

    database = _file_of_url(url, "restored", "use pg_restore, or `memoranda copy FILE URL`")
    return database, restore(backup, database, force=force, key=key, backup_key=backup_key)


def change_encryption(
    url: str, current: EncryptionKey | None, new: EncryptionKey | None, progress: Progress | None = None
) -> tuple[Path, Conversion]:
    """Encrypt, decrypt or encrypt anew the database file that a URL names; return the file and what was done."""
    from memoranda.storage.sqlite.conversion import convert

    database = file_to_encrypt(url)
    return database, convert(database, current, new, progress)


def file_to_encrypt(url: str) -> Path:
    """Return the file that a URL names; `InvalidInput` when it cannot be encrypted here."""
    return _file_of_url(url, "encrypted", "encrypt the disk of the server, and connections by sslmode=verify-full")


def _file_of_url(url: str, purpose: str, instead: str) -> Path:
    if (kind := _kind_of(url)) != "sqlite":
        raise InvalidInput(f"a {kind} database is not a single file, and cannot be {purpose} here: {instead}")
    database = database_file(url)
    if database is None:
        raise InvalidInput(f"a database in memory cannot be {purpose}: name a file")
    return database
