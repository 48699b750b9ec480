"""The embedded store: one SQLite file."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, make_url
from sqlalchemy.exc import ArgumentError

from memoranda.embedding.base import EmbedderIdentity
from memoranda.errors import InvalidInput
from memoranda.maintenance import forget
from memoranda.memories import add, lifecycle, read, vectors
from memoranda.memories.changes import Change, Derivation, Generation, IndexRow, PartitionKey, Revision
from memoranda.memories.rows import to_micros
from memoranda.memories.write import Checked, Work, do_all
from memoranda.storage import migrations, schema
from memoranda.storage.meta import note, noted
from memoranda.storage.sqlite import integrity
from memoranda.storage.sqlite.connections import Connections, Durability
from memoranda.storage.sqlite.driver import Driver
from memoranda.storage.sqlite.errors import translated
from memoranda.storage.sqlite.group_commit import GroupCommit
from memoranda.text import clean_text
from memoranda.transfer import export
from memoranda.types import EVERYTHING, Clock, Filter, FloatArray, IntArray, Memory, Outcome, Related, Scope, utc_now

_R = TypeVar("_R")
_ID = "store_id"


class SQLiteStore:
    """Memories in one SQLite file: WAL, full sync, one lock in front of writes, shared commits."""

    def __init__(
        self, path: Path, *, driver: str | None = None, durability: Durability = "full", clock: Clock = utc_now
    ) -> None:
        self.path = path
        self._clock = clock
        self._remove_folder: Callable[[], object] | None = None
        with translated(str(path)):
            _create_private(path)
        self._connections = Connections(path, driver=driver, durability=durability)
        self._commits: GroupCommit[Work, Any] = GroupCommit(self._commit)
        self._pid = os.getpid()
        self.id = self._prepare()

    @classmethod
    def open(
        cls,
        url: str | Path,
        *,
        driver: str | None = None,
        durability: Durability = "full",
        clock: Clock = utc_now,
    ) -> SQLiteStore:
        """A store from `sqlite:///file.db` or a path; `sqlite://` is a private file, gone at `close()`."""
        path = url if isinstance(url, Path) else path_of(url)
        if path is not None:
            return cls(path, driver=driver, durability=durability, clock=clock)
        folder = tempfile.mkdtemp(prefix="memoranda-")
        store = cls(Path(folder) / "memory.db", driver=driver, durability="normal", clock=clock)
        store._remove_folder = weakref.finalize(store, _remove_own, folder, os.getpid())
        return store

    @property
    def driver(self) -> Driver:
        return self._connections.driver

    def close(self) -> None:
        """May be called twice."""
        self._connections.close()
        if self._remove_folder is not None:
            self._remove_folder()

    def apply(self, changes: Sequence[Change] | Checked) -> list[Outcome]:
        """All changes in one commit, which writers of other threads may share; on disk when this returns."""
        return self._shared_commits().submit(changes) if changes else []

    def write(self, work: Callable[[Connection, int], _R]) -> _R:
        """What `work(connection, now in microseconds)` gives, in a commit shared like those of `apply`.

        It may run twice: when another writer's part of the commit fails, each is done again alone.
        """
        result: _R = self._shared_commits().submit(work)
        return result

    def read(self, work: Callable[[Connection], _R]) -> _R:
        """What `work` reads from the latest commit of any process."""
        with self._connections.reading() as connection:
            return work(connection)

    def _shared_commits(self) -> GroupCommit[Any, Any]:
        if self._pid != os.getpid():  # a forked child must not wait for writers that only its parent has
            self._pid, self._commits = os.getpid(), GroupCommit(self._commit)
        return self._commits

    def _commit(self, works: Sequence[Work]) -> list[Any]:
        at = to_micros(self._clock())
        with self._connections.writing() as connection:
            return do_all(connection, works, at)

    def get(self, scope: Scope, ids: Sequence[int]) -> list[Memory | None]:
        return read.get_memories(self._connections.fetch, scope, ids)

    def find(self, scope: Scope, where: Filter = EVERYTHING, *, limit: int, after: int = 0) -> list[Memory]:
        return self.read(lambda connection: read.find_memories(connection, scope, where, limit, after))

    def matching(self, scope: Scope, where: Filter) -> IntArray:
        return self.read(lambda connection: read.matching_ids(connection, scope, where))

    def related(self, scope: Scope, memory_id: int, *, kind: str | None, depth: int) -> list[Related]:
        return self.read(lambda connection: read.related_memories(connection, scope, memory_id, kind, depth))

    def by_key(self, scope: Scope, key: str) -> Memory | None:
        return self.read(lambda connection: read.memory_by_key(connection, scope, key))

    def lineage(self, scope: Scope, ids: Sequence[int]) -> list[Derivation]:
        return self.read(lambda connection: lifecycle.read_lineage(connection, scope, ids))

    def revisions(self, scope: Scope, memory_id: int) -> list[Revision]:
        return self.read(lambda connection: lifecycle.read_revisions(connection, scope, memory_id))

    def head(self) -> int:
        return int(self._connections.fetch(read.HEAD)[0][0])

    def changed(self, key: PartitionKey, since: int) -> IntArray:
        return self.read(lambda connection: read.changed_ids(connection, key, since))

    def rows(self, key: PartitionKey, ids: IntArray | None, generation: int | None) -> Iterator[IndexRow]:
        with self._connections.reading() as connection:
            yield from read.index_rows(connection, key, ids, generation)

    def generation(self, identity: EmbedderIdentity) -> Generation | None:
        """The vectors this embedder may read and add to; `Incompatible` when another model made them."""
        rows = self._connections.fetch(vectors.ACTIVE_ROW)
        return vectors.accepted(vectors.from_row(rows[0]) if rows else None, identity)

    def start_generation(self, identity: EmbedderIdentity, *, activate: bool) -> Generation:
        with self._connections.writing() as connection:
            if activate and (known := vectors.accepted(vectors.active(connection), identity)):
                return known
            return vectors.start(connection, identity, activate=activate)

    def switch_generation(self, generation_id: int) -> bool:
        """Whether the generation now answers; False while memories are still missing from it."""
        with self._connections.writing() as connection:
            return vectors.switch(connection, generation_id)

    def without_vector(self, generation_id: int, *, limit: int) -> list[tuple[int, str]]:
        return self.read(lambda connection: vectors.missing(connection, generation_id, limit))

    def count_without_vector(self, generation_id: int) -> int:
        return self.read(lambda connection: vectors.count_missing(connection, generation_id))

    def put_vectors(self, generation_id: int, made: Sequence[tuple[int, str, FloatArray]]) -> None:
        with self._connections.writing() as connection:
            vectors.put_vectors(connection, generation_id, made)

    def known_vectors(self, generation_id: int, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        return vectors.by_hash(self._connections.fetch, generation_id, hashes)

    def counts(self, tenant: str) -> dict[str, int]:
        """How many memories of each type a tenant has."""
        return self.read(lambda connection: add.by_type(connection, tenant))

    def export(self, scope: Scope) -> Iterator[str]:
        """The scope's messages, memories and associations as lines of JSON, all as of one commit."""
        with self._connections.reading() as connection:
            yield from export.export_lines(connection, scope, self.id)

    def compact(self) -> bool:
        """Takes the bytes of what was deleted out of the file; False while another reader holds on to them."""
        with self._connections.maintaining() as connection:
            return forget.compact(connection)

    def erasure_pending(self) -> bool:
        """Whether an erasure was cut short before the file was compacted."""
        return self.read(forget.pending)

    def last_erasure(self) -> int:
        """The number of the newest change that an erasure made."""
        return forget.last_erasure(self._connections.fetch)

    def problem(self) -> str | None:
        """Whether the file was removed or replaced while it was open."""
        return self._connections.problem()

    def check(self) -> list[str]:
        """What is wrong with the file, one sentence each; empty when rows, text and vectors agree."""
        return self.read(integrity.problems)

    def _prepare(self) -> str:
        if self.read(migrations.current_version) != schema.HEAD:
            with self._connections.writing() as connection:
                migrations.upgrade(connection)
                _name_store(connection)
        return str(self.read(lambda connection: noted(connection, _ID)))


def _name_store(connection: Connection) -> None:
    if noted(connection, _ID) is None:
        note(connection, _ID, uuid.uuid4().hex)


def path_of(url: str) -> Path | None:
    """The file behind a URL or path; None for a database in memory."""
    clean_text(url, "the database URL")
    if "://" not in url:
        if url.startswith(("sqlite:", "file:")):
            raise InvalidInput(f"{url!r} is not a database URL: write sqlite:///memories.db")
        return Path(url)
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise InvalidInput(f"{url!r} is not a database URL: write sqlite:///memories.db") from error
    if parsed.get_backend_name() != "sqlite":
        raise InvalidInput(f"no store for {parsed.get_backend_name()!r}: write sqlite:///memories.db")
    if parsed.query:
        raise InvalidInput(f"{url!r} has options after the '?', and there are none: write sqlite:///memories.db")
    return None if parsed.database in (None, "", ":memory:") else Path(parsed.database)


def _create_private(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _remove_own(folder: str, owner: int) -> None:
    """Removes a private folder, unless this is a forked child: its parent still uses it."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
