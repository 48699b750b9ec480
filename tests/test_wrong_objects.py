"""Every argument of every method of `MemoryManager`, given objects that do not belong there."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from sqlalchemy import func, select

from memoranda import InvalidInput, InvalidType, MemorandaError, MemoryManager
from memoranda.storage.schema import associations, changes, executions, memories, messages
from memoranda.testing.fakes import HashEmbedder

METHODS = sorted(name for name, _ in inspect.getmembers(MemoryManager, inspect.isfunction) if name[0] != "_")
OWNERS = ("agent", "user", "session")
"""Checked in one place: only some methods are asked."""
CALLED = ("change", "progress")
"""Functions of the caller: what they raise is the caller's own error."""
ASKED_FOR_OWNERS = ("add_memory", "export_jsonl", "forget", "put", "recall")


def nested(wrap: Callable[[object], object]) -> object:
    value: object = None
    for _ in range(10_000):
        value = wrap(value)
    return value


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("this object cannot be shown")


class UnprintableText(str):
    __slots__ = ()

    def __repr__(self) -> str:
        raise RuntimeError("this text cannot be shown")

    __str__ = __repr__


def message_with(content: object, **fields: object) -> dict[str, object]:
    return {"role": "user", "content": content, **fields}


LONG: Final = 10**5000
"""An integer that Python refuses to write with digits, in an error as well as in JSON."""
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": LONG}}}
WRONG: dict[str, object] = {
    "nothing": None,
    "object": object(),
    "unprintable": Unprintable(),
    "class": int,
    "bytes": b"x",
    "number": 7,
    "beyond 64 bits": 2**70,
    "not a number": float("nan"),
    "complex": 1j,
    "lone surrogate": "a\ud83d",
    "NUL": "a\0b",
    "dict of objects": {"a": object()},
    "dict of None": {None: None},
    "list of objects": [object()],
    "mixed list": [1, "a", None],
    "set": {1},
    "deep list": nested(lambda value: [value]),
    "deep dict": nested(lambda value: {"a": value}),
    "naive time": datetime(2024, 1, 1),
    "longest time": timedelta.max,
    "function": lambda: None,
    "long range": range(10_000),
    "array": np.zeros(3),
    "long text": "x" * 150_000,
    "long integer": LONG,
    "list of a long integer": [LONG],
    "list of lists of a long integer": [[LONG]],
    "dict of a long integer": {"a": LONG},
    "long integer as a key": {LONG: 1},
    "filter by a long integer": {"metadata": {"a": {"gt": LONG}}},
    "filter with a long integer as a key": {"metadata": {"a": {LONG: 1}}},
    "operator beside a long integer": {"a": {"$gt": 1, LONG: 1}},
    "message of a long integer": message_with(LONG),
    "message with a long integer in a part": [message_with([{"type": "text", "text": "x", "n": LONG}])],
    "message with a long integer in a call": [message_with("x", role="assistant", tool_calls=[CALL])],
    "message with another long integer": [message_with("x", extra=LONG)],
    "message with a long integer as its role": message_with("x", role=LONG),
    "message with a long integer as its time": message_with("x", timestamp=LONG),
    "message with a long integer as its type": {"type": LONG},
    "unprintable key": {Unprintable(): 1},
    "unprintable text": UnprintableText("abc"),
}


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(db_url=f"sqlite:///{tmp_path}/memories.db", embedder=HashEmbedder(16)) as manager:
        manager.add_memories(["the river is cold", "the lamp is green"], metadata={"n": 1})
        manager.put(("a", "b"), "k", {"x": 1})
        yield manager


def right_arguments(folder: Path) -> dict[str, Any]:
    return {
        "documents": "a text about rivers",
        "contents": ["one text"],
        "content": "a text",
        "memory_id": 1,
        "related_memory_id": 2,
        "memory_or_slot": 1,
        "agent_name": "agent",
        "agent_id": "agent",
        "workflow_id": "workflow",
        "namespace": ("a", "b"),
        "key": "k",
        "value": {"a": 1},
        "values": {"k": 1},
        "query": "river",
        "record": {"a": 1},
        "policy": "session",
        "tenant": "other",
        "source": str(folder / "missing.jsonl"),
        "target": str(folder / "file"),
        "folder": str(folder / "folder"),
        "receipt": "r",
        "receipt_id": "r",
        "recall": "r",
        "recall_id": "r",
    }


def count_rows(manager: MemoryManager) -> list[int]:
    # Not with another library: two of them must not have a file open in one process.
    store = manager._components.open().store
    tables = (memories, messages, associations, changes, executions)
    return store.read(lambda tx: [tx.execute(select(func.count()).select_from(each)).scalar_one() for each in tables])


def outcome_of(call: Callable[[], object]) -> str:
    try:
        call()
    except MemorandaError as error:
        return "refused" if len(str(error)) < 2000 else f"an error of {len(str(error))} characters"
    except Exception as error:  # noqa: BLE001 - the test fails with it
        return repr(error)
    return "accepted"


@pytest.mark.parametrize("method", [name for name in METHODS if name != "close"])
def test_wrong_object_is_one_of_our_errors_and_changes_nothing(
    manager: MemoryManager, tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a text may be accepted as the name of a file
    call, right = getattr(manager, method), right_arguments(tmp_path)
    parameters = inspect.signature(call).parameters
    given = {name: right[name] for name, each in parameters.items() if each.default is each.empty}
    given |= {"user": "nobody"} if method == "forget" else {}
    for name in parameters:
        if name in OWNERS and method not in ASKED_FOR_OWNERS:
            continue
        for kind, wrong in WRONG.items():
            if name in CALLED and callable(wrong):
                continue
            before = count_rows(manager)
            outcome = outcome_of(partial(call, **given | {name: wrong}))
            assert outcome in ("accepted", "refused"), f"{method}({name}={kind})"
            assert outcome == "accepted" or count_rows(manager) == before, f"{method}({name}={kind})"


@pytest.mark.parametrize("method", METHODS)
def test_switch_that_is_no_bool_is_refused(manager: MemoryManager, tmp_path: Path, method: str) -> None:
    call, right = getattr(manager, method), right_arguments(tmp_path)
    parameters = inspect.signature(call).parameters
    given = {name: right[name] for name, each in parameters.items() if each.default is each.empty}
    for name in [name for name, each in parameters.items() if each.annotation == "bool"]:
        for wrong in ("no", 1, None, np.zeros(3)):
            with pytest.raises(InvalidType, match=f"{name} must be True or False"):
                call(**given | {name: wrong})


class _NumberedPath:
    def __fspath__(self) -> int:
        return 5


def test_path_that_names_no_text_and_endless_sequences_are_refused(manager: MemoryManager) -> None:
    for call in (manager.backup, manager.export_jsonl, manager.import_jsonl):
        with pytest.raises(InvalidInput, match="must be a path"):
            call(_NumberedPath())  # type: ignore[operator]
    with pytest.raises(InvalidInput, match="make several calls"):
        manager.remember(range(10**12))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="a list of 1 to"):
        manager.search_items(query=range(10**12))
