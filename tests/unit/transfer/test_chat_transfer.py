from __future__ import annotations

from pathlib import Path

import pytest

from memoranda.conversation.memory import ConversationMemory
from memoranda.errors import Incompatible, InvalidInput
from memoranda.messages.calls import ToolCallMsg
from memoranda.messages.message import Message
from memoranda.transfer.chats import export_conversation, import_conversation, to_markdown

WHEN = "2024-05-08T13:00:00+00:00"
CALL = ToolCallMsg("a", "a", "function", "weather", '{"city": "Rome"}')
MESSAGES = [
    Message("user", "Rain in Rome?\u2028\u0085 Or not?", name="Ann", timestamp=WHEN, images=["sky.png"]),
    Message("assistant", tool_calls=[CALL], timestamp=WHEN),
    Message("tool", {"rain": False}, tool_call_id="a", timestamp=WHEN),
]


@pytest.mark.parametrize("name", ["c.json", "c.jsonl", "c.JSONL"])
def test_json_and_jsonl_lose_nothing(name: str, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    export_conversation([MESSAGES[0], dict(MESSAGES[1]), MESSAGES[2]], tmp_path / name)
    assert import_conversation(tmp_path / name, progress=lambda done, total: seen.append((done, total))) == MESSAGES
    assert seen[-1][0] == seen[-1][1] > 0


def test_an_exported_file_can_be_loaded_as_a_conversation(tmp_path: Path) -> None:
    export_conversation(MESSAGES, tmp_path / "c.json", title="Weather")
    memory = ConversationMemory()
    memory.load_from_file(tmp_path / "c.json")
    assert memory.get_messages() == MESSAGES


def test_markdown_is_a_page_to_read(tmp_path: Path) -> None:
    export_conversation(MESSAGES, tmp_path / "c.md", title="Weather")
    page = (tmp_path / "c.md").read_text(encoding="utf-8")
    assert page == to_markdown(MESSAGES, "Weather")
    assert page.startswith("# Weather\n\n**Ann** · 2024-05-08 13:00 UTC\n\nRain in Rome?")
    assert "- picture: sky.png" in page
    assert '- calls `weather` with `{"city": "Rome"}`' in page
    assert '{"rain": false}' in page


def test_the_ending_decides_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"\.json, \.jsonl, \.md"):
        export_conversation(MESSAGES, tmp_path / "c.txt")
    with pytest.raises(InvalidInput, match=r"\.json, \.jsonl$"):
        import_conversation(tmp_path / "c.md")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"role": "user", "content": "a"}\n{"role": "us', encoding="utf-8")
    with pytest.raises(Incompatible, match="line 2"):
        import_conversation(path)
    path.write_text('{"role": "robot", "content": "a"}\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match="line 1: unknown role"):
        import_conversation(path)
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(Incompatible, match="not text"):
        import_conversation(path)
    (tmp_path / "c.json").write_text('{"messages": [{"role": "user"}, 3]}')
    with pytest.raises(InvalidInput, match=r"messages\[1\]"):
        import_conversation(tmp_path / "c.json")
