"""`MemoryManager`, awaited: the same methods with the same arguments and results."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from recollect import manager
from recollect.aio.threads import Threads, off_loop
from recollect.embedding.base import Embedder
from recollect.session.base import ValueStore
from recollect.settings import MemoryConfig
from recollect.types import DEFAULT_TENANT, Clock

_Sync = manager.MemoryManager


class MemoryManager:
    """Memory for agents, without holding up the event loop."""

    def __init__(
        self,
        config: MemoryConfig | str | None = None,
        *,
        db_url: str | None = None,
        faiss_index_path: str | None = None,
        embedder: Embedder | None = None,
        short_term: ValueStore | None = None,
        clock: Clock | None = None,
        tenant: str = DEFAULT_TENANT,
    ) -> None:
        self._inner = _Sync(
            config,
            db_url=db_url,
            faiss_index_path=faiss_index_path,
            embedder=embedder,
            short_term=short_term,
            clock=clock,
            tenant=tenant,
        )
        self._threads = Threads()

    async def __aenter__(self) -> Self:
        await self._threads.run(self._inner.__enter__, model=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Saves the index and lets go of the file; may be called twice."""
        if not self._threads.closed:
            await self._threads.run(self._inner.close, model=False)
            self._threads.close()

    remember = off_loop(_Sync.remember, model=True)
    recall = off_loop(_Sync.recall, model=True)

    add_memory = off_loop(_Sync.add_memory, model=True)
    add_memories = off_loop(_Sync.add_memories, model=True)
    get = off_loop(_Sync.get)
    update = off_loop(_Sync.update, model=True)
    delete = off_loop(_Sync.delete)
    search_memories = off_loop(_Sync.search_memories, model=True)
    search_memory = off_loop(_Sync.search_memory, model=True)
    add_memory_association = off_loop(_Sync.add_memory_association)
    get_related_memories = off_loop(_Sync.get_related_memories)
    cleanup_old_memories = off_loop(_Sync.cleanup_old_memories)

    save = off_loop(_Sync.save, model=True)
    retrieve = off_loop(_Sync.retrieve)
    search_similar = off_loop(_Sync.search_similar, model=True)

    reembed = off_loop(_Sync.reembed, model=True)
    get_stats = off_loop(_Sync.get_stats)
    health = off_loop(_Sync.health)
