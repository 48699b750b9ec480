"""The port to a language model. Nothing needs one; some things get better with one."""

from __future__ import annotations

from typing import Protocol


class LLM(Protocol):
    """Completes a prompt. A model that cannot be reached raises `Unavailable`. Safe to call from several threads."""

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        """The model's text, at most about `max_tokens` tokens long."""
        ...
