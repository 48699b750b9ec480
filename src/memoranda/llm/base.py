"""The interface to a language model. Nothing requires one; some features work better with one."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from memoranda import registry
from memoranda.errors import InvalidInput, MemorandaError
from memoranda.types import Usage

__all__ = ["LLM", "Completion", "CountingLLM", "MeteredLLM", "Usage", "open_llm"]

_LETTERS_PER_TOKEN = 4
_EXPECTED_AFTER_COLON = {"gguf": "path of a .gguf file", "scripted": "path of a JSON list of answers"}


class LLM(Protocol):
    """Completes prompts. Raises `Unavailable` when the model cannot be reached. Safe to call from several threads."""

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        """Return the model's text, at most about `max_tokens` tokens long."""
        ...


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's text and its cost."""

    text: str
    input_tokens: int
    output_tokens: int
    attempts: int = 1
    """How often the model was called until it answered."""


@runtime_checkable
class CountingLLM(Protocol):
    """An `LLM` that also reports the cost of each answer."""

    def complete(self, prompt: str, *, max_tokens: int) -> str: ...

    def generate(self, prompt: str, *, max_tokens: int) -> Completion:
        """Do the same as `complete`, and count the tokens read and written."""
        ...


class LLMFactory(Protocol):
    """The type of a registry entry of the kind "llm". It is called with the text after the colon in `name:model`."""

    def __call__(self, model: str, /) -> LLM: ...


def open_llm(name: str) -> LLM:
    """Return the model of this name.

    `InvalidInput` lists the known names, `MissingExtra` says what to install. Keys and addresses come from the
    provider's environment variables (`OPENAI_API_KEY`, `OPENAI_BASE_URL`, …).
    """
    provider, _, model = name.partition(":")
    factory: LLMFactory = registry.resolve("llm", provider)
    if not model:
        raise InvalidInput(
            f"{name!r} names no model: write {provider}:<{_EXPECTED_AFTER_COLON.get(provider, 'model')}>"
        )
    return factory(model)


class MeteredLLM:
    """Passes prompts to another model and adds up their cost. Make one for each operation."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self._usage = Usage()
        self._lock = threading.Lock()

    @property
    def usage(self) -> Usage:
        """The cost so far."""
        with self._lock:
            return self._usage

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        """Return the model's text."""
        return self.generate(prompt, max_tokens=max_tokens).text

    def generate(self, prompt: str, *, max_tokens: int) -> Completion:
        """Return the answer. A call that fails is counted too."""
        try:
            if isinstance(self._llm, CountingLLM):
                answer, estimated = self._llm.generate(prompt, max_tokens=max_tokens), False
            else:
                text = self._llm.complete(prompt, max_tokens=max_tokens)
                answer, estimated = Completion(text, _estimate_tokens(prompt), _estimate_tokens(text)), True
        except MemorandaError:
            self._add(Usage(calls=1))
            raise
        self._add(Usage(answer.attempts, answer.input_tokens, answer.output_tokens, estimated=estimated))
        return answer

    def _add(self, usage: Usage) -> None:
        with self._lock:
            self._usage += usage


def _estimate_tokens(text: str) -> int:
    return -(-len(text) // _LETTERS_PER_TOKEN)
