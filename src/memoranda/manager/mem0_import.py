"""Import the memories of a mem0 store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from os import PathLike
from typing import Any

from memoranda.manager.manager import MemoryManager
from memoranda.messages.message import as_message
from memoranda.results.transfer import Mem0ImportReport
from memoranda.transfer.mem0_files import Mem0Memory, read
from memoranda.types import JSON, MemoryType, Progress

_BATCH_SIZE = 500
_COUNTED = {"stored": "stored", "known": "duplicate", "quarantined": "quarantined", "forgotten": "forgotten"}
"""The fields of the report, and the outcomes that they count."""


def import_mem0(
    manager: MemoryManager,
    path: str | PathLike[str],
    *,
    history: str | PathLike[str] | None = None,
    collection: str = "mem0",
    progress: Progress | None = None,
) -> Mem0ImportReport:
    """Import a mem0 store, each memory with its own names and time. Importing it again adds nothing.

    Args:
        manager: Where the memories are stored.
        path: The store's Qdrant folder.
        history: The store's history.db, to import earlier versions too.
        collection: The Qdrant collection.
        progress: Called with the number of imported memories and the total.
    """
    memories = read(path, history=history, collection=collection)
    counts: Counter[str] = Counter()
    done = 0
    for batch in _batches(memories):
        first = batch[0]
        messages = [as_message(_to_message(memory)) for memory in batch]
        kept = manager._components.receipts.leave_out_forgotten(first.user, messages)
        counts["forgotten"] += len(messages) - len(kept)
        outcomes = manager.remember(
            kept,
            agent=first.agent,
            user=first.user,
            session=first.session,
            type=MemoryType.SEMANTIC,
            source="mem0",
            keep_all=True,
        )
        counts.update(outcome.status for outcome in outcomes)
        done += len(batch)
        if progress is not None:
            progress(done, len(memories))
    named = {name: counts[status] for name, status in _COUNTED.items()}
    return Mem0ImportReport(read=len(memories), rejected=len(memories) - sum(named.values()), **named)


def _batches(memories: Sequence[Mem0Memory]) -> Iterator[list[Mem0Memory]]:
    """Group the memories by scope into batches, because each batch is one commit."""
    scope: Callable[[Mem0Memory], tuple[str, ...]] = lambda m: (m.agent or "", m.user or "", m.session or "")  # noqa: E731
    for _, group in groupby(sorted(memories, key=scope), key=scope):
        same_scope = list(group)
        yield from (same_scope[start : start + _BATCH_SIZE] for start in range(0, len(same_scope), _BATCH_SIZE))


def _to_message(memory: Mem0Memory) -> dict[str, Any]:
    earlier: dict[str, JSON] = {"mem0_earlier": list(memory.earlier)} if memory.earlier else {}
    return {
        "role": memory.role if memory.role in ("user", "assistant") else "user",
        "content": memory.content,
        "name": memory.speaker,
        "message_id": f"mem0:{memory.id}",
        "timestamp": memory.created_at,
        "metadata": {**memory.metadata, **earlier},
    }
