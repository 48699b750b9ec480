"""The stream of changes that the dashboard listens to, on a real connection."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from memoranda.server import services
from memoranda.server.keys import open_keys
from memoranda.server.routes import dashboard
from tests.server.running import serving


@pytest.fixture(autouse=True)
def _poll_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dashboard, "_POLL_SECONDS", 0.02)


def listen(client: httpx2.Client, **query: str) -> Iterator[str]:
    with client.stream("GET", "/ui/events", params=query) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        yield from response.iter_lines()


def wait_for_line(lines: Iterator[str], start: str) -> str:
    return next(line for line in lines if line.startswith(start))


def test_changes_are_sent_as_they_happen_and_only_those_of_the_scope(tmp_path: Path) -> None:
    with serving(tmp_path) as url, httpx2.Client(base_url=url, timeout=20) as client:
        lines = listen(client, user="ann")
        wait_for_line(lines, "retry")
        wait_for_line(lines, "event: sessions")
        httpx2.post(f"{url}/v1/memories", json={"content": "Bo likes milk", "user": "bo"})
        added = httpx2.post(f"{url}/v1/memories", json={"content": "Ann likes tea", "user": "ann"}).json()
        wait_for_line(lines, "event: changes")
        changes = json.loads(wait_for_line(lines, "data:").removeprefix("data:"))
        assert changes == [{"op": "add", "id": added["id"], "user": "ann"}]
        lines.close()  # type: ignore[attr-defined]


def test_stream_ends_when_its_key_is_revoked(tmp_path: Path) -> None:
    with open_keys(f"sqlite:///{tmp_path}/server.db") as keys:
        issued = keys.create("test", tenant="default", scopes=("read",))
    headers = {"Authorization": f"Bearer {issued.key}"}
    with (
        serving(tmp_path, key_cache_seconds=0.01) as url,
        httpx2.Client(base_url=url, headers=headers, timeout=20) as client,
    ):
        lines = listen(client, user="ann")
        wait_for_line(lines, "retry")
        with open_keys(f"sqlite:///{tmp_path}/server.db") as keys:
            keys.revoke(issued.info.id)
        list(lines)
        assert client.get("/ui/overview").status_code == 401


def test_key_has_a_limited_number_of_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MAX_STREAMS", 1)
    with serving(tmp_path) as url, httpx2.Client(base_url=url, timeout=20) as client:
        lines = listen(client)
        wait_for_line(lines, "retry")
        refused = client.get("/ui/events")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        lines.close()  # type: ignore[attr-defined]
        for _ in range(500):  # until the server has noticed that the first one is gone
            with client.stream("GET", "/ui/events") as response:
                if response.status_code == 200:
                    return
            time.sleep(0.02)
        raise AssertionError("a stream that was closed still counts")


def test_open_stream_does_not_hold_up_the_end_of_the_server(tmp_path: Path) -> None:
    with httpx2.Client(timeout=20) as client:
        with serving(tmp_path) as url:
            client.base_url = url  # type: ignore[assignment]
            lines = listen(client)
            wait_for_line(lines, "retry")
            started = time.monotonic()
        assert time.monotonic() - started < 15
        with pytest.raises(httpx2.TransportError):
            list(lines)


async def test_streams_opened_at_once_are_no_more_than_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MAX_STREAMS", 3)
    answers: list[int] = []
    with serving(tmp_path) as url:
        async with httpx2.AsyncClient(base_url=url, timeout=20) as client:

            async def open_one() -> None:
                async with client.stream("GET", "/ui/events", params={"user": "ann"}) as response:
                    answers.append(response.status_code)
                    while len(answers) < 20:  # until the others have their answer
                        await asyncio.sleep(0.01)

            await asyncio.gather(*(open_one() for _ in range(20)))
            assert (answers.count(200), answers.count(429)) == (3, 17)


def test_silent_stream_sends_something_now_and_then(tmp_path: Path) -> None:
    with serving(tmp_path) as url, httpx2.Client(base_url=url, timeout=20) as client:
        lines = listen(client, user="ann")
        wait_for_line(lines, "event: sessions")
        assert wait_for_line(lines, ":") == ":"
        lines.close()  # type: ignore[attr-defined]
