from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError

from memoranda import MemoryManager, aio
from memoranda.errors import InvalidType
from memoranda.integrations.anthropic import AsyncMemorandaMemoryTool, MemorandaMemoryTool
from memoranda.testing.fakes import HashEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(64)) as manager:
        yield manager


@pytest.fixture
def tool(memory: MemoryManager) -> MemorandaMemoryTool:
    return MemorandaMemoryTool(memory, user="ann")


def _create(tool: MemorandaMemoryTool, path: str, text: str = "x") -> Any:
    return tool.call({"command": "create", "path": path, "file_text": text})


def _view(tool: MemorandaMemoryTool, path: str) -> Any:
    return tool.call({"command": "view", "path": path})


def test_notes_are_recalled_by_their_owner_only(memory: MemoryManager, tool: MemorandaMemoryTool) -> None:
    _create(tool, "/memories/ann.md", "Ann is allergic to peanuts.")
    assert "peanuts" in memory.recall("What is Ann allergic to?", user="ann")[0].content
    assert list(memory.recall("What is Ann allergic to?", user="bob")) == []
    with pytest.raises(ToolError, match="does not exist"):
        _view(MemorandaMemoryTool(memory, user="bob"), "/memories/ann.md")


def test_folder_shows_two_levels_with_sizes_and_without_hidden_files(tool: MemorandaMemoryTool) -> None:
    for path, size in (("a.md", 5), ("b/c.md", 1536), ("b/d/e.md", 2048), (".secret", 9)):
        _create(tool, f"/memories/{path}", "x" * size)
    assert _view(tool, "/memories").splitlines()[1:] == [
        "3.5K\t/memories",
        "5B\t/memories/a.md",
        "3.5K\t/memories/b/",
        "1.5K\t/memories/b/c.md",
        "2K\t/memories/b/d/",
    ]
    assert _view(tool, "/memories/b/d").splitlines()[-1] == "2K\t/memories/b/d/e.md"


def test_folder_is_renamed_and_deleted_with_everything_in_it(tool: MemorandaMemoryTool) -> None:
    for path in ("a/b.md", "a/c/d.md", "ab.md"):
        _create(tool, f"/memories/{path}", path)
    tool.call({"command": "rename", "old_path": "/memories/a", "new_path": "/memories/z/y"})
    assert "a/c/d.md" in _view(tool, "/memories/z/y/c/d.md")
    tool.call({"command": "delete", "path": "/memories/z"})
    assert _view(tool, "/memories").splitlines()[2:] == ["5B\t/memories/ab.md"]
    tool.clear_all_memory()
    assert _view(tool, "/memories").splitlines()[1:] == ["0B\t/memories"]


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ({"command": "create", "path": "/memoriesx/a", "file_text": ""}, "must start with /memories"),
        ({"command": "create", "path": "/memories/../x", "file_text": ""}, "would escape"),
        ({"command": "create", "path": "/memories/x/../../../etc", "file_text": ""}, "would escape"),
        ({"command": "create", "path": "/memories/f/below", "file_text": ""}, "is a file"),
        ({"command": "create", "path": "/memories/d", "file_text": ""}, "already exists"),
        ({"command": "create", "path": f"/memories/{'x' * 600}", "file_text": ""}, "shorten it"),
        ({"command": "create", "path": "/memories/a\0b", "file_text": ""}, "NUL"),
        ({"command": "str_replace", "path": "/memories/d", "old_str": "a", "new_str": "b"}, "is not a file"),
        ({"command": "insert", "path": "/memories/d", "insert_line": 0, "insert_text": "b"}, "is not a file"),
        ({"command": "rename", "old_path": "/memories/d", "new_path": "/memories/d/e"}, "is inside of"),
        ({"command": "rename", "old_path": "/memories/none", "new_path": "/memories/x"}, "does not exist"),
        ({"command": "delete", "path": "/memories/none"}, "does not exist"),
        ({"command": "view"}, "view is incomplete or wrong. path must be a text, not null"),
        ({"command": "view", "path": 5}, "view is incomplete or wrong. path must be a text, not 5"),
        ({"command": "create", "path": "/memories/new"}, "create is incomplete or wrong. file_text"),
        ({"command": "insert", "path": "/memories/f", "insert_line": "x", "insert_text": ""}, "insert_line"),
        ({"command": "rename", "old_path": "/memories/f"}, "new_path"),
    ],
)
def test_wrong_command_is_an_error_for_the_model_and_changes_nothing(
    tool: MemorandaMemoryTool, command: dict[str, Any], problem: str
) -> None:
    _create(tool, "/memories/f", "file")
    _create(tool, "/memories/d/file", "below")
    before = _view(tool, "/memories")
    with pytest.raises(ToolError, match=problem):
        tool.call(command)
    assert _view(tool, "/memories") == before


