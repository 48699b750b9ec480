from __future__ import annotations

import json
from pathlib import Path

import pytest

from memoranda.errors import InvalidInput, NotFound
from memoranda.manager.manager import MemoryManager, create_session
from memoranda.settings import MemoryConfig
from memoranda.testing.fakes import HashEmbedder


def open_other(tmp_path: Path, **settings: object) -> MemoryManager:
    config = MemoryConfig(db_url=f"sqlite:///{tmp_path}/other.db", **settings)  # type: ignore[arg-type]
    return MemoryManager(config, embedder=HashEmbedder(64))


def fill(manager: MemoryManager) -> None:
    manager.save("strategy_agent", "best_practices", ["Personalize emails", "été"], "long_term")
    manager.save("strategy_agent", "nothing", None, "long_term")
    manager.save("../content agent", "best_practices", {"a": 1.5}, "long_term")
    manager.add_memory("not under a key", "long_term", agent="strategy_agent")
    with create_session("campaign", manager) as session:
        session.save_agent_memory("strategy_agent", "best_practices", "of the campaign", "long_term")
        session.save_execution_record("strategy_agent", {"status": "success", "duration_ms": 3, "n": 1})
    manager.save_execution_record("../content agent", {"n": 2})


def read_all(manager: MemoryManager) -> list[object]:
    records = [{**dict(record), "number": 0} for record in manager.get_execution_records()]
    keys = [("strategy_agent", "best_practices"), ("strategy_agent", "nothing"), ("../content agent", "best_practices")]
    values = [manager.retrieve(agent, key, "long_term") for agent, key in keys]
    with create_session("campaign", manager) as session:
        values.append(session.retrieve_agent_memory("strategy_agent", "best_practices", "long_term"))
    return [records, values]


def test_exported_files_import_without_loss(manager: MemoryManager, tmp_path: Path) -> None:
    fill(manager)
    report = manager.export_files(tmp_path / "out")
    assert (report.values, report.executions) == (4, 2)
    names = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.json*"))
    assert names == [
        "execution_records/%2E.%2Fcontent%20agent.jsonl",
        "execution_records/strategy_agent.jsonl",
        "long_term_memory.json",
    ]
    with open_other(tmp_path) as copy:
        report = copy.import_files(tmp_path / "out")
        assert (report.values, report.executions, report.known) == (4, 2, 0)
        assert read_all(copy) == read_all(manager)
        assert copy.verify_executions()
        assert "Personalize" in copy.search_similar("strategy_agent", "Personalize emails")[0].content
        copy.export_files(tmp_path / "again")
        for name in names:
            assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_importing_files_twice_changes_nothing(manager: MemoryManager, tmp_path: Path) -> None:
    fill(manager)
    manager.export_files(tmp_path / "out")
    before, stats = read_all(manager), manager.get_stats().long_term_entries
    report = manager.import_files(tmp_path / "out")
    assert (report.executions, report.known) == (0, 2)
    assert read_all(manager) == before
    assert manager.get_stats().long_term_entries == stats


def test_files_of_another_program_are_imported(manager: MemoryManager, tmp_path: Path) -> None:
    (tmp_path / "in" / "execution_records").mkdir(parents=True)
    values = {"strategy_agent": {"best_practices": ["A/B test"], "budget": 5}, "writer": {}}
    (tmp_path / "in" / "long_term_memory.json").write_text(json.dumps(values), "utf-8")
    lines = [
        {"record_id": "r2", "timestamp": "2026-01-02T00:00:00+00:00", "status": "failed", "input": "b"},
        {"record_id": "r1", "timestamp": "2026-01-01T00:00:00+00:00", "agent_id": "w", "input": "a", "token": "t"},
    ]
    text = "\n\n".join(map(json.dumps, lines))
    (tmp_path / "in" / "execution_records" / "content_agent.jsonl").write_text(text, "utf-8")
    report = manager.import_files(tmp_path / "in")
    assert (report.values, report.executions) == (2, 2)
    assert manager.retrieve("strategy_agent", "best_practices", "long_term") == ["A/B test"]
    second, first = manager.get_execution_records()
    assert (first.id, first.agent_id, first["input"], first["token"]) == ("r1", "w", "a", "[redacted]")
    assert (second.id, second.agent_id, second.status) == ("r2", "content_agent", "failed")


def test_importing_the_mirror_folder_does_not_append_to_it(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    mirror = str(folder / "execution_records")
    with open_other(tmp_path, execution_records_dir=mirror) as manager:
        manager.save_execution_record("writer", {"n": 1})
    (tmp_path / "other.db").unlink()
    (tmp_path / "other.db.key").unlink()
    with open_other(tmp_path, execution_records_dir=mirror) as manager:
        assert manager.import_files(folder).executions == 1
        assert [record["n"] for record in manager.get_execution_records("writer")] == [1]
    assert len((folder / "execution_records" / "writer.jsonl").read_text("utf-8").splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("long_term_memory.json", "{", "not JSON"),
        ("long_term_memory.json", "[]", "must be a JSON object"),
        ("long_term_memory.json", '{"agent": 5}', "agent"),
        ("long_term_memory.json", '{"version": 9, "entries": []}', "version 9"),
        ("long_term_memory.json", '{"version": 1, "entries": [{"key": ""}]}', "key is empty"),
        ("long_term_memory.json", '{"version": 1, "entries": 5}', "entries must be a list"),
        ("long_term_memory.json", '{"a":' * 5_000, "not JSON"),
        ("long_term_memory.json", '{"a": {"b": %s}}' % ("9" * 5_000), "not JSON"),
        ("execution_records/a.jsonl", "[" * 5_000, "not JSON"),
        ("execution_records/a.jsonl", '{"n": 1}\n{', "line 2"),
        ("execution_records/a.jsonl", '{"recorded_at": "soon"}', "recorded_at"),
    ],
    ids=range(11),
)
def test_damaged_file_is_named_and_nothing_is_imported(
    manager: MemoryManager, tmp_path: Path, name: str, content: str, message: str
) -> None:
    fill(manager)
    manager.export_files(tmp_path / "in")
    (tmp_path / "in" / name).write_text(content, "utf-8")
    with open_other(tmp_path) as copy:
        with pytest.raises(InvalidInput, match=message):
            copy.import_files(tmp_path / "in")
        stats = copy.get_stats()
        assert (stats.long_term_entries, stats.executions) == (0, 0)


def test_missing_folder_raises_not_found(manager: MemoryManager, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        manager.import_files(tmp_path / "nowhere")
