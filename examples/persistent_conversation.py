"""A conversation in the database. Run it twice, even in two terminals at once; an empty line ends it.

python examples/persistent_conversation.py [database]
"""

import sys

from memoranda import MemoryManager, Message


def main(database: str) -> None:
    with MemoryManager(f"sqlite:///{database}", retention_policy="persistent") as manager:
        conversation = manager.get_memory("Friend")
        for message in conversation.get_recent(4):
            print(f"  earlier, {message.role}: {message.content}")
        while text := _read_line():
            # The message is on disk when this returns.
            conversation.add_message(Message("user", text))
            conversation.add_message(Message("assistant", f"That makes {len(conversation) + 1} messages between us."))
            print(conversation.get_recent(1)[0].content)


def _read_line() -> str:
    try:
        return input("> ").strip()
    except EOFError:
        return ""


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "memories.db")
