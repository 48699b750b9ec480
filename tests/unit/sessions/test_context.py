from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoranda.errors import Closed, InvalidInput, InvalidType
from memoranda.manager.manager import MemoryManager, create_session
from memoranda.settings import MemoryConfig
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 3, 1, 12, tzinfo=UTC))


def open_manager(tmp_path: Path, clock: FakeClock, **settings: object) -> MemoryManager:
    config = MemoryConfig(db_url=f"sqlite:///{tmp_path}/a.db", **settings)  # type: ignore[arg-type]
    return MemoryManager(config, embedder=HashEmbedder(64), clock=clock)


@pytest.fixture
def manager(tmp_path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    manager = open_manager(tmp_path, clock)
    yield manager
    manager.close()


def contents(history: object) -> list[str]:
    return [message.content for message in history]  # type: ignore[attr-defined]


class TestValues:
    def test_short_term_value_ends_with_its_session(self, manager: MemoryManager) -> None:
        with create_session("campaign", manager) as session:
            assert session.save_agent_memory("writer", "draft", {"text": "Spring"}) is True
            assert session.retrieve_agent_memory("writer", "draft") == {"text": "Spring"}
            assert session.retrieve_agent_memory("editor", "draft") is None
            assert manager.retrieve("writer", "draft") is None
        with create_session("campaign", manager) as again:
            assert again.retrieve_agent_memory("writer", "draft") is None
        assert manager.get_stats().short_term_entries == 0

    def test_long_term_value_is_kept_for_its_workflow(self, manager: MemoryManager) -> None:
        manager.save("writer", "style", "plain", "long_term")
        for workflow in ("one", "two"):
            with create_session(workflow, manager) as session:
                session.save_agent_memory("writer", "style", workflow, "long_term")
        for workflow in ("one", "two"):
            with create_session(workflow, manager) as session:
                assert session.retrieve_agent_memory("writer", "style", "long_term") == workflow
                assert session.retrieve_agent_memory("editor", "style", "long_term") is None
        assert manager.retrieve("writer", "style", "long_term") == "plain"

    def test_workflows_do_not_see_each_other(self, manager: MemoryManager) -> None:
        with create_session("one", manager) as one, create_session("two", manager) as two:
            one.save_agent_memory("writer", "draft", 1)
            one.add_conversation_message("writer", "assistant", "hello")
            assert two.retrieve_agent_memory("writer", "draft") is None
            assert two.get_conversation_history() == []
            assert two.get_session_summary().active_agents == ("writer",)
            assert two.get_session_summary().conversation_messages == 0
            two.end_session()
            assert one.retrieve_agent_memory("writer", "draft") == 1

    def test_value_with_a_ttl_expires_before_its_session(self, manager: MemoryManager, clock: FakeClock) -> None:
        with create_session("w", manager) as session:
            session.save_agent_memory("writer", "lock", True, ttl=5)
            clock.advance(seconds=6)
            assert session.retrieve_agent_memory("writer", "lock") is None

    def test_full_value_cache_does_not_displace_session_messages(self, tmp_path: Path, clock: FakeClock) -> None:
        manager = open_manager(tmp_path, clock, max_cache_size=3)
        with create_session("w", manager) as session:
            session.add_conversation_message("writer", "assistant", "hello")
            for number in range(10):
                manager.save("writer", f"key {number}", number)
            assert contents(session.get_conversation_history()) == ["hello"]
        manager.close()


class TestConversation:
    def test_messages_are_returned_in_order_with_all_fields(self, manager: MemoryManager, clock: FakeClock) -> None:
        with create_session("w", manager) as session:
            session.add_conversation_message("writer", "assistant", "Draft done", {"words": 12})
            clock.advance(seconds=1)
            session.add_conversation_message("editor", "user", "Shorter, please")
            first, second = session.get_conversation_history()
            assert (first.agent_id, first.role, first["content"], first.metadata) == (
                "writer", "assistant", "Draft done", {"words": 12},
            )  # fmt: skip
            assert second.timestamp - first.timestamp == timedelta(seconds=1)
            assert dict(second)["agent_id"] == "editor"

    def test_messages_keep_their_order_when_the_clock_does_not_move(self, manager: MemoryManager) -> None:
        texts = [f"message {number}" for number in range(30)]
        with create_session("w", manager) as one, create_session("w", manager) as two:
            for number, text in enumerate(texts):
                (one if number % 2 else two).add_conversation_message("writer", "user", text)
            assert contents(one.get_conversation_history()) == texts
            assert contents(manager.get_conversation_history("w", limit=3)) == texts[-3:]

    def test_history_has_a_limit(self, tmp_path: Path, clock: FakeClock) -> None:
        manager = open_manager(tmp_path, clock, max_conversation_history=5)
        with create_session("w", manager) as session:
            for number in range(50):
                session.add_conversation_message("writer", "user", f"message {number}")
            assert contents(session.get_conversation_history()) == [f"message {number}" for number in range(45, 50)]
            assert contents(session.get_conversation_history(limit=100)) == contents(session.get_conversation_history())
            assert session.get_session_summary().conversation_messages == 50
            entries = manager.get_stats().short_term_entries
            assert entries is not None
            assert entries < 5 + 16 + 3
        manager.close()

    @pytest.mark.parametrize(("role", "content"), [("", "hi"), ("user", float("nan")), (None, "hi")])
    def test_invalid_message_raises_and_is_not_stored(self, manager: MemoryManager, role: str, content: str) -> None:
        with create_session("w", manager) as session:
            with pytest.raises(InvalidInput):
                session.add_conversation_message("writer", role, content)
            assert session.get_conversation_history() == []

    def test_concurrent_threads_lose_no_message(self, manager: MemoryManager) -> None:
        def work(name: str) -> None:
            with create_session("w", manager) as session:
                for number in range(10):
                    session.add_conversation_message(name, "user", f"{name} {number}")
                everyone.wait()
                assert len(session.get_conversation_history()) == 80

        everyone = threading.Barrier(8)
        failures: list[BaseException] = []
        threads = [threading.Thread(target=collect_failures, args=(work, f"agent {n}", failures)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert manager.get_conversation_history("w") == []


def collect_failures(work, name, failures):  # type: ignore[no-untyped-def]
    try:
        work(name)
    except BaseException as error:  # noqa: BLE001 - handed to the test
        failures.append(error)


class TestLifetime:
    def test_sessions_of_one_workflow_share_data_until_the_last_ends(self, manager: MemoryManager) -> None:
        outer = create_session("w", manager, {"user": "ann", "step": 1})
        outer.save_agent_memory("writer", "draft", "v1")
        with create_session("w", manager, {"step": 2}) as inner:
            assert inner.retrieve_agent_memory("writer", "draft") == "v1"
            inner.save_agent_memory("editor", "notes", "shorter")
            assert manager.get_stats().active_sessions == 2
        assert outer.retrieve_agent_memory("editor", "notes") == "shorter"
        summary = outer.get_session_summary()
        assert (summary.active_agents, summary.sessions) == (("editor", "writer"), 2)
        outer.end_session()
        with create_session("w", manager) as session:
            assert session.retrieve_agent_memory("writer", "draft") is None

    def test_exception_cleans_up_and_is_raised(self, manager: MemoryManager) -> None:
        def fail() -> None:
            with create_session("w", manager) as session:
                session.save_agent_memory("writer", "draft", 1)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert manager.get_conversation_history("w") == []
        assert manager.get_stats().active_sessions == 0
        assert manager.get_stats().short_term_entries == 0

    def test_without_auto_cleanup_the_next_session_has_the_data(self, manager: MemoryManager) -> None:
        with create_session("w", manager, auto_cleanup=False) as session:
            session.save_agent_memory("writer", "draft", 1)
            session.add_conversation_message("writer", "user", "hello")
        assert contents(manager.get_conversation_history("w")) == ["hello"]
        with create_session("w", manager) as again:
            assert again.retrieve_agent_memory("writer", "draft") == 1
            assert again.get_session_summary().conversation_messages == 1
        assert manager.get_conversation_history("w") == []

    def test_setting_is_the_default_of_auto_cleanup(self, tmp_path: Path, clock: FakeClock) -> None:
        manager = open_manager(tmp_path, clock, auto_cleanup=False)
        with create_session("w", manager) as session:
            session.save_agent_memory("writer", "draft", 1)
        with create_session("w", manager, auto_cleanup=True) as again:
            assert again.retrieve_agent_memory("writer", "draft") == 1
        with create_session("w", manager) as last:
            assert last.retrieve_agent_memory("writer", "draft") is None
        manager.close()

    def test_ending_twice_is_allowed_and_use_after_the_end_raises(self, manager: MemoryManager) -> None:
        session = create_session("w", manager)
        session.save_agent_memory("writer", "draft", 1)
        assert session.end_session() is session.end_session() is session.get_session_summary()
        for use in (
            lambda: session.save_agent_memory("writer", "draft", 1),
            lambda: session.save_agent_memory("writer", "draft", 1, "long_term"),
            lambda: session.retrieve_agent_memory("writer", "draft"),
            lambda: session.add_conversation_message("writer", "user", "hi"),
            session.get_conversation_history,
            lambda: session.save_execution_record("writer", {}),
        ):
            with pytest.raises(Closed, match="create_session"):
                use()
        assert manager.get_stats().short_term_entries == 0
        assert manager.get_stats().executions == 0

    def test_every_use_keeps_a_session_open_until_the_timeout(self, tmp_path: Path, clock: FakeClock) -> None:
        manager = open_manager(tmp_path, clock, session_timeout=60)
        session = create_session("w", manager)
        session.save_agent_memory("writer", "draft", 1)
        uses = (
            lambda: session.retrieve_agent_memory("writer", "draft"),
            session.get_conversation_history,
            session.get_session_summary,
            lambda: session.add_conversation_message("writer", "user", "hi"),
            lambda: session.save_execution_record("writer", {"status": "success"}),
        )
        for use in uses:
            clock.advance(seconds=59)
            use()
            assert manager.get_stats().active_sessions == 1
        clock.advance(seconds=60)
        with pytest.raises(Closed, match="60 seconds"):
            session.retrieve_agent_memory("writer", "draft")
        clock.advance(seconds=15)
        assert manager.get_stats().active_sessions == 0
        session.end_session()
        manager.close()

    def test_data_of_an_idle_session_is_not_given_to_the_next(self, tmp_path: Path, clock: FakeClock) -> None:
        manager = open_manager(tmp_path, clock, session_timeout=60)
        create_session("w", manager).save_agent_memory("writer", "draft", 1)
        clock.advance(seconds=61)
        with create_session("w", manager) as session:
            assert session.retrieve_agent_memory("writer", "draft") is None
        manager.close()

    def test_session_that_was_never_used_ends_after_the_timeout(self, tmp_path: Path, clock: FakeClock) -> None:
        manager = open_manager(tmp_path, clock, session_timeout=60)
        session = create_session("w", manager)
        clock.advance(seconds=61)
        with pytest.raises(Closed):
            session.get_conversation_history()
        manager.close()

    def test_clear_session_ends_it_and_returns_true_whatever_there_was(self, manager: MemoryManager) -> None:
        assert manager.clear_session("w") is True
        session = create_session("w", manager)
        session.save_agent_memory("writer", "draft", 1)
        assert manager.clear_session("w") is True
        assert manager.clear_session("w") is True
        assert manager.get_stats().active_sessions == 0
        with pytest.raises(Closed, match="cleared"):
            session.retrieve_agent_memory("writer", "draft")

    def test_session_opened_while_the_last_one_ends_stays_usable(self, manager: MemoryManager) -> None:
        session = create_session("w", manager)
        manager.clear_session("w")
        session.save_agent_memory("writer", "draft", 1)
        assert session.retrieve_agent_memory("writer", "draft") == 1

    def test_many_workflows_are_open_at_once(self, manager: MemoryManager) -> None:
        sessions = [create_session(f"w{number}", manager) for number in range(50)]
        for number, session in enumerate(sessions):
            session.save_agent_memory("writer", "n", number)
        assert manager.get_stats().active_sessions == 50
        assert [session.retrieve_agent_memory("writer", "n") for session in sessions] == list(range(50))
        for session in sessions:
            session.end_session()
        assert manager.get_stats().active_sessions == 0


class TestSummary:
    def test_summary_counts_all_actions(self, manager: MemoryManager, clock: FakeClock) -> None:
        with create_session("w", manager, {"user": "ann"}) as session:
            session.save_agent_memory("writer", "draft", 1)
            session.retrieve_agent_memory("editor", "draft")
            session.add_conversation_message("writer", "user", "hi")
            record_id = session.save_execution_record("writer", {"status": "success"})
            clock.advance(seconds=90)
            summary = session.get_session_summary()
        assert summary["workflow_id"] == "w"
        assert summary.active_agents == ("editor", "writer")
        assert (summary.total_interactions, summary.conversation_messages) == (4, 1)
        assert (summary.executions, summary.duration_seconds, summary.metadata) == (1, 90, {"user": "ann"})
        assert summary.activity["writer"] == {"saves": 1, "messages": 1, "executions": 1}
        record = manager.get_execution_records()[0]
        assert (record.id, record.workflow_id, record.session_id) == (record_id, "w", session.session_id)

    def test_ended_sessions_are_listed_after_a_restart(self, tmp_path: Path, clock: FakeClock) -> None:
        with open_manager(tmp_path, clock) as manager:
            with create_session("quiet", manager):
                pass
            for workflow in ("one", "two"):
                with create_session(workflow, manager, {"user": "ann", "password": "hunter2"}) as session:
                    session.add_conversation_message("writer", "user", "hi")
                    clock.advance(seconds=30)
        with open_manager(tmp_path, clock) as again:
            two, one = again.get_sessions()
            assert (one.workflow_id, two.workflow_id) == ("one", "two")
            assert (one.conversation_messages, one.active_agents, one.duration_seconds) == (1, ("writer",), 30)
            assert one.ended_at == two.started_at
            assert one.metadata == {"user": "ann", "password": "[redacted]"}
            assert [session.workflow_id for session in again.get_sessions("two", limit=1)] == ["two"]


def test_closed_manager_opens_no_session(manager: MemoryManager) -> None:
    session = create_session("w", manager)
    manager.close()
    with pytest.raises(Closed, match="MemoryManager"):
        create_session("w", manager)
    with pytest.raises(Closed):
        session.add_conversation_message("writer", "user", "hi")


@pytest.mark.parametrize("name", ["", "  ", None, 7, "a\0b", "x" * 600])
def test_invalid_workflow_name_raises(manager: MemoryManager, name: str) -> None:
    with pytest.raises(InvalidInput):
        create_session(name, manager)


def test_invalid_arguments_raise(manager: MemoryManager) -> None:
    with pytest.raises(InvalidType, match="metadata"):
        create_session("w", manager, metadata={"when": object()})  # type: ignore[dict-item]
    with pytest.raises(InvalidInput, match="save it as a value"):
        create_session("w", manager, metadata={"text": "x" * 60_000})
    with pytest.raises(InvalidType, match="auto_cleanup"):
        create_session("w", manager, auto_cleanup="yes")  # type: ignore[arg-type]
    with create_session("w", manager) as session:
        with pytest.raises(InvalidInput, match="short_term"):
            session.save_agent_memory("writer", "draft", 1, "episodic")
        with pytest.raises(InvalidInput, match="ttl"):
            session.save_agent_memory("writer", "draft", 1, "long_term", ttl=5)
        with pytest.raises(InvalidInput, match="limit"):
            session.get_conversation_history(limit=-1)
        with pytest.raises(InvalidType, match="draft"):
            session.save_agent_memory("writer", "draft", object())  # type: ignore[arg-type]
        assert session.get_session_summary().total_interactions == 0


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "*", "w:1", "日本語", "a b\nc", "\u00e9", "e\u0301"])
def test_unusual_names_are_kept_apart(manager: MemoryManager, name: str) -> None:
    with create_session(name, manager) as session, create_session(f"{name}!", manager) as other:
        session.save_agent_memory(name, name, name)
        session.save_agent_memory(name, name, name, "long_term")
        assert session.retrieve_agent_memory(name, name) == name
        assert session.retrieve_agent_memory(name, name, "long_term") == name
        assert other.retrieve_agent_memory(name, name) is None
        assert other.retrieve_agent_memory(name, name, "long_term") is None
