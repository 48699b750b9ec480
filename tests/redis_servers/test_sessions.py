"""Sessions and a manager on a real Redis server: shared by processes, and with the server down."""

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

OpenManager = Callable[..., MemoryManager]


@pytest.fixture
def open_manager(tmp_path: Path) -> Iterator[OpenManager]:
    opened: list[MemoryManager] = []

    def open_one(url: str, tenant: str = "default", **settings: object) -> MemoryManager:
        config = MemoryConfig(
            db_url=f"sqlite:///{tmp_path}/a.db", use_redis=True, redis_url=url, **settings  # type: ignore[arg-type]
        )  # fmt: skip
        opened.append(MemoryManager(config, embedder=HashEmbedder(64), tenant=tenant))
        return opened[-1]

    yield open_one
    for manager in opened:
        manager.close()


@pytest.mark.parametrize("kind", ["redis_server", "redis_cluster"])
def test_managers_share_the_session_of_a_workflow(
    kind: str, request: pytest.FixtureRequest, open_manager: OpenManager
) -> None:
    url = request.getfixturevalue(kind).url
    one, two = (open_manager(url, f"{kind} one") for _ in range(2))
    with create_session("campaign", one, {"user": "ann"}) as first:
        first.save_agent_memory("writer", "draft", {"v": 1})
        first.add_conversation_message("writer", "assistant", "first")
        with create_session("campaign", two) as second:
            assert second.retrieve_agent_memory("writer", "draft") == {"v": 1}
            second.add_conversation_message("editor", "user", "second")
            summary = second.get_session_summary()
            assert summary.active_agents == ("editor", "writer")
            assert (summary.conversation_messages, summary.sessions) == (2, 2)
            assert summary.metadata == {"user": "ann"}
            assert two.get_stats().active_sessions == 2
        contents = [message.content for message in first.get_conversation_history()]
        assert contents == ["first", "second"]
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


def test_processes_share_the_session_of_a_workflow(
    redis_server: Server, open_manager: OpenManager, tmp_path: Path
) -> None:
    manager = open_manager(redis_server.url)
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
            contents = [message.content for message in history if message.agent_id == name]
            assert contents == [f"{name} {number}" for number in range(20)]
        summary = session.get_session_summary()
        assert (summary.conversation_messages, summary.sessions) == (60, 4)
    assert manager.get_conversation_history("joined") == []
    assert {session.workflow_id for session in manager.get_sessions()} == {"joined"}


def test_idle_session_expires_in_redis(redis_server: Server, open_manager: OpenManager) -> None:
    manager = open_manager(redis_server.url, "idle", session_timeout=0.3)
    session = create_session("w", manager)
    session.save_agent_memory("writer", "draft", 1)
    time.sleep(0.45)
    with pytest.raises(Closed, match=r"0\.3 seconds"):
        session.retrieve_agent_memory("writer", "draft")
    assert manager.get_stats().active_sessions == 0
    with create_session("w", manager) as again:
        assert again.retrieve_agent_memory("writer", "draft") is None


def test_error_at_the_start_has_the_url_without_the_password(open_manager: OpenManager) -> None:
    with pytest.raises(Unavailable, match=r"redis://ann:\*\*\*@127\.0\.0\.1:1/0") as caught:
        open_manager("redis://ann:hunter2@127.0.0.1:1/0")
    assert "hunter2" not in str(caught.value)


def test_fallback_starts_in_memory_and_reports_degraded(open_manager: OpenManager) -> None:
    manager = open_manager("redis://127.0.0.1:1/0", redis_fallback=True)
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
def raises_unavailable() -> Iterator[None]:
    with pytest.raises(Unavailable) as caught:
        yield
    assert caught.value.retry_after is not None


def test_manager_works_again_after_redis_was_down(own_server: Server, open_manager: OpenManager) -> None:
    manager = open_manager(own_server.url)
    session = create_session("w", manager)
    session.save_agent_memory("writer", "draft", 1)
    own_server.kill()
    with raises_unavailable():
        manager.save("writer", "draft", 1)
    with raises_unavailable():
        manager.retrieve("writer", "draft")
    with raises_unavailable():
        session.add_conversation_message("writer", "user", "hi")
    with raises_unavailable():
        manager.clear_session("w")
    with raises_unavailable():
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
    own_server.start()
    assert manager.save("writer", "draft", 2)
    assert manager.retrieve("writer", "draft") == 2
    assert (manager.get_stats().short_term_entries, manager.health().status) == (1, "ok")
    # The server keeps nothing on disk, so the data of the session is lost.
    with pytest.raises(Closed):
        session.retrieve_agent_memory("writer", "draft")
    session.end_session()
    with create_session("w", manager) as again:
        again.save_agent_memory("writer", "draft", 3)
        assert again.retrieve_agent_memory("writer", "draft") == 3


def test_cleanup_error_does_not_hide_the_first_error(own_server: Server, open_manager: OpenManager) -> None:
    manager = open_manager(own_server.url)

    def fail() -> None:
        with create_session("w", manager):
            own_server.kill()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        fail()
    assert "could not be cleaned up" in caught.value.__notes__[0]


def test_many_workflows_are_open_on_a_cluster(redis_cluster: Cluster, open_manager: OpenManager) -> None:
    manager = open_manager(redis_cluster.url, "many")
    sessions = [create_session(f"w{number}", manager) for number in range(12)]
    for number, session in enumerate(sessions):
        session.save_agent_memory("writer", "n", number)
    assert manager.get_stats().active_sessions == 12
    assert [session.retrieve_agent_memory("writer", "n") for session in sessions] == list(range(12))
    for session in sessions:
        session.end_session()
    assert manager.get_stats().short_term_entries == 0
