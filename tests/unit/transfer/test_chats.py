from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memoranda.errors import Incompatible
from memoranda.transfer.chats import read_chatgpt_export, read_claude_export


def node(identity: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
    message = {
        "id": f"m-{identity}",
        "author": {"role": role, "name": more.pop("name", None)},
        "create_time": more.pop("time", 1_700_000_000.5),
        "content": more.pop("content", {"content_type": "text", "parts": [text]}),
        "metadata": more,
    }
    return {"id": identity, "message": message, "parent": parent, "children": []}


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


def saved(data: Any, path: Path) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_chatgpt_gives_the_branch_last_shown(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = saved(CHATGPT * 3, tmp_path / "conversations.json")
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


def test_claude_gives_texts_times_and_attached_files(tmp_path: Path) -> None:
    found = read_claude_export(saved(CLAUDE, tmp_path / "conversations.json"))
    assert (found[0].id, found[0].title) == ("k1", "Garden")
    assert [(m.role, m.content, m.message_id) for m in found[0].messages] == [
        ("user", "Which tree?", "t1"),
        ("assistant", "An apple tree.", "t2"),
    ]
    assert found[0].messages[0].metadata == {"attachments": [{"name": "soil.txt", "text": "sandy"}]}
    assert found[0].messages[1].timestamp == datetime(2024, 1, 1, 10, tzinfo=UTC)


def test_the_zip_is_read_as_it_came(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("export/conversations.json", json.dumps(CLAUDE))
        archive.writestr("export/users.json", "[]")
    assert len(read_claude_export(path)[0].messages) == 2
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("users.json", "[]")
    with pytest.raises(Incompatible, match=r"has no conversations\.json"):
        read_claude_export(path)


def test_a_branch_that_circles_comes_to_an_end(tmp_path: Path) -> None:
    nodes = {"1": node("1", "2", "user", "a"), "2": node("2", "1", "user", "b")}
    path = saved([{"mapping": nodes, "current_node": "2"}], tmp_path / "c.json")
    assert len(read_chatgpt_export(path)[0].messages) == 2


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({}, "has no list"),
        ([3], "conversation 1 in .* is not from ChatGPT"),
        (CLAUDE, "has no 'mapping'"),
        ([{"mapping": {"1": node("1", None, "user", "a", time="soon")}}], "not an ISO 8601"),
        ([{"mapping": {"1": node("1", None, "user", "a", time=None)}}], "no usable time"),
        ([{"mapping": {"1": node("1", None, "robot", "a")}}], "unknown role"),
    ],
)
def test_what_is_no_export_is_a_clear_error(data: Any, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(Incompatible, match=complaint):
        read_chatgpt_export(saved(data, tmp_path / "c.json"))


def test_a_damaged_file_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text("[{")
    with pytest.raises(Incompatible, match="damaged or not JSON"):
        read_chatgpt_export(path)
