"""A custom memory class: four methods, and it works wherever a PersistentMemory does, including tools."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from memoranda import PersistentMemoryBase
from memoranda.persistent.base import RecallFromMemoryResult, SaveToMemoryResult
from memoranda.types import Outcome


class Notebook(PersistentMemoryBase):
    """Stores notes as lines of a text file."""

    def __init__(self, agent_name: str, folder: str = ".") -> None:
        super().__init__(agent_name)
        self._file = Path(folder) / f"{agent_name}.txt"

    def record(self, messages: Iterable[Any] | None) -> list[Outcome]:
        return [Outcome("rejected", None, "a notebook stores only what the agent saves") for _ in messages or ()]

    def retrieve(self, query: Any, limit: int = 5) -> str:
        return "\n".join(self._find_lines(str(query).split())[:limit])

    def save_to_memory(self, thinking: str, content: str | Sequence[str]) -> SaveToMemoryResult:
        lines = [content] if isinstance(content, str) else list(content)
        with self._file.open("a", encoding="utf-8") as file:
            file.writelines(f"{line} ({thinking})\n" for line in lines)
        return SaveToMemoryResult(success=True, message=f"saved {len(lines)}", memory_ids=[])

    def recall_from_memory(self, keywords: str | Sequence[str], limit: int = 5) -> RecallFromMemoryResult:
        found = self._find_lines([keywords] if isinstance(keywords, str) else keywords)[:limit]
        return RecallFromMemoryResult(success=True, memories=found, count=len(found))

    def _find_lines(self, words: Sequence[str]) -> list[str]:
        lines = self._file.read_text("utf-8").splitlines() if self._file.exists() else []
        return [line for line in lines if any(word.lower() in line.lower() for word in words)]


notebook = Notebook("scribe")
call = {
    "type": "tool_use",
    "id": "t1",
    "name": "save_to_memory",
    "input": {"thinking": "for Sunday", "content": ["Buy tea"]},
}
print(notebook.tools().run(call)["content"][0]["content"])
print(notebook.retrieve("tea"))
