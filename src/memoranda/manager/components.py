"""The components of a manager, built here. Modules and the database are loaded when they are first needed.

The inner imports are deliberate: importing `MemoryManager` must not load SQLAlchemy, numpy or a model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memoranda.errors import Closed, InvalidInput, MemorandaError
from memoranda.settings import database_url, encryption_key, index_path, is_encrypted
from memoranda.types import DEFAULT_TENANT, utc_now
from memoranda.validation import check_clock, check_component, check_integer, check_retention_policy

if TYPE_CHECKING:
    from memoranda.embedding.base import Embedder
    from memoranda.index.base import VectorEngine
    from memoranda.index.partitions import Partitions
    from memoranda.items.items import Items
    from memoranda.knowledge import SharedKnowledge
    from memoranda.llm.base import LLM
    from memoranda.maintenance.forget import MemoryEraser
    from memoranda.maintenance.history import MemoryHistory
    from memoranda.maintenance.receipts import Receipts
    from memoranda.maintenance.upkeep import Upkeep
    from memoranda.recall.facts import Facts
    from memoranda.recall.ledger import RecallLedger
    from memoranda.recall.pipeline import RecallPipeline
    from memoranda.remember.memories import Memories
    from memoranda.remember.pipeline import RememberPipeline
    from memoranda.security.redaction import Redactor
    from memoranda.sessions.base import ValueStore
    from memoranda.sessions.values import ShortTerm
    from memoranda.settings import MemoryConfig
    from memoranda.types import Clock


@dataclass(frozen=True, slots=True)
class Overrides:
    """Components that a program passes in place of those that the settings name."""

    embedder: Embedder | None = None
    index: VectorEngine | None = None
    llm: LLM | str | None = None
    short_term: ValueStore | None = None
    clock: Clock | None = None
    retention_policy: str = "session"
    max_messages: int | None = None
    redactor: Redactor | None = None


def _refuse_plain_copies(config: MemoryConfig, overrides: Overrides) -> None:
    """Refuse what would write the data of an encrypted database to disk unencrypted."""
    if not is_encrypted(config):
        return
    if config.execution_records_dir is not None:
        raise InvalidInput(
            "execution records would also be written unencrypted: leave MEMORY_EXECUTION_RECORDS_DIR out, or the key"
        )
    if overrides.index is not None:
        raise InvalidInput(
            "this vector index keeps vectors unencrypted, outside of the encrypted database: leave it out, or the key"
        )


def _check_components(overrides: Overrides) -> None:
    check_component(overrides.embedder, "embedder", "embed", "identity")
    check_component(overrides.index, "index", "open", "clear", "close")
    check_component(overrides.short_term, "short_term", "set", "get", "delete", "keys")
    check_component(overrides.redactor, "redactor", "object")
    if not isinstance(overrides.llm, str):
        check_component(overrides.llm, "llm", "complete")


class StoreComponents:
    """The components over one database, opened together and shared by all tenants."""

    def __init__(
        self,
        config: MemoryConfig,
        embedder: Embedder | None,
        clock: Clock,
        index: VectorEngine | None = None,
        llm: LLM | None = None,
    ) -> None:
        from memoranda.embedding.vectors import Vectors
        from memoranda.executions.log import ExecutionLog
        from memoranda.items.items import Items
        from memoranda.recall.ledger import AccessCounter, LedgerSettings, RecallLedger
        from memoranda.recall.pipeline import RecallPipeline
        from memoranda.remember.memories import Memories
        from memoranda.remember.pipeline import ExtractionRules, RememberPipeline
        from memoranda.remember.screening.screen import mask_secrets
        from memoranda.sessions.database import SessionLog
        from memoranda.storage import open_store
        from memoranda.storage.database_key import DatabaseKey
        from memoranda.storage.schema import receipts

        self.store = open_store(
            database_url(config),
            durability=config.durability,
            clock=clock,
            key=encryption_key(config),
            read_url=config.read_url,
        )
        self.key = DatabaseKey(self.store, config.audit_key, receipts)
        self.vectors = Vectors(self.store, embedder)
        self.partitions = self._make_partitions(config, index)
        self._wants_index_file = config.faiss_index_path is not None and index is None
        self.finish_erasures()
        self.executions = ExecutionLog(self.store, config.audit_key)
        self.sessions = SessionLog(self.store)
        self.memories = Memories(self.store, self.vectors, ExtractionRules(), clock)
        self.items = Items(self.store, self.vectors, self.partitions, clock)
        self.remember = RememberPipeline(
            self.store,
            self.vectors,
            self.partitions,
            llm,
            self.key,
            use_gate=config.extraction,
            commit_size=config.commit_size,
        )
        self.accesses = AccessCounter(self.store, clock)
        self.recall = RecallPipeline(self.store, self.vectors, self.partitions, clock, self.accesses)
        kept = LedgerSettings(
            enabled=config.recall_ledger,
            max_recalls=config.recall_ledger_size,
            max_age=timedelta(days=config.recall_ledger_days),
        )
        self.ledger = RecallLedger(self.store, clock, kept, mask_secrets)

    def _make_partitions(self, config: MemoryConfig, index: VectorEngine | None) -> Partitions:
        from memoranda.index.partitions import Partitions
        from memoranda.maintenance.forget import last_erasure
        from memoranda.storage.base import file_keys

        return Partitions(
            self.store,
            store_id=self.store.id,
            path=index_path(config, self.store.path),
            engine=index,
            capacity_bytes=config.index_bytes,
            use_gpu=config.use_gpu,
            last_erasure=lambda: last_erasure(self.store),
            save_small=config.faiss_index_path is not None,
            file_key=next(iter(file_keys(self.store)), None) if is_encrypted(config) else None,
        )

    def compact(self) -> bool:
        """Remove erased bytes from the index file and the database file; False while a reader still holds them."""
        self.partitions.clear()
        compacted = self.store.compact()
        if compacted:
            self._finish_receipts()
        return compacted

    def finish_erasures(self) -> None:
        """Finish what a run that ended left undone, and record what the background has finished since."""
        from memoranda.maintenance.forget import is_erasure_pending

        if is_erasure_pending(self.store):
            self.compact()
        else:
            self._finish_receipts()

    def _finish_receipts(self) -> None:
        from memoranda.maintenance.receipts import finish_receipts

        try:
            finish_receipts(self.store, self.key)
        except MemorandaError as error:  # they stay pending, and this is tried again
            import logging  # loaded with the first problem

            logging.getLogger("memoranda").warning("receipts of finished erasures could not be written: %s", error)

    def close(self) -> None:
        self.accesses.write()
        self.ledger.write()
        try:
            if self._wants_index_file and not len(self.partitions):
                self._load_default_partition()
            self.partitions.close()
        finally:
            self.store.close()

    def _load_default_partition(self) -> None:
        """Load the memories of no user, so that a program which only added some leaves the index file it named."""
        from memoranda.storage.base import PartitionKey

        try:
            self.partitions.get(PartitionKey(DEFAULT_TENANT, None), self.vectors.generation())
        except MemorandaError as error:  # the file can be made from the store at any time
            import logging

            logging.getLogger("memoranda").warning("the index file was not written: %s", error)


class Components:
    """The components of one manager and tenant. Those of another tenant share the `root`'s store and models."""

    def __init__(self, config: MemoryConfig, tenant: str, overrides: Overrides, root: Components | None = None) -> None:
        if overrides.max_messages is not None:
            check_integer(overrides.max_messages, "max_messages_per_agent")
        _check_components(overrides)
        _refuse_plain_copies(config, overrides)
        self.config = config
        self.clock = utc_now if overrides.clock is None else check_clock(overrides.clock)
        self.short_term_ttl = timedelta(seconds=config.short_term_ttl)
        self._tenant = tenant
        self._overrides = overrides
        self._root = root
        self._llm = overrides.llm
        self._lock = threading.Lock()
        self._before_close: list[Callable[[], None]] = []
        self._opened: StoreComponents | None = None
        self._closed = False
        self._build()

    def _build(self) -> None:
        """Build the components that work without a database or open it when they first need it."""
        from memoranda.conversation.conversations import Conversations
        from memoranda.executions.executions import ExecutionMirror, Executions
        from memoranda.security.redaction import default_redactor
        from memoranda.sessions.context import Sessions
        from memoranda.sessions.values import Values, open_short_term

        config, clock, overrides = self.config, self.clock, self._overrides
        self.short_term: ShortTerm = (
            open_short_term(config, clock, overrides.short_term)
            if self._root is None
            else self._root.short_term.for_tenant(config, clock)
        )
        mirror = ExecutionMirror(Path(config.execution_records_dir)) if config.execution_records_dir else None
        redactor = (overrides.redactor or default_redactor()) if config.redact else None
        self.executions = Executions(self._tenant, lambda: self.open().executions, clock, redactor, mirror)
        self.values = Values(self._tenant, self._short_term_values, lambda: self.memories, clock, self.short_term_ttl)
        self.sessions = Sessions(
            self._tenant,
            config,
            clock,
            store=self._session_values,
            log=lambda: self.open().sessions,
            values=self.values,
            executions=self.executions,
        )
        self.conversations = Conversations(
            self._tenant,
            check_retention_policy(overrides.retention_policy),
            overrides.max_messages,
            open_store=lambda: self.open().store,
            is_store_open=lambda: self._opened is not None,
        )

    def _short_term_values(self) -> ValueStore:
        self.ensure_open()
        return self.short_term.values

    def _short_term_stores(self) -> list[ValueStore]:
        """Return the stores of values and of sessions, which may be one."""
        self.ensure_open()
        return list({id(store): store for store in (self.short_term.values, self.short_term.sessions)}.values())

    def _session_values(self) -> ValueStore:
        self.ensure_open()
        return self.short_term.sessions

    def open(self) -> StoreComponents:
        """Return the components over the database. The first call opens it, and creates it if there is none."""
        self.ensure_open()
        if self._opened is None:
            with self._lock:
                if self._opened is None:
                    self._opened = self._open_store() if self._root is None else self._root.open()
        return self._opened

    def ensure_open(self) -> None:
        if self._closed:
            raise Closed("this MemoryManager is closed: make a new one")

    def for_tenant(self, tenant: str) -> Components:
        """Return components for another tenant over the same store and models."""
        return Components(self.config, tenant, self._overrides, root=self)

    def before_close(self, work: Callable[[], None]) -> None:
        """Call `work` before the store is closed, whichever tenant closes it."""
        (self._root or self)._before_close.append(work)

    def close(self) -> None:
        for work in self._before_close:
            work()
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self.conversations.close()
            self.short_term.close()
            if self._opened is not None and self._root is None:
                self._opened.close()

    @property
    def memories(self) -> Memories:
        return self.open().memories

    @property
    def items(self) -> Items:
        return self.open().items

    @property
    def remember(self) -> RememberPipeline:
        return self.open().remember

    @property
    def recall(self) -> RecallPipeline:
        return self.open().recall

    @property
    def ledger(self) -> RecallLedger:
        return self.open().ledger

    @cached_property
    def knowledge(self) -> SharedKnowledge:
        from memoranda.knowledge import SharedKnowledge

        opened = self.open()
        return SharedKnowledge(self._tenant, opened.store, opened.vectors, self.clock)

    @cached_property
    def facts(self) -> Facts:
        from memoranda.recall.facts import Facts
        from memoranda.remember.pipeline import ExtractionRules

        return Facts(self.open().store, self.clock, ExtractionRules().notes)

    @cached_property
    def history(self) -> MemoryHistory:
        from memoranda.maintenance.history import MemoryHistory

        return MemoryHistory(self.open().store, self.clock)

    @cached_property
    def upkeep(self) -> Upkeep:
        from memoranda.maintenance.upkeep import Upkeep

        opened = self.open()
        upkeep = Upkeep(
            self._tenant,
            opened.store,
            opened.vectors,
            opened.remember,
            opened.accesses,
            opened.finish_erasures,
            clock=self.clock,
            session_timeout=timedelta(seconds=self.config.session_timeout),
            short_term_ttl=self.short_term_ttl,
            llm=self.llm,
        )
        self.before_close(upkeep.stop)
        return upkeep

    @cached_property
    def eraser(self) -> MemoryEraser:
        from memoranda.maintenance.forget import MemoryEraser

        opened = self.open()
        return MemoryEraser(
            self._tenant,
            opened.store,
            opened.vectors,
            opened.compact,
            ledger=opened.ledger,
            receipts=self.receipts,
            conversations=self.conversations,
            sessions=self.sessions,
            short_term=self._short_term_stores,
            clock=self.clock,
        )

    @cached_property
    def receipts(self) -> Receipts:
        from memoranda.maintenance.receipts import Receipts

        opened = self.open()
        return Receipts(self._tenant, opened.store, opened.key)

    @property
    def llm(self) -> LLM | None:
        """The language model that was passed or is set, or None. A name is opened when it is first needed."""
        if self._root is not None:  # one model for all tenants, as with the store
            return self._root.llm
        chosen = self._llm or self.config.llm
        if isinstance(chosen, str):
            from memoranda.llm.base import open_llm

            self._llm = chosen = open_llm(chosen)
        return chosen

    def _open_store(self) -> StoreComponents:
        return StoreComponents(self.config, self._embedder(), self.clock, self._overrides.index, self.llm)

    def _embedder(self) -> Embedder | None:
        if not self.config.enable_vector_search:
            return None
        if self._overrides.embedder is not None:
            return self._overrides.embedder
        from memoranda.embedding.model import EmbeddingModel

        size = self.config.max_cache_size if self.config.cache_enabled else 0
        return EmbeddingModel(self.config.embedding_model, use_gpu=self.config.use_gpu, cache_size=size)
