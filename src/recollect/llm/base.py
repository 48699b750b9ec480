"""The port to a language model. Nothing needs one; some things get better with one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


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


@dataclass(frozen=True, slots=True)
class Usage:
    """What an operation asked of a model."""

    calls: int = 0
    """How often the model was called, failed attempts included."""
    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False
    """Whether a model did not say, and its tokens were counted as a quarter of the letters."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.estimated or other.estimated,
        )
