from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memoranda import MemoryManager, create_session
from memoranda.cli.app import app
from tests.driver import sqlite3
from tests.unit.cli.conftest import Memoranda


def _add(memoranda: Memoranda, *texts: str, user: str = "ann") -> list[int]:
    return [outcome["memory"]["id"] for outcome in memoranda.json("add", *texts, "-u", user)]


def test_init_creates_database_and_shows_status(memoranda: Memoranda) -> None:
    health = memoranda.json("init")
    assert (health["status"], health["database"]) == ("ok", str(memoranda.database))
    assert memoranda.database.exists()
    assert "static" in memoranda("init").stdout


def test_command_is_found_by_the_name_of_the_library(memoranda: Memoranda) -> None:
    [outcome] = memoranda.json("remember", "Ann likes green tea", "-u", "ann")
    assert outcome["status"] == "stored"


def test_db_option_is_relative_to_current_folder(memoranda: Memoranda, tmp_path: Path) -> None:
    assert memoranda.json("init", "--db", "other.db")["database"] == str(tmp_path / "other.db")


def test_added_memories_are_found_shown_and_listed(memoranda: Memoranda) -> None:
    [tea, oslo] = _add(memoranda, "Ann likes green tea", "Bob moved to Oslo")
    assert memoranda.json("search", "tea", "-u", "ann", "-n", "1")[0]["memory"]["content"] == "Ann likes green tea"
    found = memoranda.json("recall", "Who moved?", "-u", "ann", "--explain")
    assert found["hits"][0]["memory"]["id"] == oslo
    assert found["explanation"]["considered"] == 2
    assert memoranda.json("show", str(tea), "-u", "ann")["memory"]["user"] == "ann"
    assert [memory["id"] for memory in memoranda.json("list", "-u", "ann")] == [oslo, tea]
    assert [memory["id"] for memory in memoranda.json("list", "-u", "ann", "--after", str(oslo))] == [tea]
    assert [memory["id"] for memory in memoranda.json("list", "-u", "ann", "--offset", "1")] == [tea]
    oldest = memoranda.json("list", "-u", "ann", "--oldest-first", "--after", str(tea))
    assert [memory["id"] for memory in oldest] == [oslo]
    for command in (
        ["search", "tea"],
        ["recall", "who?", "--explain"],
        ["show", str(tea)],
        ["list"],
        ["context", "tea"],
    ):
        done = memoranda(*command, "-u", "ann")
        assert done.exit_code == 0
        assert "Ann likes green tea" in done.stdout, command


def test_memories_of_one_user_are_hidden_from_other_scopes(memoranda: Memoranda) -> None:
    [tea] = _add(memoranda, "Ann likes tea")
    for other in ([], ["-u", "bob"], ["-u", "ann", "-a", "spy"], ["-u", "ann", "--tenant", "other"]):
        assert memoranda.json("list", *other) == []
        assert memoranda("show", str(tea), *other).exit_code == 3
    assert len(memoranda.json("list", "--all-users")) == 1


def test_add_reads_lines_from_stdin(memoranda: Memoranda) -> None:
    outcomes = memoranda.json("add", "-", stdin="one fact\n\n another fact \n")
    assert [outcome["memory"]["content"] for outcome in outcomes] == ["one fact", "another fact"]


def test_add_and_edit_set_all_fields(memoranda: Memoranda) -> None:
    options = ["--type", "procedural", "--importance", "0.9", "--source", "manual", "--metadata", '{"topic": "tea"}']
    [outcome] = memoranda.json("add", "Boil water", *options, "--at", "2024-05-01T12:00:00+02:00")
    memory = outcome["memory"]
    assert (memory["type"], memory["importance"], memory["source"]) == ("procedural", 0.9, "manual")
    assert (memory["metadata"], memory["valid_from"]) == ({"topic": "tea"}, "2024-05-01T10:00:00+00:00")
    changed = memoranda.json("edit", str(memory["id"]), "--content", "Boil fresh water", "--importance", "0.5")
    assert (changed["content"], changed["importance"], changed["type"]) == ("Boil fresh water", 0.5, "procedural")


