"""Import a mem0 store: read its files without mem0, Qdrant or running code in them, and remember what they hold."""

from __future__ import annotations

import io
import json
import pickle
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import Any

from memoranda.display import shown
from memoranda.errors import Incompatible, InvalidInput, NotFound
from memoranda.manager.manager import MemoryManager
from memoranda.messages.parsing import as_message
from memoranda.records import Record
from memoranda.results.workflows import Mem0ImportReport
from memoranda.types import JSON, MemoryType, Progress
from memoranda.validation import copy_json_object

_MEM0_KEYS = frozenset(
    (
        *("user_id", "agent_id", "run_id", "actor_id", "role"),
        *("data", "hash", "created_at", "updated_at", "text_lemmatized", "attributed_to"),
    )
)
"""Keys of a payload that mem0 writes; all others are the user's metadata."""


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
    """Its texts before updates, oldest first; empty unless the history is read."""


def read(
    path: str | PathLike[str], *, history: str | PathLike[str] | None = None, collection: str = "mem0"
) -> list[Mem0Memory]:
    """Return the memories of a local mem0 store, oldest first. Neither mem0 nor Qdrant has to be installed.

    Args:
        path: The store's Qdrant folder. It is not changed.
        history: The store's history.db, to read earlier versions too.
        collection: The Qdrant collection.
    """
    earlier = {} if history is None else _read_history(Path(history))
    points = read_points(Path(path), collection)
    memories = [_to_memory(point.id, point.payload, earlier.get(point.id, ())) for point in points]
    return sorted(memories, key=lambda memory: (memory.created_at, memory.id))


def _to_memory(id: str, payload: dict[str, Any], earlier: tuple[str, ...]) -> Mem0Memory:
    text = payload.get("data")
    if not isinstance(text, str):
        raise Incompatible(f"the point {id} has no text: this is not a collection of mem0 memories")
    return Mem0Memory(
        id=id,
        content=text,
        agent=_to_name(payload.get("agent_id")),
        user=_to_name(payload.get("user_id")),
        session=_to_name(payload.get("run_id")),
        role=_to_name(payload.get("role")),
        speaker=_to_name(payload.get("actor_id")),
        created_at=parse_mem0_time(payload.get("created_at")) or datetime.fromtimestamp(0, UTC),
        metadata=copy_json_object({key: value for key, value in payload.items() if key not in _MEM0_KEYS}, "metadata"),
        earlier=earlier,
    )


def _to_name(value: object) -> str | None:
    return str(value) if value else None


def _read_history(file: Path) -> dict[str, tuple[str, ...]]:
    if not file.is_file():
        raise NotFound(f"no mem0 history {file}")
    connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
    found: dict[str, tuple[str, ...]] = {}
    try:
        query = "SELECT memory_id, old_memory FROM history WHERE event = 'UPDATE' ORDER BY updated_at, rowid"
        for memory_id, text in connection.execute(query):
            if text:
                found[memory_id] = (*found.get(memory_id, ()), text)
    except sqlite3.Error as error:
        raise Incompatible(f"{file} is not a mem0 history: {error}") from error
    finally:
        connection.close()
    return found


def parse_mem0_time(value: object) -> datetime | None:
    """Parse a time as mem0 writes it; without a zone it is UTC. Return None if the value is not a text."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError as error:
        raise Incompatible(f"{shown(value)} is not a time in mem0's format") from error
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


_MODELS_MODULE = "qdrant_client.http.models.models"


@dataclass(frozen=True, slots=True)
class QdrantPoint:
    """The id and the payload of one point."""

    id: str
    payload: dict[str, Any]


def list_collections(folder: Path) -> list[str]:
    """Return the names of the collections; raise `InvalidInput` if this is not a Qdrant folder."""
    try:
        names = json.loads((folder / "meta.json").read_text("utf-8"))["collections"]
    except FileNotFoundError as error:
        raise InvalidInput(f"{folder} is not a Qdrant folder: it has no meta.json") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Incompatible(f"{folder / 'meta.json'} is damaged: {error}") from error
    return sorted(names)


def read_points(folder: Path, collection: str) -> Iterator[QdrantPoint]:
    """Yield the points of a collection in the order they were written."""
    names = list_collections(folder)
    if collection not in names:
        raise NotFound(f"{folder} has no collection {collection!r}: it has {', '.join(names) or 'none'}")
    file = folder / "collection" / collection / "storage.sqlite"
    # Read-only: another program's store must not change, not even by a lock file.
    connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
    try:
        for (data,) in connection.execute("SELECT point FROM points ORDER BY rowid"):
            yield _load_point(data, file)
    except sqlite3.Error as error:
        raise Incompatible(f"{file} cannot be read: {error}") from error
    finally:
        connection.close()


def _load_point(data: bytes, file: Path) -> QdrantPoint:
    try:
        fields = _SafeUnpickler(io.BytesIO(data)).load().fields
        return QdrantPoint(str(fields["id"]), dict(fields["payload"] or {}))
    except (pickle.UnpicklingError, AttributeError, KeyError, TypeError, ValueError, EOFError, IndexError) as error:
        raise Incompatible(f"{file} holds a point that is not plain data: {error}") from error


class _PlainFields:
    """Replaces each of Qdrant's value classes: holds the fields and does nothing."""

    def __setstate__(self, state: Any) -> None:
        self.fields = state["__dict__"]


class _SafeUnpickler(pickle.Unpickler):
    """Loads only Qdrant's value classes, as `_PlainFields`, because a pickle could name any function to run."""

    def find_class(self, module: str, name: str) -> Any:
        if module == _MODELS_MODULE and name.isidentifier():
            return _PlainFields
        raise pickle.UnpicklingError(f"it names {module}.{name}")


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
