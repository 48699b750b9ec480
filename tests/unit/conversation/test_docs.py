from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "conversations.md"
EXAMPLES = {
    "agent_conversations.py": "still there: assistant: Analysis complete",
    "async_conversation.py": "0 after clearing, 2 after loading the state",
    "conversation_context.py": "I know: the user said 'My flight to Lisbon leaves on Friday at nine.'",
    "conversation_memory.py": "the loaded conversation is equal: True",
    "conversation_tracking.py": "8 turns; the context is ['Question 7?', 'Answer 7.', 'Question 8?', 'Answer 8.']",
    "conversation_file.py": "loaded from the file: Start analysis",
    "summarizing_conversation.py": "On day 18 I walked 7 km with Nora.",
    "vendor_formats.py": '"tool_use_id": "c1"',
}


def run(*arguments: str, stdin: str = "") -> str:
    result = subprocess.run(
        [sys.executable, *arguments], input=stdin, capture_output=True, text=True, timeout=60, check=True
    )
    return result.stdout


def test_page_blocks_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 6
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {"__name__": "__main__"})  # noqa: S102 - our own page


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_prints_expected_text(name: str) -> None:
    assert EXAMPLES[name] in run(str(ROOT / "examples" / name))


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
