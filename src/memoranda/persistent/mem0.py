"""`PersistentMemory` on mem0 itself, where that package is installed."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from memoranda.errors import Incompatible, InvalidType, MemorandaError, MissingExtra, Unavailable
from memoranda.messages.message import Message
from memoranda.messages.openai import format_for_openai
from memoranda.persistent.base import Found, Names, Saved
from memoranda.recall.render import render_context
from memoranda.types import Hit, Memory, MemoryType, Outcome, Outcomes, Recall, Status


class Mem0:
    """A `Keeper` on mem0: a `MemoryConfig`, a dict of its settings, or a ready `mem0.Memory`.

    Conversations go through mem0's own extraction, which needs the language model that the configuration names;
    what an agent saves is kept as it is. mem0's telemetry is off unless MEM0_TELEMETRY says otherwise.
    """

    def __init__(self, config: object, names: Names) -> None:
        self._memory = _opened(config)
        given = {"agent_id": names.agent, "user_id": names.user, "run_id": names.session}
        self._scope = {key: name for key, name in given.items() if name is not None}

    def record(self, messages: Sequence[Message]) -> Outcomes:
        if not messages:
            return Outcomes()
        with _translated():
            kept = _results(self._memory.add(format_for_openai(messages), **self._scope))
        # mem0 says what it kept, not of which message, and nothing when its model could not be reached.
        status: Status = "stored" if kept else "rejected"
        reason = f"mem0 keeps {len(kept)} memories of these messages" if kept else "mem0 kept nothing of these messages"
        return Outcomes(Outcome(status, None, reason, message.message_id) for message in messages)

    def context(self, query: str, limit: int, budget: int) -> str:
        rows = self._rows(query, limit)
        hits = tuple(Hit(_as_memory(place, row), _score(row)) for place, row in enumerate(rows, 1))
        found = Recall(hits, uuid.uuid4().hex, query, hits[0].score if hits else 0.0)
        return render_context(found, budget, datetime.now(UTC))

    def save(self, contents: Sequence[str], thinking: str) -> Saved:
        metadata = {"thinking": thinking} if thinking.strip() else {}
        messages = [{"role": "user", "content": text} for text in contents]
        with _translated():
            kept = _results(self._memory.add(messages, **self._scope, metadata=metadata, infer=False))
        ids: list[int | str] = [str(row["id"]) for row in kept]
        missing = len(contents) - len(ids)
        message = f"Saved {len(ids)}" + (f", NOT saved {missing}: mem0 did not keep them" if missing else "")
        return Saved(success=not missing, message=message, memory_ids=ids)

    def search(self, query: str, limit: int) -> list[Found]:
        return [Found(str(row["id"]), _score(row), str(row["memory"])) for row in self._rows(query, limit)]

    def close(self) -> None:
        self._memory.close()

    def _rows(self, query: str, limit: int) -> list[Mapping[str, Any]]:
        with _translated():
            return _results(self._memory.search(query, filters=dict(self._scope), top_k=limit))


def moment(given: object) -> datetime | None:
    """A time as mem0 writes it; without a zone it is UTC."""
    if not isinstance(given, str):
        return None
    try:
        time = datetime.fromisoformat(given)
    except ValueError as error:
        raise Incompatible(f"{given!r} is not a time that mem0 writes") from error
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


def _opened(config: object) -> Any:
    if callable(getattr(config, "add", None)) and callable(getattr(config, "search", None)):
        return config
    # Read when mem0 is imported: a program that wants the telemetry sets the variable itself.
    os.environ.setdefault("MEM0_TELEMETRY", "False")
    try:
        mem0 = import_module("mem0")
    except ModuleNotFoundError as error:
        raise MissingExtra("mem0_config", "mem0") from error
    with _translated():
        if isinstance(config, Mapping):
            return mem0.Memory.from_config(dict(config))
        if hasattr(config, "vector_store") and hasattr(config, "embedder"):
            return mem0.Memory(config)
    raise InvalidType(f"mem0_config must be a mem0 MemoryConfig, a dict or a mem0 Memory, not {type(config).__name__}")


def _results(answer: object) -> list[Mapping[str, Any]]:
    rows = answer.get("results") if isinstance(answer, Mapping) else answer
    if not isinstance(rows, list):
        raise Unavailable(f"mem0 gave an answer without results: {type(answer).__name__}")
    return rows


def _as_memory(place: int, row: Mapping[str, Any]) -> Memory:
    said = moment(row.get("created_at")) or datetime.now(UTC)
    return Memory(
        id=place,
        content=str(row["memory"]),
        type=MemoryType.SEMANTIC,
        importance=0.5,
        recorded_at=said,
        valid_from=said,
        session=row.get("run_id"),
        source="mem0",
        speaker=row.get("actor_id") or row.get("role"),
    )


def _score(row: Mapping[str, Any]) -> float:
    return min(1.0, max(0.0, float(row.get("score") or 0.0)))


@contextmanager
def _translated() -> Iterator[None]:
    """mem0's errors, and those of whatever it runs on, as ours."""
    try:
        yield
    except MemorandaError:
        raise
    except Exception as error:  # mem0 passes on the errors of any store or model; the caller is told
        raise Unavailable(f"mem0 failed: {error}") from error
