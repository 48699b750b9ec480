"""Several processes of a server on one database, SQLite and PostgreSQL: what is true in one is true in all."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memoranda.server.keys import open_keys
from memoranda.settings import MemoryConfig
from tests.ports import free_port
from tests.postgres.server import PostgresServer, run_server
from tests.redis_servers.servers import PROGRAM, Server
from tests.server.running import start, wait_for

AUDIT_KEY = "a key for the tests of several processes"


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with run_server() as server:
        yield server


@pytest.fixture(scope="module", params=["sqlite", "postgres", "redis"])
def environment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The settings of the servers: where the memories are, and what else they share."""
    tmp_path = tmp_path_factory.mktemp(request.param)
    url = f"sqlite:///{tmp_path}/server.db"
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").new_database()
    settings = {"MEMORY_DB_URL": url, "MEMORY_AUDIT_KEY": AUDIT_KEY}
    if request.param != "redis":
        yield settings
        return
    assert PROGRAM is not None, "the tests need redis-server: run scripts/system-packages as root"
    redis = Server(tmp_path / "redis")
    redis.start()
    try:
        yield settings | {"MEMORY_USE_REDIS": "true", "MEMORY_REDIS_URL": redis.url}
    finally:
        redis.kill()


@pytest.fixture(scope="module")
def servers(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The addresses of two servers in processes of their own."""
    tmp_path = tmp_path_factory.mktemp("servers")
    with ExitStack() as stack:
        ports = [free_port() for _ in range(2)]
        for port in ports:
            stack.enter_context(start(tmp_path, "serve", "--port", str(port), **environment))
        urls = [f"http://127.0.0.1:{port}" for port in ports]
        for url in urls:
            wait_for(url, 120)
        yield urls


def make_key(environment: dict[str, str], **options: Any) -> str:
    """Return a key for a tenant of its own, so that tests do not see each other's memories."""
    options = {"scopes": ("read", "write", "admin"), "tenant": secrets.token_hex(4)} | options
    with open_keys(MemoryConfig(db_url=environment["MEMORY_DB_URL"], audit_key=AUDIT_KEY)) as keys:
        return keys.create("test", **options).key


def send(url: str, method: str, path: str, key: str, **options: Any) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {key}"} | options.pop("headers", {})
    return httpx2.request(method, url + path, headers=headers, timeout=60, **options)


def test_write_is_seen_at_the_next_search_of_the_other_process(servers: list[str], environment: dict[str, str]) -> None:
    key = make_key(environment)
    for number in range(6):
        writer, reader = servers[number % 2], servers[(number + 1) % 2]
        body = {"content": f"The boat number {number} is blue", "user": "ada"}
        made = send(writer, "POST", "/v1/memories", key, json=body).json()
        found = send(reader, "POST", "/v1/recall", key, json={"query": f"boat number {number}", "user": "ada"}).json()
        assert made["id"] in [hit["memory"]["id"] for hit in found["hits"]]


def test_request_under_one_idempotency_key_runs_once_in_all_processes(
    servers: list[str], environment: dict[str, str]
) -> None:
    key = make_key(environment)

    def add(number: int) -> httpx2.Response:
        options = {"json": {"content": "I bought a boat", "user": "ada"}, "headers": {"Idempotency-Key": "once"}}
        return send(servers[number % 2], "POST", "/v1/memories", key, **options)

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(add, range(8)))
    assert {answer.status_code for answer in answers} == {201}, [answer.text for answer in answers]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert Counter("idempotency-replayed" in answer.headers for answer in answers) == {False: 1, True: 7}
    other = {"json": {"content": "I sold it", "user": "ada"}, "headers": {"Idempotency-Key": "once"}}
    assert [send(url, "POST", "/v1/memories", key, **other).status_code for url in servers] == [409, 409]
    found = send(servers[0], "POST", "/v1/memories/list", key, json={"user": "ada"}).json()
    assert len(found["items"]) == 1


def test_rate_limit_holds_for_all_processes_together(servers: list[str], environment: dict[str, str]) -> None:
    key = make_key(environment, rate=5)
    started = time.monotonic()
    answers = [send(servers[number % 2], "GET", "/v1/stats", key) for number in range(40)]
    seconds = time.monotonic() - started
    statuses = Counter(answer.status_code for answer in answers)
    assert set(statuses) <= {200, 429}
    assert statuses[200] <= 5 + 5 * seconds + 1
    assert seconds > 6 or statuses[429] > 0
    refused = next((answer for answer in answers if answer.status_code == 429), None)
    assert refused is None or int(refused.headers["Retry-After"]) >= 1


def test_key_revoked_once_is_refused_by_every_process(servers: list[str], environment: dict[str, str]) -> None:
    key = make_key(environment)
    assert [send(url, "GET", "/v1/stats", key).status_code for url in servers] == [200, 200]
    with open_keys(MemoryConfig(db_url=environment["MEMORY_DB_URL"], audit_key=AUDIT_KEY)) as keys:
        keys.revoke(key.split(".")[1])
    time.sleep(1.1)
    assert [send(url, "GET", "/v1/stats", key).status_code for url in servers] == [401, 401]


def test_browser_signed_in_to_one_process_is_signed_in_to_all(servers: list[str], environment: dict[str, str]) -> None:
    key = make_key(environment)
    first, second = servers
    signed_in = httpx2.post(f"{first}/ui/login", json={"key": key}, timeout=30)
    cookies = {"memoranda_session": signed_in.cookies["memoranda_session"]}
    page = httpx2.get(f"{second}/ui/session", cookies=cookies, timeout=30).json()
    assert page["signed_in"]
    assert page["csrf_token"] == signed_in.json()["csrf_token"]
    body = {"content": "said in the dashboard"}
    without = httpx2.post(f"{second}/v1/memories", json=body, cookies=cookies, timeout=30)
    assert without.status_code == 403
    token = {"X-CSRF-Token": page["csrf_token"]}
    assert httpx2.post(f"{second}/v1/memories", json=body, cookies=cookies, headers=token).status_code == 201
    assert httpx2.post(f"{second}/ui/logout", json={}, cookies=cookies, headers=token).status_code == 200
    assert httpx2.get(f"{first}/v1/stats", cookies=cookies, timeout=30).status_code == 401


