from __future__ import annotations

import asyncio
import select
import signal
import socket
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from memoranda import MemoryManager
from memoranda.client.aio import MemoryManager as RemoteManager
from memoranda.errors import MemorandaError
from memoranda.server.config import ServerConfig
from memoranda.server.keys import open_keys
from memoranda.server.run import create_app, open_sockets
from memoranda.settings import MemoryConfig
from memoranda.testing.fakes import HashEmbedder
from tests.ports import free_port
from tests.server.running import command_line, listening, process, serving, wait_for

WITHOUT_MODEL = {"MEMORY_ENABLE_VECTOR_SEARCH": "false"}


def test_public_server_without_keys_does_not_start(tmp_path: Path) -> None:
    with process(tmp_path, "0.0.0.0") as (server, _):
        assert server.wait(30) == 1
        assert server.stderr is not None
        assert "memoranda keys create" in server.stderr.read()
    with open_keys(f"sqlite:///{tmp_path}/server.db") as keys:
        key = keys.create("first").key
    with process(tmp_path, "0.0.0.0") as (_, url):
        wait_for(url)
        assert httpx2.get(f"{url}/v1/stats").status_code == 401
        assert httpx2.get(f"{url}/v1/stats", headers={"Authorization": f"Bearer {key}"}).status_code == 200


@pytest.mark.parametrize("damage", ["lost key file", "no database"])
def test_server_that_cannot_start_says_why_in_one_sentence(tmp_path: Path, damage: str) -> None:
    database = tmp_path / "server.db"
    with open_keys(f"sqlite:///{database}") as keys:
        keys.create("first")
    if damage == "lost key file":
        Path(f"{database}.key").unlink()
    else:
        database.write_bytes(b"no database " * 1000)
    with command_line(tmp_path, **WITHOUT_MODEL) as (server, _):
        assert server.wait(30) == 6
        assert server.stderr is not None
        said = server.stderr.read()
    assert "Traceback" not in said
    assert next(line for line in said.splitlines() if line.startswith("error: ")).count(str(database)) == 1


def test_command_line_allows_hosts_and_origins(tmp_path: Path) -> None:
    options = ["--allowed-host", "memory.example", "--allowed-host", "other.example"]
    with command_line(tmp_path, *options, "--allowed-origin", "https://app.example", **WITHOUT_MODEL) as (_, url):
        wait_for(url)
        for name, status in (("memory.example", 200), ("other.example", 200), ("evil.example", 421)):
            assert httpx2.get(f"{url}/healthz", headers={"Host": name}).status_code == status
        for page, status in (("https://app.example", 200), ("https://evil.example", 403)):
            assert httpx2.get(f"{url}/v1/stats", headers={"Origin": page}).status_code == status


async def test_stopped_server_keeps_every_acknowledged_write(tmp_path: Path) -> None:
    with process(tmp_path, **WITHOUT_MODEL) as (server, url):
        wait_for(url)
        async with RemoteManager(url, timeout=20) as remote:
            stored: list[int] = []

            async def write(name: int) -> None:
                for number in range(10_000):
                    try:
                        stored.append((await remote.add_memory(f"fact {name}-{number}")).id)
                    except MemorandaError:
                        return

            writers = [asyncio.create_task(write(name)) for name in range(8)]
            while len(stored) < 100:
                await asyncio.sleep(0.01)
            server.send_signal(signal.SIGTERM)
            await asyncio.gather(*writers)
        assert await asyncio.to_thread(server.wait, 30) == 0
    with MemoryManager(MemoryConfig(db_url=f"sqlite:///{tmp_path}/server.db", enable_vector_search=False)) as manager:
        assert manager.get_stats().long_term_entries >= len(stored) >= 100
        assert manager.check().ok
        for memory_id in stored:
            manager.get(memory_id)
    assert not list(tmp_path.glob("*-wal"))