def test_forget_has_dry_run_and_requires_confirmation(memoranda: Memoranda) -> None:
    ids = _add(memoranda, "tea with milk", "milk", "bread")
    named = [str(memory_id) for memory_id in ids[:2]]
    dry = memoranda.json("forget", *named, "-u", "ann", "--dry-run")
    assert (dry["dry_run"], dry["ids"]) == (True, ids[:2])
    refused = memoranda("forget", *named, "-u", "ann")
    assert (refused.exit_code, "--yes" in refused.stderr) == (2, True)
    assert memoranda("forget", *named, "999", "-u", "ann", "--yes").exit_code == 3
    assert memoranda("forget", "--yes").exit_code == 2
    assert len(memoranda.json("list", "-u", "ann")) == 3
    assert memoranda("forget", "--containing", "milk", "-u", "ann", "--yes").stdout.endswith(": complete\n")
    assert [memory["content"] for memory in memoranda.json("list", "-u", "ann")] == ["bread"]
    assert b"tea with milk" not in memoranda.database.read_bytes()


def test_receipts_are_listed_shown_and_applied_to_a_restored_backup(memoranda: Memoranda, tmp_path: Path) -> None:
    _add(memoranda, "I live in Rome.", "I like tea.")
    assert memoranda("backup", "old.db").exit_code == 0
    receipt = memoranda.json("forget", "--containing", "Rome", "-u", "ann", "--yes")
    listed = memoranda("receipts", "-u", "ann", "--json")
    assert [each["id"] for each in json.loads(listed.stdout)] == [receipt["id"]]
    assert memoranda.json("receipts", "-u", "bob") == []
    shown = memoranda("receipts", receipt["id"])
    assert "signature is right" in shown.stdout
    assert "ann" not in listed.stdout
    (tmp_path / "receipts.json").write_text(listed.stdout, encoding="utf-8")
    assert memoranda("restore", "old.db", "--force").exit_code == 0
    assert memoranda("forget", "--receipts", "receipts.json").exit_code == 2
    again = memoranda.json("forget", "--again", "--receipts", "receipts.json", "--yes")
    assert again["ids"] == receipt["ids"]
    assert [memory["content"] for memory in memoranda.json("list", "-u", "ann")] == ["I like tea."]
    assert "nothing that was forgotten" in memoranda("forget", "--again", "--yes").stdout
    (tmp_path / "wrong.json").write_text("[3]", encoding="utf-8")
    assert memoranda("forget", "--again", "--receipts", "wrong.json", "--yes").exit_code == 2


def test_history_shows_claims_and_superseding_memory(memoranda: Memoranda) -> None:
    [old] = _add(memoranda, "I live in Berlin.")
    [new] = _add(memoranda, "I moved to Paris.")
    shown = memoranda("history", str(old), "-u", "ann").stdout
    assert "city: Berlin" in shown
    assert "superseded by" in shown
    assert "I moved to Paris." in shown
    assert "superseded by" in memoranda("show", str(old), "-u", "ann").stdout
    assert "supersedes" in memoranda("show", str(new), "-u", "ann").stdout


def test_history_shows_earlier_versions(memoranda: Memoranda) -> None:
    [memory_id] = _add(memoranda, "Ann likes tea")
    memoranda.json("edit", str(memory_id), "--content", "Ann likes coffee", "-u", "ann")
    past = memoranda.json("history", str(memory_id), "-u", "ann")
    assert [version["content"] for version in past["versions"]] == ["Ann likes tea"]
    assert "Ann likes coffee" in memoranda("history", str(memory_id), "-u", "ann").stdout


def test_why_explains_hits_and_misses(memoranda: Memoranda) -> None:
    [tea, oslo] = _add(memoranda, "Ann likes green tea", "Bob moved to Oslo")
    explained = memoranda.json("why", "green tea", str(tea), "-u", "ann")
    assert explained["position"] == 1
    assert {each["arm"] for each in explained["hit"]["why"]} >= {"lexical", "dense"}
    assert "its words" in memoranda("why", "green tea", str(tea), "-u", "ann").stdout
    reason = memoranda.json("why", "green tea", str(oslo), "-u", "ann", "-n", "1")
    assert "its meaning" in memoranda("why", "green tea in Oslo", str(oslo), "-u", "ann", "-n", "1").stdout
    assert (reason["id"], reason["rank"]) == (oslo, 2)
    assert "no memory 99" in memoranda("why", "green tea", "99", "-u", "ann").stdout


def test_replay_repeats_a_past_recall(memoranda: Memoranda) -> None:
    [tea, oslo] = _add(memoranda, "Ann likes green tea", "Bob moved to Oslo")
    found = memoranda.json("recall", "green tea", "-u", "ann")
    assert memoranda("forget", str(oslo), "-u", "ann", "--yes").exit_code == 0
    past = memoranda.json("replay", found["id"], "-u", "ann")
    assert [hit["memory"]["id"] for hit in past["recall"]["hits"]] == [tea]
    assert past["erased"] == [{"position": 2, "id": oslo}]
    assert past["complete"] is False
    shown = memoranda("replay", found["id"], "-u", "ann").stdout
    assert "Ann likes green tea" in shown
    assert f"memory {oslo} was deleted since" in shown
    assert found["id"] in shown


