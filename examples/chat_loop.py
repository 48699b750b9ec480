"""A small chat that remembers across restarts: run it twice. An empty line ends it.

python examples/chat_loop.py [file]
"""

import sys
from pathlib import Path

from memoranda import Message, SummarizingMemory


def reply(window: list[Message]) -> str:
    """Here your model answers: give it `format_for_openai(window)` or `format_for_anthropic(window)`."""
    asked = [message.content for message in window if message.role == "user"]
    return f"I have {len(window)} messages in view; before this you said: {asked[-2] if len(asked) > 1 else 'nothing'}"


def main(path: Path) -> None:
    memory = SummarizingMemory(max_messages=50)
    if path.exists():
        memory.load_from_file(path)
        print(f"Welcome back: {len(memory)} messages, {len(memory.summaries)} summaries.")
    while said := _line():
        memory.add_message(Message("user", said))
        answer = reply(memory.get_window(max_tokens=4_000))
        memory.add_message(Message("assistant", answer))
        memory.save_to_file(path)
        print(answer)


def _line() -> str:
    try:
        return input("> ").strip()
    except EOFError:
        return ""


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "chat.json"))
