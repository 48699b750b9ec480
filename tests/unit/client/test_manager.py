"""The tests of the embedded manager run against the remote one, plus what only the client does."""

from __future__ import annotations

import gc
import inspect
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from memoranda import ANY, Message, NotFound
from memoranda.aio import SessionContext as EmbeddedAsyncSession
from memoranda.client import MemoryManager, SessionContext, create_session
from memoranda.client.aio import MemoryManager as AsyncMemoryManager
from memoranda.client.aio import SessionContext as AsyncSession
from memoranda.client.aio import create_session as create_async_session
from memoranda.client.manager import RemoteLog
from memoranda.conversation import conversations
from memoranda.conversation.base import MessageLog
from memoranda.errors import Closed, Conflict, Denied, ExtractionFailed, Incompatible, InvalidInput, Unavailable
from memoranda.maintenance.policies import UpkeepSettings
from memoranda.manager.manager import MemoryManager as Embedded
from memoranda.sessions.context import SessionContext as EmbeddedSession
from memoranda.testing.contracts import MessageLogContract
from tests.fake_clock import FakeClock
from tests.server.in_process import InProcessServer, open_server
from tests.unit.items.test_items import TestItems
from tests.unit.manager.test_lists import Reply, TestLists
from tests.unit.manager.test_manager import NOON, TestMemories, TestRemember, TestScopes, TestValues

__all__ = ["TestItems", "TestLists", "TestMemories", "TestRemember", "TestScopes", "TestValues"]

SERVER_ONLY = {
    *("backup", "archive_to", "restore_from", "check", "repair", "reembed", "export_files", "import_files"),
    *("for_tenant", "forget_again"),
}
"""Methods for the operator: they name files on the server, or reach beyond one tenant."""


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOON)


@pytest.fixture
def server(tmp_path: Path, clock: FakeClock) -> Iterator[InProcessServer]:
    with open_server(tmp_path / "server", clock=clock) as server:
        yield server


@pytest.fixture
def manager(server: InProcessServer, request: pytest.FixtureRequest) -> Iterator[MemoryManager]:
    # The tests of the embedded manager expect plain ids.
    key = None if getattr(request.cls, "__name__", "") in __all__ else server.key()
    with server.client(key) as manager:
        yield manager


def _public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


@pytest.mark.parametrize("remote", [MemoryManager, AsyncMemoryManager])
def test_client_has_the_methods_and_parameters_of_the_embedded_manager(remote: type) -> None:
    assert _public(remote) == _public(Embedded) - SERVER_ONLY
    for name in _public(remote):
        ours, theirs = (
            [(each.name, each.kind, each.default) for each in inspect.signature(getattr(cls, name)).parameters.values()]
            for cls in (remote, Embedded)
        )
        assert ours == theirs, name


def test_memory_is_read_and_deleted_by_its_number(manager: MemoryManager) -> None:
    one, other = (
        manager.add_memory(text, kind) for text, kind in (("The sky is blue", "semantic"), ("Hi", "episodic"))
    )
    manager.add_memory_association(one.id, other.id, strength=0.4)
    assert manager.get_related_memories(one.id, min_strength=0.5) == []
    assert manager.cleanup_old_memories(0, 1.0, memory_types=["episodic"], dry_run=True).examined == 1
    assert manager.get_memory(one.id) == one
    assert [manager.delete_memory(one.id) for _ in range(2)] == [True, False]
    assert manager.get_memory(one.id) is None


def test_session_that_is_cleaned_up_goes_on_empty(manager: MemoryManager) -> None:
    with create_session("w", manager, {"team": "red"}) as session:
        session.add_conversation_message("writer", "assistant", "done")
        assert session.cleanup() is True
        assert (session.get_conversation_history(), session.metadata) == ([], {"team": "red"})
        session.save_agent_memory("writer", "draft", 1)
        assert session.retrieve_agent_memory("writer", "draft") == 1
    assert session.cleanup() is True
    assert not session.is_active


class TestRemoteLog(MessageLogContract):
    @pytest.fixture
    def log(self, manager: MemoryManager) -> MessageLog:
        return RemoteLog(manager._transport, {"agent": "writer", "user": "ann"})


