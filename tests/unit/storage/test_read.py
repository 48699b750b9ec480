from __future__ import annotations

from pathlib import Path

import pytest

from memoranda import MemoryManager
from memoranda.testing.fakes import HashEmbedder


@pytest.mark.parametrize(("allowed", "found"), [([], []), (["tea"], ["Ann"]), (["tea", "milk"], ["Ann", "Bo"])])
def test_in_filter_matches_only_listed_values(tmp_path: Path, allowed: list[str], found: list[str]) -> None:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64)) as manager:
        manager.add_memory("Ann", metadata={"drink": "tea"})
        manager.add_memory("Bo", metadata={"drink": "milk"})
        kept = manager.list_memories(where={"metadata": {"drink": {"in": allowed}}})
        assert [memory.content for memory in kept] == found
