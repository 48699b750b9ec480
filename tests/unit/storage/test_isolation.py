"""Nothing an agent stores can be read in another agent's scope, whatever the names."""

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
number = count()


@pytest.fixture(scope="module")
def shared_manager() -> Iterator[MemoryManager]:
    with MemoryManager("sqlite://", embedder=HashEmbedder(32)) as manager:
        yield manager


slow = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@slow
@given(agents=several, key=names)
def test_values_and_memories_stay_with_their_agent(shared_manager: MemoryManager, agents: list[str], key: str) -> None:
    manager = shared_manager.for_tenant(f"tenant {next(number)}")
    for place, agent in enumerate(agents[:-1]):
        manager.save(agent, key, place)
        manager.save(agent, key, place, "long_term")
        manager.remember(f"the word of the day is number{place}", agent=agent)
        manager.save_execution_record(agent, {"n": place})
    for place, agent in enumerate(agents):
        own = place if place < len(agents) - 1 else None
        assert manager.retrieve(agent, key) == own
        assert manager.retrieve(agent, key, "long_term") == own
        found = manager.search_similar(agent, "the word of the day", top_k=50)
        assert {hit.memory.agent for hit in found} <= {agent}
        words = {hit.content for hit in found if hit.content.startswith("the word")}
        assert words == (set() if own is None else {f"the word of the day is number{place}"})
        assert [record["n"] for record in manager.get_execution_records(agent)] == ([] if own is None else [own])


@slow
@given(workflows=several, agents=several, key=names)
def test_what_is_in_a_session_stays_with_its_workflow_and_agent(
    shared_manager: MemoryManager, workflows: list[str], agents: list[str], key: str
) -> None:
    manager = shared_manager.for_tenant(f"tenant {next(number)}")
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
        said = [message.content for message in session.get_conversation_history()]
        assert said == [value for (workflow, _), value in stored.items() if workflow == w]
    assert all(manager.retrieve(agent, key, kind) is None for agent in agents for kind in ("short_term", "long_term"))
    sessions[0].end_session()
    for (workflow, agent), value in stored.items():
        if workflow:
            assert sessions[workflow].retrieve_agent_memory(agents[agent], key) == value
