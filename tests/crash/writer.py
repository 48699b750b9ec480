"""The process that is killed: it opens the store, sends what it finds, then writes until it is killed."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from memoranda import MemoryManager
from memoranda.testing.differential import StoreOperations
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import Memory, Scope
from tests.crash.model import Operation, State

DIMENSION = 32
MAX_MEMORIES = 60
"""A crash test needs many operations, not many rows."""


def open_manager(path: Path) -> MemoryManager:
    return MemoryManager(db_url=f"sqlite:///{path}", embedder=HashEmbedder(DIMENSION))


def send(pipe: int, **message: object) -> None:
    os.write(pipe, json.dumps(message).encode() + b"\n")


def write_until_killed(path: Path, pipe: int, seed: int) -> None:
    with open_manager(path) as manager:
        rows, problems = read_store(manager)
        send(pipe, rows=[(token_of(row.content), row.content) for row in rows], problems=problems)
        ids = {token_of(row.content): row.id for row in rows}
        for operation in random_operations(
            random.Random(seed), {token_of(row.content): row.content for row in rows}, seed
        ):
            send(pipe, begin=asdict(operation))
            perform(manager, operation, ids)
            send(pipe, done=True)


def read_store(manager: MemoryManager) -> tuple[list[Memory], list[str]]:
    """Return every memory in the store, and the problems of store and index."""
    # The manager's own store: opening the file a second time would take twice as long.
    store = manager._components.open().store
    rows = StoreOperations(store).find(Scope(), limit=10_000)
    return rows, store.check() + find_index_problems(manager, rows)


def find_index_problems(manager: MemoryManager, rows: list[Memory]) -> list[str]:
    """Return a problem unless recall, which uses the index, finds exactly the rows of the store."""
    if not rows:
        return []
    hits = manager.recall("note", limit=10 * MAX_MEMORIES)
    if {hit.id for hit in hits} == {row.id for row in rows}:
        return []
    return [f"the index has {len(hits)} memories, the store {len(rows)}"]


def random_operations(rng: random.Random, state: State, seed: int) -> Iterator[Operation]:
    """Yield operations for ever; each depends on the state after the one before."""
    number = 0
    while True:
        number += 1
        operation = _random_operation(rng, state, f"{seed}.{number}")
        yield operation
        state = operation.apply(state)


def _random_operation(rng: random.Random, state: State, name: str) -> Operation:
    kinds = ["add", "bulk", "update", "delete"] if state else ["add", "bulk"]
    kind = "delete" if len(state) > MAX_MEMORIES else rng.choice(kinds)
    if kind == "add":
        return Operation("add", {name: _text(rng, name)})
    if kind == "bulk":
        names = [f"{name}.{part}" for part in range(rng.randint(2, 12))]
        return Operation("bulk", {each: _text(rng, each) for each in names})
    token = rng.choice(sorted(state))
    if kind == "update":
        return Operation("update", {token: _text(rng, f"{token} again {name}")})
    return Operation("delete", drop=(token,))


def token_of(content: str) -> str:
    return content.split()[1]


def _text(rng: random.Random, name: str) -> str:
    # Sometimes a long text, so that one commit spans many pages of the file.
    size = rng.choice([3, 3, 3, 10, 600])
    return f"note {name} " + " ".join(rng.choices(["river", "stone", "lamp", "train", "cloud"], k=size))


def perform(manager: MemoryManager, operation: Operation, ids: dict[str, int]) -> None:
    """Run the operation through the public API."""
    match operation.kind:
        case "add":
            ((token, text),) = operation.put.items()
            ids[token] = manager.add_memory(text, "semantic", "crash").id
        case "bulk":
            memories = manager.add_memories(list(operation.put.values()))
            ids |= {token: memory.id for token, memory in zip(operation.put, memories, strict=True)}
        case "update":
            ((token, text),) = operation.put.items()
            manager.update(ids[token], content=text)
        case _:
            for token in operation.drop:
                manager.delete(ids.pop(token))
