from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from starlette.types import Message, Receive, Scope, Send

from memoranda.errors import Conflict
from memoranda.manager.manager import MemoryManager
from memoranda.server.auth import LOCAL, Principal
from memoranda.server.idempotency import IdempotentRequests
from memoranda.storage import open_store
from memoranda.storage.base import Store
from memoranda.storage.schema import short_lived
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import ANY
from tests.fake_clock import FakeClock


@dataclass
class App:
    """An application that counts its runs, and may fail, wait or die."""

    body: bytes = b"{}"
    status: int = 201
    runs: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    error: BaseException | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.runs += 1
        if self.error is not None:
            raise self.error
        await self.gate.wait()
        await send({"type": "http.response.start", "status": self.status, "headers": [(b"etag", b"1")]})
        await send({"type": "http.response.body", "body": self.body})


async def _receive() -> Message:
    return {"type": "http.disconnect"}


async def _all_stored(principal: Principal, ids: set[int], items: set[tuple[str, str]]) -> bool:
    return True


async def _send(
    requests: IdempotentRequests, app: App, key: str = "key", body: bytes = b"{}", *, wait: bool = False
) -> tuple[int, bytes, bool]:
    """Return the status and the body of the response, and whether it was the stored one."""
    seen: list[Message] = []

    async def send(message: Message) -> None:
        seen.append(message)

    if not wait:
        app.gate.set()
    scope = {"method": "POST", "path": "/v1/memories", "query_string": b"", "state": {"principal": LOCAL}}
    await requests.run(app, scope, body, _receive, send, key)
    assert (b"etag", b"1") in seen[0]["headers"]
    return seen[0]["status"], seen[1]["body"], (b"idempotency-replayed", b"true") in seen[0]["headers"]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2030, 1, 1, tzinfo=UTC))


@pytest.fixture
def stores(tmp_path: Path, clock: FakeClock) -> Iterator[list[Store]]:
    stores = [open_store(tmp_path / "a.db", clock=clock) for _ in range(2)]
    yield stores
    for store in stores:
        store.close()


@pytest.fixture
def processes(stores: list[Store]) -> list[IdempotentRequests]:
    """Two processes on one database."""
    return [IdempotentRequests(lambda store=store: store, _all_stored) for store in stores]  # type: ignore[misc]


async def test_response_is_sent_again_by_another_process_for_ten_minutes(
    processes: list[IdempotentRequests], clock: FakeClock
) -> None:
    app = App(b'{"a": "\xc3\xa9"}')
    assert await _send(processes[0], app) == (201, app.body, False)
    clock.advance(seconds=599)
    assert await _send(processes[1], app) == (201, app.body, True)
    clock.advance(seconds=2)
    assert await _send(processes[1], app) == (201, app.body, False)
    assert app.runs == 2


async def test_request_that_another_process_runs_is_waited_for(processes: list[IdempotentRequests]) -> None:
    app = App()
    waiting = [asyncio.create_task(_send(each, app, wait=True)) for each in processes * 3]
    await asyncio.sleep(0.3)
    app.gate.set()
    answers = await asyncio.gather(*waiting)
    assert app.runs == 1
    assert sorted(replayed for _, _, replayed in answers) == [False, True, True, True, True, True]


async def test_other_request_under_the_same_key_is_a_conflict_in_both(processes: list[IdempotentRequests]) -> None:
    app = App()
    await _send(processes[0], app)
    for process in processes:
        with pytest.raises(Conflict, match="another request"):
            await _send(process, app, body=b'{"other": 1}')


@pytest.mark.parametrize("app", [App(status=503), App(error=ValueError()), App(error=asyncio.CancelledError())])
async def test_failed_request_may_be_sent_again(processes: list[IdempotentRequests], app: App) -> None:
    if app.error is None:
        assert (await _send(processes[0], app))[0] == 503
    else:
        with pytest.raises(type(app.error)):
            await _send(processes[0], app)
    assert await _send(processes[1], App()) == (201, b"{}", False)


async def test_request_of_a_killed_process_is_taken_over_soon(
    processes: list[IdempotentRequests], clock: FakeClock
) -> None:
    dead = asyncio.create_task(_send(processes[0], App(), wait=True))
    await asyncio.sleep(0.1)
    other = asyncio.create_task(_send(processes[1], App()))
    await asyncio.sleep(0.1)
    assert not other.done()
    clock.advance(seconds=20)
    assert await other == (201, b"{}", False)
    dead.cancel()
    await asyncio.wait([dead])
    assert await _send(processes[1], App()) == (201, b"{}", True)


async def test_forget_removes_the_stored_responses_and_keeps_that_they_were_done(
    tmp_path: Path, processes: list[IdempotentRequests], stores: list[Store]
) -> None:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(16)) as manager:
        manager.add_memory("The safe is behind the boat", user="ada")
        app = App(b'{"content": "The safe is behind the boat"}')
        await _send(processes[0], app)
        late = App(app.body)
        running = asyncio.create_task(_send(processes[0], late, "late", wait=True))
        await asyncio.sleep(0.1)
        manager.forget(user="ada")
        late.gate.set()
        await running
    values = stores[0].read(lambda tx: list(tx.scalars(select(short_lived.c.value))), tenant=ANY)
    assert len(values) == 2
    assert not any("boat" in value for value in values)
    for key in ("key", "late"):
        with pytest.raises(Conflict, match="was done"):
            await _send(processes[1], app, key)
    assert (app.runs, late.runs) == (1, 1)


async def test_expired_responses_are_deleted(processes: list[IdempotentRequests], clock: FakeClock) -> None:
    app = App()
    for number in range(20):
        await _send(processes[0], app, f"old {number}")
    clock.advance(seconds=601)
    for number in range(256):
        await _send(processes[0], app, f"new {number}")
    assert await _count(processes[0]) <= 2 * 257


async def _count(process: IdempotentRequests) -> int:
    return process._store().read(lambda tx: len(list(tx.scalars(select(short_lived.c.name)))), tenant=ANY)


async def test_response_is_sent_before_it_is_stored_and_whoever_repeats_the_request_waits_for_it(
    processes: list[IdempotentRequests], monkeypatch: pytest.MonkeyPatch
) -> None:
    requests, app, sent = processes[0], App(), asyncio.Event()
    finish = requests._finish

    async def finish_late(*given: Any) -> None:
        await asyncio.wait_for(sent.wait(), 5)
        await asyncio.sleep(0.05)
        await finish(*given)

    monkeypatch.setattr(requests, "_finish", finish_late)

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            sent.set()

    app.gate.set()
    scope = {"method": "POST", "path": "/v1/memories", "query_string": b"", "state": {"principal": LOCAL}}
    first = asyncio.create_task(requests.run(app, scope, b"{}", _receive, send, "key"))
    await asyncio.wait_for(sent.wait(), 5)
    assert await _send(processes[1], app) == (201, b"{}", True)
    await first
    assert app.runs == 1
