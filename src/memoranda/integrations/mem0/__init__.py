"""mem0's `Memory` and `AsyncMemory` on Memoranda, for programs that were written for mem0. Needs no mem0.

Also: import the memories of an existing mem0 store.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self, TypeAlias

from memoranda import aio
from memoranda.aio.manager import blocking_part
from memoranda.aio.threads import Threads, off_loop
from memoranda.errors import InvalidInput, InvalidType
from memoranda.integrations.managers import OpenedSource, Source, open_source, wrong_source
from memoranda.integrations.mem0.answers import MemoryNotFound
from memoranda.integrations.mem0.calls import Mem0Calls
from memoranda.manager.manager import MemoryManager
from memoranda.manager.mem0_import import Mem0Memory, import_mem0, read
from memoranda.results.workflows import Mem0ImportReport
from memoranda.types import DEFAULT_TENANT

__all__ = ["AsyncMemory", "Mem0ImportReport", "Mem0Memory", "Memory", "MemoryNotFound", "import_mem0", "read"]

Config: TypeAlias = "Mapping[str, Any] | ModelConfig"
_FILE: Final = "memories.db"
_UNUSED: Final = "mem0's settings for {} are not used: give models to MemoryManager(...), and that to Memory(...)"
_LOCAL_PROVIDERS: Final = (None, "qdrant", "chroma", "faiss")
_LOCAL_SETTINGS: Final = frozenset(
    ("path", "collection_name", "embedding_model_dims", "on_disk", "distance_strategy", "normalize_L2")
)
"""Settings of a store in a folder; every other one leads to a server or to a client of one."""


class ModelConfig(Protocol):
    """mem0's `MemoryConfig`, or another model with its fields."""

    @property
    def model_dump(self) -> Callable[..., dict[str, Any]]: ...


class Memory(Mem0Calls, OpenedSource):
    """mem0's `Memory`, in a Memoranda store. What it adds, `MemoryManager` recalls, and the other way round."""

    def __init__(self, config: Source | ModelConfig = None, *, memory: Source = None) -> None:
        """Use a manager, the path or URL of a database, or what mem0's configuration names; without any, the settings.

        What is opened here, `close` closes.
        """
        self.memory, self._owns_memory = _open(config if memory is None else memory)
        super().__init__(self.memory)

    @classmethod
    def from_config(cls, config_dict: Config) -> Self:
        """Use the folder and the collection of mem0's vector store. The models are those of Memoranda."""
        memory = cls(_open_configured(config_dict))
        memory._owns_memory = True
        return memory

    def chat(self, query: str) -> None:
        """Raise `NotImplementedError`, as in mem0."""
        raise NotImplementedError(f"mem0 has no chat: use search({query!r}), or MemoryManager.context")


class AsyncMemory:
    """mem0's `AsyncMemory`: the same calls, awaited."""

    def __init__(self, config: Source | ModelConfig = None, *, memory: Source = None) -> None:
        """Use what `Memory` uses."""
        given = config if memory is None else memory
        manager, opened = _open(given)
        self._owned = manager if opened else None
        self._inner = Mem0Calls(manager)
        self._threads = blocking_part(given)[1] if isinstance(given, aio.MemoryManager) else Threads()

    @classmethod
    def from_config(cls, config_dict: Config) -> Self:
        """Use the folder and the collection of mem0's vector store. May be awaited, as in mem0 1.x."""
        memory = cls(_open_configured(config_dict))
        memory._owned = memory._inner._memory
        return memory

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


def _open(given: Source | ModelConfig) -> tuple[MemoryManager, bool]:
    """Return the manager of a source or of mem0's `MemoryConfig`, and whether it was opened here."""
    if isinstance(given, Mapping):
        raise InvalidType("memory must be a MemoryManager or mem0's MemoryConfig: Memory.from_config takes a dict")
    if given is None or isinstance(given, MemoryManager | aio.MemoryManager | str | PathLike):
        return open_source(given)
    if not hasattr(given, "model_dump") or isinstance(given, type):
        raise wrong_source(given)
    return _open_configured(given), True


def _open_configured(given: Config) -> MemoryManager:
    """Return a manager for a configuration of mem0: one database in a folder, one tenant in it for each collection."""
    config = given
    if hasattr(given, "model_dump"):
        config = given.model_dump(exclude_unset=True, exclude_none=True, warnings=False)
    if not isinstance(config, Mapping):
        raise InvalidType(f"the configuration must be a dict or mem0's MemoryConfig, not {type(config).__name__}")
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