def test_conversation_is_one_object_with_the_servers_messages(manager: MemoryManager, server: InProcessServer) -> None:
    conversation = manager.get_memory("writer", user="ann")
    conversation.add_message({"role": "user", "content": "hello"})
    conversation.add([Message("assistant", "hi"), Message("user", "bye")])
    assert manager.get_memory("writer", user="ann") is conversation
    with server.client(server.key()) as other:
        assert [each.content for each in other.get_memory("writer", user="ann").get_messages()] == [
            "hello",
            "hi",
            "bye",
        ]
        assert len(other.get_memory("writer")) == 0
    conversation.delete([0, 2])
    assert [each.content for each in conversation.get_messages()] == ["hi"]
    with pytest.raises(IndexError):
        conversation.delete(5)


def test_released_conversations_keep_their_messages(manager: MemoryManager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "_MAX_RECENT", 2)
    held = manager.get_memory("writer", user="held")
    gone = weakref.ref(manager.get_memory("writer", user="ann"))
    gone().add_message({"role": "user", "content": "hello"})  # type: ignore[union-attr]
    for user in ("bo", "cy"):
        manager.get_memory("writer", user=user)
    gc.collect()
    assert gone() is None
    assert [each.content for each in manager.get_memory("writer", user="ann").get_messages()] == ["hello"]
    assert manager.get_memory("writer", user="held") is held


def test_single_run_conversation_is_emptied_at_the_end(manager: MemoryManager) -> None:
    manager.set_retention_policy("writer", "single_run")
    with manager.run("writer") as conversation:
        conversation.add_message({"role": "user", "content": "hello"})
        assert len(conversation) == 1
    assert len(conversation) == 0


def test_session_behaves_like_the_embedded_one(manager: MemoryManager) -> None:
    with create_session("campaign", manager, {"team": "red"}) as session:
        assert session.save_agent_memory("writer", "draft", None) is True
        assert session.save_agent_memory("writer", "draft", {"text": "Spring"}) is True
        assert session.retrieve_agent_memory("writer", "draft") == {"text": "Spring"}
        session.add_conversation_message("writer", "assistant", "ready")
        record = session.save_execution_record("writer", {"status": "success", "duration_ms": 5})
        assert [each.content for each in session.get_conversation_history()] == ["ready"]
        assert [each.content for each in manager.get_conversation_history("campaign")] == ["ready"]
        assert session.get_session_summary().metadata == {"team": "red"}
        assert (
            session.add_conversation_message("writer", "user", Reply(role="user", content="thanks")).content == "thanks"
        )
        assert (session.is_active, session.ended_at, session.auto_cleanup) == (True, None, True)
        assert (session.active_agents, len(session.agent_interactions)) == (["writer"], 6)
    assert (session.is_active, session.active_agents) == (False, ["writer"])
    assert session.ended_at == session.started_at
    assert session.get_session_duration() == timedelta(0)
    assert session.end_session().conversation_messages == 2
    assert session.get_session_summary() == session.end_session()
    with pytest.raises(Closed, match="create_session"):
        session.get_conversation_history()
    assert [each.id for each in manager.get_execution_records("writer")] == [record]
    assert manager.get_execution_records(workflow="campaign", limit=1)[0]["duration_ms"] == 5
    assert manager.get_execution_stats("writer").count == 1
    assert manager.verify_executions().ok
    assert [each.workflow_id for each in manager.get_sessions()] == ["campaign"]


def test_session_has_what_the_embedded_one_has(manager: MemoryManager) -> None:
    assert _public(SessionContext) == _public(EmbeddedSession)
    with SessionContext("campaign", manager, auto_cleanup=False) as session:
        assert session.auto_cleanup is False
        manager.clear_session("campaign")
        assert session.is_active is False
    for cls in (SessionContext, EmbeddedSession):
        assert [*inspect.signature(cls).parameters] == ["workflow_id", "memory_manager", "metadata", "auto_cleanup"]


