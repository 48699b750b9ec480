from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def run(*arguments: str, stdin: str = "") -> str:
    result = subprocess.run(
        [sys.executable, *arguments], input=stdin, capture_output=True, text=True, timeout=60, check=True
    )
    return result.stdout


def test_chat_loop_keeps_the_conversation_across_restarts(tmp_path: Path) -> None:
    loop, path = str(ROOT / "examples" / "chat_loop.py"), str(tmp_path / "chat.json")
    assert "you said: nothing" in run(loop, path, stdin="My name is Ines.\n\n")
    second = run(loop, path, stdin="Hello again.\n")
    assert "Welcome back: 2 messages" in second
    assert "you said: My name is Ines." in second


def test_persistent_conversation_is_kept_across_restarts(tmp_path: Path) -> None:
    talk, path = str(ROOT / "examples" / "persistent_conversation.py"), str(tmp_path / "memories.db")
    assert "That makes 2 messages" in run(talk, path, stdin="My name is Ines.\n\n")
    second = run(talk, path, stdin="Hello again.\n")
    assert "earlier, user: My name is Ines." in second
    assert "That makes 4 messages" in second


def test_import_history_writes_a_page_from_an_export(tmp_path: Path) -> None:
    turns = [{"uuid": "t1", "sender": "human", "text": "Which tree?", "created_at": "2024-01-02T10:00:00Z"}]
    export, page = tmp_path / "conversations.json", tmp_path / "page.md"
    export.write_text(json.dumps([{"uuid": "k1", "name": "Garden", "chat_messages": turns}]), encoding="utf-8")
    assert "1 messages  Garden" in run(str(ROOT / "examples" / "import_history.py"), "claude", str(export), str(page))
    assert "Which tree?" in page.read_text(encoding="utf-8")
