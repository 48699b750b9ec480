from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path

import pytest

from memoranda.errors import InvalidInput, InvalidType
from memoranda.manager.manager import MemoryManager, create_session
from memoranda.security.redaction import Redactor
from memoranda.settings import MemoryConfig
from memoranda.testing.fakes import HashEmbedder


def open_manager(folder: Path, **settings: object) -> MemoryManager:
    config = MemoryConfig(db_url=f"sqlite:///{folder}/b.db", **settings)  # type: ignore[arg-type]
    return MemoryManager(config, embedder=HashEmbedder(64))


def test_record_is_returned_as_saved(manager: MemoryManager) -> None:
    saved = {"status": "success", "input": {"q": "été"}, "output": [1, None], "duration_ms": 12, "workflow_id": "w"}
    record_id = manager.save_execution_record("analytics_agent", saved)
    (record,) = manager.get_execution_records("analytics_agent")
    assert (record.id, record.agent_id, record.status, record.duration_ms) == (
        record_id, "analytics_agent", "success", 12,
    )  # fmt: skip
    assert record.record == saved
    assert (record["output"], record["status"], record.workflow_id, record.session_id) == (
        [1, None],
        "success",
        "w",
        None,
    )
    assert "output" in record
    assert record.get("nothing") is None
    saved["output"] = "changed"
    assert manager.get_execution_records()[0]["output"] == [1, None]


def test_records_are_filtered_and_returned_newest_first(manager: MemoryManager) -> None:
    moments: list[datetime] = []
    for number in range(6):
        agent, status = f"agent {number % 2}", "success" if number % 3 else "failed"
        manager.save_execution_record(agent, {"n": number, "status": status})
        moments.append(manager.get_execution_records(limit=1)[0].recorded_at)

    def numbers(*args: object, **kwargs: object) -> list[int]:
        return [record["n"] for record in manager.get_execution_records(*args, **kwargs)]  # type: ignore[arg-type]

    assert numbers() == [5, 4, 3, 2, 1, 0]
    assert numbers("agent 1") == [5, 3, 1]
    assert numbers("agent 0", 1) == [4]
    assert numbers(status_filter="failed") == [3, 0]
    assert numbers("agent 1", status_filter="failed") == [3]
    assert numbers(after=moments[2], before=moments[4]) == [3, 2]
    assert numbers("nobody") == []


def test_pages_contain_every_record_once(manager: MemoryManager) -> None:
    for number in range(23):
        manager.save_execution_record("writer", {"n": number})
    seen: list[int] = []
    cursor = None
    while True:
        page = manager.get_execution_records(limit=5, cursor=cursor)
        seen += [record["n"] for record in page]
        # New records do not move the pages.
        manager.save_execution_record("writer", {"n": -1})
        if page.next_cursor is None:
            break
        cursor = page.next_cursor
    assert seen == list(reversed(range(23)))


def test_session_records_are_found_by_workflow_and_session(manager: MemoryManager) -> None:
    for workflow in ("one", "two"):
        with create_session(workflow, manager) as session:
            session.save_execution_record("writer", {"workflow_id": "claimed"})
    assert [record.workflow_id for record in manager.get_execution_records(workflow="one")] == ["one"]
    assert [record.workflow_id for record in manager.get_execution_records(session=session.session_id)] == ["two"]
    assert len(manager.get_execution_records(workflow="claimed")) == 0


def test_stats_count_statuses_and_summarize_durations(manager: MemoryManager) -> None:
    for number, status in enumerate(["success", "success", "failed", None]):
        manager.save_execution_record("writer", {"status": status, "duration_ms": 10 * (number + 1)})
    manager.save_execution_record("writer", {})
    stats = manager.get_execution_stats("writer")
    assert (stats.count, stats.by_status) == (5, {"success": 2, "failed": 1, "unknown": 2})
    assert (stats.timed, stats.total_ms, stats.mean_ms, stats.min_ms, stats.max_ms) == (4, 100, 25, 10, 40)
    assert (stats["median_ms"], stats.p95_ms) == (20, 30)
    assert manager.get_execution_stats("nobody").mean_ms is None


def test_secrets_are_never_written_to_disk(tmp_path: Path) -> None:
    secret = "sk-" + "a1B2c3D4" * 4
    with open_manager(tmp_path, execution_records_dir=str(tmp_path / "records")) as manager:
        manager.save_execution_record("writer", {"input": f"key {secret}", "password": "hunter2", "n": [secret]})
        record = manager.get_execution_records()[0]
    assert record.record == {"input": "key [redacted]", "password": "[redacted]", "n": ["[redacted]"]}
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or (secret.encode() not in path.read_bytes() and b"hunter2" not in path.read_bytes())


def test_redactor_can_be_replaced_or_turned_off(tmp_path: Path) -> None:
    config = MemoryConfig(db_url=f"sqlite:///{tmp_path}/b.db")
    with MemoryManager(config, embedder=HashEmbedder(64), redactor=Redactor([r"\d{4}"], [])) as manager:
        manager.save_execution_record("writer", {"password": "p", "pin": "1234"})
        assert manager.get_execution_records()[0].record == {"password": "p", "pin": "[redacted]"}
    with open_manager(tmp_path, redact=False) as manager:
        manager.save_execution_record("writer", {"password": "p"})
        assert manager.get_execution_records()[0].record == {"password": "p"}


