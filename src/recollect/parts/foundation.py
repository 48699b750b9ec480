"""What a manager stands on: the parts, each opened when it is first needed, all closed together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.embedding.base import Embedder
from recollect.errors import Closed
from recollect.index.base import VectorEngine
from recollect.llm.base import LLM
from recollect.parts.conversations import Conversations
from recollect.parts.executions import Executions
from recollect.parts.forgetting import Forgetting
from recollect.parts.knowledge import SharedKnowledge
from recollect.parts.mirror import Mirror
from recollect.parts.past import Past
from recollect.parts.sessions import Sessions
from recollect.parts.short_term import ShortTerm, open_short_term
from recollect.parts.upkeep import Upkeep
from recollect.parts.values import Values
from recollect.redaction import Redactor
from recollect.session.base import ValueStore
from recollect.settings import MemoryConfig
from recollect.types import Clock

if TYPE_CHECKING:
    from recollect.parts.engine import Engine
    from recollect.parts.learning import Learning
    from recollect.parts.memories import Memories
    from recollect.parts.recaller import Recaller


def utc_now() -> datetime:
    return datetime.now(UTC)


class Foundation:
    """The parts of one manager."""

    def __init__(
        self,
        config: MemoryConfig,
        tenant: str,
        *,
        embedder: Embedder | None = None,
        index: VectorEngine | None = None,
        llm: LLM | None = None,
        short_term: ValueStore | None = None,
        clock: Clock | None = None,
        retention_policy: str = "session",
        max_messages: int | None = None,
        redactor: Redactor | None = None,
        base: Foundation | None = None,
    ) -> None:
        self.config = config
        self.now = clock or utc_now
        self.short_term_ttl = timedelta(seconds=config.short_term_ttl)
        self._embedder = embedder
        self._index = index
        self.llm = llm
        self._base = base
        self._for_tenant = partial(
            Foundation,
            config,
            embedder=embedder,
            index=index,
            llm=llm,
            short_term=short_term,
            clock=clock,
            retention_policy=retention_policy,
            max_messages=max_messages,
            redactor=redactor,
            base=self,
        )
        self._lock = threading.Lock()
        self._before_close: list[Callable[[], None]] = []
        self._engine: Engine | None = None
        self._closed = False
        self.stores: ShortTerm = (
            base.stores.for_tenant(config, self.now) if base else open_short_term(config, self.now, short_term)
        )
        self.mirror = Mirror(Path(config.execution_records_dir)) if config.execution_records_dir else None
        self.executions = Executions(tenant, self, redactor)
        self.sessions = Sessions(tenant, self)
        self.knowledge = SharedKnowledge(tenant, self)
        self.values = Values(tenant, self)
        self.conversations = Conversations(tenant, self, retention_policy, max_messages)
        self.upkeep = Upkeep(tenant, self)
        self.forgetting = Forgetting(tenant, self)
        self.past = Past(self)

    @property
    def short_term(self) -> ValueStore:
        """Where short-term values lie."""
        self.ensure_open()
        return self.stores.values

    @property
    def session_store(self) -> ValueStore:
        """Where the data of sessions lies."""
        self.ensure_open()
        return self.stores.sessions

    @property
    def memories(self) -> Memories:
        return self.open().memories

    @property
    def learning(self) -> Learning:
        return self.open().learning

    @property
    def recaller(self) -> Recaller:
        return self.open().recaller

    @property
    def engine(self) -> Engine | None:
        """The long-term half, when it has been opened."""
        return self._engine

    def open(self) -> Engine:
        """The long-term half; the database is opened, and made if need be, at the first call."""
        self.ensure_open()
        if self._engine is None:
            with self._lock:
                if self._engine is None:
                    self._engine = self._make_engine()
        return self._engine

    def ensure_open(self) -> None:
        if self._closed:
            raise Closed("this MemoryManager is closed: make a new one")

    def for_tenant(self, tenant: str) -> Foundation:
        """The same store and models for another tenant."""
        return self._for_tenant(tenant)

    def before_close(self, work: Callable[[], None]) -> None:
        """Has this done before the store is closed, whichever tenant closes it."""
        (self._base or self)._before_close.append(work)

    def close(self) -> None:
        self.upkeep.stop()
        for work in self._before_close:
            work()
        self.conversations.close()
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self.stores.close()
            if self._engine is not None and self._base is None:
                self._engine.close()

    def _make_engine(self) -> Engine:
        if self._base is not None:
            return self._base.open()
        # SQLAlchemy and numpy come with the engine; a program that only imports the package never waits for them.
        from recollect.parts.engine import Engine

        return Engine(self.config, self._chosen_embedder(), self.now, self._index, self.llm)

    def _chosen_embedder(self) -> Embedder | None:
        if not self.config.enable_vector_search:
            return None
        if self._embedder is not None:
            return self._embedder
        from recollect.embedding.model import EmbeddingModel

        size = self.config.max_cache_size if self.config.cache_enabled else 0
        return EmbeddingModel(self.config.embedding_model, use_gpu=self.config.use_gpu, cache_size=size)
