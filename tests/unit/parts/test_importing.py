from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect import ANY, Incompatible, Memory, MemoryManager, NotFound
from recollect.testing.hash_embedder import HashEmbedder


def _open(path: Path, tenant: str = "default") -> MemoryManager:
    return MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder(32), tenant=tenant)


def _fill(manager: MemoryManager) -> None:
    """Six memories of several kinds: linked, said, saved under a key, changed, kept as a conversation."""
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


def _facts(manager: MemoryManager) -> list[dict[str, Any]]:
    hidden = ("id", "tenant")
    memories: list[Memory] = manager.list_memories(1000, user=ANY)
    return [{key: value for key, value in dict(memory).items() if key not in hidden} for memory in memories]


def _copy(tmp_path: Path, tenant: str = "default") -> tuple[MemoryManager, MemoryManager, Path]:
    source, target = _open(tmp_path / "a.db"), _open(tmp_path / "b.db", tenant)
    _fill(source)
    path = tmp_path / "out.jsonl"
    source.export_jsonl(path)
    return source, target, path


@pytest.mark.parametrize("tenant", ["default", "other"])
def test_what_goes_out_comes_back_whole(tmp_path: Path, tenant: str) -> None:
    source, target, path = _copy(tmp_path, tenant)
    with source, target:
        target.add_memory("here before", user="zoe")
        report = target.import_jsonl(path)
        assert (report.memories, report.known, report.messages, report.associations) == (6, 0, 3, 1)
        assert _facts(target)[1:] == _facts(source)
        tea = target.search_memories("tea", user="ann", limit=1)[0]
        [link] = target.get_related_memories(tea.id, user="ann")
        assert (link.content, link.relationship_type, link.strength) == ("Ann likes milk", "goes_with", 0.4)
        assert target.retrieve("writer", "plan", "long_term") == {"steps": [1, 2], "none": None}
        target.set_retention_policy("writer", "persistent")
        assert [message.content for message in target.get_memory("writer").get_messages()] == ["kept talk"]
        [note] = [memory for memory in target.list_memories() if memory.content == "nobody's note"]
        assert [version.content for version in target.history(note.id).versions] == ["nobody's nose"]
        assert target.check().ok


def test_importing_twice_adds_nothing(tmp_path: Path) -> None:
    source, target, path = _copy(tmp_path)
    with source, target:
        target.import_jsonl(path)
        before = _facts(target)
        again = target.import_jsonl(path)
        assert (again.memories, again.known, again.messages, again.associations) == (0, 6, 0, 0)
        assert _facts(target) == before


def test_a_scope_can_be_exported_alone(tmp_path: Path) -> None:
    with _open(tmp_path / "a.db") as source:
        _fill(source)
        report = source.export_jsonl(tmp_path / "ann.jsonl", user="ann", session="s1")
        kinds = [json.loads(line)["kind"] for line in (tmp_path / "ann.jsonl").read_text("utf-8").splitlines()]
        assert report.memories == 2
        assert kinds == ["header", "message", "message", "memory", "memory", "end"]


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


def _newer(lines: list[str]) -> list[str]:
    return [lines[0].replace('"version":1', '"version":99'), *lines[1:]]


def _no_header(lines: list[str]) -> list[str]:
    return lines[1:]


@pytest.mark.parametrize(
    "spoil", [_without_last, _without_a_memory, _bad_type, _bad_number, _bad_role, _not_json, _newer, _no_header]
)
def test_a_spoiled_file_is_refused_before_anything_is_written(
    tmp_path: Path, spoil: Callable[[list[str]], list[str]]
) -> None:
    source, target, path = _copy(tmp_path)
    path.write_text("\n".join(spoil(path.read_text("utf-8").splitlines())) + "\n", "utf-8")
    with source, target:
        with pytest.raises(Incompatible, match=r"out\.jsonl"):
            target.import_jsonl(path)
        assert target.get_stats().long_term_entries == 0


def test_a_value_that_is_there_stays_with_its_own_past(tmp_path: Path) -> None:
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


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with _open(tmp_path / "a.db") as manager, pytest.raises(NotFound, match=r"nowhere\.jsonl"):
        manager.import_jsonl(tmp_path / "nowhere.jsonl")


def test_progress_is_told(tmp_path: Path) -> None:
    source, target, path = _copy(tmp_path)
    seen: list[tuple[int, int]] = []
    with source, target:
        target.import_jsonl(path, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (6, 6)
