from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from memoranda import ANY, MemoryManager
from memoranda.errors import Denied, Incompatible, InvalidInput, NotFound, Unavailable
from memoranda.server.auth import LOCAL, Authenticator, DatabaseBuckets, RateLimits
from memoranda.server.keys import Keys, open_keys, split_key
from memoranda.server.run import create_app
from memoranda.settings import MemoryConfig
from memoranda.storage.sqlite.store import SQLiteStore, open_sqlite
from memoranda.testing.fakes import HashEmbedder
from memoranda.transfer.export import restore

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class FakeTime:
    """A clock and a timer that tests set."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds)

    def tick(self) -> float:
        return self.seconds


@pytest.fixture
def fake_time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def store(tmp_path: Path, fake_time: FakeTime) -> Iterator[SQLiteStore]:
    store = open_sqlite(tmp_path / "a.db", clock=fake_time.now)
    yield store
    store.close()


@pytest.fixture
def keys(store: SQLiteStore) -> Keys:
    return Keys(store)


@pytest.fixture
def limits(store: SQLiteStore, fake_time: FakeTime) -> RateLimits:
    return RateLimits(DatabaseBuckets(store), fake_time.tick)


@pytest.fixture
def authenticator(keys: Keys, fake_time: FakeTime, limits: RateLimits) -> Authenticator:
    return Authenticator(keys, fake_time.now, limits, cache_seconds=1.0, timer=fake_time.tick)


def bearer(key: str) -> str:
    return f"Bearer {key}"


def test_key_secret_is_stored_only_as_a_hash(keys: Keys, tmp_path: Path) -> None:
    issued = keys.create("ci", tenant="acme", scopes=("write", "read"))
    key_id, secret = split_key(issued.key) or ("", "")
    assert issued.info.id == key_id
    assert issued.info.scopes == ("read", "write")
    assert len(secret) >= 43
    assert secret.encode() not in (tmp_path / "a.db").read_bytes() + (tmp_path / "a.db-wal").read_bytes()
    assert keys.all() == [issued.info]


async def test_key_decides_tenant_and_scopes(keys: Keys, authenticator: Authenticator) -> None:
    issued = keys.create("ci", tenant="acme", scopes=("read",))
    principal = await authenticator.authenticate(bearer(issued.key), local=False)
    assert (principal.tenant, principal.scopes, principal.key_id) == ("acme", {"read"}, issued.info.id)
    principal.require("read")
    with pytest.raises(Denied, match="admin"):
        principal.require("admin")


@pytest.mark.parametrize("header", ["Bearer nonsense", "Bearer mmr.0000.secret", "Basic abc", "", "Bearer", "mmr"])
async def test_malformed_and_unknown_keys_get_the_same_error(
    keys: Keys, authenticator: Authenticator, header: str
) -> None:
    keys.create("ci")
    with pytest.raises(Denied, match="wrong, revoked or expired") as refused:
        await authenticator.authenticate(header, local=True)
    assert refused.value.status == 401


async def test_wrong_secret_is_refused_while_the_right_one_is_cached(keys: Keys, authenticator: Authenticator) -> None:
    issued = keys.create("ci")
    await authenticator.authenticate(bearer(issued.key), local=False)
    with pytest.raises(Denied):
        await authenticator.authenticate(bearer(issued.key[:-1] + ("A" if issued.key[-1] != "A" else "B")), local=False)
    assert (await authenticator.authenticate(bearer(issued.key), local=False)).key_id == issued.info.id


async def test_guess_at_a_key_in_use_takes_the_way_of_an_unknown_key(
    keys: Keys, authenticator: Authenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = keys.create("phone").key
    key_id, _ = split_key(key) or ("", "")
    await authenticator.authenticate(f"Bearer {key}", local=False)
    looked_up: list[str] = []
    find = keys.find
    monkeypatch.setattr(keys, "find", lambda name: looked_up.append(name) or find(name))
    for guess in (f"mmr.{key_id}.{'x' * 43}", f"mmr.0123456789abcdef.{'x' * 43}"):
        with pytest.raises(Denied):
            await authenticator.authenticate(f"Bearer {guess}", local=False)
    assert looked_up == [key_id, "0123456789abcdef"]
    await authenticator.authenticate(f"Bearer {key}", local=False)  # a guess does not end the cached check
    assert len(looked_up) == 2


async def test_digest_copied_to_another_row_is_useless(
    keys: Keys, store: SQLiteStore, authenticator: Authenticator
) -> None:
    weak, strong = keys.create("weak", scopes=("read",)), keys.create("strong", scopes=("admin",))
    row = keys.find(weak.info.id)
    assert row is not None
    statement = "UPDATE api_keys SET digest = ? WHERE id = ?"
    store.write(lambda tx: tx.driver.execute(statement, (row.digest, strong.info.id)))
    secret = weak.key.split(".")[2]
    with pytest.raises(Denied):
        await authenticator.authenticate(bearer(f"mmr.{strong.info.id}.{secret}"), local=False)


async def test_revoked_key_works_no_longer_than_it_is_cached(
    keys: Keys, authenticator: Authenticator, fake_time: FakeTime
) -> None:
    issued = keys.create("ci")
    await authenticator.authenticate(bearer(issued.key), local=False)
    keys.revoke(issued.info.id)
    fake_time.seconds += 1.0
    with pytest.raises(Denied):
        await authenticator.authenticate(bearer(issued.key), local=False)
    with pytest.raises(NotFound):
        keys.revoke(issued.info.id)


async def test_expired_key_is_refused(keys: Keys, authenticator: Authenticator, fake_time: FakeTime) -> None:
    issued = keys.create("ci", expires_in=timedelta(seconds=10))
    fake_time.seconds = 9.9
    await authenticator.authenticate(bearer(issued.key), local=False)
    fake_time.seconds = 10.0
    with pytest.raises(Denied):
        await authenticator.authenticate(bearer(issued.key), local=False)


async def test_rotated_key_stops_working_after_its_grace_period(
    keys: Keys, authenticator: Authenticator, fake_time: FakeTime
) -> None:
    old = keys.create("ci", tenant="acme", scopes=("read",), rate=5)
    new = keys.rotate(old.info.id, grace=timedelta(seconds=60))
    assert (new.info.tenant, new.info.scopes, new.info.rate) == ("acme", ("read",), 5)
    await authenticator.authenticate(bearer(old.key), local=False)
    await authenticator.authenticate(bearer(new.key), local=False)
    fake_time.seconds = 60
    with pytest.raises(Denied):
        await authenticator.authenticate(bearer(old.key), local=False)
    await authenticator.authenticate(bearer(new.key), local=False)


async def test_requests_over_the_rate_limit_are_refused(
    keys: Keys, authenticator: Authenticator, fake_time: FakeTime
) -> None:
    issued = keys.create("ci", rate=2)
    for _ in range(2):
        await authenticator.authenticate(bearer(issued.key), local=False)
    with pytest.raises(Unavailable) as refused:
        await authenticator.authenticate(bearer(issued.key), local=False)
    assert (refused.value.status, refused.value.retry_after) == (429, pytest.approx(0.5))
    fake_time.seconds = 0.5
    await authenticator.authenticate(bearer(issued.key), local=False)


async def test_last_use_of_a_key_is_recorded_once_a_minute(
    keys: Keys, authenticator: Authenticator, fake_time: FakeTime
) -> None:
    issued = keys.create("ci")
    for fake_time.seconds in (0, 30, 59):
        await authenticator.authenticate(bearer(issued.key), local=False)
    assert keys.all()[0].used_at == NOON
    fake_time.seconds = 61
    await authenticator.authenticate(bearer(issued.key), local=False)
    assert keys.all()[0].used_at == NOON + timedelta(seconds=61)


async def test_local_caller_needs_no_key_until_there_is_one(keys: Keys, authenticator: Authenticator) -> None:
    assert await authenticator.authenticate(None, local=True) == LOCAL
    with pytest.raises(Denied):
        await authenticator.authenticate(None, local=False)
    keys.create("ci")
    with pytest.raises(Denied):
        await authenticator.authenticate(None, local=True)


@pytest.mark.parametrize("end", ["revoked", "expired"])
async def test_caller_without_key_is_refused_after_the_last_key_has_ended(
    keys: Keys, authenticator: Authenticator, limits: RateLimits, fake_time: FakeTime, end: str
) -> None:
    issued = keys.create("ci", expires_in=timedelta(seconds=10))
    if end == "revoked":
        keys.revoke(issued.info.id)
    fake_time.seconds = 3600
    assert not keys.any_valid(fake_time.now())
    restarted = Authenticator(keys, fake_time.now, limits, cache_seconds=1.0, timer=fake_time.tick)
    for each in (authenticator, restarted):
        with pytest.raises(Denied) as refused:
            await each.authenticate(None, local=True)
        assert refused.value.status == 401


async def test_browser_needs_a_key_that_is_still_valid(
    keys: Keys, authenticator: Authenticator, fake_time: FakeTime
) -> None:
    issued = keys.create("ci", tenant="acme")
    assert (await authenticator.authenticate_browser(issued.info.id)).tenant == "acme"
    with pytest.raises(Denied):  # what a browser may do without the secret, a caller may not
        await authenticator.authenticate(bearer(f"mmr.{issued.info.id}.guess"), local=False)
    assert (await authenticator.authenticate(bearer(issued.key), local=False)).tenant == "acme"
    keys.revoke(issued.info.id)
    fake_time.seconds += 2
    with pytest.raises(Denied):
        await authenticator.authenticate_browser(issued.info.id)


def test_changed_pepper_invalidates_all_keys(store: SQLiteStore, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    issued = keys.create("ci")
    monkeypatch.setenv("MEMORY_SERVER_PEPPER", "a long text that nobody guesses")
    key_id, secret = split_key(issued.key) or ("", "")
    row = keys.find(key_id)
    assert row is not None
    assert keys.digest(key_id, secret) == row.digest != Keys(store).digest(key_id, secret)


def test_short_pepper_is_refused(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_SERVER_PEPPER", "salt")
    with pytest.raises(InvalidInput, match="MEMORY_SERVER_PEPPER"):
        Keys(store)


@pytest.mark.parametrize(
    "options",
    [
        {"scopes": ("root",)},
        {"scopes": ()},
        {"rate": 0},
        {"rate": float("nan")},
        {"expires_in": timedelta(0)},
        {"tenant": " "},
    ],
)
def test_invalid_key_options_are_refused(keys: Keys, options: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        keys.create("ci", **options)  # type: ignore[arg-type]
    assert keys.all() == []


def test_keys_are_stored_in_the_given_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/b.db"
    with open_keys(url) as keys:
        keys.create("ci")
    with open_keys(url) as again:
        assert [key.name for key in again.all()] == ["ci"]


def test_lost_key_file_stops_the_server_and_new_keys_and_health_says_so(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/c.db"
    with open_keys(url) as keys:
        keys.create("ci")
    (tmp_path / "c.db.key").unlink()
    with open_keys(url) as keys, pytest.raises(Incompatible, match="create new API keys"):
        keys.create("another")
    app = create_app(memory=url, embedder=HashEmbedder(32))
    with pytest.raises(Incompatible, match="restore that file"), TestClient(app):
        pass
    with MemoryManager(url, embedder=HashEmbedder(32)) as manager:
        assert manager.health().status == "degraded"
        assert any("c.db.key is missing" in problem for problem in manager.health().problems)
        manager.add_memory("the rest works")


@pytest.mark.parametrize("encryption_key", [None, "3f" * 32])
def test_backup_without_the_lost_key_file_says_so(tmp_path: Path, encryption_key: str | None) -> None:
    database = tmp_path / "c.db"
    with MemoryManager(database, embedder=HashEmbedder(32), encryption_key=encryption_key) as manager:
        manager.save_execution_record("writer", {"status": "success"})
        assert manager.backup(tmp_path / "whole.db").problems == ()
        Path(f"{database}.key").unlink()
        problems = manager.backup(tmp_path / "incomplete.db").problems
    assert len(problems) == 1
    assert "c.db.key is missing" in problems[0]
    assert (tmp_path / "whole.db.key").exists()
    assert not (tmp_path / "incomplete.db.key").exists()


def break_key_file(file: Path, state: str) -> None:
    if state == "missing":
        file.unlink()
    else:
        file.write_text({"another": "ab" * 32, "damaged": "no key"}[state])


@pytest.mark.parametrize("state", ["missing", "another", "damaged"])
def test_check_reports_the_key_file_of_a_database_with_api_keys_only(tmp_path: Path, state: str) -> None:
    database = tmp_path / "c.db"
    with open_keys(f"sqlite:///{database}") as keys:
        keys.create("ci")
    break_key_file(Path(f"{database}.key"), state)
    with MemoryManager(database, embedder=HashEmbedder(32)) as manager:
        problems = manager.check().problems
        assert problems == manager.health().problems
    assert len(problems) == 1
    assert "c.db.key" in problems[0]


@pytest.mark.parametrize("encryption_key", [None, "3f" * 32])
@pytest.mark.parametrize("state", ["another", "damaged"])
def test_wrong_key_file_is_not_copied_over_the_one_of_an_older_backup(
    tmp_path: Path, state: str, encryption_key: str | None
) -> None:
    config = MemoryConfig(db_url=f"sqlite:///{tmp_path}/c.db", encryption_key=encryption_key)
    with MemoryManager(config, embedder=HashEmbedder(32)) as manager:
        manager.save_execution_record("writer", {"status": "success"})
        manager.backup(tmp_path / "backup.db")
    kept = (tmp_path / "backup.db.key").read_bytes()
    break_key_file(tmp_path / "c.db.key", state)
    with MemoryManager(config, embedder=HashEmbedder(32)) as manager:
        [problem] = manager.backup(tmp_path / "backup.db.2").problems
        assert "c.db.key" in problem
        assert not (tmp_path / "backup.db.2.key").exists()
        if encryption_key is None:  # another copy has another key for the files beside it
            assert manager.backup(tmp_path / "backup.db", force=True).problems
    assert (tmp_path / "backup.db.key").read_bytes() == kept
    restore(tmp_path / "backup.db", config, force=True)
    with MemoryManager(config, embedder=HashEmbedder(32)) as manager:
        assert manager.verify_executions().ok
        assert manager.check().ok


def test_restore_takes_the_key_that_the_records_were_signed_with(tmp_path: Path) -> None:
    config = MemoryConfig(db_url=f"sqlite:///{tmp_path}/c.db")
    with MemoryManager(config, embedder=HashEmbedder(32)) as manager:
        manager.save_execution_record("writer", {"status": "success"})
        manager.backup(tmp_path / "backup.db")
    break_key_file(tmp_path / "backup.db.key", "another")
    restore(tmp_path / "backup.db", config, force=True)
    with MemoryManager(config, embedder=HashEmbedder(32)) as manager:
        assert manager.verify_executions().ok


def test_data_of_a_database_whose_key_is_lost_can_be_moved_to_a_new_one(tmp_path: Path) -> None:
    with MemoryManager(f"sqlite:///{tmp_path}/old.db", embedder=HashEmbedder(32)) as old:
        old.add_memory("tea", user="ann")
        old.save_execution_record("writer", {"status": "success"})
        (tmp_path / "old.db.key").unlink()
    with (
        MemoryManager(f"sqlite:///{tmp_path}/old.db", embedder=HashEmbedder(32)) as old,
        MemoryManager(f"sqlite:///{tmp_path}/new.db", embedder=HashEmbedder(32)) as new,
    ):
        old.export_jsonl(tmp_path / "all.jsonl", user=ANY)
        new.import_jsonl(tmp_path / "all.jsonl")
        assert new.verify_executions().ok
        assert [memory.content for memory in new.list_memories(user="ann")] == ["tea"]
        assert len(new.get_execution_records().records) == 1


@pytest.mark.parametrize("encryption_key", [None, "3f" * 32])
def test_restored_backup_keeps_the_keys_of_today(tmp_path: Path, encryption_key: str | None) -> None:
    config = MemoryConfig(db_url=f"sqlite:///{tmp_path}/m.db", encryption_key=encryption_key)
    with MemoryManager(config, embedder=HashEmbedder(16)) as manager:
        manager.backup(tmp_path / "before.db")
        with open_keys(config) as keys:
            revoked, kept = keys.create("revoked"), keys.create("kept")
            manager.backup(tmp_path / "after.db")
            keys.revoke(revoked.info.id)
    for backup in ("before.db", "after.db"):
        restore(tmp_path / backup, config, force=True)
        with open_keys(config) as keys:
            found = {key.id: key.revoked_at is None for key in keys.all()}
            assert found == {revoked.info.id: False, kept.info.id: True}
        with MemoryManager(config, embedder=HashEmbedder(16)) as manager:
            assert manager.check().ok