def test_verify_spans_restarts_and_finds_an_edit(tmp_path: Path) -> None:
    for number in range(3):
        with open_manager(tmp_path) as manager:
            manager.save_execution_record("writer", {"n": number})
    with open_manager(tmp_path) as manager:
        report = manager.verify_executions()
        assert report
        assert (report.checked, manager.verify_executions(report.head).ok) == (3, True)
        store = manager._components.open().store
        store.write(lambda tx: tx.driver_sql("UPDATE executions SET record = '{\"n\":7}' WHERE number = 2"))
        report = manager.verify_executions()
        assert not report
        assert (report.first_bad, report.checked) == (2, 1)


def test_audit_key_from_settings_replaces_the_key_file(tmp_path: Path) -> None:
    with open_manager(tmp_path, audit_key="correct horse battery") as manager:
        manager.save_execution_record("writer", {})
        assert manager.verify_executions()
    assert not (tmp_path / "b.db.key").exists()
    with open_manager(tmp_path, audit_key="another horse battery") as manager:
        assert not manager.verify_executions()
    assert "horse" not in repr(MemoryConfig(audit_key="correct horse battery"))


@pytest.mark.parametrize(
    ("record", "error"),
    [
        (None, InvalidType),
        ("text", InvalidType),
        ([1], InvalidType),
        ({"when": object()}, InvalidType),
        ({"n": float("nan")}, InvalidInput),
        ({1: "one"}, InvalidInput),
        ({"duration_ms": -1}, InvalidInput),
        ({"duration_ms": "long"}, InvalidInput),
        ({"text": "x" * 1_100_000}, InvalidInput),
    ],
    ids=range(9),
)
def test_invalid_record_is_rejected_and_not_stored(
    manager: MemoryManager, record: object, error: type[Exception]
) -> None:
    with pytest.raises(error):
        manager.save_execution_record("writer", record)  # type: ignore[arg-type]
    assert manager.get_stats().executions == 0


@pytest.mark.parametrize(
    "arguments", [{"limit": 0}, {"cursor": "x"}, {"cursor": 3}, {"after": "2026-01-01"}, {"after": 5}]
)
def test_invalid_arguments_are_rejected(manager: MemoryManager, arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        manager.get_execution_records(**arguments)  # type: ignore[arg-type]


class TestExecutionMirror:
    def test_ordinary_agent_name_is_the_file_name(self, tmp_path: Path) -> None:
        folder = tmp_path / "records"
        with open_manager(tmp_path, execution_records_dir=str(folder)) as manager:
            ids = [manager.save_execution_record("strategy_agent", {"n": number}) for number in range(3)]
            manager.save_execution_record("content-agent.v2", {})
        assert sorted(path.name for path in folder.iterdir()) == ["content-agent.v2.jsonl", "strategy_agent.jsonl"]
        lines = [json.loads(text) for text in (folder / "strategy_agent.jsonl").read_text("utf-8").splitlines()]
        assert [(line["id"], line["record"]) for line in lines] == [(key, {"n": n}) for n, key in enumerate(ids)]

    @pytest.mark.parametrize(
        "agent", ["../../escape", "/etc/passwd", "..", ".", ".hidden", "a/b", "a\\b", "é" * 400, "a\nb"]
    )
    def test_agent_name_never_becomes_a_path(self, tmp_path: Path, agent: str) -> None:
        folder = tmp_path / "deep" / "records"
        with open_manager(tmp_path, execution_records_dir=str(folder)) as manager:
            manager.save_execution_record(agent, {"n": 1})
            manager.save_execution_record(f"{agent}x", {"n": 2})
        files = list(tmp_path.rglob("*.jsonl"))
        assert {path.parent for path in files} == {folder}
        assert len(files) == 2
        assert {json.loads(path.read_text("utf-8"))["agent_id"] for path in files} == {agent, f"{agent}x"}

    def test_each_tenant_has_its_own_folder(self, tmp_path: Path) -> None:
        folder = tmp_path / "records"
        with open_manager(tmp_path, execution_records_dir=str(folder)) as manager:
            manager.for_tenant("acme").save_execution_record("writer", {"n": 1})
        assert [path.relative_to(folder).as_posix() for path in folder.rglob("*.jsonl")] == ["acme/writer.jsonl"]

    def test_unwritable_folder_is_reported_and_the_record_is_stored(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("not a folder")
        with open_manager(tmp_path, execution_records_dir=str(tmp_path / "file" / "records")) as manager:
            assert manager.health().status == "ok"
            record_id = manager.save_execution_record("writer", {})
            assert manager.get_execution_records()[0].id == record_id
            health = manager.health()
            assert health.status == "degraded"
            assert "export_files" in health.problems[0]

    def test_files_are_readable_by_their_owner_only(self, tmp_path: Path) -> None:
        with open_manager(tmp_path, execution_records_dir=str(tmp_path / "records")) as manager:
            manager.save_execution_record("writer", {})
        assert os.stat(tmp_path / "records" / "writer.jsonl").st_mode & 0o077 == 0  # noqa: PTH116
