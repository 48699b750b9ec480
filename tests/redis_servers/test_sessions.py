"""Sessions and a whole manager on a real Redis: shared by processes, and through its faults."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memoranda.errors import Closed, Unavailable
from memoranda.manager.manager import MemoryManager, create_session
from memoranda.settings import MemoryConfig
from memoranda.testing.fakes import HashEmbedder
from tests.redis_servers.servers import Cluster, Server

Opener = Callable[..., MemoryManager]


@pytest.fixture
def opener(tmp_path: Path) -> Iterator[Opener]:
    opened: list[MemoryManager] = []

    def open_manager(url: str, tenant: str = "default", **settings: object) -> MemoryManager:
        config = MemoryConfig(
            db_url=f"sqlite:///{tmp_path}/a.db", use_redis=True, redis_url=url, **settings  # type: ignore[arg-type]
        )  # fmt: skip
        opened.append(MemoryManager(config, embedder=HashEmbedder(64), tenant=tenant))
        return opened[-1]

    yield open_manager
    for manager in opened:
        manager.close()


@pytest.mark.parametrize("kind", ["redis_server", "redis_cluster"])
def test_a_session_is_one_for_all_managers(kind: str, request: pytest.FixtureRequest, opener: Opener) -> None:
    url = request.getfixturevalue(kind).url
    one, two = (opener(url, f"{kind} one") for _ in range(2))
    with create_session("campaign", one, {"user": "ann"}) as mine:
        mine.save_agent_memory("writer", "draft", {"v": 1})
        mine.add_conversation_message("writer", "assistant", "first")
        with create_session("campaign", two) as theirs:
            assert theirs.retrieve_agent_memory("writer", "draft") == {"v": 1}
            theirs.add_conversation_message("editor", "user", "second")
            summary = theirs.get_session_summary()
            assert (summary.agents, summary.messages, summary.sessions) == (("editor", "writer"), 2, 2)
            assert summary.metadata == {"user": "ann"}
            assert two.get_stats().active_sessions == 2
        said = [message.content for message in mine.get_conversation_history()]
        assert said == ["first", "second"]
        assert one.get_stats().active_sessions == 1
    assert two.get_conversation_history("campaign") == []
    assert one.get_stats().short_term_entries == 0


PROGRAM = """
import sys
from memoranda import MemoryManager, create_session

name = sys.argv[1]
manager = MemoryManager()
with create_session("joined", manager) as session:
    assert session.retrieve_agent_memory("leader", "task") == "count"
    for number in range(20):
        session.add_conversation_message(name, "user", f"{name} {number}")
