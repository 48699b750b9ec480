from __future__ import annotations

from pathlib import Path

import httpx2

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


def test_ui_asks_for_a_key_once_there_is_one(tmp_path: Path) -> None:
    with open_keys(f"sqlite:///{tmp_path}/server.db") as keys:
        key = keys.create("test", tenant="default", scopes=("read",)).key
    with dashboard(tmp_path) as url:
        assert httpx2.get(f"{url}/ui/session").json()["signed_in"] is False
        assert httpx2.post(f"{url}/ui/login", json={"key": key}).json()["scopes"] == ["read"]
