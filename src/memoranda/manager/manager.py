"""`MemoryManager`: the front door. Its verbs stand in `verbs/`, one theme a file, one line each."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Self

from memoranda.errors import InvalidType
from memoranda.manager.components import Components, Overrides
from memoranda.manager.maintenance import CopyVerbs, UpkeepVerbs
from memoranda.manager.memories import MemoryVerbs
from memoranda.manager.workflows import ConversationVerbs, ValueVerbs, WorkflowVerbs
from memoranda.settings import MemoryConfig, get_settings
from memoranda.text import clean_text
from memoranda.types import DEFAULT_TENANT, JSON, Clock

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from memoranda.embedding.base import Embedder
    from memoranda.index.base import VectorEngine
    from memoranda.llm.base import LLM
    from memoranda.redaction import Redactor
    from memoranda.sessions.base import ValueStore
    from memoranda.sessions.context import SessionContext


class MemoryManager(MemoryVerbs, ValueVerbs, ConversationVerbs, WorkflowVerbs, UpkeepVerbs, CopyVerbs):
    """Memory for agents: remembers, keeps, finds again, and says why.

    With no arguments, everything comes from the environment and `.env`; an argument wins over both.
    Nothing is opened before it is needed; entering it as a context manager opens the database at once.
    """

    def __init__(
        self,
        config: MemoryConfig | str | PathLike[str] | None = None,
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
        max_messages_per_agent: int | None = 1000,
        redactor: Redactor | None = None,
    ) -> None:
        settings = config if isinstance(config, MemoryConfig) else get_settings().memory
        url = _path(db_url, "db_url") if isinstance(config, MemoryConfig | None) else _path(config, "config")
        settings = replace(
            settings,
            db_url=url or settings.db_url,
            faiss_index_path=_path(faiss_index_path, "faiss_index_path") or settings.faiss_index_path,
        )
        self._tenant = clean_text(tenant, "tenant")
        overrides = Overrides(
            embedder, index, llm, short_term, clock, retention_policy, max_messages_per_agent, redactor
        )
        self._components = Components(settings, self._tenant, overrides)

    def __enter__(self) -> Self:
        self._components.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Saves the index and lets go of the file; may be called twice."""
        self._components.close()

    def for_tenant(self, tenant: str) -> MemoryManager:
        """A manager of another tenant over the same store and models; it ends when this one is closed."""
        other = copy(self)
        other._tenant = clean_text(tenant, "tenant")
        other._components = self._components.for_tenant(other._tenant)
        return other


def _path(given: object, name: str) -> str | None:
    """A file or URL as text."""
    if given is None or isinstance(given, str | PathLike):
        return None if given is None else str(given)
    raise InvalidType(f"{name} must be a path or a URL like sqlite:///memories.db, not {type(given).__name__}")


def create_session(
    workflow_id: str,
    memory_manager: MemoryManager,
    metadata: Mapping[str, JSON] | None = None,
    auto_cleanup: bool | None = None,
) -> SessionContext:
    """A session of a workflow, open at once; for `with`, or until `end_session()`.

    The same workflow opened twice is one workflow: both see its data, which goes when the last one ends.
    With `auto_cleanup=False` it stays until its values expire (default: `MEMORY_AUTO_CLEANUP`).
    """
    return memory_manager._components.sessions.open(workflow_id, metadata, auto_cleanup)
