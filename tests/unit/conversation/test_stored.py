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
from memoranda.testing.log import MessageLogContract
from memoranda.types import Scope

MINE = Scope("acme", agent="Analyzer")
TURNS = [StoredMessage("new", "user", "x", Message("user", "x").timestamp)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = open_sqlite(tmp_path / "a.db", durability="normal")
    yield store
    assert store.check() == []
    store.close()


def log_of(store: SQLiteStore, scope: Scope = MINE) -> StoredLog:
    return StoredLog(lambda: store, scope)


def some(count: int, start: int = 0) -> list[Message]:
    return [Message("user", f"turn {n}", message_id=f"m{n}") for n in range(start, start + count)]


class TestStoredLog(MessageLogContract):
    @pytest.fixture
    def log(self, store: SQLiteStore) -> MessageLog:
        return log_of(store)


def test_it_is_there_after_reopening(tmp_path: Path) -> None:
    for n in range(3):
        store = open_sqlite(tmp_path / "a.db")
        log_of(store).append(some(2, start=2 * n), keep=5)
        store.close()
    store = open_sqlite(tmp_path / "a.db")
    assert [message.content for message in log_of(store).read(0, 9)] == [f"turn {n}" for n in range(1, 6)]
    store.close()


def test_each_scope_has_a_conversation_of_its_own(store: SQLiteStore) -> None:
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
        log_of(store, scope).append(some(n + 1), keep=None)
    assert [len(log_of(store, scope)) for scope in scopes] == [1, 2, 3, 4, 5, 6, 7]
    log_of(store, scopes[0]).replace([])
    log_of(store, scopes[1]).delete([0])
    assert [len(log_of(store, scope)) for scope in scopes] == [0, 1, 3, 4, 5, 6, 7]
    store.write(lambda tx: stored.clear(tx, "acme", "a"))
    assert [len(log_of(store, scope)) for scope in scopes] == [0, 0, 0, 4, 5, 6, 7]
    store.write(lambda tx: stored.clear(tx, "acme", None))
    assert [len(log_of(store, scope)) for scope in scopes] == [0, 0, 0, 0, 0, 0, 7]


def test_threads_share_commits_and_lose_nothing(store: SQLiteStore) -> None:
    def talk(name: str) -> None:
        log = log_of(store)
        for n in range(20):
            log.append([Message("user", name, message_id=f"{name}{n}")], keep=None, once=True)

    threads = [threading.Thread(target=talk, args=(name,)) for name in "abcdabcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [message.message_id for message in log_of(store).read(0, 1000)]
    assert sorted(found) == sorted(f"{name}{n}" for name in "abcd" for n in range(20))


def test_one_that_fails_takes_no_other_with_it(store: SQLiteStore) -> None:
    def fail(tx: Transaction) -> None:
        tx.execute(text("DELETE FROM messages"))
        raise ValueError("no")

    log_of(store).append(some(3), keep=None)
    with pytest.raises(ValueError, match="no"):
        store.write(fail)
    assert len(log_of(store)) == 3


def instructions(store: SQLiteStore, work: Callable[[Transaction], object]) -> int:
    """How many steps SQLite's machine makes: it counts rows, and no clock can disturb it."""
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    def run(tx: Transaction) -> None:
        raw = tx.driver
        assert raw is not None
        raw.set_progress_handler(count, 1)
        work(tx)
        raw.set_progress_handler(None, 0)

    store.write(run)
    return counted


@pytest.mark.parametrize(
    "work",
    [
        lambda c: stored.length(c, MINE),
        lambda c: stored.read(c, MINE, 190, 200),
        lambda c: stored.read(c, MINE, 90, 100),
        lambda c: stored.known(c, MINE, ["m7", "m8", "nowhere"]),
        lambda c: stored.append(c, MINE, TURNS, keep=None, once=True),
        lambda c: stored.take_out(c, MINE, [0, 1, 2]),
        lambda c: stored.take_out(c, MINE, [5]),
    ],
    ids=["length", "newest", "middle", "known", "append", "oldest", "near_an_end"],
)
def test_the_cost_does_not_grow_with_the_conversation(
    store: SQLiteStore, work: Callable[[Transaction], object]
) -> None:
    # As many steps at 10,000 messages as at 200: at a million there are no more, only the tree is a level deeper.
    log_of(store).append(some(200), keep=None)
    small = instructions(store, work)
    log_of(store).replace([])
    log_of(store).append(some(10_000), keep=None)
    assert instructions(store, work) <= small + 10


def test_a_window_drops_what_it_must_and_touches_no_other_row(store: SQLiteStore) -> None:
    log = log_of(store)
    log.append(some(2_000), keep=None)

    def changed(work: Callable[[], object]) -> int:
        def total(tx: Transaction) -> int:
            return int(tx.execute(text("SELECT total_changes()")).scalar_one())

        before = store.write(total)
        work()
        return store.write(total) - before

    assert changed(lambda: log.append(some(1, start=2_000), keep=2_000)) == 2
    assert changed(lambda: log.append([], keep=1_990)) == 10
    assert changed(lambda: log.delete([1_989])) == 1
    assert changed(lambda: log.delete([1_000])) == 1 + 988
    assert changed(lambda: log.delete([2, 4])) == 2 + 3
    everything = log.read(0, len(log))
    assert changed(lambda: log.replace(everything)) == 0
    assert changed(lambda: log.replace(everything[25:])) == 25
    other = [*everything[25:35], *some(1, start=5_000), *everything[36:]]
    assert changed(lambda: log.replace(other)) == 2
    assert log.read(0, len(log)) == other


def test_a_conversation_works_on_it_like_on_a_list(store: SQLiteStore) -> None:
    memory = ConversationMemory(max_messages=4, log=log_of(store))
    memory.add(some(6))
    memory.add(some(4, start=4))
    assert [m.message_id for m in memory.get_messages()] == ["m4", "m5", "m6", "m7"]
    memory.messages = memory.messages[1:]  # type: ignore[assignment]
    memory.messages.insert(0, {"role": "system", "content": "be brief"})
    memory.messages[1] = {"role": "user", "content": "changed"}  # type: ignore[call-overload]
    assert [m.content for m in memory.get_messages()][:2] == ["be brief", "changed"]
    del memory.messages[0]
    memory.truncate_to_size(1)
    assert len(memory) == memory.size() == 1
    with pytest.raises(IndexError):
        memory.delete(1)
    memory.clear()
    assert memory.get_last_message() is None


def test_a_damaged_row_gives_no_wrong_answer(store: SQLiteStore) -> None:
    log_of(store).append(some(3), keep=None)
    for damage in (
        "UPDATE messages SET payload = replace(payload, 'turn 1', 'turn 7') WHERE message_id = 'm1'",
        "UPDATE messages SET payload = substr(payload, 2) WHERE message_id = 'm1'",
        "UPDATE messages SET payload = '[]' WHERE message_id = 'm1'",
    ):
        store.write(lambda tx, damage=damage: tx.execute(text(damage)))  # type: ignore[misc]
        with pytest.raises(Incompatible, match="m1 is damaged"):
            log_of(store).read(0, 3)
    assert len(log_of(store).read(0, 1)) == 1


def test_a_gap_is_found_by_the_check(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "b.db")
    log_of(store).append(some(3), keep=None)
    store.write(lambda tx: tx.execute(text("DELETE FROM messages WHERE message_id = 'm1'")))
    assert store.check() == ["1 conversations with a gap, by their first message: 1"]
    store.close()
