"""What one operation costs: an `LLM` that counts."""

from __future__ import annotations

import threading

from memoranda.errors import MemorandaError
from memoranda.llm.base import LLM, Completion, CountingLLM, Usage

_LETTERS_PER_TOKEN = 4


class Metered:
    """Passes prompts on and adds up what they cost; make one for each operation."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self._usage = Usage()
        self._lock = threading.Lock()

    @property
    def usage(self) -> Usage:
        """What was asked so far."""
        with self._lock:
            return self._usage

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        return self.generate(prompt, max_tokens=max_tokens).text

    def generate(self, prompt: str, *, max_tokens: int) -> Completion:
        """The answer; a call that fails is counted as well."""
        try:
            counts = isinstance(self._llm, CountingLLM)
            answer = _counted(self._llm, prompt, max_tokens)
        except MemorandaError:
            self._add(Usage(calls=1))
            raise
        self._add(Usage(answer.attempts, answer.input_tokens, answer.output_tokens, estimated=not counts))
        return answer

    def _add(self, usage: Usage) -> None:
        with self._lock:
            self._usage += usage


def _counted(llm: LLM, prompt: str, max_tokens: int) -> Completion:
    if isinstance(llm, CountingLLM):
        return llm.generate(prompt, max_tokens=max_tokens)
    text = llm.complete(prompt, max_tokens=max_tokens)
    return Completion(text, _estimate(prompt), _estimate(text))


def _estimate(text: str) -> int:
    return -(-len(text) // _LETTERS_PER_TOKEN)
