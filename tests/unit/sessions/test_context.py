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


class Wind:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Wind:
    return Wind()


def make(tmp_path: Path, clock: Wind, **settings: object) -> MemoryManager:
    config = MemoryConfig(db_url=f"sqlite:///{tmp_path}/a.db", **settings)  # type: ignore[arg-type]
    return MemoryManager(config, embedder=HashEmbedder(64), clock=clock)


@pytest.fixture
def manager(tmp_path: Path, clock: Wind) -> Iterator[MemoryManager]:
    manager = make(tmp_path, clock)
    yield manager
    manager.close()


def said(history: object) -> list[str]:
    return [message.content for message in history]  # type: ignore[attr-defined]


class TestValues:
    def test_a_value_lives_in_its_session_and_goes_with_it(self, manager: MemoryManager) -> None:
        with create_session("campaign", manager) as session:
            assert session.save_agent_memory("writer", "draft", {"text": "Spring"}) is True
            assert session.retrieve_agent_memory("writer", "draft") == {"text": "Spring"}
            assert session.retrieve_agent_memory("editor", "draft") is None
            assert manager.retrieve("writer", "draft") is None
        with create_session("campaign", manager) as again:
            assert again.retrieve_agent_memory("writer", "draft") is None
        assert manager.get_stats().short_term_entries == 0

    def test_a_long_term_value_stays_and_belongs_to_its_workflow(self, manager: MemoryManager) -> None:
        manager.save("writer", "style", "plain", "long_term")
        for workflow in ("one", "two"):
            with create_session(workflow, manager) as session:
                session.save_agent_memory("writer", "style", workflow, "long_term")
        for workflow in ("one", "two"):
            with create_session(workflow, manager) as session:
                assert session.retrieve_agent_memory("writer", "style", "long_term") == workflow
                assert session.retrieve_agent_memory("editor", "style", "long_term") is None
        assert manager.retrieve("writer", "style", "long_term") == "plain"

    def test_one_workflow_does_not_see_another(self, manager: MemoryManager) -> None:
        with create_session("one", manager) as one, create_session("two", manager) as two:
            one.save_agent_memory("writer", "draft", 1)
            one.add_conversation_message("writer", "assistant", "hello")
            assert two.retrieve_agent_memory("writer", "draft") is None
            assert two.get_conversation_history() == []
            assert two.get_session_summary().agents == ("writer",)
            assert two.get_session_summary().messages == 0
            two.end_session()
            assert one.retrieve_agent_memory("writer", "draft") == 1

    def test_a_brief_value_goes_before_its_session(self, manager: MemoryManager, clock: Wind) -> None:
        with create_session("w", manager) as session:
            session.save_agent_memory("writer", "lock", True, ttl=5)
            clock.advance(6)
            assert session.retrieve_agent_memory("writer", "lock") is None

    def test_a_full_cache_of_values_takes_nothing_from_a_session(self, tmp_path: Path, clock: Wind) -> None:
        manager = make(tmp_path, clock, max_cache_size=3)
        with create_session("w", manager) as session:
            session.add_conversation_message("writer", "assistant", "hello")
            for number in range(10):
                manager.save("writer", f"key {number}", number)
            assert said(session.get_conversation_history()) == ["hello"]
        manager.close()


