"""A conversation in the store: run it twice, in two windows at once if you like. An empty line ends it.

python examples/persistent_conversation.py [database]
"""

import sys

from memoranda import MemoryManager, Message


def main(database: str) -> None:
    with MemoryManager(f"sqlite:///{database}", retention_policy="persistent") as manager:
        talk = manager.get_memory("Friend")
        for message in talk.get_recent(4):
            print(f"  earlier, {message.role}: {message.content}")
        while said := _line():
            # On disk when this returns, whatever happens to the program next.
            talk.add_message(Message("user", said))
            talk.add_message(Message("assistant", f"That makes {len(talk) + 1} messages between us."))
            print(talk.get_recent(1)[0].content)


def _line() -> str:
    try:
        return input("> ").strip()
    except EOFError:
        return ""


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "memories.db")
