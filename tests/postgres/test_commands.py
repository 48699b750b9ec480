"""`memoranda copy` and `doctor` on a server, as the shell runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memoranda.cli.app import app
from memoranda.storage import open_store
from memoranda.storage.base import CopyStore
from memoranda.storage.meta import COPY_UNFINISHED, set_meta
from tests.postgres.server import OWNER, SERVICE, PostgresServer


def run(*arguments: str, code: int = 0) -> Any:
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == code, done.output + done.stderr
    return json.loads(done.stdout) if done.stdout else done.stderr


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EMBEDDING_MODEL", "fast")


def test_copy_moves_a_file_to_a_server_and_back(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = url.replace(f"{SERVICE}@", f"{OWNER}@")
    run("add", "The boat is blue", "The goat is white", "-u", "ada", "--db", "a.db")
    there = run("copy", "a.db", owner)
    assert there["rows"]["memories"] == 2
    assert run("copy", "a.db", owner)["written"] == 0
    monkeypatch.setenv("MEMORY_AUDIT_KEY", "a key for the tests of commands")
    listed = run("list", "-u", "ada", "--db", url)
    assert sorted(each["content"] for each in listed) == ["The boat is blue", "The goat is white"]
    run("forget", str(listed[0]["id"]), "-u", "ada", "--yes", "--db", url)
    run("copy", owner, "b.db")
    monkeypatch.delenv("MEMORY_AUDIT_KEY")
    assert len(run("list", "-u", "ada", "--db", "b.db")) == 1
    assert run("check", "--db", "b.db")["problems"] == []  # the key of the receipt came along
    assert "until they age out" in str(run("receipts", run("receipts", "--db", "b.db")[0]["id"], "--db", "b.db"))
    assert "no database" in run("copy", "missing.db", owner, code=3)


def test_doctor_checks_a_database_on_a_server(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_AUDIT_KEY", "a key for the tests of commands")
    run("add", "The boat is blue", "-u", "ada", "--db", url)
    findings = {each["check"]: each for each in run("doctor", "--db", url)}
    assert findings["server"]["detail"].startswith("PostgreSQL ")
    assert findings["database"]["state"] == "ok"
    assert "1 memory" in findings["database"]["detail"]


def find_problem(url: str) -> str:
    done = CliRunner().invoke(app, ["doctor", "--json", "--db", url])
    assert done.exit_code != 0
    [problem] = [each for each in json.loads(done.stdout) if each["state"] == "problem"]
    return str(problem["detail"])


def test_doctor_says_how_to_go_on_with_an_unfinished_copy(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_AUDIT_KEY", "a key for the tests of commands")
    store = open_store(url.replace(f"{SERVICE}@", f"{OWNER}@"))
    assert isinstance(store, CopyStore)
    store.begin_copy(lambda tx: set_meta(tx, COPY_UNFINISHED, ""))
    store.close()
    assert "memoranda copy" in find_problem(url)


def test_doctor_reports_a_role_that_sees_all_tenants(
    server: PostgresServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_AUDIT_KEY", "a key for the tests of commands")
    run("add", "The boat is blue", "-u", "ada", "--db", url)
    assert "--service-role" in find_problem(server.url(url.rpartition("/")[2], "postgres"))


def test_doctor_says_what_to_do_when_the_server_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_AUDIT_KEY", "a key for the tests of commands")
    assert "did not answer" in find_problem("postgresql://nobody@127.0.0.1:9/memories")
