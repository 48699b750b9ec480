from __future__ import annotations

import pytest

from tests.unit.cli.conftest import Memoranda


def test_items_are_put_shown_listed_and_deleted(memoranda: Memoranda) -> None:
    memoranda("items", "put", "users/ann", "drink", '{"text": "green tea", "year": 2024}')
    memoranda("items", "put", "users/ann", "car", "a red Volvo", "--no-index", "-u", "ann")
    memoranda("items", "put", "users/bo", "car", "a blue Fiat", "--ttl", "60")
    shown = memoranda.json("items", "show", "users/ann", "drink")
    assert memoranda.json("items", "get", "users/ann", "drink") == shown
    assert (shown["namespace"], shown["key"], shown["value"]["year"]) == (["users", "ann"], "drink", 2024)
    assert [item["key"] for item in memoranda.json("items", "list", "users")] == ["car", "drink"]
    assert memoranda.json("items", "list", "users", "-q", "tea")[0]["key"] == "drink"
    assert len(memoranda.json("items", "list", "--where", '{"year": {"gte": 2024}}')) == 1
    assert [item["value"] for item in memoranda.json("items", "list", "-u", "ann")] == ["a red Volvo"]
    assert [each["count"] for each in memoranda.json("items", "namespaces", "users")] == [1, 1]
    assert "green tea" in memoranda("items", "list").stdout
    assert memoranda.json("items", "delete", "users/ann", "drink") == {"deleted": 1}
    assert memoranda.json("items", "list", "users/ann") == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("items", "show", "users", "nothing"),
        ("items", "delete", "users", "nothing"),
        ("items", "list", "--where", "[1]"),
        ("items", "put", "a//b", "k", "1"),
        ("items", "put", "a", "k", "{bad"),
        ("items", "put", "a", "k", ' ["bad"'),
        ("items", "put", "a", "k", "1", "--index", "x", "--no-index"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(memoranda: Memoranda, arguments: tuple[str, ...]) -> None:
    memoranda("init")
    done = memoranda(*arguments)
    assert done.exit_code != 0
    assert "error:" in done.output


def test_agents_and_sessions_with_memories_are_listed(memoranda: Memoranda) -> None:
    memoranda("add", "Ann plays chess", "-a", "coach", "-s", "monday")
    memoranda("add", "Ann plays go", "-a", "host", "-s", "monday", "-u", "ann")
    assert [each["name"] for each in memoranda.json("agents")] == ["coach"]
    assert [each["name"] for each in memoranda.json("agents", "--all-users")] == ["coach", "host"]
    assert memoranda.json("agents", "--all-users", "--offset", "1")[0]["name"] == "host"
    sessions = memoranda.json("sessions", "--all-users")
    assert [(each["name"], each["memories"]) for each in sessions] == [("monday", 2)]


def test_names_with_a_slash_are_given_and_shown_as_json(memoranda: Memoranda) -> None:
    memoranda("items", "put", '["a/b", "c"]', "k", "1")
    memoranda("items", "put", "a/b/c", "k", "2")
    assert memoranda.json("items", "show", '["a/b", "c"]', "k")["value"] == 1
    assert memoranda.json("items", "show", "a/b/c", "k")["value"] == 2
    assert '["a/b", "c"]' in memoranda("items", "namespaces").output
    assert [each["value"] for each in memoranda.json("items", "list", '["a/b"]')] == [1]
    memoranda("items", "delete", '["a/b", "c"]', "k")
    assert [each["namespace"] for each in memoranda.json("items", "namespaces")] == [["a", "b", "c"]]
