from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoranda import MemoryManager, NotFound
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock

START = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_history_returns_earlier_versions(tmp_path: Path) -> None:
    clock = FakeClock(START)
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(), clock=clock) as manager:
        memory = manager.add_memory("I live in Bern", user="ada", importance=0.4, metadata={"v": 1})
        clock.advance(days=1)
        manager.update(memory.id, "I live in Basel", user="ada", metadata={"v": 2})
        clock.advance(days=1)
        manager.update(memory.id, importance=0.9, user="ada")
        history = manager.history(memory.id, user="ada")
        assert [(revision.version, revision.content, revision.importance) for revision in history.versions] == [
            (1, "I live in Bern", 0.4),
            (2, "I live in Basel", 0.4),
        ]
        assert [revision.metadata for revision in history.versions] == [{"v": 1}, {"v": 2}]
        assert [revision.changed_at for revision in history.versions] == [
            START + timedelta(days=1),
            START + timedelta(days=2),
        ]
        assert (history.memory.version, history.memory.importance) == (3, 0.9)
        with pytest.raises(NotFound):
            manager.history(memory.id)