def test_session_is_used_counted_and_ended_in_all_processes(servers: list[str], environment: dict[str, str]) -> None:
    key = make_key(environment)
    opened = send(servers[0], "POST", "/v1/sessions", key, json={"workflow_id": "w", "metadata": {"a": 1}}).json()
    path = f"/v1/sessions/{opened['session_id']}"

    def say(number: int) -> int:
        body = {"agent_id": f"agent {number % 3}", "role": "user", "content": f"message {number}"}
        return send(servers[number % 2], "POST", f"{path}/messages", key, json=body).status_code

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(say, range(30))) == {201}
    value = {"agent_id": "a", "key": "draft", "value": {"x": 1}}
    assert send(servers[0], "PUT", f"{path}/values", key, json=value).status_code == 200
    read = send(servers[1], "GET", f"{path}/values?agent_id=a&key=draft", key).json()
    assert read["value"] == {"x": 1}
    for url in servers:
        assert send(url, "GET", path, key).json()["conversation_messages"] == 30
        assert len(send(url, "GET", f"{path}/messages", key).json()) == 30
    ended = send(servers[1], "POST", f"{path}/end", key).json()
    assert (ended["conversation_messages"], ended["metadata"], ended["sessions"]) == (30, {"a": 1}, 1)
    assert send(servers[0], "GET", path, key).status_code == 404
    listed = send(servers[0], "GET", "/v1/sessions", key).json()
    assert [each["conversation_messages"] for each in listed] == [30]


@pytest.fixture
def own_file(tmp_path: Path) -> dict[str, str]:
    return {"MEMORY_DB_URL": f"sqlite:///{tmp_path}/server.db", "MEMORY_AUDIT_KEY": AUDIT_KEY}


def test_session_goes_on_when_its_process_is_killed(own_file: dict[str, str], tmp_path: Path) -> None:
    environment = own_file
    with ExitStack() as stack:
        ports = [free_port() for _ in range(2)]
        urls = [f"http://127.0.0.1:{port}" for port in ports]
        first = stack.enter_context(start(tmp_path, "serve", "--port", str(ports[0]), **environment))
        wait_for(urls[0], 120)
        key = make_key(environment)
        opened = send(urls[0], "POST", "/v1/sessions", key, json={"workflow_id": "w"}).json()
        path = f"/v1/sessions/{opened['session_id']}"
        body = {"agent_id": "a", "role": "user", "content": "before"}
        assert send(urls[0], "POST", f"{path}/messages", key, json=body).status_code == 201
        first.kill()
        stack.enter_context(start(tmp_path, "serve", "--port", str(ports[1]), **environment))
        wait_for(urls[1], 120)
        assert [each["content"] for each in send(urls[1], "GET", f"{path}/messages", key).json()] == ["before"]
        assert send(urls[1], "POST", f"{path}/end", key).json()["conversation_messages"] == 1


def workers_of(server: subprocess.Popen[str]) -> set[int]:
    """Return the ids of the processes that a server started and that serve."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == server.pid and b"spawn_main" in (folder / "cmdline").read_bytes():
                found.add(int(folder.name))
        except (OSError, IndexError):
            continue
    return found


def wait_until(condition: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_workers_share_a_port_are_replaced_when_killed_and_stop_together(
    environment: dict[str, str], tmp_path: Path
) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with start(tmp_path, "serve", "--port", str(port), "--workers", "2", **environment) as server:
        wait_until(lambda: len(workers_of(server)) == 2, 120)
        wait_for(url, 120)
        key = make_key(environment)
        ids = set()
        for number in range(10):
            headers = {"Connection": "close", "Idempotency-Key": f"key {number}"}
            body = {"content": f"The boat number {number} is blue", "user": "ada"}
            for _ in range(2):
                ids.add(send(url, "POST", "/v1/memories", key, json=body, headers=headers).json()["id"])
        assert len(ids) == 10
        before = workers_of(server)
        os.kill(min(before), signal.SIGKILL)
        wait_until(lambda: len(workers_of(server)) == 2 and workers_of(server) != before)
        found = send(url, "POST", "/v1/memories/list", key, json={"user": "ada"}).json()
        assert len(found["items"]) == 10
        children = workers_of(server)
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
        assert not any(Path(f"/proc/{child}").exists() for child in children)


def test_workers_stop_when_their_parent_is_killed(own_file: dict[str, str], tmp_path: Path) -> None:
    port = free_port()
    with start(tmp_path, "serve", "--port", str(port), "--workers", "2", **own_file) as server:
        wait_until(lambda: len(workers_of(server)) == 2)
        wait_for(f"http://127.0.0.1:{port}", 60)
        children = workers_of(server)
        server.kill()
        wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))


def test_workers_that_cannot_start_say_why_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "server.db").write_bytes(b"no database" * 1000)
    settings = {"MEMORY_DB_URL": f"sqlite:///{tmp_path}/server.db"}
    with start(tmp_path, "serve", "--port", str(free_port()), "--workers", "3", **settings) as server:
        _, errors = server.communicate(timeout=60)
    assert server.returncode not in (0, None)
    assert "Traceback" not in errors
    assert "server.db" in errors
