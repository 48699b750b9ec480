"""What happens when the server, the network or another writer is in the way: a typed error or a correct answer."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url, text

from memoranda.errors import Incompatible, InvalidInput, OutcomeUnknown, Unavailable
from memoranda.maintenance import forget
from memoranda.maintenance.erasure import find_rows
from memoranda.manager.manager import MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.storage import group_commit, open_store
from memoranda.storage.base import OwnedWork, PartitionKey, ReadTransaction, Store, Transaction
from memoranda.storage.meta import get_meta, set_meta
from memoranda.storage.postgres import connections
from memoranda.storage.postgres import store as postgres
from memoranda.storage.postgres.store import migrate
from memoranda.storage.postgres.tables import VERSION_TABLE
from memoranda.storage.read import find_memories
from memoranda.storage.schema import memories
from memoranda.storage.write import MemoryWrite
from memoranda.testing.fakes import HashEmbedder, Samples
from memoranda.types import ANY, EVERYTHING, Scope
from tests.postgres.proxy import Cut, cutting_proxy
from tests.postgres.server import OWNER, SERVICE, PostgresServer, run_server, run_standby

ADA = Scope(user="ada")
BOB = Scope(user="bob")


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    store = open_store(url)
    yield store
    store.close()


def write_note(content: str, scope: Scope = ADA, key: str | None = None) -> MemoryWrite:
    new = replace(Samples(0).new_memory(scope, content), message=None, vector=None, generation=None)
    return MemoryWrite([replace(new, idempotency_key=key)])


def contents(store: Store, scope: Scope = ADA) -> list[str]:
    found = store.read(lambda tx: find_memories(tx, scope, EVERYTHING, 10_000), tenant=scope.tenant)
    return [memory.content for memory in found]


def test_write_is_done_exactly_once_when_its_commit_gets_no_answer(url: str) -> None:
    choose = random.Random(7)
    written = []
    port = make_url(url).port
    assert port is not None
    with cutting_proxy(port) as proxy:
        store = open_store(url.replace(f":{port}/", f":{proxy.port}/"))
        for number in range(12):
            cuts: list[Cut] = [choose.choice(["before", "after"]) for _ in range(choose.choice([1, 1, 2]))]
            proxy.cuts[:] = cuts
            outcome = store.write(write_note(f"note {number}"))[0]
            assert outcome.status == "stored"
            assert outcome.memory is not None
            written.append(outcome.memory.id)
        proxy.cuts.clear()
        assert proxy.done >= 12
        assert contents(store) == [f"note {number}" for number in range(12)]
        assert [memory and memory.id for memory in store.get(ADA, written)] == written
        assert store.check() == []
        store.close()


@pytest.mark.parametrize("refused", [2, 100])
def test_commit_without_an_answer_is_looked_for_after_a_server_without_free_connections(
    server: PostgresServer, url: str, monkeypatch: pytest.MonkeyPatch, refused: int
) -> None:
    port = make_url(url).port
    assert port is not None
    limit = "ALTER ROLE memoranda_service CONNECTION LIMIT {}"
    monkeypatch.setattr(postgres, "pause", lambda attempt: server.execute(limit.format(0 if attempt < refused else -1)))
    with cutting_proxy(port) as proxy:
        store = open_store(url.replace(f":{port}/", f":{proxy.port}/"))
        try:
            proxy.cuts[:] = ["after"]
            if refused == 2:
                assert store.write(write_note("once"))[0].status == "stored"
            else:
                with pytest.raises(OutcomeUnknown):
                    store.write(write_note("once"))
        finally:
            server.execute(limit.format(-1))
        assert contents(store) == ["once"]
        store.close()


def test_read_is_repeated_on_another_connection_when_one_is_lost(server: PostgresServer, store: Store) -> None:
    store.write(write_note("kept"))
    server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'memoranda_service'")
    assert contents(store) == ["kept"]
    server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'memoranda_service'")
    assert store.write(write_note("more"))[0].status == "stored"


def test_lost_connection_is_logged_by_nobody_but_who_gets_its_error(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.write(write_note("kept"))
    end = text("SELECT pg_terminate_backend(pg_backend_pid())")
    ended = []

    def end_once(tx: ReadTransaction) -> int:
        if not ended:
            ended.append(True)
            tx.execute(end)
        return len(find_memories(tx, ADA, EVERYTHING, 10))

    assert store.read(end_once, tenant="default") == 1
    ended.clear()
    assert store.write(OwnedWork(end_once, ("default", "ada")), tenant="default") == 1
    with pytest.raises(Unavailable):
        store.read(lambda tx: tx.execute(end), tenant="default")
    assert caplog.records == []


def test_what_was_acknowledged_is_there_after_the_server_was_killed() -> None:
    with run_server(durable=True) as server:
        store = open_store(server.new_database())
        acknowledged: list[str] = []
        stopped = threading.Event()

        def write() -> None:
            for number in range(10_000):
                if stopped.is_set():
                    return
                try:
                    store.write(write_note(f"note {number}"))
                except Unavailable:
                    continue
                acknowledged.append(f"note {number}")

        with ThreadPoolExecutor(1) as pool:
            writer = pool.submit(write)
            for _ in range(2):
                count = len(acknowledged)
                while len(acknowledged) < count + 3 and not writer.done():
                    stopped.wait(0.05)
                server.stop("immediate")
                server.start()
            stopped.set()
            writer.result()
        found = contents(store)
        assert len(set(found)) == len(found)
        assert set(found) >= set(acknowledged)
        assert store.check() == []
        store.close()


def test_promoted_standby_has_what_was_acknowledged_and_takes_the_next_writes() -> None:
    with run_server(durable=True) as primary:
        name = primary.new_database().rpartition("/")[2]
        with run_standby(primary) as standby:
            primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            primary.execute("SELECT pg_reload_conf()")
            _wait_for(lambda: _is_synchronous(primary))
            hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
            store = open_store(f"postgresql://{SERVICE}@{hosts}/{name}")
            acknowledged: list[str] = []
            stopped = threading.Event()

            def write(writer: int) -> None:
                number = 0
                while not stopped.is_set():
                    number += 1
                    note, user = f"note {writer} {number}", Scope(user=f"user {writer}")
                    with suppress(Unavailable):
                        store.write(write_note(note, user))
                        acknowledged.append(note)

            with ThreadPoolExecutor(4) as pool:
                writers = [pool.submit(write, number) for number in range(4)]
                _wait_for(lambda: len(acknowledged) > 20)
                primary.stop("immediate")
                count = len(acknowledged)
                standby.promote()
                _wait_for(lambda: len(acknowledged) > count + 20)
                stopped.set()
                for writer in writers:
                    writer.result()
            found = [note for number in range(4) for note in contents(store, Scope(user=f"user {number}"))]
            assert len(set(found)) == len(found)
            assert set(found) >= set(acknowledged)
            assert store.check() == []
            store.close()
        primary.start()


def _is_synchronous(primary: PostgresServer) -> bool:
    with psycopg.connect(primary.url("postgres", "postgres")) as connection:
        return connection.execute("SELECT sync_state FROM pg_stat_replication").fetchall() == [("sync",)]


def _wait_for(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_one_of_two_processes_wins_an_idempotency_key(url: str) -> None:
    stores = [open_store(url) for _ in range(2)]
    with ThreadPoolExecutor(8) as pool:
        writes = [pool.submit(stores[n % 2].write, write_note("once", key="k")) for n in range(16)]
        statuses = sorted(write.result()[0].status for write in writes)
    assert statuses == ["duplicate"] * 15 + ["stored"]
    assert contents(stores[0]) == ["once"]
    for store in stores:
        store.close()


def test_check_then_write_of_two_processes_counts_correctly(url: str) -> None:
    stores = [open_store(url) for _ in range(2)]

    def count_up(tx: Transaction) -> None:
        set_meta(tx, "count", str(int(get_meta(tx, "count") or 0) + 1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: stores[n % 2].write(count_up), range(20)))
    assert stores[0].get_meta("count") == "20"
    for store in stores:
        store.close()


def test_change_that_commits_late_is_not_missed_by_a_reader_of_all_users(url: str) -> None:
    slow, fast = open_store(url), open_store(url)
    begun, go_on = threading.Event(), threading.Event()
    all_users = PartitionKey("default", ANY)

    def write_slowly(tx: Transaction) -> int:
        outcome = write_note("slow")(tx)[0]
        begun.set()
        assert go_on.wait(30)
        assert outcome.memory is not None
        return outcome.memory.id

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(slow.write, OwnedWork(write_slowly, ("default", "ada")), tenant="default")
        assert begun.wait(30)
        (other,) = fast.write(write_note("fast", BOB))
        head = fast.head(all_users)
        assert fast.changed(all_users, head).tolist() == []
        go_on.set()
        late = writing.result()
    assert other.memory is not None
    assert late in fast.changed(all_users, head).tolist()
    assert fast.changed(PartitionKey("default", "ada"), 0).tolist() == [late]
    slow.close()
    fast.close()


def test_writers_of_two_users_do_not_wait_for_each_other(url: str) -> None:
    slow, fast = open_store(url), open_store(url)
    begun, go_on = threading.Event(), threading.Event()

    def hold(tx: Transaction) -> None:
        begun.set()
        assert go_on.wait(30)

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(slow.write, OwnedWork(hold, ("default", "ada")), tenant="default")
        assert begun.wait(30)
        assert fast.write(write_note("at once", BOB))[0].status == "stored"
        go_on.set()
        holding.result()
    slow.close()
    fast.close()


def lock_owner(connection: psycopg.Connection[Any], user: str) -> None:
    connection.execute('SELECT 1 FROM owners WHERE "user" = %s FOR UPDATE', (user,))


def test_writers_of_one_process_do_not_wait_for_the_lock_of_another_user(
    server: PostgresServer, store: Store, url: str
) -> None:
    users = [Scope(user=f"user {number}") for number in range(20)]
    for scope in (ADA, *users):
        store.write(write_note("first", scope))
    with psycopg.connect(server.url(url.rpartition("/")[2], "postgres")) as other, ThreadPoolExecutor(40) as pool:
        lock_owner(other, "ada")
        waiting = [pool.submit(store.write, write_note(f"late {number}")) for number in range(8)]
        began = time.monotonic()
        for number in range(10):
            list(pool.map(lambda scope, number=number: store.write(write_note(f"n {number}", scope)), users))  # type: ignore[misc]
        took = time.monotonic() - began
        assert not any(each.done() for each in waiting)
        other.rollback()
        assert all(each.result()[0].status == "stored" for each in waiting)
    assert took < 20, "the writers of other users waited for the lock"
    assert sorted(contents(store)) == ["first", *(f"late {number}" for number in range(8))]
    assert all(len(contents(store, scope)) == 11 for scope in users)
    assert store.check() == []


def test_lock_that_is_held_for_too_long_is_unavailable_and_names_the_user(
    server: PostgresServer, store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_LOCK_SECONDS", 0.2)
    monkeypatch.setattr(group_commit, "_MAX_WAIT", 0.5)
    store.write(write_note("first"))
    with psycopg.connect(server.url(url.rpartition("/")[2], "postgres")) as other, ThreadPoolExecutor(2) as pool:
        lock_owner(other, "ada")
        errors = [pool.submit(store.write, write_note("late")).exception() for _ in range(2)]
    for error in errors:
        assert isinstance(error, Unavailable)
        assert "the row of user 'ada' of tenant 'default'" in str(error)
    assert contents(store) == ["first"]


def test_exhausted_pool_is_unavailable(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_POOL_SECONDS", 0.2)
    store = open_store(f"{url}?pool_size=1")
    rows = store.stream(lambda tx: iter(tx.execute(text("SELECT generate_series(1, 9)")).all()))
    next(rows)
    with pytest.raises(Unavailable, match="pool_size") as raised:
        store.head()
    assert raised.value.retry_after == 1.0
    rows.close()  # type: ignore[attr-defined]
    assert store.head() == 0
    store.close()


def test_statement_that_takes_too_long_is_unavailable(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_STATEMENT_SECONDS", 1)
    for use in (store.read, store.write):
        with pytest.raises(Unavailable, match="took too long"):
            use(lambda tx: tx.execute(text("SELECT pg_sleep(30)")))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a disk that is full")
def test_full_disk_of_the_server_is_unavailable_and_loses_nothing(server: PostgresServer) -> None:
    disk = server.data.parent / "small"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", disk], check=True)
    try:
        shutil.chown(disk, server.account)
        server.execute(f"CREATE TABLESPACE small LOCATION '{disk}'")
        server.execute("CREATE DATABASE full_disk TEMPLATE empty TABLESPACE small")
        store = open_store(server.url("full_disk"))
        written = list[str]()

        def write_page(number: int) -> None:
            notes = [f"note {number} {n} " + random.Random(n).randbytes(3000).hex() for n in range(100)]
            store.write(MemoryWrite([change for note in notes for change in write_note(note).changes]))
            written.extend(notes)

        with pytest.raises(Unavailable, match="disk of the server is full"):
            list(map(write_page, range(1000)))
        assert sorted(contents(store)) == sorted(written)
        assert store.check() == []
        subprocess.run(["mount", "-o", "remount,size=128m", disk], check=True)
        assert store.write(write_note("there is space again"))[0].status == "stored"
        store.close()
        server.execute("DROP DATABASE full_disk WITH (FORCE)")
        server.execute("DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_number_beyond_64_bits_is_invalid(store: Store) -> None:
    with pytest.raises(InvalidInput):
        store.get(ADA, [2**70])


def test_first_server_that_can_write_answers(server: PostgresServer, url: str) -> None:
    name = url.rpartition("/")[2]
    store = open_store(f"postgresql://memoranda_service@127.0.0.1:1,127.0.0.1:{server.port}/{name}")
    assert store.write(write_note("found"))[0].status == "stored"
    store.close()


def test_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1"):
        open_store("postgresql://ada:secret@127.0.0.1:1/memories")


@pytest.mark.parametrize(
    "url", ["postgresql://host", "postgresql://host/db?pool_size=0", "postgresql://h/d?colour=red"]
)
def test_wrong_url_is_invalid(url: str) -> None:
    with pytest.raises(InvalidInput):
        open_store(url)


def test_error_does_not_show_the_password() -> None:
    with pytest.raises(Unavailable) as raised:
        open_store("postgresql://ada:secret@127.0.0.1:1/memories")
    assert "secret" not in str(raised.value)


def test_database_without_tables_is_refused(server: PostgresServer) -> None:
    server.execute("DROP DATABASE IF EXISTS bare")
    server.execute("CREATE DATABASE bare")
    with pytest.raises(Incompatible, match="memoranda migrate"):
        open_store(server.url("bare"))
    with pytest.raises(Incompatible, match="create the database"):
        open_store(server.url("missing"))
    with pytest.raises(Incompatible, match="check the URL"):
        open_store(server.url("bare", "nobody_of_this_name"))


@pytest.mark.parametrize("table", ["memories", "owners", "counters"])
def test_database_with_another_table_of_our_name_is_refused_and_stays_as_it_is(
    server: PostgresServer, table: str
) -> None:
    server.execute("DROP DATABASE IF EXISTS taken")
    server.execute(f"CREATE DATABASE taken OWNER {OWNER}")
    server.execute(f"CREATE TABLE {table} (id integer)", "taken")
    with pytest.raises(Incompatible, match=rf"{table}.*use an empty"):
        migrate(server.url("taken", OWNER))
    with psycopg.connect(server.url("taken", OWNER)) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    assert found == [(table,)]


def test_database_without_its_version_is_refused(server: PostgresServer) -> None:
    url = server.new_database()
    server.execute(f"DELETE FROM {VERSION_TABLE}", url.rpartition("/")[2])
    for use in (open_store, migrate):
        with pytest.raises(Incompatible, match="0 rows"):
            use(url.replace(SERVICE, OWNER))


def test_failed_write_is_logged_by_nobody_and_the_connection_is_used_again(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    def fail_late(tx: Transaction) -> None:
        write_note("lost")(tx)
        tx.insert_rows(memories, ("id",), [(1,)])  # not sent yet: its error comes with the next answer
        get_meta(tx, "any")

    with pytest.raises(Incompatible, match="row-level security"):  # the row has no tenant
        store.write(OwnedWork(fail_late, ("default", "ada")), tenant="default")
    assert store.write(write_note("kept"))[0].status == "stored"
    assert contents(store) == ["kept"]
    assert caplog.records == []


def test_forked_child_and_parent_both_write(store: Store) -> None:
    store.write(write_note("before"))

    def in_child() -> None:
        store.write(write_note("child"))

    child = multiprocessing.get_context("fork").Process(target=in_child)
    child.start()
    store.write(write_note("parent"))
    child.join(60)
    assert child.exitcode == 0
    assert sorted(contents(store)) == ["before", "child", "parent"]


def test_forget_erases_a_message_with_a_smaller_number_that_is_committed_while_it_looks(
    server: PostgresServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = MemoryConfig(db_url=url, audit_key="a key for the tests of faults")
    superuser = psycopg.connect(server.url(url.rpartition("/")[2], "postgres"))
    with superuser, MemoryManager(config, embedder=HashEmbedder(64)) as manager:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("SELECT nextval(pg_get_serial_sequence('messages', 'seq'))")
        manager.remember([{"role": "user", "content": "I live in Bern."}], user="ada")
        superuser.execute(
            """INSERT INTO messages (seq, message_id, tenant, agent, "user", session, role, content, payload, said_at,
                 recorded_at)
               SELECT 1, 'late', tenant, agent, "user", session, role, 'My door code is 4711.', payload, said_at,
                 recorded_at FROM messages LIMIT 1"""
        )

        def find_before_the_other_commits(*given: Any) -> Any:
            rows = find_rows(*given)
            superuser.commit()
            return rows

        monkeypatch.setattr(forget, "find_rows", find_before_the_other_commits)
        manager.forget(user="ada")
        assert superuser.execute("SELECT count(*) FROM messages").fetchone() == (0,)
