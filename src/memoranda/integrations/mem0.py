"""An existing mem0 store: what it remembers, and how that comes into ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import Any

from memoranda.errors import Incompatible, NotFound
from memoranda.integrations.qdrant_folder import points
from memoranda.manager.manager import MemoryManager
from memoranda.persistent.mem0 import moment
from memoranda.types import JSON, MemoryType, Progress, Record
from memoranda.validation import copy_json_object

_NAMES = ("user_id", "agent_id", "run_id", "actor_id", "role")
_OWN_KEYS = frozenset((*_NAMES, "data", "hash", "created_at", "updated_at", "text_lemmatized", "attributed_to"))
_AT_ONCE = 500
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Mem0Memory(Record):
    """One memory of a mem0 store."""

    id: str
    content: str
    agent: str | None
    user: str | None
    session: str | None
    role: str | None
    speaker: str | None
    created_at: datetime
    metadata: dict[str, JSON]
    earlier: tuple[str, ...] = ()
    """What it said before it was updated, oldest first; only where the history is read too."""


@dataclass(frozen=True, slots=True)
class ImportedMem0(Record):
    """What an import did."""

    read: int
    stored: int
    known: int
    rejected: int


def read(
    path: str | PathLike[str], *, history: str | PathLike[str] | None = None, collection: str = "mem0"
) -> list[Mem0Memory]:
    """The memories of a local mem0 store, oldest first: `path` is its Qdrant folder, `history` its history.db.

    Nothing is changed and nothing of mem0 or Qdrant need be installed.
    """
    earlier = {} if history is None else _earlier(Path(history))
    found = [_memory(point.id, point.payload, earlier.get(point.id, ())) for point in points(Path(path), collection)]
    return sorted(found, key=lambda memory: (memory.created_at, memory.id))


def import_mem0(
    manager: MemoryManager,
    path: str | PathLike[str],
    *,
    history: str | PathLike[str] | None = None,
    collection: str = "mem0",
    progress: Progress | None = None,
) -> ImportedMem0:
    """Takes a mem0 store into a manager, each memory under its own names and time; a second import adds nothing."""
    memories = read(path, history=history, collection=collection)
    counts = {"stored": 0, "duplicate": 0}
    done = 0
    for batch in _batches(memories):
        names, kept = batch[0], [_message(memory) for memory in batch]
        outcomes = manager.remember(
            kept,
            agent=names.agent,
            user=names.user,
            session=names.session,
            type=MemoryType.SEMANTIC,
            source="mem0",
            keep_all=True,
        )
        for outcome in outcomes:
            counts[outcome.status] = counts.get(outcome.status, 0) + 1
        done += len(batch)
        if progress is not None:
            progress(done, len(memories))
    stored, known = counts["stored"], counts["duplicate"]
    return ImportedMem0(len(memories), stored, known, len(memories) - stored - known)


def _batches(memories: Sequence[Mem0Memory]) -> Iterator[list[Mem0Memory]]:
    """The memories of one scope together, so many at once: a list is one commit."""
    scope: Callable[[Mem0Memory], tuple[str, ...]] = lambda m: (m.agent or "", m.user or "", m.session or "")  # noqa: E731
    for _, of in groupby(sorted(memories, key=scope), key=scope):
        everything = list(of)
        yield from (everything[start : start + _AT_ONCE] for start in range(0, len(everything), _AT_ONCE))


def _message(memory: Mem0Memory) -> dict[str, Any]:
    earlier: dict[str, JSON] = {"mem0_earlier": list(memory.earlier)} if memory.earlier else {}
    return {
        "role": memory.role if memory.role in ("user", "assistant") else "user",
        "content": memory.content,
        "name": memory.speaker,
        "message_id": f"mem0:{memory.id}",
        "timestamp": memory.created_at,
        "metadata": {**memory.metadata, **earlier},
    }


def _memory(id: str, payload: dict[str, Any], earlier: tuple[str, ...]) -> Mem0Memory:
    text = payload.get("data")
    if not isinstance(text, str):
        raise Incompatible(f"the point {id} has no text: this is no collection of mem0's memories")
    return Mem0Memory(
        id=id,
        content=text,
        agent=_name(payload.get("agent_id")),
        user=_name(payload.get("user_id")),
        session=_name(payload.get("run_id")),
        role=_name(payload.get("role")),
        speaker=_name(payload.get("actor_id")),
        created_at=moment(payload.get("created_at")) or _EPOCH,
        metadata=copy_json_object({key: value for key, value in payload.items() if key not in _OWN_KEYS}, "metadata"),
        earlier=earlier,
    )


def _name(given: object) -> str | None:
    return str(given) if given else None


def _earlier(file: Path) -> dict[str, tuple[str, ...]]:
    if not file.is_file():
        raise NotFound(f"there is no mem0 history {file}")
    connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
    found: dict[str, tuple[str, ...]] = {}
    try:
        query = "SELECT memory_id, old_memory FROM history WHERE event = 'UPDATE' ORDER BY updated_at, rowid"
        for memory_id, text in connection.execute(query):
            if text:
                found[memory_id] = (*found.get(memory_id, ()), text)
    except sqlite3.Error as error:
        raise Incompatible(f"{file} is no history of mem0: {error}") from error
    finally:
        connection.close()
    return found