def test_control_characters_in_stored_text_are_replaced(memoranda: Memoranda) -> None:
    _add(memoranda, "tea \x1b[2J\x1b]0;owned\x07 [red]not markup[/red] \u202eright to left")
    for command in (["list"], ["search", "tea"], ["show", "1"]):
        shown = memoranda(*command, "-u", "ann").stdout
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "\u202e" not in shown
        assert "[red]not markup[/red]" in shown.replace("\n", "")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["add"], 2),
        (["add", "  "], 2),
        (["add", "tea", "--type", "gossip"], 2),
        (["add", "tea", "--metadata", "{"], 2),
        (["add", "tea", "--metadata", "[1]"], 2),
        (["add", "tea", "--importance", "NaN"], 2),
        (["search", "tea", "-n", "0"], 2),
        (["recall", "tea", "--now", "soon"], 2),
        (["show", "7"], 3),
        (["edit", "7", "--content", "x"], 3),
        (["restore", "nowhere.db"], 3),
        (["import", "nowhere.jsonl"], 3),
        (["chat", "import", "nowhere.zip"], 3),
        (["search", "tea", "--db", "mysql://x/y"], 2),
        (["search", "tea", "--db", "/proc/nope/m.db"], 3),
        (["add", "tea", "--db", "/proc/nope/m.db"], 4),
        (["recall", "tea", "--as-of", "the day after never"], 2),
        (["add", "tea", "--at", "someday"], 2),
        (["history", "tea"], 3),
        (["no-such-command"], 2),
    ],
)
def test_error_is_one_line_with_specific_exit_code(memoranda: Memoranda, command: list[str], code: int) -> None:
    memoranda.json("init")
    done = memoranda(*command)
    assert done.exit_code == code, done.stderr
    if done.stderr.startswith("error:"):
        assert done.stderr.count("\n") == 1


def test_file_that_is_not_a_database_exits_with_damaged_code(memoranda: Memoranda, tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"not a database at all" * 200)
    assert memoranda("list", "--db", str(tmp_path / "x.db")).exit_code == 6


def test_documents_are_added_listed_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_ENABLE_VECTOR_SEARCH", "false")
    (tmp_path / "a.md").write_text("# Tea\nTea is hot.\n# Milk\nMilk is cold.", "utf-8")
    store = ["--db", str(tmp_path / "a.db"), "--json"]

    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["knowledge", *arguments, *store])
        return done.exit_code, done.stdout

    status, answer = run("add", str(tmp_path / "a.md"), "--version", "2")
    assert (status, json.loads(answer)[0]["added"]) == (0, 2)
    status, answer = run("list")
    assert [(each["source"], each["version"], each["chunks"]) for each in json.loads(answer)] == [("a.md", "2", 2)]
    assert run("remove", "a.md")[0] == 0
    assert run("remove", "a.md")[0] != 0


def test_executions_are_listed_counted_and_verified(memoranda: Memoranda) -> None:
    with MemoryManager(f"sqlite:///{memoranda.database}") as manager:
        manager.save_execution_record("writer", {"status": "success", "workflow_id": "w", "duration_ms": 5})
        manager.save_execution_record("editor", {"status": "failed", "workflow_id": "w"})
    assert [each["agent_id"] for each in memoranda.json("executions", "list")["records"]] == ["editor", "writer"]
    assert len(memoranda.json("executions", "list", "-a", "writer", "--status", "success")["records"]) == 1
    assert memoranda.json("executions", "stats")["by_status"] == {"success": 1, "failed": 1}
    assert memoranda("executions", "verify").exit_code == 0
    connection = sqlite3.connect(memoranda.database)
    connection.execute("UPDATE executions SET status = 'success'")
    connection.commit()
    connection.close()
    assert memoranda("executions", "verify").exit_code == 6
    for command in (["list"], ["stats"]):
        assert memoranda("executions", *command).exit_code == 0


def test_ended_sessions_are_listed(memoranda: Memoranda) -> None:
    with (
        MemoryManager(f"sqlite:///{memoranda.database}") as manager,
        create_session("plan", manager) as session,
    ):
        session.add_conversation_message("writer", "assistant", "done")
    assert [each["workflow_id"] for each in memoranda.json("session", "list")] == ["plan"]
    assert "plan" in memoranda("session", "list", "-w", "plan").stdout
    assert memoranda.json("session", "show", "plan") == []


