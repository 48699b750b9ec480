from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoranda.errors import Denied, InvalidInput, NotFound, Unavailable
from memoranda.server.auth import LOCAL, Authenticator
from memoranda.server.keys import Keys, open_keys, split_key
from memoranda.server.limits import Bucket
from memoranda.storage.sqlite.store import SQLiteStore, open_sqlite

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Wind:
    """A clock and a stopwatch that are set by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds)

    def tick(self) -> float:
        return self.seconds


@pytest.fixture
def wind() -> Wind:
    return Wind()


@pytest.fixture
def store(tmp_path: Path, wind: Wind) -> Iterator[SQLiteStore]:
    store = open_sqlite(tmp_path / "a.db", clock=wind.now)
    yield store
    store.close()


@pytest.fixture
def keys(store: SQLiteStore) -> Keys:
    return Keys(store)


@pytest.fixture
def door(keys: Keys, wind: Wind) -> Authenticator:
    return Authenticator(keys, wind.now, trusted=1.0, tick=wind.tick)


def bearer(key: str) -> str:
    return f"Bearer {key}"


def test_a_key_is_seen_once_and_kept_only_as_a_hash(keys: Keys, tmp_path: Path) -> None:
    issued = keys.create("ci", tenant="acme", scopes=("write", "read"))
    key_id, secret = split_key(issued.key) or ("", "")
    assert issued.info.id == key_id
    assert issued.info.scopes == ("read", "write")
    assert len(secret) >= 43
    assert secret.encode() not in (tmp_path / "a.db").read_bytes() + (tmp_path / "a.db-wal").read_bytes()
    assert keys.all() == [issued.info]


async def test_the_key_alone_decides_tenant_and_scopes(keys: Keys, door: Authenticator) -> None:
    issued = keys.create("ci", tenant="acme", scopes=("read",))
    principal = await door.authenticate(bearer(issued.key), local=False)
    assert (principal.tenant, principal.scopes, principal.key_id) == ("acme", {"read"}, issued.info.id)
    principal.require("read")
    with pytest.raises(Denied, match="admin"):
        principal.require("admin")


@pytest.mark.parametrize("header", ["Bearer nonsense", "Bearer mmr.0000.secret", "Basic abc", "", "Bearer", "mmr"])
async def test_what_is_no_key_is_refused_in_the_same_words(keys: Keys, door: Authenticator, header: str) -> None:
    keys.create("ci")
    with pytest.raises(Denied, match="wrong, revoked or expired") as refused:
        await door.authenticate(header, local=True)
    assert refused.value.status == 401


async def test_another_secret_for_a_known_id_is_refused_even_while_the_right_one_is_trusted(
    keys: Keys, door: Authenticator
) -> None:
    issued = keys.create("ci")
    await door.authenticate(bearer(issued.key), local=False)
    with pytest.raises(Denied):
        await door.authenticate(bearer(issued.key[:-1] + ("A" if issued.key[-1] != "A" else "B")), local=False)
    assert (await door.authenticate(bearer(issued.key), local=False)).key_id == issued.info.id


async def test_a_digest_moved_to_another_row_opens_nothing(keys: Keys, store: SQLiteStore, door: Authenticator) -> None:
    weak, strong = keys.create("weak", scopes=("read",)), keys.create("strong", scopes=("admin",))
    row = keys.find(weak.info.id)
    assert row is not None
    statement = "UPDATE api_keys SET digest = ? WHERE id = ?"
    store.write(lambda tx: tx.driver.execute(statement, (row.digest, strong.info.id)))
    secret = weak.key.split(".")[2]
    with pytest.raises(Denied):
        await door.authenticate(bearer(f"mmr.{strong.info.id}.{secret}"), local=False)


async def test_a_revoked_key_works_no_longer_than_it_is_trusted(keys: Keys, door: Authenticator, wind: Wind) -> None:
    issued = keys.create("ci")
    await door.authenticate(bearer(issued.key), local=False)
    keys.revoke(issued.info.id)
    wind.seconds += 1.0
    with pytest.raises(Denied):
        await door.authenticate(bearer(issued.key), local=False)
    with pytest.raises(NotFound):
        keys.revoke(issued.info.id)


async def test_a_key_ends_when_it_expires(keys: Keys, door: Authenticator, wind: Wind) -> None:
    issued = keys.create("ci", expires_in=timedelta(seconds=10))
    wind.seconds = 9.9
    await door.authenticate(bearer(issued.key), local=False)
    wind.seconds = 10.0
    with pytest.raises(Denied):
        await door.authenticate(bearer(issued.key), local=False)


async def test_a_rotated_key_gives_way_after_its_grace(keys: Keys, door: Authenticator, wind: Wind) -> None:
    old = keys.create("ci", tenant="acme", scopes=("read",), rate=5)
    new = keys.rotate(old.info.id, grace=timedelta(seconds=60))
    assert (new.info.tenant, new.info.scopes, new.info.rate) == ("acme", ("read",), 5)
    await door.authenticate(bearer(old.key), local=False)
    await door.authenticate(bearer(new.key), local=False)
    wind.seconds = 60
    with pytest.raises(Denied):
        await door.authenticate(bearer(old.key), local=False)
    await door.authenticate(bearer(new.key), local=False)


async def test_the_rate_of_a_key_holds(keys: Keys, door: Authenticator, wind: Wind) -> None:
    issued = keys.create("ci", rate=2)
    for _ in range(2):
        await door.authenticate(bearer(issued.key), local=False)
    with pytest.raises(Unavailable) as refused:
        await door.authenticate(bearer(issued.key), local=False)
    assert (refused.value.status, refused.value.retry_after) == (429, pytest.approx(0.5))
    wind.seconds = 0.5
    await door.authenticate(bearer(issued.key), local=False)


async def test_when_a_key_was_used_is_noted_once_a_minute(keys: Keys, door: Authenticator, wind: Wind) -> None:
    issued = keys.create("ci")
    for wind.seconds in (0, 30, 59):
        await door.authenticate(bearer(issued.key), local=False)
    assert keys.all()[0].used_at == NOON
    wind.seconds = 61
    await door.authenticate(bearer(issued.key), local=False)
    assert keys.all()[0].used_at == NOON + timedelta(seconds=61)


async def test_without_keys_this_machine_alone_may_come_in_and_only_until_there_is_one(
    keys: Keys, door: Authenticator, wind: Wind
) -> None:
    assert await door.authenticate(None, local=True) == LOCAL
    with pytest.raises(Denied):
        await door.authenticate(None, local=False)
    keys.create("ci")
    wind.seconds = 1.0
    with pytest.raises(Denied):
        await door.authenticate(None, local=True)


def test_another_pepper_makes_all_keys_worthless(
    store: SQLiteStore, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    issued = keys.create("ci")
    monkeypatch.setenv("MEMORY_SERVER_PEPPER", "a long text that nobody guesses")
    key_id, secret = split_key(issued.key) or ("", "")
    row = keys.find(key_id)
    assert row is not None
    assert keys.digest(key_id, secret) == row.digest != Keys(store).digest(key_id, secret)


def test_a_pepper_that_is_too_short_is_refused(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_key_that_makes_no_sense_is_not_made(keys: Keys, options: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        keys.create("ci", **options)  # type: ignore[arg-type]
    assert keys.all() == []


def test_keys_lie_in_the_database_that_is_named(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/b.db"
    with open_keys(url) as keys:
        keys.create("ci")
    with open_keys(url) as again:
        assert [key.name for key in again.all()] == ["ci"]


def test_a_bucket_never_holds_more_than_a_second() -> None:
    bucket = Bucket.full(0.5, 0.0)
    assert bucket.take(0.0) == 0
    assert bucket.take(1.0) == pytest.approx(1.0)
    assert bucket.take(100.0) == 0
    assert bucket.take(100.0) > 0
