"""A small chat that remembers across restarts. Run it twice; an empty line ends it.

python examples/chat_loop.py [file]
"""

import sys
from pathlib import Path

from memoranda import Message, SummarizingMemory


def reply(window: list[Message]) -> str:
    """Call your model here with `format_for_openai(window)` or `format_for_anthropic(window)`."""
    texts = [message.content for message in window if message.role == "user"]
    return f"I have {len(window)} messages in view; before this you said: {texts[-2] if len(texts) > 1 else 'nothing'}"


def main(path: Path) -> None:
    memory = SummarizingMemory(max_messages=50)
    if path.exists():
        memory.load_from_file(path)
        print(f"Welcome back: {len(memory)} messages, {len(memory.summaries)} summaries.")
    while text := _read_line():
        memory.add_message(Message("user", text))
        answer = reply(memory.get_window(max_tokens=4_000))
        memory.add_message(Message("assistant", answer))
        memory.save_to_file(path)
        print(answer)


def _read_line() -> str:
    try:
        return input("> ").strip()
    except EOFError:
        return ""


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "chat.json"))
