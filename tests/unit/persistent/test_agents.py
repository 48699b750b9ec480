from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda.errors import InvalidInput
from memoranda.manager.manager import MemoryManager
from memoranda.persistent.agents import BaseAgent, MemoryMixin
from memoranda.testing.fakes import HashEmbedder


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64)) as manager:
        yield manager


class StrategyAgent(BaseAgent):
    def plan(self, budget: int) -> None:
        self.save_to_memory("plan", {"budget": budget})


def test_agent_stores_short_and_long_term_values(manager: MemoryManager) -> None:
    agent = StrategyAgent(agent_id="strategy_001", config={"model": "small"}, memory_manager=manager)
    agent.plan(50)
    assert agent.save_to_memory("rule", "short", memory_type="long_term") is True
    assert agent.retrieve_from_memory("plan") == {"budget": 50}
    assert agent.retrieve_from_memory("rule", memory_type="long_term") == "short"
    assert manager.retrieve("strategy_001", "plan") == {"budget": 50}
    assert agent.config == {"model": "small"}


def test_agents_with_shared_manager_have_separate_memories(manager: MemoryManager) -> None:
    one, two = (BaseAgent(name, memory_manager=manager) for name in ("one", "two"))
    one.save_to_memory("k", 1)
    one.remember("the launch is on Friday")
    assert two.retrieve_from_memory("k") is None
    assert len(two.recall("launch")) == 0
    assert [hit.content for hit in one.recall("When is the launch?")] == ["the launch is on Friday"]
    manager.add_knowledge("The launch was moved.", source="news")
    assert [hit.source for hit in two.recall("launch", shared=True)] == ["news"]


def test_mixin_adds_memory_to_any_class(manager: MemoryManager) -> None:
    class Robot(MemoryMixin):
        def __init__(self) -> None:
            self.agent_id = "robot"
            self.memory_manager = manager

    robot = Robot()
    robot.save_to_memory("k", 1, ttl=60)
    assert robot.retrieve_from_memory("k") == 1
    record_id = robot.record_execution({"status": "success"})
    assert manager.get_execution_records("robot")[0].id == record_id


def test_agent_without_manager_raises_with_advice() -> None:
    with pytest.raises(InvalidInput, match="memory_manager=MemoryManager"):
        BaseAgent("lonely").save_to_memory("k", 1)


@pytest.mark.parametrize("name", ["", None, 5])
def test_invalid_agent_id_is_rejected(name: str) -> None:
    with pytest.raises(InvalidInput):
        BaseAgent(name)
