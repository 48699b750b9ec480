"""The process that gets killed: it opens the store, tells what it finds, then writes until it dies."""

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

NOBODY = Scope()
DIMENSION = 32
ROOM = 60
"""Memories in the store at most: a crash test needs many operations, not many rows."""


def open_manager(path: Path) -> MemoryManager:
    return MemoryManager(db_url=f"sqlite:///{path}", embedder=HashEmbedder(DIMENSION))


def tell(pipe: int, **what: object) -> None:
    os.write(pipe, json.dumps(what).encode() + b"\n")


def live(path: Path, pipe: int, seed: int) -> None:
    """Never returns by itself."""
    with open_manager(path) as manager:
        rows, problems = survey(manager)
        tell(pipe, rows=[(token_of(row.content), row.content) for row in rows], problems=problems)
        ids = {token_of(row.content): row.id for row in rows}
        for operation in operations(random.Random(seed), {token_of(row.content): row.content for row in rows}, seed):
            tell(pipe, begin=asdict(operation))
            perform(manager, operation, ids)
            tell(pipe, done=True)


def survey(manager: MemoryManager) -> tuple[list[Memory], list[str]]:
    """Every memory in the store, and all that does not fit together."""
    # The manager's own store: opening the file a second time would double the cost of each crash.
    store = manager._components.open().store
    rows = StoreOperations(store).find(NOBODY, limit=10_000)
    return rows, store.check() + index_problems(manager, rows)


def index_problems(manager: MemoryManager, rows: list[Memory]) -> list[str]:
    """Whether recall, which goes through the derived index, knows exactly the rows of the store."""
    if not rows:
        return []
    hits = manager.recall("note", limit=10 * ROOM)
    if {hit.id for hit in hits} == {row.id for row in rows}:
        return []
    return [f"the index knows {len(hits)} memories, the store {len(rows)}"]


def operations(rng: random.Random, state: State, life: int) -> Iterator[Operation]:
    """An endless, seeded sequence of things to do to the state, each worked out before it is done."""
    number = 0
    while True:
        number += 1
        operation = _next(rng, state, f"{life}.{number}")
        yield operation
        state = operation.on(state)


def _next(rng: random.Random, state: State, name: str) -> Operation:
    kinds = ["add", "bulk", "update", "delete"] if state else ["add", "bulk"]
    kind = "delete" if len(state) > ROOM else rng.choice(kinds)
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
    # Now and then a text of several pages, so that one commit spans many of the file's pages.
    size = rng.choice([3, 3, 3, 10, 600])
    return f"note {name} " + " ".join(rng.choices(["river", "stone", "lamp", "train", "cloud"], k=size))


def perform(manager: MemoryManager, operation: Operation, ids: dict[str, int]) -> None:
    """The operation through the public API."""
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
