from __future__ import annotations

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
