"""A model that says what it was told to, for tests and demonstrations."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from pathlib import Path

from memoranda.errors import InvalidInput, NotFound, Unavailable


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


def open_script(path: str | Path) -> ScriptedLLM:
    """The model that gives the answers of a file: a JSON list of texts."""
    file = Path(path)
    if not file.is_file():
        raise NotFound(f"no script {file}: give the path of a JSON list of answers")
    try:
        answers = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidInput(f"{file} is no JSON: {error}") from error
    if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
        raise InvalidInput(f"{file} must hold a JSON list of texts")
    return ScriptedLLM(answers)