async def test_async_session_behaves_like_the_embedded_one(server: InProcessServer) -> None:
    assert _public(AsyncSession) == _public(EmbeddedAsyncSession)
    async with server.async_client() as manager:
        session = create_async_session("campaign", manager, {"team": "red"})
        with pytest.raises(Closed, match="async with"):
            session.started_at  # noqa: B018
        async with session:
            assert await session.save_agent_memory("writer", "draft", {"text": "Spring"}) is True
            assert await session.retrieve_agent_memory("writer", "draft") == {"text": "Spring"}
            await session.add_conversation_message("writer", "assistant", "ready")
            assert [each.content for each in await session.get_conversation_history()] == ["ready"]
            record = await session.save_execution_record("writer", {"status": "success"})
            assert (await session.get_session_summary()).metadata == session.metadata == {"team": "red"}
            assert (session.is_active, session.active_agents, session.ended_at) == (True, ["writer"], None)
        assert (session.is_active, session.ended_at is None) == (False, False)
        with pytest.raises(Closed, match="create_session"):
            await session.get_conversation_history()
        assert [each.id for each in await manager.get_execution_records("writer")] == [record]
        async with create_async_session("campaign", manager) as cleared:
            await manager.clear_session("campaign")
        assert cleared.is_active is False
    with pytest.raises(Closed, match="closed"):
        await create_async_session("campaign", manager).end_session()


def test_knowledge_files_are_read_by_the_client(manager: MemoryManager, tmp_path: Path) -> None:
    page = tmp_path / "tea.md"
    page.write_text("# Tea\nBrew it for three minutes.")
    assert manager.add_knowledge(page)[0].added == 1
    assert [each.chunks for each in manager.get_knowledge_sources()] == [1]
    assert "three minutes" in manager.recall("how long to brew", shared=True)[0].content
    assert manager.remove_knowledge(manager.get_knowledge_sources()[0].source) == 1


def test_context_is_text_with_its_hits(manager: MemoryManager) -> None:
    memory = manager.add_memory("Ann likes tea", user="ann")
    made = manager.context("tea", user="ann")
    assert "Ann likes tea" in made
    assert [hit.memory for hit in made.hits] == [memory]
    assert manager.context("tea") == ""


def test_replay_and_why_by_id_work_over_the_network(manager: MemoryManager) -> None:
    memory = manager.add_memory("Ann likes tea", user="ann")
    found = manager.recall("tea", user="ann", explain=True)
    manager.update(memory.id, "Ann likes coffee", user="ann")
    past = manager.replay(found.id, user="ann")
    assert past.recall == found
    assert past.complete
    assert manager.why(found.id, memory.id, user="ann") == found[0].why
    preview = manager.forget(memory.id, user="ann", dry_run=True)
    assert [(recall.id, recall.memories) for recall in preview.recalls] == [(found.id, 1)]
    manager.delete(memory.id, user="ann")
    assert [(hit.position, hit.id) for hit in manager.replay(found.id, user="ann").erased] == [(1, memory.id)]
    for scope in ({}, {"user": "ben"}):
        with pytest.raises(NotFound, match=found.id):
            manager.replay(found.id, **scope)


def test_why_not_names_the_superseding_memory_over_the_network(manager: MemoryManager) -> None:
    memory = manager.add_memory("Ann likes tea", user="ann")
    manager.archive(memory.id, user="ann")
    answer = manager.why_not("tea", memory.id, user="ann")
    assert (answer.step, answer.since) == ("archived", NOON)