class TestConversation:
    def test_messages_come_back_in_order_with_all_they_carry(self, manager: MemoryManager, clock: Wind) -> None:
        with create_session("w", manager) as session:
            session.add_conversation_message("writer", "assistant", "Draft done", {"words": 12})
            clock.advance(1)
            session.add_conversation_message("editor", "user", "Shorter, please")
            first, second = session.get_conversation_history()
            assert (first.agent_id, first.role, first["content"], first.metadata) == (
                "writer", "assistant", "Draft done", {"words": 12},
            )  # fmt: skip
            assert second.timestamp - first.timestamp == timedelta(seconds=1)
            assert dict(second)["agent_id"] == "editor"

    def test_order_holds_though_the_clock_stands_still(self, manager: MemoryManager) -> None:
        texts = [f"message {number}" for number in range(30)]
        with create_session("w", manager) as one, create_session("w", manager) as two:
            for number, text in enumerate(texts):
                (one if number % 2 else two).add_conversation_message("writer", "user", text)
            assert said(one.get_conversation_history()) == texts
            assert said(manager.get_conversation_history("w", limit=3)) == texts[-3:]

    def test_history_has_a_limit(self, tmp_path: Path, clock: Wind) -> None:
        manager = make(tmp_path, clock, max_conversation_history=5)
        with create_session("w", manager) as session:
            for number in range(50):
                session.add_conversation_message("writer", "user", f"message {number}")
            assert said(session.get_conversation_history()) == [f"message {number}" for number in range(45, 50)]
            assert said(session.get_conversation_history(limit=100)) == said(session.get_conversation_history())
            assert session.get_session_summary().messages == 50
            entries = manager.get_stats().short_term_entries
            assert entries is not None
            assert entries < 5 + 16 + 3
        manager.close()

    @pytest.mark.parametrize(
        ("role", "content"), [("robot", "hi"), ("user", ""), ("user", None), ("user", "\0"), (None, "hi")]
    )
    def test_a_wrong_message_is_refused_and_nothing_is_kept(
        self, manager: MemoryManager, role: str, content: str
    ) -> None:
        with create_session("w", manager) as session:
            with pytest.raises(InvalidInput):
                session.add_conversation_message("writer", role, content)
            assert session.get_conversation_history() == []

    def test_many_threads_lose_no_message(self, manager: MemoryManager) -> None:
        def work(name: str) -> None:
            with create_session("w", manager) as session:
                for number in range(10):
                    session.add_conversation_message(name, "user", f"{name} {number}")
                everyone.wait()
                assert len(session.get_conversation_history()) == 80

        everyone = threading.Barrier(8)
        failures: list[BaseException] = []
        threads = [threading.Thread(target=guarded, args=(work, f"agent {n}", failures)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert manager.get_conversation_history("w") == []


def guarded(work, name, failures):  # type: ignore[no-untyped-def]
    try:
        work(name)
    except BaseException as error:  # noqa: BLE001 - handed to the test
        failures.append(error)


class TestLife:
    def test_the_same_workflow_twice_is_one_until_the_last_ends(self, manager: MemoryManager) -> None:
        outer = create_session("w", manager, {"user": "ann", "step": 1})
        outer.save_agent_memory("writer", "draft", "v1")
        with create_session("w", manager, {"step": 2}) as inner:
            assert inner.retrieve_agent_memory("writer", "draft") == "v1"
            inner.save_agent_memory("editor", "notes", "shorter")
            assert manager.get_stats().active_sessions == 2
        assert outer.retrieve_agent_memory("editor", "notes") == "shorter"
        summary = outer.get_session_summary()
        assert (summary.agents, summary.sessions) == (("editor", "writer"), 2)
        outer.end_session()
        with create_session("w", manager) as session:
            assert session.retrieve_agent_memory("writer", "draft") is None

    def test_an_exception_cleans_up_and_goes_on(self, manager: MemoryManager) -> None:
        def fail() -> None:
            with create_session("w", manager) as session:
                session.save_agent_memory("writer", "draft", 1)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert manager.get_conversation_history("w") == []
        assert manager.get_stats().active_sessions == 0
        assert manager.get_stats().short_term_entries == 0

    def test_without_clean_up_the_data_stays_for_the_next_session(self, manager: MemoryManager) -> None:
        with create_session("w", manager, auto_cleanup=False) as session:
            session.save_agent_memory("writer", "draft", 1)
            session.add_conversation_message("writer", "user", "hello")
        assert said(manager.get_conversation_history("w")) == ["hello"]
        with create_session("w", manager) as again:
            assert again.retrieve_agent_memory("writer", "draft") == 1
            assert again.get_session_summary().messages == 1
        assert manager.get_conversation_history("w") == []

    def test_the_setting_decides_when_the_call_does_not(self, tmp_path: Path, clock: Wind) -> None:
        manager = make(tmp_path, clock, auto_cleanup=False)
        with create_session("w", manager) as session:
            session.save_agent_memory("writer", "draft", 1)
        with create_session("w", manager, auto_cleanup=True) as again:
            assert again.retrieve_agent_memory("writer", "draft") == 1
        with create_session("w", manager) as last:
            assert last.retrieve_agent_memory("writer", "draft") is None
        manager.close()

    def test_ending_twice_is_fine_and_using_it_afterwards_is_not(self, manager: MemoryManager) -> None:
        session = create_session("w", manager)
        session.save_agent_memory("writer", "draft", 1)
        assert session.end_session() is session.end_session()
        for use in (
            lambda: session.save_agent_memory("writer", "draft", 1),
            lambda: session.save_agent_memory("writer", "draft", 1, "long_term"),
            lambda: session.retrieve_agent_memory("writer", "draft"),
            lambda: session.add_conversation_message("writer", "user", "hi"),
            session.get_conversation_history,
            lambda: session.save_execution_record("writer", {}),
            session.get_session_summary,
        ):
            with pytest.raises(Closed, match="create_session"):
                use()
        assert manager.get_stats().short_term_entries == 0
        assert manager.get_stats().executions == 0

    def test_every_use_keeps_it_open_and_idleness_ends_it(self, tmp_path: Path, clock: Wind) -> None:
        manager = make(tmp_path, clock, session_timeout=60)
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
            clock.advance(59)
            use()
            assert manager.get_stats().active_sessions == 1
        clock.advance(60)
        with pytest.raises(Closed, match="60 seconds"):
            session.retrieve_agent_memory("writer", "draft")
        clock.advance(15)
        assert manager.get_stats().active_sessions == 0
        session.end_session()
        manager.close()

    def test_what_an_idle_session_left_is_not_the_next_ones(self, tmp_path: Path, clock: Wind) -> None:
        manager = make(tmp_path, clock, session_timeout=60)
        create_session("w", manager).save_agent_memory("writer", "draft", 1)
        clock.advance(61)
        with create_session("w", manager) as session:
            assert session.retrieve_agent_memory("writer", "draft") is None
        manager.close()

    def test_a_session_opened_and_left_unused_for_too_long_has_ended(self, tmp_path: Path, clock: Wind) -> None:
        manager = make(tmp_path, clock, session_timeout=60)
        session = create_session("w", manager)
        clock.advance(61)
        with pytest.raises(Closed):
            session.get_conversation_history()
        manager.close()

    def test_clearing_says_whether_there_was_anything_and_ends_the_session(self, manager: MemoryManager) -> None:
        assert manager.clear_session("w") is False
        session = create_session("w", manager)
        session.save_agent_memory("writer", "draft", 1)
        assert manager.clear_session("w") is True
        assert manager.clear_session("w") is False
        assert manager.get_stats().active_sessions == 0
        with pytest.raises(Closed, match="cleared"):
            session.retrieve_agent_memory("writer", "draft")

    def test_a_session_that_came_while_the_last_one_left_goes_on(self, manager: MemoryManager) -> None:
        session = create_session("w", manager)
        manager.clear_session("w")
        session.save_agent_memory("writer", "draft", 1)
        assert session.retrieve_agent_memory("writer", "draft") == 1

    def test_workflows_nest_and_are_many(self, manager: MemoryManager) -> None:
        sessions = [create_session(f"w{number}", manager) for number in range(50)]
        for number, session in enumerate(sessions):
            session.save_agent_memory("writer", "n", number)
        assert manager.get_stats().active_sessions == 50
        assert [session.retrieve_agent_memory("writer", "n") for session in sessions] == list(range(50))
        for session in sessions:
            session.end_session()
        assert manager.get_stats().active_sessions == 0


class TestSummary:
    def test_it_counts_what_took_place(self, manager: MemoryManager, clock: Wind) -> None:
        with create_session("w", manager, {"user": "ann"}) as session:
            session.save_agent_memory("writer", "draft", 1)
            session.retrieve_agent_memory("editor", "draft")
            session.add_conversation_message("writer", "user", "hi")
            record_id = session.save_execution_record("writer", {"status": "success"})
            clock.advance(90)
            summary = session.get_session_summary()
        assert summary["workflow_id"] == "w"
        assert (summary.agents, summary.interactions, summary.messages) == (("editor", "writer"), 4, 1)
        assert (summary.executions, summary.duration_seconds, summary.metadata) == (1, 90, {"user": "ann"})
        assert summary.activity["writer"] == {"saves": 1, "messages": 1, "executions": 1}
        record = manager.get_execution_records()[0]
        assert (record.id, record.workflow_id, record.session_id) == (record_id, "w", session.session_id)

    def test_what_took_place_stays_known_after_the_end(self, tmp_path: Path, clock: Wind) -> None:
        with make(tmp_path, clock) as manager:
            with create_session("quiet", manager):
                pass
            for workflow in ("one", "two"):
                with create_session(workflow, manager, {"user": "ann", "password": "hunter2"}) as session:
                    session.add_conversation_message("writer", "user", "hi")
                    clock.advance(30)
        with make(tmp_path, clock) as again:
            two, one = again.get_sessions()
            assert (one.workflow_id, two.workflow_id) == ("one", "two")
            assert (one.messages, one.agents, one.duration_seconds) == (1, ("writer",), 30)
            assert one.ended_at == two.opened_at
            assert one.metadata == {"user": "ann", "password": "[redacted]"}
            assert [each.workflow_id for each in again.get_sessions("two", limit=1)] == ["two"]


def test_a_closed_manager_opens_no_session(manager: MemoryManager) -> None:
    session = create_session("w", manager)
    manager.close()
    with pytest.raises(Closed, match="MemoryManager"):
        create_session("w", manager)
    with pytest.raises(Closed):
        session.add_conversation_message("writer", "user", "hi")


@pytest.mark.parametrize("name", ["", "  ", None, 7, "a\0b", "x" * 600])
def test_a_wrong_workflow_name_is_refused(manager: MemoryManager, name: str) -> None:
    with pytest.raises(InvalidInput):
        create_session(name, manager)


def test_other_wrong_arguments_are_refused(manager: MemoryManager) -> None:
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
            session.get_conversation_history(limit=0)
        with pytest.raises(InvalidType, match="draft"):
            session.save_agent_memory("writer", "draft", object())  # type: ignore[arg-type]
        assert session.get_session_summary().interactions == 0


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "*", "w:1", "日本語", "a b\nc", "\u00e9", "e\u0301"])
def test_odd_names_are_only_names(manager: MemoryManager, name: str) -> None:
    with create_session(name, manager) as session, create_session(f"{name}!", manager) as other:
        session.save_agent_memory(name, name, name)
        session.save_agent_memory(name, name, name, "long_term")
        assert session.retrieve_agent_memory(name, name) == name
        assert session.retrieve_agent_memory(name, name, "long_term") == name
        assert other.retrieve_agent_memory(name, name) is None
        assert other.retrieve_agent_memory(name, name, "long_term") is None
