from __future__ import annotations

import json
import random
import tracemalloc
import zipfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memoranda.conversation.memory import ConversationMemory
from memoranda.errors import Incompatible, InvalidInput, MemorandaError
from memoranda.messages.content import ToolCallMsg
from memoranda.messages.message import Message
from memoranda.transfer import chats
from memoranda.transfer.chats import (
    export_conversation,
    import_conversation,
    read_chatgpt_export,
    read_claude_export,
    to_markdown,
)


def node(node_id: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
    message = {
        "id": f"m-{node_id}",
        "author": {"role": role, "name": more.pop("name", None)},
        "create_time": more.pop("time", 1_700_000_000.5),
        "content": more.pop("content", {"content_type": "text", "parts": [text]}),
        "metadata": more,
    }
    return {"id": node_id, "message": message, "parent": parent, "children": []}


CHATGPT = [
    {
        "title": "Trip",
        "conversation_id": "c1",
        "create_time": 1_600_000_000,
        "current_node": "5",
        "mapping": {
            "0": {"id": "0", "message": None, "parent": None, "children": ["1"]},
            "1": node("1", "0", "system", ""),
            "2": node("2", "1", "user", "hidden profile", is_visually_hidden_from_conversation=True),
            "3": node("3", "2", "user", "Plan a trip to Rome", time=None),
            "4": node("4", "3", "tool", "", name="browser", content={"content_type": "text", "result": "found it"}),
            "5": node(
                "5",
                "4",
                "assistant",
                "",
                content={
                    "content_type": "multimodal_text",
                    "parts": [{"content_type": "image_asset_pointer"}, "Here is a plan."],
                },
            ),
            "6": node("6", "3", "assistant", "an answer that was regenerated"),
        },
    }
]
CLAUDE = [
    {
        "uuid": "k1",
        "name": "Garden",
        "created_at": "2024-01-01T10:00:00Z",
        "chat_messages": [
            {
                "uuid": "t1",
                "sender": "human",
                "text": "old text",
                "content": [{"type": "text", "text": "Which tree?"}, {"type": "tool_use", "name": "x"}],
                "created_at": "2024-01-02T10:00:00.123456Z",
                "attachments": [{"file_name": "soil.txt", "extracted_content": "sandy"}],
            },
            {"uuid": "t2", "sender": "assistant", "text": "An apple tree.", "content": []},
            {"uuid": "t3", "sender": "human", "text": "", "content": []},
        ],
    }
]


def write_json(data: Any, path: Path) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_chatgpt_export_returns_the_branch_shown_last(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = write_json(CHATGPT * 3, tmp_path / "conversations.json")
    found = read_chatgpt_export(path, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert (found[0].id, found[0]["title"]) == ("c1", "Trip")
    assert [(m.role, m.content, m.name) for m in found[0].messages] == [
        ("user", "Plan a trip to Rome", None),
        ("assistant", "found it", "browser"),
        ("assistant", "Here is a plan.", None),
    ]
    assert found[0].messages[0].message_id == "m-3"
    assert found[0].messages[0].timestamp == datetime.fromtimestamp(1_600_000_000, UTC)
    assert found[0].messages[1].metadata == {"role": "tool"}


def test_claude_export_returns_texts_times_and_attachments(tmp_path: Path) -> None:
    found = read_claude_export(write_json(CLAUDE, tmp_path / "conversations.json"))
    assert (found[0].id, found[0].title) == ("k1", "Garden")
    assert [(m.role, m.content, m.message_id) for m in found[0].messages] == [
        ("user", "Which tree?", "t1"),
        ("assistant", "An apple tree.", "t2"),
    ]
    assert found[0].messages[0].metadata == {"attachments": [{"name": "soil.txt", "text": "sandy"}]}
    assert found[0].messages[1].timestamp == datetime(2024, 1, 1, 10, tzinfo=UTC)


def test_zip_file_is_read_directly(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("export/conversations.json", json.dumps(CLAUDE))
        archive.writestr("export/users.json", "[]")
    assert len(read_claude_export(path)[0].messages) == 2
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("users.json", "[]")
    with pytest.raises(Incompatible, match=r"has no conversations\.json"):
        read_claude_export(path)


def test_circular_branch_ends(tmp_path: Path) -> None:
    nodes = {"1": node("1", "2", "user", "a"), "2": node("2", "1", "user", "b")}
    path = write_json([{"mapping": nodes, "current_node": "2"}], tmp_path / "c.json")
    assert len(read_chatgpt_export(path)[0].messages) == 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "has no list"),
        ([3], "conversation 1 in .* is not from ChatGPT"),
        (CLAUDE, "has no 'mapping'"),
        ([{"mapping": {"1": node("1", None, "user", "a", time="soon")}}], "not an ISO 8601"),
        ([{"mapping": {"1": node("1", None, "user", "a", time=None)}}], "no usable time"),
        ([{"mapping": {"1": node("1", None, "robot", "a")}}], "unknown role"),
    ],
)
def test_file_that_is_not_an_export_raises_incompatible(data: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(Incompatible, match=message):
        read_chatgpt_export(write_json(data, tmp_path / "c.json"))


def test_damaged_file_raises_incompatible(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text("[{")
    with pytest.raises(Incompatible, match="damaged or not JSON"):
        read_chatgpt_export(path)


WHEN = "2024-05-08T13:00:00+00:00"
CALL = ToolCallMsg("a", "a", "function", "weather", '{"city": "Rome"}')
MESSAGES = [
    Message("user", "Rain in Rome?\u2028\u0085 Or not?", name="Ann", timestamp=WHEN, images=["sky.png"]),
    Message("assistant", tool_calls=[CALL], timestamp=WHEN),
    Message("tool", {"rain": False}, tool_call_id="a", timestamp=WHEN),
]


@pytest.mark.parametrize("name", ["c.json", "c.jsonl", "c.JSONL"])
def test_json_and_jsonl_round_trip(name: str, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    export_conversation([MESSAGES[0], dict(MESSAGES[1]), MESSAGES[2]], tmp_path / name)
    assert import_conversation(tmp_path / name, progress=lambda done, total: seen.append((done, total))) == MESSAGES
    assert seen[-1][0] == seen[-1][1] > 0


def test_exported_file_loads_as_a_conversation(tmp_path: Path) -> None:
    export_conversation(MESSAGES, tmp_path / "c.json", title="Weather")
    memory = ConversationMemory()
    memory.load_from_file(tmp_path / "c.json")
    assert memory.get_messages() == MESSAGES


def test_markdown_shows_speakers_times_calls_and_pictures(tmp_path: Path) -> None:
    export_conversation(MESSAGES, tmp_path / "c.md", title="Weather")
    page = (tmp_path / "c.md").read_text(encoding="utf-8")
    assert page == to_markdown(MESSAGES, "Weather")
    assert page.startswith("# Weather\n\n**Ann** · 2024-05-08 13:00 UTC\n\nRain in Rome?")
    assert "- picture: sky.png" in page
    assert '- calls `weather` with `{"city": "Rome"}`' in page
    assert '{"rain": false}' in page


def test_unknown_suffix_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"\.json, \.jsonl, \.md"):
        export_conversation(MESSAGES, tmp_path / "c.txt")
    with pytest.raises(InvalidInput, match=r"\.json, \.jsonl$"):
        import_conversation(tmp_path / "c.md")
    assert list(tmp_path.iterdir()) == []


def test_damaged_line_is_named_in_the_error(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("claimed", ["real size", "small size"])
def test_archive_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path: Path, claimed: str) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("conversations.json", "w") as file:
        file.write(b"[")
        for _ in range(100):
            file.write(b" " * 1_000_000)
        file.write(b"]")
    assert path.stat().st_size < 150_000
    if claimed == "small size":
        content = path.read_bytes()
        path.write_bytes(content.replace((100_000_002).to_bytes(4, "little"), (1000).to_bytes(4, "little")))
    tracemalloc.start()
    with pytest.raises((InvalidInput, Incompatible)) as refused:
        read_chatgpt_export(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50_000_000
    assert ("unpacks to more than" in str(refused.value)) is (claimed == "real size")


def test_archive_of_ordinary_growth_is_read_whatever_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chats, "_ALWAYS_UNPACKED_BYTES", 1_000_000)
    path = tmp_path / "export.zip"
    padded = [CLAUDE[0] | {"padding": random.Random(1).randbytes(600_000).hex()}]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps(padded))
    assert len(read_claude_export(path)[0].messages) == 2


def test_encrypted_archive_is_a_typed_error(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps(CLAUDE))
    content = bytearray(path.read_bytes())
    content[6] |= 1  # the flag of an encrypted file, in its own header and in the directory
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(Incompatible):
        read_claude_export(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_archive_that_is_damaged_anywhere_is_a_typed_error(tmp_path: Path, method: int) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("conversations.json", json.dumps(CLAUDE))
    content = path.read_bytes()
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        with suppress(MemorandaError):  # of what is not read, nothing is noticed
            read_claude_export(path)
