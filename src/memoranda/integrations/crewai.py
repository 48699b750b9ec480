"""A storage backend for CrewAI's memory."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from memoranda.aio.threads import in_thread
from memoranda.errors import MissingExtra
from memoranda.integrations.managers import CachedNamespace, OpenedSource, Source, open_source
from memoranda.items.base import Item
from memoranda.types import FloatArray

try:
    from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
    from crewai.memory.types import MemoryRecord, ScopeInfo
except ModuleNotFoundError as error:
    raise MissingExtra("the CrewAI adapter", "crewai") from error


class MemorandaStorage(OpenedSource):
    """Records of CrewAI's memory, for `crewai.Memory(storage=...)`. `recall` of the manager finds them too."""

    def __init__(
        self,
        memory: Source = None,
        *,
        namespace: Sequence[str] = ("crewai",),
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
    ) -> None:
        """Create a storage.

        Args:
            memory: The manager, or the path or URL of the database; None for the settings of the environment.
            namespace: The names that the records are below; two storages with different ones share nothing.
            user, agent, session: The owner of the records.
        """
        self.memory, self._owns_memory = open_source(memory)
        self.items = CachedNamespace(_to_record, self.memory, namespace, user=user, agent=agent, session=session)

    def save(self, records: list[MemoryRecord]) -> None:
        """Store records in one commit; a record with a known id replaces it."""
        known = [*self.items.all(), *records]
        for record in records:
            _check_dimension(record.embedding, known)
        self.items.put({record.id: _to_value(record) for record in records}, index=["content"])

    def update(self, record: MemoryRecord) -> None:
        self.save([record])

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Return the records nearest to a vector that fulfil the conditions, nearest first, with their cosines."""
        known = self.items.all()
        _check_dimension(query_embedding, known)
        passes = _make_filter(scope_prefix, categories, metadata_filter)
        found = [record for record in known if record.embedding is not None and passes(record)]
        scores = _cosines(query_embedding, [record.embedding for record in found])
        scored = [(record, score) for record, score in zip(found, scores, strict=True) if score >= min_score]
        best = sorted(scored, key=lambda pair: -pair[1])[:limit]
        return [(record.model_copy(deep=True), score) for record, score in best]

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Delete the records that fulfil every condition that is given, in one commit, and return how many."""
        passes = _make_filter(scope_prefix, categories, metadata_filter)
        found = [record for record in self.items.all() if passes(record)]
        if record_ids is not None:
            found = [record for record in found if record.id in record_ids]
        if older_than is not None:
            found = [record for record in found if _aware(record.created_at) < _aware(older_than)]
        return self.items.delete([record.id for record in found])

    def get_record(self, record_id: str) -> MemoryRecord | None:
        item = self.items.get(record_id) if record_id else None
        return None if item is None else _to_record(item)

    def touch_records(self, record_ids: list[str]) -> None:
        """Note that these records were read just now."""
        now = datetime.now(UTC).replace(tzinfo=None)  # CrewAI's times have no zone
        found = [record for id in record_ids if (record := self.get_record(id)) is not None]
        self.save([record.model_copy(update={"last_accessed": now}) for record in found])

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Return records of a scope and of those below it, newest first."""
        found = sorted(self._in_scope(scope_prefix), key=lambda record: _aware(record.created_at), reverse=True)
        page = found[offset : offset + limit] if offset >= 0 and limit > 0 else []
        return [record.model_copy(deep=True) for record in page]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Return how many records a scope and those below it have, their categories and times, and the child scopes."""
        found = self._in_scope(scope)
        times = sorted((record.created_at for record in found), key=_aware) or [None]
        return ScopeInfo(
            path=scope.rstrip("/") or "/",
            record_count=len(found),
            categories=sorted(self.list_categories(scope)),
            oldest_record=times[0],
            newest_record=times[-1],
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """Return the scopes directly below this one that have records, or have scopes with records below them."""
        start = _normalize(parent)
        rests = (_normalize(record.scope).removeprefix(start) for record in self._in_scope(parent))
        return sorted({f"{start}/{rest.split('/')[1]}" for rest in rests if rest})

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        return dict(Counter(name for record in self._in_scope(scope_prefix) for name in record.categories))

    def count(self, scope_prefix: str | None = None) -> int:
        return len(self._in_scope(scope_prefix))

    def reset(self, scope_prefix: str | None = None) -> None:
        """Delete the records of a scope and of those below it; all records when None."""
        self.delete(scope_prefix)

    async def asave(self, records: list[MemoryRecord]) -> None:
        await in_thread(self.save, records)

    async def asearch(self, *args: Any, **kwargs: Any) -> list[tuple[MemoryRecord, float]]:
        return await in_thread(self.search, *args, **kwargs)

    async def adelete(self, *args: Any, **kwargs: Any) -> int:
        return await in_thread(self.delete, *args, **kwargs)

    def _in_scope(self, scope_prefix: str | None) -> list[MemoryRecord]:
        return list(filter(_make_filter(scope_prefix), self.items.all()))


def _check_dimension(vector: Sequence[float] | None, records: Iterable[MemoryRecord]) -> None:
    known = next((len(record.embedding) for record in records if record.embedding is not None), None)
    if vector is not None and known is not None and len(vector) != known:
        raise EmbeddingDimensionMismatchError(known, len(vector))


def _make_filter(
    scope: str | None, categories: list[str] | None = None, metadata: dict[str, Any] | None = None
) -> Callable[[MemoryRecord], bool]:
    start = _normalize(scope or "/")
    return lambda record: (
        f"{_normalize(record.scope)}/".startswith(f"{start}/")
        and (not categories or not set(categories).isdisjoint(record.categories))
        and all(record.metadata.get(key) == value for key, value in (metadata or {}).items())
    )


def _normalize(scope: str) -> str:
    """Return a scope with a slash in front and none behind; empty for the root."""
    return f"/{scope.strip('/')}".rstrip("/")


def _aware(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time


def _cosines(query: Sequence[float], vectors: Sequence[Any]) -> list[float]:
    if not vectors:
        return []
    matrix: FloatArray = np.array(vectors, dtype=np.float32)
    wanted: FloatArray = np.array(query, dtype=np.float32)
    lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(wanted)
    cosines = matrix @ wanted / np.where(lengths > 0, lengths, 1.0)
    return [float(cosine) for cosine in np.clip(cosines, 0.0, 1.0)]


def _to_value(record: MemoryRecord) -> dict[str, Any]:
    vector = record.embedding and b64encode(np.array(record.embedding, dtype="<f4").tobytes()).decode("ascii")
    metadata = json.loads(json.dumps(record.metadata))  # pydantic would quietly change what is not JSON
    return {**record.model_dump(mode="json", exclude={"metadata"}), "metadata": metadata, "embedding": vector}


def _to_record(item: Item) -> MemoryRecord:
    vector = item.value["embedding"]
    values = np.frombuffer(b64decode(vector), dtype="<f4").tolist() if vector else None
    return MemoryRecord.model_validate({**item.value, "embedding": values})