def test_file_of_any_length_is_kept_and_its_parts_go_with_it(memory: MemoryManager, tool: MemorandaMemoryTool) -> None:
    text = "\n".join(f"line {number} é" for number in range(30_000))
    _create(tool, "/memories/long.md", text)
    assert _view(tool, "/memories/long.md").endswith(" 30000\tline 29999 é")
    replace = {"command": "str_replace", "path": "/memories/long.md", "old_str": "line 7 ", "new_str": "LINE "}
    tool.call(replace)
    tool.call({"command": "delete", "path": "/memories/long.md"})
    assert memory.namespaces(user="ann") == []


async def test_async_tool_shares_the_files_of_an_async_manager(tmp_path: Path) -> None:
    async with aio.MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(64)) as memory:
        tool = AsyncMemorandaMemoryTool(memory, user="ann")
        await tool.call({"command": "create", "path": "/memories/a.md", "file_text": "Ann likes tea."})
        assert "Ann likes tea." in str(await tool.call({"command": "view", "path": "/memories/a.md"}))
        assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}
        assert "tea" in (await memory.recall("What does Ann like?", user="ann"))[0].content
        with pytest.raises(ToolError):
            await tool.call({"command": "view", "path": "/memories/none"})
        await tool.clear_all_memory()
        await tool.close()
        assert list(await memory.search_items(user="ann")) == []


def test_tool_opens_and_closes_a_database_by_its_path(tmp_path: Path) -> None:
    for text in ("first", "second"):
        tool = MemorandaMemoryTool(tmp_path / "m.db")
        _create(tool, f"/memories/{text}", text)
        tool.close()
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".db") == ["m.db"]


def test_anything_but_a_manager_or_a_path_is_refused() -> None:
    with pytest.raises(InvalidType, match=r"must be a memoranda\.MemoryManager"):
        MemorandaMemoryTool({"db": "x"})  # type: ignore[arg-type]


def test_edits_of_several_tools_are_all_kept(tmp_path: Path) -> None:
    path, file = tmp_path / "a.db", {"path": "/memories/n.txt"}
    with MemoryManager(path, embedder=HashEmbedder()) as memory:
        _create(MemorandaMemoryTool(memory), file["path"], "start\n")

    def edit(number: int) -> None:
        # A manager of its own, as in another process: each edit reads the whole file and writes it.
        with MemoryManager(path, embedder=HashEmbedder()) as memory:
            tool = MemorandaMemoryTool(memory)
            for line in range(5):
                tool.call({"command": "insert", "insert_line": 0, "insert_text": f"{number}.{line}", **file})

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(edit, range(3)))
    with MemoryManager(path, embedder=HashEmbedder()) as memory:
        text = _view(MemorandaMemoryTool(memory), file["path"])
    assert all(f"{number}.{line}" in text for number in range(3) for line in range(5))


class TestFolder:
    def test_files_of_the_folder_are_notes_and_notes_are_files(self, memory: MemoryManager, tmp_path: Path) -> None:
        root = tmp_path / "base" / "memories"
        (root / "old").mkdir(parents=True)
        (root / "old" / "ann.md").write_text("Ann is allergic to peanuts.")
        (root / "picture.png").write_bytes(b"\x89PNG\xff")
        tool = MemorandaMemoryTool(memory, base_path=tmp_path / "base")
        assert _view(tool, "/memories/old/ann.md").endswith("Ann is allergic to peanuts.")
        assert "peanuts" in memory.recall("What is Ann allergic to?")[0].content
        _create(tool, "/memories/new/bo.md", "Bo likes milk")
        assert (root / "new" / "bo.md").read_text() == "Bo likes milk"
        (root / "new" / "bo.md").write_text("Bo likes oat milk")
        assert "oat milk" in _view(tool, "/memories/new/bo.md")
        (root / "old" / "ann.md").unlink()
        assert "ann.md" not in _view(tool, "/memories")
        tool.call({"command": "delete", "path": "/memories/new/bo.md"})
        assert sorted(path.name for path in root.iterdir()) == ["old", "picture.png"]

    def test_folder_that_is_gone_is_written_again(self, memory: MemoryManager, tmp_path: Path) -> None:
        tool = MemorandaMemoryTool(memory, base_path=tmp_path / "base")
        _create(tool, "/memories/a.md", "tea")
        (tmp_path / "base").rename(tmp_path / "moved")
        assert "tea" in _view(tool, "/memories/a.md")
        assert (tmp_path / "base" / "memories" / "a.md").read_text() == "tea"
        other = MemorandaMemoryTool(memory, base_path=tmp_path / "second")
        assert "a.md" in _view(other, "/memories")

    def test_link_out_of_the_folder_is_refused(self, memory: MemoryManager, tmp_path: Path) -> None:
        tool = MemorandaMemoryTool(memory, base_path=tmp_path / "base")
        (tmp_path / "secret.txt").write_text("secret")
        (tmp_path / "base" / "memories" / "out").symlink_to(tmp_path)
        (tmp_path / "base" / "memories" / "file").symlink_to(tmp_path / "secret.txt")
        for path in ("/memories/out/secret.txt", "/memories/file", "/memories/out/new/x"):
            for call in (lambda path: _view(tool, path), lambda path: _create(tool, path)):
                with pytest.raises(ToolError, match="would escape"):
                    call(path)
        assert "secret" not in str([item.value for item in memory.search_items(())])