def test_edit_of_an_outdated_version_changes_nothing(memoranda: Memoranda) -> None:
    [tea] = _add(memoranda, "Ann likes tea")
    edit = ["edit", str(tea), "-u", "ann", "--expected-version", "1", "--content"]
    assert memoranda.json(*edit, "Ann likes milk")["version"] == 2
    late = memoranda(*edit, "Ann likes water")
    assert late.exit_code == 5
    assert "version 2, not 1" in late.stderr
    assert memoranda.json("show", str(tea), "-u", "ann")["memory"]["content"] == "Ann likes milk"


def test_dry_run_of_forget_says_what_would_be_erased(memoranda: Memoranda) -> None:
    _add(memoranda, "Ann likes tea")
    shown = memoranda("forget", "--dry-run", "-u", "ann").stdout
    assert "would be erased" in shown.splitlines()[2]
    assert "pending" not in shown


def test_memory_of_a_user_is_not_found_without_one_and_the_options_are_named(memoranda: Memoranda) -> None:
    memoranda("add", "Ann likes tea", "--user", "ann", "--db", "x.db")
    for command in (["show", "1"], ["edit", "1", "--importance", "0.9"], ["release", "1"]):
        done = memoranda(*command, "--db", "x.db")
        assert done.exit_code == 3
        assert "--user" in done.stderr
        assert "--all-users" in done.stderr
    assert "--all-users" not in memoranda("show", "7", "--user", "ann", "--db", "x.db").stderr
    assert "no database" in memoranda("show", "1", "--db", "missing.db").stderr


def test_list_marks_what_takes_no_part_in_recall(memoranda: Memoranda) -> None:
    memoranda("add", "Ann likes tea", "Ann lives in Oslo", "--user", "ann", "--db", "x.db")
    with MemoryManager("x.db") as manager:
        manager.archive(1, user="ann")
        manager.pin(2, user="ann")
    shown = memoranda("list", "--user", "ann", "--db", "x.db").stdout
    assert "(archived)" in shown
    assert "(pinned)" in shown


def test_edit_says_what_it_changed(memoranda: Memoranda) -> None:
    memoranda("add", "Ann likes tea", "--db", "x.db")
    assert (
        "changed to version 2, importance 0.9" in memoranda("edit", "1", "--importance", "0.9", "--db", "x.db").stdout
    )


def test_dry_run_of_forget_says_nothing_is_erased(memoranda: Memoranda) -> None:
    memoranda("add", "Ann likes tea", "--db", "x.db")
    lines = memoranda("forget", "1", "--dry-run", "--db", "x.db").stdout.splitlines()
    assert not [line for line in lines if "erased" in line and "would be erased" not in line]
    assert not [line for line in lines if " 0 " in f"{line} " and "would be erased" in line and line.split()[-1] == "0"]


def test_empty_question_is_refused(memoranda: Memoranda) -> None:
    memoranda("add", "Ann likes tea", "--db", "x.db")
    for command in ("recall", "search", "context"):
        assert memoranda(command, " ", "--db", "x.db").exit_code == 2


def test_session_of_an_unknown_workflow_is_not_found(memoranda: Memoranda) -> None:
    memoranda("init", "--db", "x.db")
    assert memoranda("session", "show", "nope", "--db", "x.db").exit_code == 3


def test_agents_without_a_user_name_the_users(memoranda: Memoranda) -> None:
    memoranda("add", "Ann likes tea", "--user", "ann", "--agent", "helper", "--db", "x.db")
    for command in (["agents"], ["sessions"]):
        assert "ann (1)" in memoranda(*command, "--db", "x.db").stderr


def test_new_key_is_labelled_and_said_to_be_shown_once(memoranda: Memoranda) -> None:
    lines = memoranda("keys", "create", "shop", "--db", "x.db").stdout.splitlines()
    assert "shown only this once" in lines[-2]
    assert " " not in lines[-1]


def test_shares_of_why_make_the_whole_score(memoranda: Memoranda) -> None:
    memoranda("add", "Ann likes tea", "Ann lives in Oslo", "--db", "x.db")
    shown = memoranda("why", "What does Ann like?", "1", "--db", "x.db").stdout
    shares = [int(share) for share in re.findall(r"(\d+)%", shown)]
    assert 98 <= sum(shares) <= 102


def test_argument_that_is_no_number_says_so_in_plain_words(memoranda: Memoranda) -> None:
    memoranda("init")
    shown = " ".join(memoranda("show", "abc").stderr.split())
    assert "whole number" in shown
    assert "parse string" not in shown
