"""Claude's memory tool, with its files in Memoranda.

python examples/anthropic_memory_tool.py        (pip install "memoranda[anthropic]")
"""

from anthropic.lib.tools import ToolError

from memoranda import MemoryManager
from memoranda.integrations.anthropic import MemorandaMemoryTool

# What Claude asks for in a conversation, so that this runs without a key. With one:
#   Anthropic().beta.messages.run_tools(model=…, max_tokens=1024, messages=[…], tools=[tool]).until_done()
COMMANDS = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/travel.md", "file_text": "# Travel\nAnn wants a window seat.\n"},
    {
        "command": "insert",
        "path": "/memories/travel.md",
        "insert_line": 2,
        "insert_text": "Ann is allergic to peanuts.",
    },
    {"command": "str_replace", "path": "/memories/travel.md", "old_str": "a window", "new_str": "an aisle"},
    {"command": "view", "path": "/memories/../../etc/passwd"},
    {"command": "view", "path": "/memories/travel.md"},
]


def main() -> None:
    with MemoryManager("claude.db") as memory:
        tool = MemorandaMemoryTool(memory, user="ann")
        for command in COMMANDS:
            try:
                print(tool.call(command))
            except ToolError as error:
                print("refused:", error)
        print("recalled:", "peanuts" in memory.recall("What is Ann allergic to?", user="ann")[0].content)


if __name__ == "__main__":
    main()