def test_facts_conflicts_and_slot_history_equal_the_embedded_ones(
    manager: MemoryManager, server: InProcessServer, clock: FakeClock
) -> None:
    manager.remember({"role": "user", "name": "Ana", "content": "I live in Hamburg."}, user="ana")
    clock.advance(days=10)
    manager.remember({"role": "user", "name": "Ana", "content": "I moved to Ghent last week."}, user="ana")
    manager.remember("Ana lives in Lyon.", user="ana", source="https://example.org/ana")
    told = NOON + timedelta(days=9)
    [fact] = manager.facts(user="ana")
    assert (fact.slot, fact.value, fact.replaced[0].value) == ("Ana/city", "Ghent", "Hamburg")
    assert [value.value for value in fact.disputed_by] == ["Lyon"]
    assert [each.value for each in manager.facts(user="ana", known_at=told)] == ["Hamburg"]
    assert [each.value for each in manager.facts(user="ana", as_of=told.isoformat())] == ["Ghent"]
    [conflict] = manager.conflicts(user="ana")
    assert [value.value for value in conflict.values] == ["Ghent", "Lyon"]
    past = manager.history("Ana/city", user="ana")
    assert [value.value for value in past.values] == ["Hamburg", "Ghent", "Lyon"]
    assert past.memory == manager.get(fact.memory_id, user="ana")
    assert manager.facts() == manager.conflicts() == []
    with server.client(server.key(scopes=("read",))) as reader, pytest.raises(Denied, match="admin"):
        reader.facts(user=ANY)
    assert [each.value for each in manager.facts(user=ANY)] == ["Ghent"]


def test_slot_with_odd_characters_reaches_the_server_as_it_is(manager: MemoryManager) -> None:
    manager.remember({"role": "user", "name": "Ana", "content": "My sister's email is kim@example.org."}, user="ana")
    [fact] = manager.facts(user="ana")
    assert fact.slot.startswith("Ana's sister/")
    assert manager.history(fact.slot, user="ana").values[0].value == fact.value
    for slot in ("nobody/a?b&slot=Ana/city", "a#b/c%2Fd", "ä/ö+ü"):
        with pytest.raises(NotFound) as refused:
            manager.history(slot, user="ana")
        assert repr(slot) in str(refused.value)
    for wrong in ("", "  "):
        with pytest.raises(InvalidInput):
            manager.history(wrong, user="ana")
    with pytest.raises(InvalidInput):
        manager.history(0, user="ana")


def test_hits_keep_what_was_said_later_and_against_them(manager: MemoryManager, clock: FakeClock) -> None:
    for colour in ("blue", "green"):
        manager.remember({"role": "user", "name": "Ana", "content": f"My favourite colour is {colour}."}, user="ana")
        clock.advance(days=1)
    manager.remember("Ana's favourite colour is red.", user="ana", source="https://example.org/ana")
    hits = {hit.content: hit for hit in manager.recall("What is my favourite colour?", user="ana")}
    blue, green = hits["My favourite colour is blue."], hits["My favourite colour is green."]
    assert [memory.content for memory in blue.later] == [green.content]
    assert [memory.source for memory in green.disputed] == ["https://example.org/ana"]
    assert manager.history(blue.id, user="ana").later == blue.later
    assert "later said on" in manager.context("What is my favourite colour?", user="ana")
    then = manager.recall("What is my favourite colour?", user="ana", known_at=NOON)
    assert [(hit.content, hit.later) for hit in then] == [("My favourite colour is blue.", ())]
    assert "green" not in manager.context("favourite colour", user="ana", known_at=NOON)
    assert manager.context("favourite colour", user="ana", min_score=1.0) == ""
    assert len(manager.recall("favourite colour", user="ana", min_score=1.0)) == 0
    missing = manager.why_not("favourite colour", green.id, user="ana", known_at=NOON, min_score=0.1)
    assert missing.step == "not yet known"
    assert [each.content for each in manager.list_memories(user="ana", known_at=NOON)] == [blue.content]
    assert len(manager.list_memories(user="ana", as_of=NOON + timedelta(days=1))) == 2


def test_users_and_newest_first_work_over_the_network(manager: MemoryManager) -> None:
    manager.remember(["Ann likes tea", "Ann likes jazz"], user="ann")
    manager.remember("Bob likes maps", user="bob")
    assert [(each.user, each.memories) for each in manager.users()] == [("ann", 2), ("bob", 1)]
    assert [each.user for each in manager.users(offset=1)] == ["bob"]
    newest = manager.list_memories(1, user="ann", newest_first=True)
    assert [memory.content for memory in newest] == ["Ann likes jazz"]


async def test_async_client_reads_facts(server: InProcessServer, manager: MemoryManager) -> None:
    manager.remember({"role": "user", "name": "Ana", "content": "I live in Hamburg."}, user="ana")
    async with server.async_client(server.key()) as remote:
        assert await remote.facts(user="ana") == manager.facts(user="ana")
        assert await remote.conflicts(user="ana") == []
        assert await remote.history("Ana/city", user="ana") == manager.history("Ana/city", user="ana")


