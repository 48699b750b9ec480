from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoranda import ANY, Incompatible, Memory, MemoryManager, NotFound, create_session
from memoranda.settings import MemoryConfig
from memoranda.testing.fakes import HashEmbedder


def _open(path: Path, tenant: str = "default") -> MemoryManager:
    return MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder(32), tenant=tenant)


def _fill(manager: MemoryManager) -> None:
    """Add six memories: linked, from messages, saved under a key, and changed; also executions and a session."""
    tea = manager.add_memory("Ann likes tea", "semantic", "chat", {"topic": {"deep": [1, None, "ü"]}}, user="ann")
    milk = manager.add_memory("Ann likes milk", importance=0.9, user="ann", at="2024-02-29T12:00:00+05:30")
    manager.add_memory_association(tea.id, milk.id, "goes_with", 0.4, user="ann")
    manager.remember(
        [
            {"role": "user", "content": "I moved to Oslo", "name": "Ann"},
            {"role": "assistant", "content": "Oslo has cold winters"},
        ],
        user="ann",
        session="s1",
    )
    manager.save("writer", "plan", {"steps": [1, 2], "none": None}, "long_term")
    note = manager.add_memory("nobody's nose", "working")
    manager.update(note.id, "nobody's note")
    manager.set_retention_policy("writer", "persistent")
    manager.get_memory("writer").add({"role": "user", "content": "kept talk"})
    for number in range(3):
        record = {"status": "ok", "duration_ms": 1.5 * number, "output": {"deep": [number, None, "ü"]}}
        manager.save_execution_record("writer", record)
    with create_session("campaign", manager, {"for": "tea"}) as session:
        session.add_conversation_message("writer", "user", "hello")
        session.save_execution_record("writer", {"status": "failed"})


def _memories(manager: MemoryManager) -> list[dict[str, Any]]:
    hidden = ("id", "tenant")
    memories: list[Memory] = manager.list_memories(1000, user=ANY)
    return [{key: value for key, value in dict(memory).items() if key not in hidden} for memory in memories]


def _activity(manager: MemoryManager) -> list[Any]:
    """Return all execution records in order, and the ended sessions."""
    records = [dict(record) for record in manager.get_execution_records(limit=1000)]
    return [records, [dict(session) for session in manager.get_sessions()]]


def _copy(tmp_path: Path, tenant: str = "default") -> tuple[MemoryManager, MemoryManager, Path]:
    source, target = _open(tmp_path / "a.db"), _open(tmp_path / "b.db", tenant)
    _fill(source)
    path = tmp_path / "out.jsonl"
    source.export_jsonl(path)
    return source, target, path


@pytest.mark.parametrize("tenant", ["default", "other"])
def test_export_imports_without_loss(tmp_path: Path, tenant: str) -> None:
    source, target, path = _copy(tmp_path, tenant)
    with source, target:
        target.add_memory("here before", user="zoe")
        report = target.import_jsonl(path)
        assert (report.memories, report.known, report.messages, report.associations) == (6, 0, 3, 1)
        assert _memories(target)[1:] == _memories(source)
        tea = target.search_memories("tea", user="ann", limit=1)[0]
        [link] = target.get_related_memories(tea.id, user="ann")
        assert (link.content, link.relationship_type, link.strength) == ("Ann likes milk", "goes_with", 0.4)
        assert target.retrieve("writer", "plan", "long_term") == {"steps": [1, 2], "none": None}
        target.set_retention_policy("writer", "persistent")
        assert [message.content for message in target.get_memory("writer").get_messages()] == ["kept talk"]
        [note] = [memory for memory in target.list_memories() if memory.content == "nobody's note"]
        assert [version.content for version in target.history(note.id).versions] == ["nobody's nose"]
        assert (report.executions, report.sessions) == (4, 1)
        assert _activity(target) == _activity(source)
        assert target.verify_executions().ok
        assert target.check().ok


def test_import_into_another_tenant_leaves_the_first_unchanged(tmp_path: Path) -> None:
    source, target, path = _copy(tmp_path)
    with source, target:
        other = source.for_tenant("other")
        before = _activity(source)
        for expected in ((4, 1), (0, 0)):
            report = other.import_jsonl(path)
            assert (report.executions, report.sessions) == expected
        assert _activity(source) == before
        [session] = other.get_sessions()
        assert session.session_id != source.get_sessions()[0].session_id
        assert other.verify_executions().ok


def test_imported_executions_are_mirrored_and_redacted(tmp_path: Path) -> None:
    source, target, path = _copy(tmp_path)
    secret = "sk-" + "a1b2" * 10
    path.write_text(path.read_text("utf-8").replace('"deep":[0,null', f'"api_key":"{secret}","deep":[0,null'), "utf-8")
    config = MemoryConfig(db_url=f"sqlite:///{tmp_path}/c.db", execution_records_dir=str(tmp_path / "records"))
    with source, target, MemoryManager(config, embedder=HashEmbedder(32)) as mirrored:
        assert mirrored.import_jsonl(path).executions == 4
    [written] = (tmp_path / "records").rglob("*.jsonl")
    assert len(written.read_text("utf-8").splitlines()) == 4
    assert secret not in written.read_text("utf-8")


def test_importing_twice_adds_nothing(tmp_path: Path) -> None:
    source, target, path = _copy(tmp_path)
    with source, target:
        target.import_jsonl(path)
        before = _memories(target), _activity(target)
        again = target.import_jsonl(path)
        assert (again.executions, again.sessions) == (0, 0)
        assert (again.memories, again.known, again.messages, again.associations) == (0, 6, 0, 0)
        assert (_memories(target), _activity(target)) == before


