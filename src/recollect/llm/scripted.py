"""A model that says what it was told to, for tests and demonstrations."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from recollect.errors import Unavailable


class ScriptedLLM:
    """Gives the answers it was built with, in order, and keeps the prompts it was asked."""

    def __init__(self, answers: Iterable[str]) -> None:
        self.prompts: list[str] = []
        self._answers = iter(answers)
        self._lock = threading.Lock()

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        """The next answer, cut to `max_tokens` words; `Unavailable` when there is none left."""
        with self._lock:
            self.prompts.append(prompt)
            answer = next(self._answers, None)
        if answer is None:
            raise Unavailable("the scripted model has no answers left")
        words = answer.split(" ")
        return " ".join(words[:max_tokens])
