"""A model that returns prepared answers, for tests and demonstrations."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from pathlib import Path

from memoranda.errors import InvalidInput, NotFound, Unavailable


class ScriptedLLM:
    """An `LLM` that returns prepared answers in order and records the prompts."""

    def __init__(self, answers: Iterable[str]) -> None:
        self.prompts: list[str] = []
        self._answers = iter(answers)
        self._lock = threading.Lock()

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        """Return the next answer, cut to `max_tokens` words; raise `Unavailable` when none is left."""
        with self._lock:
            self.prompts.append(prompt)
            answer = next(self._answers, None)
        if answer is None:
            raise Unavailable("the scripted model has no answers left")
        words = answer.split(" ")
        return " ".join(words[:max_tokens])


def open_script(path: str | Path) -> ScriptedLLM:
    """Return a model with the answers of a file that contains a JSON list of strings."""
    file = Path(path)
    if not file.is_file():
        raise NotFound(f"no script {file}: give the path of a JSON list of answers")
    try:
        answers = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidInput(f"{file} is not JSON: {error}") from error
    if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
        raise InvalidInput(f"{file} must hold a JSON list of texts")
    return ScriptedLLM(answers)