def test_export_of_a_scope_contains_only_the_scope(tmp_path: Path) -> None:
    with _open(tmp_path / "a.db") as source:
        _fill(source)
        report = source.export_jsonl(tmp_path / "ann.jsonl", user="ann", session="s1")
        kinds = [json.loads(line)["kind"] for line in (tmp_path / "ann.jsonl").read_text("utf-8").splitlines()]
        assert report.memories == 2
        assert kinds == ["header", "message", "message", "memory", "memory", "end"]


def test_sessions_and_executions_are_exported_by_agent_or_session(tmp_path: Path) -> None:
    with _open(tmp_path / "a.db") as source:
        _fill(source)
        source.save_execution_record("reader", {"status": "ok"})
        [session] = source.get_sessions()

        def kinds(**scope: Any) -> dict[str, int]:
            source.export_jsonl(tmp_path / "some.jsonl", **scope)
            counts = json.loads((tmp_path / "some.jsonl").read_text("utf-8").splitlines()[-1])
            return {name: counts[name] for name in ("session", "execution")}

        assert kinds() == {"session": 1, "execution": 5}
        assert kinds(agent="reader") == {"session": 0, "execution": 1}
        assert kinds(session=session.session_id) == {"session": 1, "execution": 1}
        assert kinds(user="ann") == kinds(user=None) == {"session": 0, "execution": 0}


def _without_last(lines: list[str]) -> list[str]:
    return lines[:-1]


def _without_a_memory(lines: list[str]) -> list[str]:
    return [line for line in lines if '"Ann likes milk"' not in line]


def _bad_type(lines: list[str]) -> list[str]:
    return [line.replace('"semantic"', '"nonsense"') for line in lines]


def _not_json(lines: list[str]) -> list[str]:
    return [*lines[:3], "{", *lines[3:]]


def _bad_number(lines: list[str]) -> list[str]:
    return [line.replace('"version":2', '"version":"two"') for line in lines]


def _bad_role(lines: list[str]) -> list[str]:
    return [line.replace('"role":"assistant"', '"role":"root"') for line in lines]


def _bad_execution(lines: list[str]) -> list[str]:
    return [line.replace('"record":{', '"record":[{').replace('},"recorded', '}],"recorded') for line in lines]


def _bad_claim(lines: list[str]) -> list[str]:
    return [line.replace('"subject":', '"object":') for line in lines]


def _no_claim(lines: list[str]) -> list[str]:
    return [line.replace('"claims":[', '"claims":[7,') for line in lines]


def _claim_without_time_zone(lines: list[str]) -> list[str]:
    claimed = re.compile(r'"valid_from":"[^"]*",("valid_to":null,"holds")')
    return [claimed.sub(r'"valid_from":"2026-01-01T00:00:00",\1', line) for line in lines]


def _without_an_execution(lines: list[str]) -> list[str]:
    return [line for line in lines if '"status":"failed"' not in line]


def _newer_version(lines: list[str]) -> list[str]:
    return [lines[0].replace('"version":1', '"version":99'), *lines[1:]]


def _no_header(lines: list[str]) -> list[str]:
    return lines[1:]


@pytest.mark.parametrize(
    "damage",
    [
        _without_last,
        _without_a_memory,
        _bad_type,
        _bad_number,
        _bad_role,
        _bad_execution,
        _bad_claim,
        _no_claim,
        _claim_without_time_zone,
        _without_an_execution,
        _not_json,
        _newer_version,
        _no_header,
    ],
)
def test_damaged_export_is_rejected_before_anything_is_written(
    tmp_path: Path, damage: Callable[[list[str]], list[str]]
) -> None:
    source, target, path = _copy(tmp_path)
    path.write_text("\n".join(damage(path.read_text("utf-8").splitlines())) + "\n", "utf-8")
    with source, target:
        with pytest.raises(Incompatible, match=r"out\.jsonl"):
            target.import_jsonl(path)
        assert target.get_stats().long_term_entries == 0


def test_existing_value_keeps_its_content_and_history(tmp_path: Path) -> None:
    source, target, path = _copy(tmp_path)
    with source, target:
        source.save("writer", "plan", "their second plan", "long_term")
        source.export_jsonl(path)
        target.save("writer", "plan", "my plan", "long_term")
        report = target.import_jsonl(path)
        assert (report.memories, report.known) == (5, 1)
        assert target.retrieve("writer", "plan", "long_term") == "my plan"
        [kept] = [memory for memory in target.list_memories() if memory.key == "plan"]
        assert target.history(kept.id).versions == ()
        assert target.check().ok


def test_missing_file_is_named_in_the_error(tmp_path: Path) -> None:
    with _open(tmp_path / "a.db") as manager, pytest.raises(NotFound, match=r"nowhere\.jsonl"):
        manager.import_jsonl(tmp_path / "nowhere.jsonl")


def test_import_reports_progress(tmp_path: Path) -> None:
    source, target, path = _copy(tmp_path)
    seen: list[tuple[int, int]] = []
    with source, target:
        target.import_jsonl(path, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (6, 6)


def test_importing_an_export_into_its_own_store_adds_only_what_is_gone(tmp_path: Path) -> None:
    with MemoryManager(tmp_path / "m.db", embedder=HashEmbedder()) as manager:
        manager.remember([{"role": "user", "content": "I moved to Oslo."}, "Ben keeps bees."], user="ann")
        manager.add_memory("The sky is blue")
        changed = manager.add_memory("Grass is red")
        manager.save("writer", "draft", {"v": 1}, "long_term")
        exported = manager.export_jsonl(tmp_path / "export.jsonl")
        manager.update(changed.id, "Grass is green")
        report = manager.import_jsonl(tmp_path / "export.jsonl")
    assert (report.memories, report.known) == (1, exported.memories - 1)