manager.close()
"""


def test_processes_join_by_the_name_of_the_workflow(redis_server: Server, opener: Opener, tmp_path: Path) -> None:
    manager = opener(redis_server.url)
    environment = {
        "PYTHONPATH": ":".join(sys.path),
        "PATH": "/usr/bin:/bin",
        "MEMORY_USE_REDIS": "true",
        "MEMORY_REDIS_URL": redis_server.url,
        "MEMORY_DB_URL": f"sqlite:///{tmp_path}/a.db",
        "MEMORY_ENABLE_VECTOR_SEARCH": "false",
    }
    with create_session("joined", manager) as session:
        session.save_agent_memory("leader", "task", "count")
        names = ["ann", "bob", "cid"]
        children = [
            subprocess.Popen([sys.executable, "-c", PROGRAM, name], env=environment, cwd=tmp_path) for name in names
        ]
        assert [child.wait(timeout=60) for child in children] == [0, 0, 0]
        history = session.get_conversation_history()
        for name in names:
            said = [message.content for message in history if message.agent_id == name]
            assert said == [f"{name} {number}" for number in range(20)]
        summary = session.get_session_summary()
        assert (summary.messages, summary.sessions) == (60, 4)
    assert manager.clear_session("joined") is False
    assert {each.workflow_id for each in manager.get_sessions()} == {"joined"}


def test_an_idle_session_ends_by_redis_own_expiry(redis_server: Server, opener: Opener) -> None:
    manager = opener(redis_server.url, "idle", session_timeout=0.3)
    session = create_session("w", manager)
    session.save_agent_memory("writer", "draft", 1)
    time.sleep(0.45)
    with pytest.raises(Closed, match=r"0\.3 seconds"):
        session.retrieve_agent_memory("writer", "draft")
    assert manager.get_stats().active_sessions == 0
    with create_session("w", manager) as again:
        assert again.retrieve_agent_memory("writer", "draft") is None


def test_redis_down_at_the_start_is_named_without_its_password(opener: Opener) -> None:
    with pytest.raises(Unavailable, match=r"redis://ann:\*\*\*@127\.0\.0\.1:1/0") as caught:
        opener("redis://ann:hunter2@127.0.0.1:1/0")
    assert "hunter2" not in str(caught.value)


def test_with_the_fall_back_a_program_starts_and_says_degraded(opener: Opener) -> None:
    manager = opener("redis://127.0.0.1:1/0", redis_fallback=True)
    assert manager.save("writer", "draft", 1)
    assert manager.retrieve("writer", "draft") == 1
    with create_session("w", manager) as session:
        session.save_agent_memory("writer", "draft", 2)
        assert session.retrieve_agent_memory("writer", "draft") == 2
    assert "in memory only" in manager.get_stats().degraded[0]
    health = manager.health()
    assert health.status == "degraded"
    assert "redis://127.0.0.1:1/0" in health.problems[0]


@contextmanager
def refused() -> Iterator[None]:
    with pytest.raises(Unavailable) as caught:
        yield
    assert caught.value.retry_after is not None


def test_redis_lost_and_found_again_in_mid_work(mortal_server: Server, opener: Opener) -> None:
    manager = opener(mortal_server.url)
    session = create_session("w", manager)
    session.save_agent_memory("writer", "draft", 1)
    mortal_server.kill()
    with refused():
        manager.save("writer", "draft", 1)
    with refused():
        manager.retrieve("writer", "draft")
    with refused():
        session.add_conversation_message("writer", "user", "hi")
    with refused():
        manager.clear_session("w")
    with refused():
        session.end_session()
    manager.remember("the launch is on Friday", agent="writer")
    assert len(manager.recall("launch", agent="writer")) == 1
    manager.save("writer", "rule", "short", "long_term")
    assert manager.retrieve("writer", "rule", "long_term") == "short"
    manager.save_execution_record("writer", {"status": "success"})
    stats = manager.get_stats()
    assert (stats.short_term_entries, stats.active_sessions, stats.long_term_entries) == (None, None, 2)
    assert "does not answer" in stats.degraded[0]
    assert manager.health().status == "degraded"
    mortal_server.start()
    assert manager.save("writer", "draft", 2)
    assert manager.retrieve("writer", "draft") == 2
    assert (manager.get_stats().short_term_entries, manager.health().status) == (1, "ok")
    # That server kept nothing on disk, so what the session held went with it.
    with pytest.raises(Closed):
        session.retrieve_agent_memory("writer", "draft")
    session.end_session()
    with create_session("w", manager) as again:
        again.save_agent_memory("writer", "draft", 3)
        assert again.retrieve_agent_memory("writer", "draft") == 3


def test_an_error_in_the_work_is_not_hidden_by_one_in_the_clean_up(mortal_server: Server, opener: Opener) -> None:
    manager = opener(mortal_server.url)

    def fail() -> None:
        with create_session("w", manager):
            mortal_server.kill()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        fail()
    assert "could not be cleaned up" in caught.value.__notes__[0]


def test_a_cluster_keeps_many_workflows(redis_cluster: Cluster, opener: Opener) -> None:
    manager = opener(redis_cluster.url, "many")
    sessions = [create_session(f"w{number}", manager) for number in range(12)]
    for number, session in enumerate(sessions):
        session.save_agent_memory("writer", "n", number)
    assert manager.get_stats().active_sessions == 12
    assert [session.retrieve_agent_memory("writer", "n") for session in sessions] == list(range(12))
    for session in sessions:
        session.end_session()
    assert manager.get_stats().short_term_entries == 0
