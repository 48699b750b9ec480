from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from memoranda.server.keys import open_keys
from tests.server.running import dashboard
from tests.unit.cli.conftest import Memoranda


def test_keys_are_created_listed_without_secret_rotated_and_revoked(memoranda: Memoranda) -> None:
    made = memoranda.json("keys", "create", "ci", "--scopes", "read", "--days", "1")
    secret = made["key"].rpartition(".")[2]
    listed = memoranda("keys", "list", "--json").stdout
    assert (made["info"]["id"] in listed, secret in listed) == (True, False)
    assert secret.encode() not in memoranda.database.read_bytes()
    rotated = memoranda("keys", "rotate", made["info"]["id"]).stdout
    assert rotated.splitlines()[-1].startswith("mmr.")
    assert memoranda("keys", "revoke", made["info"]["id"]).exit_code == 0
    assert memoranda("keys", "revoke", "nobody").exit_code == 3
    assert memoranda("keys", "create", "x", "--scopes", "everything").exit_code == 2


def test_ui_opens_the_dashboard_for_this_machine_without_a_key(tmp_path: Path) -> None:
    with dashboard(tmp_path) as url:
        session = httpx2.get(f"{url}/ui/session").json()
        assert (session["signed_in"], session["local"]) == (True, True)
        assert "Memoranda" in httpx2.get(url).text


def test_ui_needs_no_key_when_there_is_one(tmp_path: Path) -> None:
    with open_keys(f"sqlite:///{tmp_path}/server.db") as keys:
        keys.create("test", scopes=("read",))
    with dashboard(tmp_path) as url:
        session = httpx2.get(f"{url}/ui/session").json()
        assert (session["local"], session["scopes"]) == (True, ["admin", "read", "write"])
        proxied = httpx2.get(f"{url}/ui/session", headers={"X-Forwarded-For": "10.0.0.1"})
        assert proxied.json()["signed_in"] is False


@pytest.mark.parametrize("command", [["ui", "--no-browser"], ["ui"], ["serve"]])
def test_port_in_use_is_said_in_one_sentence_and_nothing_is_opened(
    memoranda: Memoranda, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    visited: list[str] = []
    monkeypatch.setattr("webbrowser.open", visited.append)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = memoranda(*command, "--port", str(port))
    assert done.exit_code == 4
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: another program listens on port {port} of 127.0.0.1: stop it")
    assert done.stderr.count("\n") == 1
    assert visited == []


@pytest.mark.parametrize("command", ["ui", "serve"])
@pytest.mark.parametrize("port", ["99999", "-1"])
def test_port_that_there_is_not_is_refused(memoranda: Memoranda, command: str, port: str) -> None:
    done = memoranda(command, f"--port={port}")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "give at least 0 and at most 65535" in done.stderr


def test_address_of_another_machine_is_refused(memoranda: Memoranda) -> None:
    done = memoranda("serve", "--host", "192.0.2.1", "--allow-unauthenticated")
    assert done.exit_code == 2
    assert "this machine has no address '192.0.2.1'" in done.stderr


def test_ui_creates_no_file_that_was_named(memoranda: Memoranda, tmp_path: Path) -> None:
    done = memoranda("ui", "--db", "typo.db", "--no-browser")
    assert done.exit_code == 3
    assert "no database" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_ui_opens_the_browser_when_it_answers(tmp_path: Path) -> None:
    script = (
        "import os, signal, urllib.request, webbrowser\n"
        "def visit(url):\n"
        "    print('visited', urllib.request.urlopen(url + 'healthz').status, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "webbrowser.open = visit\n"
        "from memoranda.cli.app import main\n"
        "main()\n"
    )
    variables = os.environ | {"MEMORY_DB_URL": f"sqlite:///{tmp_path}/m.db"}
    done = subprocess.run(
        [sys.executable, "-c", script, "ui", "--port", "0"], env=variables, capture_output=True, text=True, timeout=60
    )
    assert re.fullmatch(r"The dashboard is at http://127.0.0.1:[1-9]\d*/ \(.*\)\nvisited 200\n", done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