def test_maintenance_methods_work_over_the_network(manager: MemoryManager) -> None:
    memory = manager.add_memory("Ann likes tea", user="ann")
    manager.update(memory.id, "Ann likes coffee", user="ann")
    assert [each.content for each in manager.history(memory.id, user="ann").versions] == ["Ann likes tea"]
    assert manager.pin(memory.id, user="ann").pinned
    assert not manager.unpin(memory.id, user="ann").pinned
    assert manager.archive(memory.id, user="ann").archived_at is not None
    assert len(manager.recall("coffee", user="ann")) == 0
    assert manager.restore(memory.id, user="ann").archived_at is None
    settings = UpkeepSettings(important=0.9, half_life=timedelta(days=2))
    assert manager.upkeep(policies=["expire"], settings=settings, dry_run=True).dry_run
    with pytest.raises(InvalidInput, match="schedule"):
        manager.upkeep(every=60)
    assert manager.forget(containing="coffee", user="ann", dry_run=True).ids == (memory.id,)
    receipt = manager.forget(memory.id, user="ann")
    assert receipt.complete
    assert manager.receipts(user="ann") == [receipt] == [manager.receipt(receipt.id)]
    assert manager.verify_receipt(receipt)
    assert manager.verify_receipt(receipt.id)
    assert not manager.verify_receipt(replace(receipt, ids=()))
    with pytest.raises(NotFound):
        manager.get(memory.id, user="ann")


def test_export_can_be_imported(manager: MemoryManager, server: InProcessServer, tmp_path: Path) -> None:
    manager.add_memories(["tea", "milk"], user="ann")
    report = manager.export_jsonl(tmp_path / "out.jsonl")
    assert (report.memories, report.lines) == (2, 4)
    with server.client(server.key("acme")) as other:
        assert other.import_jsonl(tmp_path / "out.jsonl").memories == 2
        assert [each.content for each in other.list_memories(user=ANY)] == ["tea", "milk"]
    assert list(tmp_path.glob("*.part")) == []


def test_errors_equal_those_of_the_embedded_manager(manager: MemoryManager, server: InProcessServer) -> None:
    with pytest.raises(NotFound, match="no memory 99"):
        manager.get(99)
    with pytest.raises(InvalidInput):
        manager.recall("tea", limit=0)
    with pytest.raises(InvalidInput):
        manager.add_memory("tea", metadata={"a": float("nan")})
    with pytest.raises(InvalidInput, match="Unicode"):
        manager.add_memory("tea", user="\ud800")
    with server.client(server.key(scopes=("read",))) as reader, pytest.raises(Denied, match="write"):
        reader.add_memory("tea")
    with server.client("mmr.no.key") as stranger, pytest.raises(Denied) as refused:
        stranger.get_stats()
    assert refused.value.status == 401


def test_wrong_arguments_are_named_in_plain_words(manager: MemoryManager, server: InProcessServer) -> None:
    """A URL would carry the number 5 as the user "5"."""
    calls: list[tuple[str, Callable[[], object]]] = [
        ("user must be a string, not int", lambda: manager.facts(user=5)),  # type: ignore[arg-type]
        ("agent_id must be a string, not list", lambda: manager.retrieve(["a"], "k")),  # type: ignore[arg-type]
        ("memory_id must be a whole number, not str", lambda: manager.get("1")),  # type: ignore[arg-type]
        ("a memory id must be a whole number, not float", lambda: manager.delete(1.5)),  # type: ignore[arg-type]
        ("explain must be True or False, not str", lambda: manager.recall("tea", explain="no")),  # type: ignore[arg-type]
        ("as_of must be a datetime or a string, not int", lambda: manager.recall("tea", as_of=5)),  # type: ignore[arg-type]
        ("after is -1: give at least 0", lambda: manager.list_memories(after=-1)),
        ("content must be a text, a message or a list", lambda: manager.remember(5)),  # type: ignore[arg-type]
        ('namespace must be a list, not "users"', lambda: manager.put("users", "k", 1)),
        ("ttl must be more than 0, not -1", lambda: manager.put(("users",), "k", 1, ttl=-1)),
        ("index must be true or false or a list, not 5", lambda: manager.put(("u",), "k", 1, index=5)),  # type: ignore[arg-type]
        ("limit must be at least 1, not", lambda: manager.facts(limit=0)),
        ("metadata: object cannot be sent as JSON", lambda: manager.add_memory("tea", metadata={"a": object()})),  # type: ignore[dict-item]
    ]
    for words, call in calls:
        with pytest.raises(InvalidInput) as refused:
            call()
        assert words in str(refused.value)
    missing = server.send("POST", "/v1/recall", server.key(), json={"limit": "3"}).json()
    assert missing["detail"] == 'query is missing; limit must be a whole number, not "3"'
    assert [error["where"] for error in missing["errors"]] == [["query"], ["limit"]]
    assert manager.list_memories() == []


