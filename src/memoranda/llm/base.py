"""The port to a language model. Nothing needs one; some things get better with one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

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
