"""Every example runs in an empty folder and prints what is expected."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
NEED_FILE = {"import_history.py"}
# Run in the environments of these frameworks by tests/integrations.
NEED_A_FRAMEWORK = {
    *("agent_framework_memory.py", "autogen_memory.py", "claude_agent_sessions.py"),
    *("crewai_memory.py", "google_adk_memory.py"),
    *("haystack_documents.py", "langgraph_agent.py", "llama_index_memory.py", "pydantic_ai_memory.py"),
    "strands_memory.py",
}
LEFT_OUT = NEED_FILE | NEED_A_FRAMEWORK
EXPECTED = {
    "agent_conversations.py": "still there: assistant: Analysis complete",
    "anthropic_memory_tool.py": "recalled: True",
    "async_conversation.py": "0 after clearing, 2 after loading the state",
    "conversation_context.py": "I know: the user said 'My flight to Lisbon leaves on Friday at nine.'",
    "conversation_memory.py": "the loaded conversation is equal: True",
    "conversation_tracking.py": "8 turns; the context is ['Question 7?', 'Answer 7.', 'Question 8?', 'Answer 8.']",
    "conversation_file.py": "loaded from the file: Start analysis",
    "summarizing_conversation.py": "On day 18 I walked 7 km with Nora.",
    "upkeep.py": "A second run changes 0.\nErased for ever: 2 memories, complete: True",
    "vendor_formats.py": '"tool_use_id": "c1"',
    "agents_in_threads.py": "20 executions in one unbroken chain: True",
    "base_agent.py": "advice: Mails with a name in the subject",
    "execution_records.py": "unchanged: True, 3 records checked",
    "mem0_memory.py": "bob: I moved to Oslo.",
    "multi_agent_workflow.py": "content_agent found in guidelines.md: Write a subject of at most six words.",
    "openai_agents_session.py": "recalled: True",
    "persistent_automatic.py": "- user: My daughter Mia starts school in September.",
    "persistent_memory.py": "User's favorite color is blue",
    "persistent_own_memory.py": "Buy tea (for Sunday)",
    "persistent_tools.py": "It is in my notes: Alice's birthday is March 15",
    "session_context.py": "conversation after the session: no messages",
}


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py") if path.name not in LEFT_OUT))
def test_example_runs(name: str, tmp_path: Path) -> None:
    # Without the developer's own settings, which the examples would read.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MEMORY_", "EMBEDDING_"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name)],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
        input="",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert EXPECTED.get(name, "") in done.stdout


def test_examples_have_at_most_60_lines() -> None:
    lengths = {path.name: len(path.read_text("utf-8").splitlines()) for path in EXAMPLES.glob("*.py")}
    assert {name: length for name, length in lengths.items() if length > 60} == {}
