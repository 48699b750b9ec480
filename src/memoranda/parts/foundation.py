"""What a manager stands on: the parts, each opened when it is first needed, all closed together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from memoranda import parts
from memoranda.arguments import check_whole
from memoranda.conversation.retention import retention_policy as check_policy
from memoranda.errors import Closed
from memoranda.types import utc_now

if TYPE_CHECKING:
    from memoranda.conversation.retention import RetentionPolicy
    from memoranda.embedding.base import Embedder
    from memoranda.index.base import VectorEngine
    from memoranda.llm.base import LLM
    from memoranda.parts.engine import Engine
    from memoranda.parts.learning import Learning
    from memoranda.parts.memories import Memories
    from memoranda.parts.recaller import Recaller
    from memoranda.parts.short_term import ShortTerm
    from memoranda.redaction import Redactor
    from memoranda.session.base import ValueStore
    from memoranda.settings import MemoryConfig
    from memoranda.types import Clock

_Part = TypeVar("_Part")


class _MadeWhenAsked(Generic[_Part]):
    """A part that is made, and its code loaded, when it is first asked for: once, whichever thread asks."""

    def __init__(self, make: Callable[[Foundation], _Part]) -> None:
        self._make = make

    def __set_name__(self, owner: type[Foundation], name: str) -> None:
        self._name = name

    def __get__(self, own: Foundation, owner: type[Foundation]) -> _Part:
        # Kept in the object's own dict, which from then on answers before this is asked.
        made: dict[str, _Part] = own.__dict__
        with own._making:
            if self._name not in made:
                made[self._name] = self._make(own)
            return made[self._name]


@dataclass(frozen=True, slots=True)
class Brought:
    """What a program brings along, in place of what the settings name."""

    embedder: Embedder | None = None
    index: VectorEngine | None = None
    llm: LLM | str | None = None
    short_term: ValueStore | None = None
    clock: Clock | None = None
    retention_policy: str = "session"
    max_messages: int | None = None
    redactor: Redactor | None = None


class Foundation:
    """The parts of one manager. Those of another tenant stand on the same `base`: one store, one set of models."""

    _tenant: str
    _brought: Brought

    executions = _MadeWhenAsked(lambda own: parts.executions.Executions(own._tenant, own, own._brought.redactor))
    sessions = _MadeWhenAsked(lambda own: parts.sessions.Sessions(own._tenant, own))
    knowledge = _MadeWhenAsked(lambda own: parts.knowledge.SharedKnowledge(own._tenant, own))
    values = _MadeWhenAsked(lambda own: parts.values.Values(own._tenant, own))
    conversations = _MadeWhenAsked(
        lambda own: parts.conversations.Conversations(own._tenant, own, own._policy, own._brought.max_messages)
    )
    upkeep = _MadeWhenAsked(lambda own: parts.upkeep.Upkeep(own._tenant, own))
    forgetting = _MadeWhenAsked(lambda own: parts.forgetting.Forgetting(own._tenant, own))
    past = _MadeWhenAsked(lambda own: parts.past.Past(own))

    def __init__(self, config: MemoryConfig, tenant: str, brought: Brought, base: Foundation | None = None) -> None:
        if brought.max_messages is not None:
            check_whole(brought.max_messages, "max_messages_per_agent")
        self.config = config
        self.now = brought.clock or utc_now
        self.short_term_ttl = timedelta(seconds=config.short_term_ttl)
        self._tenant = tenant
        self._brought = brought
        self._base = base
        self._llm = brought.llm
        self._policy: RetentionPolicy = check_policy(brought.retention_policy)
        self._lock = threading.Lock()
        self._making = threading.RLock()  # one part may ask for another while it is made
        self._before_close: list[Callable[[], None]] = []
        self._engine: Engine | None = None
        self._closed = False
        self.stores: ShortTerm = (
            base.stores.for_tenant(config, self.now)
            if base
            else parts.short_term.open_short_term(config, self.now, brought.short_term)
        )
        records = config.execution_records_dir
        self.mirror = parts.mirror.Mirror(Path(records)) if records else None

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
    def llm(self) -> LLM | None:
        """The language model, where one is given or set; one named by text is opened when it is first needed."""
        if self._base is not None:  # one model for all tenants, as with the store
            return self._base.llm
        chosen = self._llm or self.config.llm
        if isinstance(chosen, str):
            from memoranda.llm.named import open_llm

            self._llm = chosen = open_llm(chosen)
        return chosen

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
        return Foundation(self.config, tenant, self._brought, base=self)

    def before_close(self, work: Callable[[], None]) -> None:
        """Has this done before the store is closed, whichever tenant closes it."""
        (self._base or self)._before_close.append(work)

    def close(self) -> None:
        if self._has("upkeep"):
            self.upkeep.stop()
        for work in self._before_close:
            work()
        if self._has("conversations"):
            self.conversations.close()
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self.stores.close()
            if self._engine is not None and self._base is None:
                self._engine.close()

    def _has(self, part: str) -> bool:
        """Whether a part has been made."""
        return part in self.__dict__

    def _make_engine(self) -> Engine:
        if self._base is not None:
            return self._base.open()
        return parts.engine.Engine(self.config, self._chosen_embedder(), self.now, self._brought.index, self.llm)

    def _chosen_embedder(self) -> Embedder | None:
        if not self.config.enable_vector_search:
            return None
        if self._brought.embedder is not None:
            return self._brought.embedder
        from memoranda.embedding.model import EmbeddingModel

        size = self.config.max_cache_size if self.config.cache_enabled else 0
        return EmbeddingModel(self.config.embedding_model, use_gpu=self.config.use_gpu, cache_size=size)
