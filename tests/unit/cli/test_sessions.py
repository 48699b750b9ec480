from __future__ import annotations

import sqlite3

from memoranda import MemoryManager, create_session
from tests.unit.cli.conftest import Memoranda


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