def test_unreachable_server_is_unavailable() -> None:
    with (
        MemoryManager("http://127.0.0.1:9", timeout=2) as manager,
        pytest.raises(Unavailable, match="cannot be reached"),
    ):
        manager.get_stats()
    with pytest.raises(InvalidInput, match="http://"):
        MemoryManager("memories.db")


def test_write_is_retried_under_the_same_idempotency_key() -> None:
    keys: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        keys.append(request.headers["idempotency-key"])
        if len(keys) < 3:
            raise httpx2.ReadError("gone")
        return httpx2.Response(200, json=[])

    client = httpx2.Client(transport=httpx2.MockTransport(answer), base_url="http://x")
    assert MemoryManager("http://x", client=client).remember("tea") == []
    assert len(keys) == 3
    assert len(set(keys)) == 1


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx2.Response(200, content=b"<html>"), Incompatible),
        (httpx2.Response(200, json={"unknown": 1}), Incompatible),
        (httpx2.Response(409, json={"type": "urn:memoranda:Conflict", "detail": "x"}), Conflict),
        (httpx2.Response(503, headers={"retry-after": "7"}, json={}), Unavailable),
        (httpx2.Response(502, content=b"bad gateway"), Unavailable),
    ],
)
def test_unexpected_responses_become_clear_errors(answer: httpx2.Response, error: type[Exception]) -> None:
    client = httpx2.Client(transport=httpx2.MockTransport(lambda _: answer), base_url="http://x")
    with pytest.raises(error):
        MemoryManager("http://x", client=client).get_stats()


async def test_async_client_returns_the_same_results(server: InProcessServer, tmp_path: Path) -> None:
    async with server.async_client(server.key()) as manager:
        memory = await manager.add_memory("Ann likes tea", user="ann")
        assert await manager.get(memory.id, user="ann") == memory
        assert [hit.memory for hit in await manager.recall("tea", user="ann")] == [memory]
        found = await manager.recall("tea", user="ann")
        assert (await manager.replay(found.id, user="ann")).recall == found
        assert await manager.why(found.id, memory.id, user="ann") == found[0].why
        conversation = await manager.get_memory("writer")
        await conversation.add_message({"role": "user", "content": "hello"})
        assert [each.content for each in await conversation.get_messages()] == ["hello"]
        assert (await manager.export_jsonl(tmp_path / "out.jsonl")).memories == 1


def test_failure_of_the_servers_model_is_reported_and_raised_only_if_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "answers.json").write_text('["no JSON", "still no JSON"]')
    monkeypatch.setenv("MEMORY_LLM", f"scripted:{tmp_path / 'answers.json'}")
    with open_server(tmp_path / "server") as server, server.client(server.key()) as manager:
        outcomes = manager.remember(Message("user", "I keep bees in Porto."), user="ann")
        assert [outcome.status for outcome in outcomes] == ["stored"]
        assert outcomes.failure == outcomes[0].queued != ""
        assert manager.health().unread_messages == 1
        with pytest.raises(ExtractionFailed):
            manager.remember(Message("user", "I sail to Faro."), user="ann", strict=True)
        assert len(manager.list_memories(user="ann")) == 2
