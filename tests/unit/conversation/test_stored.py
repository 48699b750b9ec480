from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from memoranda.conversation import stored
from memoranda.conversation.base import MessageLog
from memoranda.conversation.memory import ConversationMemory
from memoranda.conversation.stored import StoredLog
from memoranda.errors import Incompatible
from memoranda.messages.message import Message
from memoranda.storage.base import Transaction
from memoranda.storage.changes import StoredMessage
from memoranda.storage.sqlite.store import SQLiteStore, open_sqlite
from memoranda.testing.contracts import MessageLogContract
from memoranda.types import Scope

SCOPE = Scope("acme", agent="Analyzer")
NEW_MESSAGES = [StoredMessage("new", "user", "x", Message("user", "x").timestamp)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = open_sqlite(tmp_path / "a.db", durability="normal")
    yield store
    assert store.check() == []
    store.close()


def open_log(store: SQLiteStore, scope: Scope = SCOPE) -> StoredLog:
    return StoredLog(lambda: store, scope)


def make_messages(count: int, start: int = 0) -> list[Message]:
    return [Message("user", f"turn {n}", message_id=f"m{n}") for n in range(start, start + count)]


class TestStoredLog(MessageLogContract):
    @pytest.fixture
    def log(self, store: SQLiteStore) -> MessageLog:
        return open_log(store)


def test_messages_are_kept_after_reopening(tmp_path: Path) -> None:
    for n in range(3):
        store = open_sqlite(tmp_path / "a.db")
        open_log(store).append(make_messages(2, start=2 * n), keep=5)
        store.close()
    store = open_sqlite(tmp_path / "a.db")
    assert [message.content for message in open_log(store).read(0, 9)] == [f"turn {n}" for n in range(1, 6)]
    store.close()


def test_each_scope_has_its_own_conversation(store: SQLiteStore) -> None:
    scopes = [
        Scope("acme", agent="a"),
        Scope("acme", agent="a", user="u"),
        Scope("acme", agent="a", session="a"),
        Scope("acme", session="a"),
        Scope("acme", user="a"),
        Scope("acme", agent="A"),
        Scope("other", agent="a"),
    ]
    for n, scope in enumerate(scopes):
        open_log(store, scope).append(make_messages(n + 1), keep=None)
    assert [len(open_log(store, scope)) for scope in scopes] == [1, 2, 3, 4, 5, 6, 7]
    open_log(store, scopes[0]).replace([])
    open_log(store, scopes[1]).delete([0])
    assert [len(open_log(store, scope)) for scope in scopes] == [0, 1, 3, 4, 5, 6, 7]
    store.write(lambda tx: stored.clear(tx, "acme", "a"))
    assert [len(open_log(store, scope)) for scope in scopes] == [0, 0, 0, 4, 5, 6, 7]
    store.write(lambda tx: stored.clear(tx, "acme", None))
    assert [len(open_log(store, scope)) for scope in scopes] == [0, 0, 0, 0, 0, 0, 7]


def test_concurrent_threads_lose_no_message(store: SQLiteStore) -> None:
    def append_messages(name: str) -> None:
        log = open_log(store)
        for n in range(20):
            log.append([Message("user", name, message_id=f"{name}{n}")], keep=None, skip_duplicates=True)

    threads = [threading.Thread(target=append_messages, args=(name,)) for name in "abcdabcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [message.message_id for message in open_log(store).read(0, 1000)]
    assert sorted(found) == sorted(f"{name}{n}" for name in "abcd" for n in range(20))


def test_failed_write_is_rolled_back(store: SQLiteStore) -> None:
    def fail(tx: Transaction) -> None:
        tx.execute(text("DELETE FROM messages"))
        raise ValueError("no")

    open_log(store).append(make_messages(3), keep=None)
    with pytest.raises(ValueError, match="no"):
        store.write(fail)
    assert len(open_log(store)) == 3


def count_instructions(store: SQLiteStore, work: Callable[[Transaction], object]) -> int:
    """Return how many instructions SQLite's virtual machine runs: a measure of rows that no clock can disturb."""
    total = 0

    def count() -> int:
        nonlocal total
        total += 1
        return 0

    def run(tx: Transaction) -> None:
        raw = tx.driver
        assert raw is not None
        raw.set_progress_handler(count, 1)
        work(tx)
        raw.set_progress_handler(None, 0)

    store.write(run)
    return total


@pytest.mark.parametrize(
    "work",
    [
        lambda tx: stored.length(tx, SCOPE),
        lambda tx: stored.read(tx, SCOPE, 190, 200),
        lambda tx: stored.read(tx, SCOPE, 90, 100),
        lambda tx: stored.find_ids(tx, SCOPE, ["m7", "m8", "nowhere"]),
        lambda tx: stored.append(tx, SCOPE, NEW_MESSAGES, keep=None, skip_duplicates=True),
        lambda tx: stored.delete_indices(tx, SCOPE, [0, 1, 2]),
        lambda tx: stored.delete_indices(tx, SCOPE, [5]),
    ],
    ids=["length", "newest", "middle", "find_ids", "append", "oldest", "near_an_end"],
)
def test_cost_does_not_grow_with_the_conversation(store: SQLiteStore, work: Callable[[Transaction], object]) -> None:
    # As many instructions at 10,000 messages as at 200; at a million only the index is one level deeper.
    open_log(store).append(make_messages(200), keep=None)
    small = count_instructions(store, work)
    open_log(store).replace([])
    open_log(store).append(make_messages(10_000), keep=None)
    assert count_instructions(store, work) <= small + 10


def test_writes_change_only_the_rows_they_must(store: SQLiteStore) -> None:
    log = open_log(store)
    log.append(make_messages(2_000), keep=None)

    def count_changes(work: Callable[[], object]) -> int:
        def total_changes(tx: Transaction) -> int:
            return int(tx.execute(text("SELECT total_changes()")).scalar_one())

        before = store.write(total_changes)
        work()
        rows_and_seals = store.write(total_changes) - before
        assert rows_and_seals % 2 == 0
        return rows_and_seals // 2

    assert count_changes(lambda: log.append(make_messages(1, start=2_000), keep=2_000)) == 2
    assert count_changes(lambda: log.append([], keep=1_990)) == 10
    assert count_changes(lambda: log.delete([1_989])) == 1
    assert count_changes(lambda: log.delete([1_000])) == 1 + 988
    assert count_changes(lambda: log.delete([2, 4])) == 2 + 3
    everything = log.read(0, len(log))
    assert count_changes(lambda: log.replace(everything)) == 0
    assert count_changes(lambda: log.replace(everything[25:])) == 25
    other = [*everything[25:35], *make_messages(1, start=5_000), *everything[36:]]
    assert count_changes(lambda: log.replace(other)) == 2
    assert log.read(0, len(log)) == other


def test_conversation_over_a_stored_log_behaves_like_one_in_memory(store: SQLiteStore) -> None:
    memory = ConversationMemory(max_messages=4, log=open_log(store))
    memory.add(make_messages(6))
    memory.add(make_messages(4, start=4))
    assert [m.message_id for m in memory.get_messages()] == ["m4", "m5", "m6", "m7"]
    memory.messages = memory.messages[1:]  # type: ignore[assignment]
    memory.messages.insert(0, {"role": "system", "content": "be brief"})
    memory.messages[1] = {"role": "user", "content": "count_changes"}  # type: ignore[call-overload]
    assert [m.content for m in memory.get_messages()][:2] == ["be brief", "count_changes"]
    del memory.messages[0]
    memory.truncate_to_size(1)
    assert len(memory) == memory.size() == 1
    with pytest.raises(IndexError):
        memory.delete(1)
    memory.clear()
    assert memory.get_last_message() is None


def test_damaged_row_raises(store: SQLiteStore) -> None:
    open_log(store).append(make_messages(3), keep=None)
    for damage in (
        "UPDATE messages SET payload = replace(payload, 'turn 1', 'turn 7') WHERE message_id = 'm1'",
        "UPDATE messages SET payload = substr(payload, 2) WHERE message_id = 'm1'",
        "UPDATE messages SET payload = '[]' WHERE message_id = 'm1'",
    ):
        store.write(lambda tx, damage=damage: tx.execute(text(damage)))  # type: ignore[misc]
        with pytest.raises(Incompatible, match="m1 is damaged"):
            open_log(store).read(0, 3)
    assert len(open_log(store).read(0, 1)) == 1
    assert [each for each in store.check() if "messages" in each]
    open_log(store).delete([1])


def test_damaged_newest_message_is_not_popped(store: SQLiteStore) -> None:
    open_log(store).append(make_messages(2), keep=None)
    store.write(lambda tx: tx.execute(text("UPDATE messages SET payload = '[]' WHERE message_id = 'm1'")))
    with pytest.raises(Incompatible, match="m1 is damaged"):
        open_log(store).pop()
    assert len(open_log(store)) == 2
    open_log(store).delete([1])


def test_store_check_finds_a_gap(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "b.db")
    open_log(store).append(make_messages(3), keep=None)
    store.write(lambda tx: tx.execute(text("DELETE FROM messages WHERE message_id = 'm1'")))
    assert store.check() == ["1 conversations with a gap, by their first message: 1"]
    store.close()