async def test_small_answers_are_sent_at_once() -> None:
    # Otherwise the second part of each answer waits 40 ms, until the first one is acknowledged.
    (opened,) = open_sockets("127.0.0.1", 0)
    accepted: asyncio.Future[socket.socket] = asyncio.get_running_loop().create_future()

    class Accepting(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted.set_result(transport.get_extra_info("socket"))

    async with await asyncio.get_running_loop().create_server(Accepting, sock=opened):
        with socket.create_connection(opened.getsockname()):
            assert (await accepted).getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_slow_clients_do_not_block_others(tmp_path: Path) -> None:
    with serving(tmp_path, body_timeout=0.3) as url:
        host, port = urlsplit(url).hostname or "", urlsplit(url).port or 0
        lines = ["POST /v1/memories HTTP/1.1", f"Host: {host}", "Content-Type: application/json", "Content-Length: 99"]
        head = "\r\n".join([*lines, "", ""])
        stuck = [socket.create_connection((host, port)) for _ in range(50)]
        for connection in stuck:
            connection.sendall(head.encode() + b'{"content": ')
        started = time.perf_counter()
        assert httpx2.post(f"{url}/v1/memories", json={"content": "tea"}).status_code == 201
        assert time.perf_counter() - started < 5
        stuck[0].settimeout(10)
        assert stuck[0].recv(100).startswith(b"HTTP/1.1 408")
        for connection in stuck:
            connection.close()
        assert httpx2.get(f"{url}/v1/stats").json()["long_term_entries"] == 1


def _connected(url: str) -> socket.socket:
    connection = socket.create_connection((urlsplit(url).hostname or "", urlsplit(url).port or 0))
    connection.settimeout(15)
    return connection


def test_slow_headers_time_out_and_quick_ones_do_not(tmp_path: Path) -> None:
    with serving(tmp_path, body_timeout=0.3) as url, _connected(url) as slow, httpx2.Client() as quick:
        for letter in b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"x" * 1000:
            slow.sendall(bytes([letter]))
            assert quick.get(f"{url}/healthz").status_code == 200
            if select.select([slow], [], [], 0.02)[0]:
                break
        assert slow.recv(1000).startswith(b"HTTP/1.1 408")


def test_connections_without_a_request_are_closed_for_others(tmp_path: Path) -> None:
    config = ServerConfig(port=free_port(), allow_unauthenticated=True)
    app = create_app(config, f"sqlite:///{tmp_path}/server.db", embedder=HashEmbedder(8))
    with listening(app, config, most=20) as url, ExitStack() as stack:
        stuck = [stack.enter_context(_connected(url)) for _ in range(60)]
        assert httpx2.get(f"{url}/healthz", timeout=10).status_code == 200
        assert stuck[0].recv(100) == b""


def test_client_without_a_key_may_send_no_more_than_a_key(tmp_path: Path) -> None:
    with serving(tmp_path, allow_unauthenticated=False) as url:
        answer = httpx2.post(f"{url}/ui/login", content=b" " * 5_000, headers={"Content-Type": "application/json"})
        assert answer.status_code == 413


def _read_to_the_end(connection: socket.socket) -> None:
    while connection.recv(1 << 20):
        pass


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the system has no such limit")
def test_client_that_takes_nothing_is_cut_off(tmp_path: Path) -> None:
    with serving(tmp_path, body_timeout=0.5) as url, httpx2.Client(base_url=url) as client:
        for part in range(10):
            texts = [f"{part} {number} {'tea ' * 2500}" for number in range(100)]
            assert client.post("/v1/memories/batch", json={"contents": texts}).status_code == 201
        with _connected(url) as deaf:
            deaf.sendall(b"GET /v1/export HTTP/1.1\r\nHost: localhost\r\n\r\n")
            time.sleep(4)
            with pytest.raises(ConnectionError):
                _read_to_the_end(deaf)


def test_header_timeout_applies_to_second_request_on_a_connection(tmp_path: Path) -> None:
    with serving(tmp_path, body_timeout=0.3) as url, _connected(url) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while not answer.endswith(b"}"):
            answer += connection.recv(10_000)
        assert answer.startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET /hea")
        assert connection.recv(10_000).startswith(b"HTTP/1.1 408")


def test_too_large_content_length_is_answered_without_reading_the_body(tmp_path: Path) -> None:
    # With twenty seconds for each piece of a body, the answer in time shows that none was waited for.
    with serving(tmp_path) as url, _connected(url) as connection:
        lines = ["POST /v1/memories HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
        connection.sendall("\r\n".join([*lines, "Content-Length: 9000000", "", ""]).encode())
        answer = connection.recv(10_000)
        assert answer.startswith(b"HTTP/1.1 413")
        assert b"connection: close" in answer.lower()


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x00\x01\x02\r\n\r\n",
        b"POST /v1/recall HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_malformed_http_is_refused(tmp_path: Path, request_line: bytes) -> None:
    with serving(tmp_path, body_timeout=0.3) as url:
        with socket.create_connection((urlsplit(url).hostname or "", urlsplit(url).port or 0)) as connection:
            connection.settimeout(10)
            connection.sendall(request_line)
            assert b" 4" in connection.recv(100)[:16]
        assert httpx2.get(f"{url}/healthz").status_code == 200


def test_chunked_body_that_grows_too_large_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path, max_body=10_000) as url:
        sent = 0

        def endless() -> object:
            nonlocal sent
            for _ in range(100_000):
                sent += 1000
                yield b" " * 1000

        try:
            answer = httpx2.post(f"{url}/v1/recall", content=endless(), headers={"Content-Type": "application/json"})
            assert answer.status_code == 413
        except httpx2.WriteError:
            pass  # the server has answered and closed while we were still sending
        assert sent < 50_000_000
        assert httpx2.get(f"{url}/healthz").status_code == 200


def test_request_hidden_behind_two_lengths_is_not_answered(tmp_path: Path) -> None:
    hidden = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    lines = [
        "POST /v1/recall HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        f"Content-Length: {5 + len(hidden)}",
        "Transfer-Encoding: chunked",
        "",
        "0",
        "",
        "",
    ]
    with serving(tmp_path) as url, _connected(url) as connection:
        connection.sendall("\r\n".join(lines).encode() + hidden)
        answer = b""
        while part := connection.recv(10_000):
            answer += part
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1
