"""Store the memories of a `PersistentMemory` in mem0, if that package is installed."""

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
from memoranda.persistent.base import BackendHit, MemoryNames, SaveToMemoryResult
from memoranda.recall.render import render_context
from memoranda.types import Hit, Memory, MemoryType, Outcome, Outcomes, Recall, Status


class Mem0Backend:
    """A `MemoryBackend` over mem0: a `MemoryConfig`, a dict of its settings, or a ready `mem0.Memory`.

    Conversations go through mem0's own extraction, which needs the language model in the configuration. What an agent
    saves is stored as it is. mem0's telemetry is off unless MEM0_TELEMETRY turns it on.
    """

    def __init__(self, config: object, names: MemoryNames) -> None:
        self._memory = _open_memory(config)
        scope = {"agent_id": names.agent, "user_id": names.user, "run_id": names.session}
        self._scope = {key: name for key, name in scope.items() if name is not None}

    def record(self, messages: Sequence[Message]) -> Outcomes:
        if not messages:
            return Outcomes()
        with _translate_errors():
            rows = _get_results(self._memory.add(format_for_openai(messages), **self._scope))
        # mem0 returns what it stored but not from which message, and nothing if its model could not be reached.
        status: Status = "stored" if rows else "rejected"
        reason = f"mem0 stored {len(rows) or 'no'} memories from these messages"
        return Outcomes(Outcome(status, None, reason, message.message_id) for message in messages)

    def context(self, query: str, limit: int, budget: int) -> str:
        rows = self._search(query, limit)
        hits = tuple(Hit(_to_memory(number, row), _get_score(row)) for number, row in enumerate(rows, 1))
        found = Recall(hits, uuid.uuid4().hex, query, hits[0].score if hits else 0.0)
        return render_context(found, budget, datetime.now(UTC))

    def save(self, contents: Sequence[str], thinking: str) -> SaveToMemoryResult:
        metadata = {"thinking": thinking} if thinking.strip() else {}
        messages = [{"role": "user", "content": text} for text in contents]
        with _translate_errors():
            rows = _get_results(self._memory.add(messages, **self._scope, metadata=metadata, infer=False))
        ids: list[int | str] = [str(row["id"]) for row in rows]
        missing = len(contents) - len(ids)
        message = f"Saved {len(ids)}" + (f", NOT saved {missing}: mem0 did not store them" if missing else "")
        return SaveToMemoryResult(success=not missing, message=message, memory_ids=ids)

    def search(self, query: str, limit: int) -> list[BackendHit]:
        return [BackendHit(str(row["id"]), _get_score(row), str(row["memory"])) for row in self._search(query, limit)]

    def close(self) -> None:
        self._memory.close()

    def _search(self, query: str, limit: int) -> list[Mapping[str, Any]]:
        with _translate_errors():
            return _get_results(self._memory.search(query, filters=dict(self._scope), top_k=limit))


def parse_mem0_time(value: object) -> datetime | None:
    """Parse a time as mem0 writes it; without a zone it is UTC. Return None if the value is not a text."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError as error:
        raise Incompatible(f"{value!r} is not a time in mem0's format") from error
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


def _open_memory(config: object) -> Any:
    if callable(getattr(config, "add", None)) and callable(getattr(config, "search", None)):
        return config
    # mem0 reads this when it is imported. A program that wants the telemetry sets the variable itself.
    os.environ.setdefault("MEM0_TELEMETRY", "False")
    try:
        mem0 = import_module("mem0")
    except ModuleNotFoundError as error:
        raise MissingExtra("mem0_config", "mem0") from error
    with _translate_errors():
        if isinstance(config, Mapping):
            return mem0.Memory.from_config(dict(config))
        if hasattr(config, "vector_store") and hasattr(config, "embedder"):
            return mem0.Memory(config)
    raise InvalidType(f"mem0_config must be a mem0 MemoryConfig, a dict or a mem0 Memory, not {type(config).__name__}")


def _get_results(answer: object) -> list[Mapping[str, Any]]:
    rows = answer.get("results") if isinstance(answer, Mapping) else answer
    if not isinstance(rows, list):
        raise Unavailable(f"mem0 returned an answer without results: {type(answer).__name__}")
    return rows


def _to_memory(number: int, row: Mapping[str, Any]) -> Memory:
    created_at = parse_mem0_time(row.get("created_at")) or datetime.now(UTC)
    return Memory(
        id=number,
        content=str(row["memory"]),
        type=MemoryType.SEMANTIC,
        importance=0.5,
        recorded_at=created_at,
        valid_from=created_at,
        session=row.get("run_id"),
        source="mem0",
        speaker=row.get("actor_id") or row.get("role"),
    )


def _get_score(row: Mapping[str, Any]) -> float:
    return min(1.0, max(0.0, float(row.get("score") or 0.0)))


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise errors of mem0, and of the stores and models it uses, as `Unavailable`."""
    try:
        yield
    except MemorandaError:
        raise
    except Exception as error:  # any store or model can raise here; the caller gets it as our error
        raise Unavailable(f"mem0 failed: {error}") from error
