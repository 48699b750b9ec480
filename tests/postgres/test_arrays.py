"""Rows that are sent as arrays, which Memoranda writes itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select

from memoranda.errors import InvalidInput
from memoranda.storage import open_store
from memoranda.storage.base import Store
from memoranda.storage.schema import executions, meta
from memoranda.types import ANY

COLUMNS = ("tenant", "number", "id", "agent", "workflow", "duration_ms", "record", "recorded_at", "digest")


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    store = open_store(url)
    yield store
    store.close()


def make_rows() -> list[tuple[Any, ...]]:
    texts = ["", "plain", "多語 \U0001f600 'quoted' {braces} NULL \\N", "long " * 4000]
    numbers = [0, -1, 2**63 - 1, -(2**63)]
    floats = [None, 0.1, -1e300, 3.0]
    rows = [
        ("t", number, f"id {number}", text, text or None, duration, text, value, text.encode() or b"\0")
        for number, (text, value, duration) in enumerate(zip(texts, numbers, floats, strict=True))
    ]
    # More than one statement holds.
    return rows + [("t", 4 + number, f"more {number}", "a", None, None, "{}", number, b"\0") for number in range(1200)]


def test_every_value_comes_back_as_it_was(store: Store) -> None:
    rows = make_rows()
    store.write(lambda tx: tx.insert_rows(executions, COLUMNS, rows), tenant=ANY)
    query = select(*(executions.c[name] for name in COLUMNS)).order_by(executions.c.number)
    found = store.read(lambda tx: [tuple(row) for row in tx.execute(query)], tenant=ANY)
    assert found == rows


@pytest.mark.parametrize(
    ("column", "value"), [("agent", "a\0b"), ("recorded_at", 2**63), ("number", "one"), ("duration_ms", "long")]
)
def test_value_that_does_not_fit_is_invalid_and_nothing_is_written(store: Store, column: str, value: Any) -> None:
    row = make_rows()[1]
    wrong = tuple(value if name == column else each for name, each in zip(COLUMNS, row, strict=True))
    with pytest.raises(InvalidInput):
        store.write(lambda tx: tx.insert_rows(executions, COLUMNS, [row, wrong]), tenant=ANY)
    assert store.read(lambda tx: tx.execute(select(executions.c.id)).all(), tenant=ANY) == []
    store.write(lambda tx: tx.insert_rows(meta, ("key", "value"), [("still", "works")]))
    assert store.get_meta("still") == "works"
