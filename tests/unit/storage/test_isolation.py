"""What an agent stores cannot be read in another agent's scope, whatever the names."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoranda.manager.manager import MemoryManager, create_session
from memoranda.testing.fakes import HashEmbedder
from tests.unit.sessions.confusable import names

several = st.lists(names, min_size=2, max_size=5, unique=True)
_numbers = count()


@pytest.fixture(scope="module")
def shared_manager() -> Iterator[MemoryManager]:
    with MemoryManager("sqlite://", embedder=HashEmbedder(32)) as manager:
        yield manager


slow = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@slow
@given(agents=several, key=names)
def test_values_and_memories_are_visible_to_their_agent_only(
    shared_manager: MemoryManager, agents: list[str], key: str
) -> None:
    manager = shared_manager.for_tenant(f"tenant {next(_numbers)}")
    for position, agent in enumerate(agents[:-1]):
        manager.save(agent, key, position)
        manager.save(agent, key, position, "long_term")
        manager.remember(f"the word of the day is number{position}", agent=agent)
        manager.save_execution_record(agent, {"n": position})
    for position, agent in enumerate(agents):
        expected = position if position < len(agents) - 1 else None
        assert manager.retrieve(agent, key) == expected
        assert manager.retrieve(agent, key, "long_term") == expected
        found = manager.search_similar(agent, "the word of the day", top_k=50)
        assert {hit.memory.agent for hit in found} <= {agent}
        words = {hit.content for hit in found if hit.content.startswith("the word")}
        assert words == (set() if expected is None else {f"the word of the day is number{position}"})
        assert [record["n"] for record in manager.get_execution_records(agent)] == (
            [] if expected is None else [expected]
        )


@slow
@given(workflows=several, agents=several, key=names)
def test_session_data_is_visible_to_its_workflow_and_agent_only(
    shared_manager: MemoryManager, workflows: list[str], agents: list[str], key: str
) -> None:
    manager = shared_manager.for_tenant(f"tenant {next(_numbers)}")
    sessions = [create_session(workflow, manager) for workflow in workflows]
    stored = {(w, a): f"{w} {a}" for w in range(len(workflows)) for a in range(len(agents)) if (w + a) % 2}
    for (workflow, agent), value in stored.items():
        for kind in ("short_term", "long_term"):
            sessions[workflow].save_agent_memory(agents[agent], key, value, kind)
        sessions[workflow].add_conversation_message(agents[agent], "user", value)
    for w, session in enumerate(sessions):
        for a, agent in enumerate(agents):
            for kind in ("short_term", "long_term"):
                assert session.retrieve_agent_memory(agent, key, kind) == stored.get((w, a))
        contents = [message.content for message in session.get_conversation_history()]
        assert contents == [value for (workflow, _), value in stored.items() if workflow == w]
    assert all(manager.retrieve(agent, key, kind) is None for agent in agents for kind in ("short_term", "long_term"))
    sessions[0].end_session()
    for (workflow, agent), value in stored.items():
        if workflow:
            assert sessions[workflow].retrieve_agent_memory(agents[agent], key) == value
