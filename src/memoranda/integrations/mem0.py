"""mem0's `Memory` and `AsyncMemory` on Memoranda, for programs that were written for mem0. Needs no mem0.

Also: import the memories of an existing mem0 store.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from memoranda import aio
from memoranda.aio.manager import blocking_part
from memoranda.aio.threads import Threads, off_loop
from memoranda.errors import InvalidInput, InvalidType
from memoranda.integrations.mem0_answers import MemoryNotFound
from memoranda.integrations.mem0_import import Mem0ImportReport, Mem0Memory, import_mem0, read
from memoranda.integrations.mem0_memory import Mem0Calls
from memoranda.manager.manager import MemoryManager
from memoranda.types import DEFAULT_TENANT

__all__ = ["AsyncMemory", "Mem0ImportReport", "Mem0Memory", "Memory", "MemoryNotFound", "import_mem0", "read"]

_FILE: Final = "memories.db"
_UNUSED: Final = "mem0's settings for {} are not used: give models to MemoryManager(...), and that to Memory(...)"
_LOCAL_PROVIDERS: Final = (None, "qdrant", "chroma", "faiss")
_LOCAL_SETTINGS: Final = frozenset(
    ("path", "collection_name", "embedding_model_dims", "on_disk", "distance_strategy", "normalize_L2")
)
"""Settings of a store in a folder; every other one leads to a server or to a client of one."""


class Memory(Mem0Calls):
    """mem0's `Memory`, in a Memoranda store. What it adds, `MemoryManager` recalls, and the other way round."""

    def __init__(self, memory: MemoryManager | None = None) -> None:
        """Use a manager, or one with the settings of the environment, which `close` closes."""
        if memory is not None and not isinstance(memory, MemoryManager):
            raise InvalidType(f"memory must be a MemoryManager, not {type(memory).__name__}: or use Memory.from_config")
        super().__init__(MemoryManager() if memory is None else memory)
        self._owns_memory = memory is None

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Use the folder and the collection of mem0's vector store. The models are those of Memoranda."""
        memory = cls(_open_configured(config_dict))
        memory._owns_memory = True
        return memory

    def chat(self, query: str) -> None:
        """Raise `NotImplementedError`, as in mem0."""
        raise NotImplementedError(f"mem0 has no chat: use search({query!r}), or MemoryManager.context")

    def close(self) -> None:
        """Close the manager, unless it is shared. Can be called twice."""
        if self._owns_memory:
            self._memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncMemory:
    """mem0's `AsyncMemory`: the same calls, awaited."""

    def __init__(self, memory: aio.MemoryManager | None = None) -> None:
        """Use a manager, or one with the settings of the environment, which `close` closes."""
        if memory is None:
            self._own(MemoryManager())
        elif isinstance(memory, aio.MemoryManager):
            self._owned: MemoryManager | None = None
            manager, self._threads = blocking_part(memory)
            self._inner = Mem0Calls(manager)
        else:
            raise InvalidType(f"memory must be a memoranda.aio.MemoryManager, not {type(memory).__name__}")

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Use the folder and the collection of mem0's vector store. May be awaited, as in mem0 1.x."""
        memory = cls.__new__(cls)
        memory._own(_open_configured(config_dict))
        return memory

    def _own(self, manager: MemoryManager) -> None:
        self._owned, self._inner, self._threads = manager, Mem0Calls(manager), Threads()

    def __await__(self) -> Generator[None, None, Self]:
        yield from ()
        return self

    add = off_loop(Mem0Calls.add, model=True)
    get = off_loop(Mem0Calls.get)
    get_all = off_loop(Mem0Calls.get_all)
    search = off_loop(Mem0Calls.search, model=True)
    update = off_loop(Mem0Calls.update, model=True)
    delete = off_loop(Mem0Calls.delete)
    delete_all = off_loop(Mem0Calls.delete_all, background=True)
    history = off_loop(Mem0Calls.history)
    reset = off_loop(Mem0Calls.reset, background=True)

    async def chat(self, query: str) -> None:
        """Raise `NotImplementedError`, as in mem0."""
        raise NotImplementedError(f"mem0 has no chat: use search({query!r}), or MemoryManager.context")

    def close(self) -> None:
        """Close the manager, unless it is shared. Not awaited, as in mem0. Can be called twice."""
        if self._owned is not None:
            self._threads.close()
            self._owned.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _open_configured(config: Mapping[str, Any]) -> MemoryManager:
    """Return a manager for a configuration of mem0: one database in a folder, one tenant in it for each collection."""
    if not isinstance(config, Mapping):
        raise InvalidType(f"the configuration must be a dict, not {type(config).__name__}")
    settings = _local_settings(config.get("vector_store") or {})
    unused = sorted(key for key in config if key not in ("vector_store", "version", "history_db_path"))
    if unused:
        warnings.warn(_UNUSED.format(", ".join(unused)), stacklevel=3)
    folder, tenant = settings.get("path"), settings.get("collection_name") or DEFAULT_TENANT
    if folder is None:
        return MemoryManager(tenant=tenant)
    Path(folder).mkdir(parents=True, exist_ok=True)
    return MemoryManager(Path(folder) / _FILE, tenant=tenant)


def _local_settings(store: object) -> Mapping[str, Any]:
    """Return the settings of mem0's vector store; one on a server is refused, as its data would be missing."""
    settings = (store.get("config") or {}) if isinstance(store, Mapping) else None
    if not isinstance(store, Mapping) or not isinstance(settings, Mapping):
        raise InvalidType("vector_store must be a dict such as {'config': {'path': 'folder'}}")
    provider = store.get("provider")
    remote = sorted(str(key) for key, value in settings.items() if key not in _LOCAL_SETTINGS and value is not None)
    if remote or provider not in _LOCAL_PROVIDERS:
        named = f"provider {provider!r}" + (f" with {', '.join(remote)}" if remote else "")
        raise InvalidInput(
            f"vector_store names {named}, which Memoranda does not use: give {{'config': {{'path': 'folder'}}}}, "
            "or Memory(MemoryManager('postgresql://…')) for a server"
        )
    return settings
