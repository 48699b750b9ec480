from __future__ import annotations

from copy import copy
from dataclasses import FrozenInstanceError, fields
from datetime import UTC, datetime

import pytest

from memoranda.records import fast_maker
from memoranda.types import Memory, MemoryType

NOW = datetime(2025, 1, 1, tzinfo=UTC)


def test_record_of_fast_maker_is_like_one_of_its_class() -> None:
    known = Memory(1, "tea", MemoryType.SEMANTIC, 0.5, NOW, NOW, user="ada", metadata={"a": 1})
    made = fast_maker(Memory)(*(getattr(known, each.name) for each in fields(Memory)))
    assert type(made) is Memory
    assert made == known
    assert repr(made) == repr(known)
    assert copy(made) == known
    assert made.with_embedding(None) is made
    with pytest.raises(FrozenInstanceError):
        made.content = "coffee"  # type: ignore[misc]
    with pytest.raises(TypeError):
        fast_maker(Memory)(1, "tea")
