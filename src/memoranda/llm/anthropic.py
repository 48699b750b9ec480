"""Anthropic's models, called with the official client."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final

import anthropic

from memoranda.errors import ExtractionFailed, InvalidInput
from memoranda.llm.base import Completion, Retries
from memoranda.llm.structured import complete_by_deadline, refuse_page, translate_errors
from memoranda.types import JSON

_TOOL: Final = "answer"


class AnthropicLLM:
    """An `LLM` that calls Anthropic's API."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        retries: Retries | None = None,
    ) -> None:
        """Create the client; nothing is sent.

        Args:
            model: The name of the model.
            base_url: The address; `ANTHROPIC_BASE_URL` or Anthropic's own by default.
            api_key: The key; `ANTHROPIC_API_KEY` by default.
            timeout: Seconds to wait for an answer, all tries together.
            retries: How often to retry when the API is unavailable.
        """
        key = api_key or os.environ.get("ANTHROPIC_API_KEY")
        if not model:
            raise InvalidInput("say which model: AnthropicLLM('claude-…')")
        if not key:
            raise InvalidInput("Anthropic needs a key: give api_key, or set ANTHROPIC_API_KEY")
        # Retries are done by `call_with_retries`, whose waiting can be tested.
        self._client = anthropic.Anthropic(api_key=key, base_url=base_url, timeout=timeout, max_retries=0)
        self._secrets = (key,)
        self._model = model
        self._timeout = timeout
        self._retries = retries or Retries()

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        """Return the model's text."""
        return self.generate(prompt, max_tokens=max_tokens).text

    def generate(self, prompt: str, *, max_tokens: int) -> Completion:
        """Return the model's text and its cost."""
        return self._generate(prompt, max_tokens, {})

    def generate_json(self, prompt: str, *, schema: Mapping[str, JSON], max_tokens: int) -> Completion:
        """Return JSON text that fits the schema: the arguments of a tool that the model must call."""
        tool = {"name": _TOOL, "description": "Give the answer.", "input_schema": dict(schema)}
        options = {"tools": [tool], "tool_choice": {"type": "tool", "name": _TOOL}}
        return self._generate(prompt, max_tokens, options)

    def close(self) -> None:
        """Close the connections. Calling it again does nothing."""
        self._client.close()

    def _generate(self, prompt: str, max_tokens: int, options: Mapping[str, object]) -> Completion:
        return complete_by_deadline(
            self._timeout, lambda: self._request(prompt, max_tokens, options), self._retries, self._model
        )

    def _request(self, prompt: str, max_tokens: int, options: Mapping[str, object]) -> Completion:
        with translate_errors(anthropic, self._model, self._secrets):
            answer = self._client.messages.create(
                model=self._model,
                max_tokens=max_tokens,
                messages=[{"role": "user", "content": prompt}],
                extra_body=dict(options),
            )
            return _read_answer(answer, self._model)


def _read_answer(answer: Any, model: str) -> Completion:
    """Return the text and the cost; the client passes on what an endpoint sends, of whatever type it is."""
    refuse_page(answer, model)
    pieces = [_block_text(block) for block in answer.content]
    if not all(isinstance(piece, str) for piece in pieces):
        raise ExtractionFailed(f"{model} answered with something else than text")
    return Completion("".join(pieces), int(answer.usage.input_tokens), int(answer.usage.output_tokens))


def _block_text(block: Any) -> Any:
    if block.type == "tool_use":
        return json.dumps(block.input)
    return block.text if block.type == "text" else ""
