"""PgBouncer in transaction mode in front of the server of the tests: `make postgres POOLER=1` uses it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.ports import free_port
from tests.postgres.server import OWNER, SERVICE, PostgresServer

_SECONDS_TO_START = 10.0


@contextmanager
def run_pgbouncer(server: PostgresServer) -> Iterator[int]:
    """Yield the port of a pooler in transaction mode. One that does not start is a failure of the test."""
    program = shutil.which("pgbouncer")
    assert program is not None, "this run needs PgBouncer: apt-get install pgbouncer"
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="memoranda-pgbouncer-") as name:
        settings = _write_settings(Path(name), server, port)
        process = subprocess.Popen([program, settings], user=server.account, stderr=subprocess.DEVNULL, cwd="/")
        try:
            _wait_for(port)
            yield port
        finally:
            process.terminate()
            process.wait()


def _write_settings(folder: Path, server: PostgresServer, port: int) -> Path:
    folder.chmod(0o755)
    users, settings = folder / "users.txt", folder / "pgbouncer.ini"
    users.write_text("".join(f'"{role}" ""\n' for role in (SERVICE, OWNER)))
    settings.write_text(
        f"[databases]\n* = host=127.0.0.1 port={server.port}\n[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = trust\nauth_file = {users}\npool_mode = transaction\n"
        "default_pool_size = 8\nmax_client_conn = 400\n"
    )
    return settings


def _wait_for(port: int) -> None:
    until = time.monotonic() + _SECONDS_TO_START
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert time.monotonic() < until, "PgBouncer did not start"
            time.sleep(0.05)
