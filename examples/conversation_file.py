"""A conversation that is saved to a file after every message."""

import tempfile
from pathlib import Path

from memoranda import ConversationMemory, Message


class FileMemory:
    """Memory with automatic persistence."""

    def __init__(self, agent_name: str, base_path: Path) -> None:
        self.agent_name = agent_name
        self.filepath = base_path / f"{agent_name}_memory.json"
        self.memory = ConversationMemory()
        self._load()

    def _load(self) -> None:
        if self.filepath.exists():
            self.memory.load_from_file(self.filepath)

    def save(self) -> None:
        self.memory.save_to_file(self.filepath)

    def add_message(self, message: Message) -> None:
        self.memory.add_message(message)
        self.save()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = FileMemory("Analyzer", Path(folder))
        first.add_message(Message(role="user", content="Start analysis"))
        second = FileMemory("Analyzer", Path(folder))
        print("loaded from the file:", second.memory.get_recent(1)[0].content)


if __name__ == "__main__":
    main()
