"""The port to a language model. Nothing needs one; some things get better with one."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from memoranda import registry
from memoranda.errors import InvalidInput, MemorandaError
from memoranda.types import Usage

__all__ = ["LLM", "Completion", "CountingLLM", "Usage"]


class LLM(Protocol):
    """Completes a prompt. A model that cannot be reached raises `Unavailable`. Safe to call from several threads."""

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        """The model's text, at most about `max_tokens` tokens long."""
        ...


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's text, and what it cost."""

    text: str
    input_tokens: int
    output_tokens: int
    attempts: int = 1
    """How often the model was called until it answered."""


@runtime_checkable
class CountingLLM(Protocol):
    """An `LLM` that also says what an answer cost."""

    def complete(self, prompt: str, *, max_tokens: int) -> str: ...

    def generate(self, prompt: str, *, max_tokens: int) -> Completion:
        """As `complete`, with the tokens that were read and written."""
        ...


class LLMFactory(Protocol):
    """What an entry of the registry's kind "llm" must be: called with what stands after the colon in `name:model`."""

    def __call__(self, model: str, /) -> LLM: ...


def open_llm(name: str) -> LLM:
    """The model of this name; `InvalidInput` lists the names there are, `MissingExtra` says what to install.

    Keys and addresses come from the environment of the provider (`OPENAI_API_KEY`, `OPENAI_BASE_URL`, …).
    """
    provider, _, model = name.partition(":")
    factory: LLMFactory = registry.resolve("llm", provider)
    if not model:
        raise InvalidInput(f"{name!r} names no model: write {provider}:<{_AFTER.get(provider, 'model')}>")
    return factory(model)


_AFTER = {"gguf": "path of a .gguf file", "scripted": "path of a JSON list of answers"}


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
