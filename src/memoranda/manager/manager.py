"""`MemoryManager`, the entry point. Its methods are grouped by theme in the other modules of this folder."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Self

from memoranda.errors import InvalidInput, InvalidType
from memoranda.manager.components import Components, Overrides
from memoranda.manager.items import ItemMethods
from memoranda.manager.maintenance import UpkeepMethods
from memoranda.manager.memories import MemoryMethods
from memoranda.manager.transfer import BackupMethods
from memoranda.manager.workflows import ConversationMethods, ValueMethods, WorkflowMethods
from memoranda.settings import MemoryConfig, get_settings, mask_password, with_encryption_key
from memoranda.text.checks import clean_text
from memoranda.types import DEFAULT_TENANT, JSON, Clock, RetentionPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from memoranda.embedding.base import Embedder
    from memoranda.index.base import VectorEngine
    from memoranda.llm.base import LLM
    from memoranda.security.redaction import Redactor
    from memoranda.sessions.base import ValueStore
    from memoranda.sessions.context import SessionContext


class MemoryManager(
    MemoryMethods, ItemMethods, ValueMethods, ConversationMethods, WorkflowMethods, UpkeepMethods, BackupMethods
):
    """Memory for agents: remember, recall, explain and forget.

    Without arguments, settings come from the environment and `.env`; an argument overrides both. The database is
    opened when it is first needed, or at once by `with`.

    Many methods take the same arguments:

    - `agent`, `session`: A named agent or session matches exactly; None means any.
    - `user`: A named user matches exactly; None means memories that belong to no user, `ANY` those of every user.
    - `types`: Only memories of these types; None means every type.
    - `where`: Filters, a dict with some of `type`, `source`, `speaker`, `after`, `before`, `min_importance`,
      `max_importance` and `metadata`; every one must hold.
    """

    def __init__(
        self,
        config: MemoryConfig | str | PathLike[str] | None = None,
        max_messages_per_agent: int | None = 1000,
        *,
        db_url: str | PathLike[str] | None = None,
        faiss_index_path: str | PathLike[str] | None = None,
        embedder: Embedder | None = None,
        index: VectorEngine | None = None,
        llm: LLM | str | None = None,
        short_term: ValueStore | None = None,
        clock: Clock | None = None,
        tenant: str = DEFAULT_TENANT,
        retention_policy: str = "session",
        redactor: Redactor | None = None,
        encryption_key: str | None = None,
        storage_dir: str | PathLike[str] | None = None,
        embeddings_dir: str | PathLike[str] | None = None,
        use_redis: bool | None = None,
        redis_client: object | None = None,
        embedding_model: Embedder | str | None = None,
    ) -> None:
        """Create a manager.

        Args:
            config: The settings, or the path or URL of the database. The name of a retention policy is taken as one.
            max_messages_per_agent: The length of a conversation; older messages are dropped. None for no limit.
            db_url: The path or URL of the database.
            faiss_index_path: The file of the search index; next to the database when None.
            embedder: The embedding model.
            index: The vector index.
            llm: The language model, or its name such as `openai:gpt-4o-mini`.
            short_term: The store for short-term values and sessions.
            clock: Returns the current time; for tests.
            tenant: The tenant whose memory this is; tenants never see each other's data.
            retention_policy: How long conversations are kept: `single_run`, `session` or `persistent`.
            redactor: Removes secrets from execution records.
            encryption_key: The key of an encrypted database: 64 hexadecimal digits, or a passphrase.
            storage_dir: The folder that relative database and index paths start from.
            embeddings_dir: The folder of the search index, in place of `faiss_index_path`.
            use_redis: Whether short-term values and sessions are in Redis; `MEMORY_USE_REDIS` when None.
            redis_client: The server for `use_redis`, as a client of redis-py; `MEMORY_REDIS_URL` when None.
            embedding_model: The embedding model or its name, in place of `embedder`; `EMBEDDING_MODEL` when None.
        """
        if isinstance(config, str) and config in tuple(RetentionPolicy):
            retention_policy = config
            config = None
        settings = config if isinstance(config, MemoryConfig) else get_settings().memory
        url = _path(db_url, "db_url") if isinstance(config, MemoryConfig | None) else _path(config, "config")
        settings = replace(
            settings,
            db_url=url or settings.db_url,
            read_url=None if url else settings.read_url,  # it belongs to the database of the settings
            faiss_index_path=_index_path(faiss_index_path, embeddings_dir) or settings.faiss_index_path,
            storage_dir=_path(storage_dir, "storage_dir") or settings.storage_dir,
            use_redis=settings.use_redis if use_redis is None else bool(use_redis),
        )
        if embedder is not None and embedding_model is not None:
            raise InvalidInput("give either embedder or embedding_model, not both")
        if isinstance(embedding_model, str):
            settings = replace(settings, embedding_model=clean_text(embedding_model, "embedding_model"))
        elif embedding_model is not None:
            embedder = embedding_model
        settings = with_encryption_key(settings, encryption_key)
        self._tenant = clean_text(tenant, "tenant")
        if short_term is None and redis_client is not None and settings.use_redis:
            from memoranda.sessions.redis import RedisBackend

            short_term = RedisBackend(redis_client, ttl=settings.short_term_ttl)
        overrides = Overrides(
            embedder, index, llm, short_term, clock, retention_policy, max_messages_per_agent, redactor
        )
        self._components = Components(settings, self._tenant, overrides)

    def __repr__(self) -> str:
        url = mask_password(self._components.config.db_url)
        return f"MemoryManager({url!r}, tenant={self._tenant!r})"

    def __enter__(self) -> Self:
        self._components.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Save the index and close the database. Can be called twice."""
        self._components.close()

    def for_tenant(self, tenant: str) -> MemoryManager:
        """Return a manager of another tenant with the same store and models. It closes with this one."""
        other = copy(self)
        other._tenant = clean_text(tenant, "tenant")
        other._components = self._components.for_tenant(other._tenant)
        return other


def _path(value: object, name: str) -> str | None:
    if value is None or isinstance(value, str | PathLike):
        return None if value is None else str(value)
    raise InvalidType(f"{name} must be a path or a URL like sqlite:///memories.db, not {type(value).__name__}")


def _index_path(file: object, folder: object) -> str | None:
    path = _path(folder, "embeddings_dir")
    if path is None:
        return _path(file, "faiss_index_path")
    if file is not None:
        raise InvalidInput("give either faiss_index_path or embeddings_dir, not both")
    return str(Path(path).absolute() / "memories.faiss")


def create_memory_manager(redis_client: object | None = None) -> MemoryManager:
    """Return a manager with the settings of the environment; `redis_client` counts with `MEMORY_USE_REDIS`."""
    return MemoryManager(redis_client=redis_client)


def create_session(
    workflow_id: str,
    memory_manager: MemoryManager,
    metadata: Mapping[str, JSON] | None = None,
    auto_cleanup: bool | None = None,
) -> SessionContext:
    """Open a session of a workflow, for `with` or until `end_session()`.

    Sessions of the same workflow share its data, which is deleted when the last one ends.

    Args:
        workflow_id: The workflow.
        memory_manager: The manager that stores the data.
        metadata: A JSON object kept with the session.
        auto_cleanup: False keeps the data until its values expire; `MEMORY_AUTO_CLEANUP` when None.
    """
    from memoranda.sessions.context import SessionContext

    return SessionContext(workflow_id, memory_manager, metadata, auto_cleanup)
