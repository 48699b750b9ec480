"""The long-term half of a manager: store, vectors, index and recall, opened together on first use."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from memoranda.embedding.base import Embedder
from memoranda.errors import InvalidInput
from memoranda.index.base import VectorEngine
from memoranda.index.partitions import Partitions
from memoranda.llm.base import LLM
from memoranda.parts.accesses import Accesses
from memoranda.parts.learning import Learning
from memoranda.parts.memories import Memories
from memoranda.parts.reading import Reader
from memoranda.parts.recaller import Recaller
from memoranda.parts.reembedding import reembed
from memoranda.parts.vectors import Vectors
from memoranda.settings import MemoryConfig
from memoranda.storage.executions import ExecutionLog
from memoranda.storage.sessions import SessionLog
from memoranda.storage.sqlite import SQLiteStore
from memoranda.types import Clock, Progress


class Engine:
    """Everything that stands on one database file."""

    def __init__(
        self,
        config: MemoryConfig,
        embedder: Embedder | None,
        clock: Clock,
        index: VectorEngine | None = None,
        llm: LLM | None = None,
    ) -> None:
        self.short_term_ttl = timedelta(seconds=config.short_term_ttl)
        self.store = SQLiteStore.open(database_url(config), durability=config.durability, clock=clock)
        self.vectors = Vectors(self.store, embedder)
        self.partitions = Partitions(
            self.store,
            store_id=self.store.id,
            path=index_path(config, self.store.path),
            engine=index,
            last_erasure=self.store.last_erasure,
        )
        if self.store.erasure_pending():  # cut short in another run: what was erased must not stay on disk
            self.clean()
        self.executions = ExecutionLog(self.store, config.audit_key)
        self.sessions = SessionLog(self.store)
        self.memories = Memories(self.store, self.vectors, clock)
        reader = Reader(self.store, self.vectors, self.partitions, gate=config.extraction)
        self.learning = Learning(self.store, self.vectors, reader, llm)
        self.accesses = Accesses(self.store, clock)
        self.recaller = Recaller(self.store, self.vectors, self.partitions, clock, self.accesses)

    def reembed(self, progress: Progress | None) -> int:
        if self.vectors.embedder is None:
            return 0
        made = reembed(self.store, self.vectors.embedder, progress)
        self.vectors.forget_generation()
        return made

    def clean(self) -> bool:
        """Takes what was erased out of the index file and the database file; False while a reader holds on to it."""
        self.partitions.clear()
        return self.store.compact()

    def close(self) -> None:
        self.accesses.write()
        try:
            self.partitions.close()
        finally:
            self.store.close()


def database_url(config: MemoryConfig) -> str:
    """The database's URL, a relative file taken from the storage folder where one is set."""
    prefix, _, name = config.db_url.partition(":///")
    if config.storage_dir is None or prefix != "sqlite" or not name or name == ":memory:" or Path(name).is_absolute():
        return config.db_url
    return f"sqlite:///{Path(config.storage_dir) / name}"


def index_path(config: MemoryConfig, database: Path) -> Path:
    """The index file: where it is set, else beside the database."""
    if config.faiss_index_path is not None:
        path = Path(config.storage_dir or "") / config.faiss_index_path
        if path.resolve() == database.resolve():
            raise InvalidInput(f"{path} is the database: give faiss_index_path another name, or leave it out")
        return path
    path = database.with_name(f"{config.vector_store or database.stem}.faiss")
    # An index may be deleted and made anew at any time, so it is never the database itself.
    return path if path != database else database.with_name(f"{database.name}.faiss")
