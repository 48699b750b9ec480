"""Anthropic's models, called with the official client."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import anthropic

from memoranda.errors import ExtractionFailed, InvalidInput, MemorandaError, Unavailable
from memoranda.llm.base import Completion, Retries, is_temporary, parse_retry_after
from memoranda.llm.failures import call_by_deadline, hide, safe_cause
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
        answer, attempts = call_by_deadline(
            self._timeout, lambda: self._request(prompt, max_tokens, options), self._retries, self._model
        )
        return replace(answer, attempts=attempts)

    def _request(self, prompt: str, max_tokens: int, options: Mapping[str, object]) -> Completion:
        with _translate_errors(self._model, self._secrets):
            answer = self._client.messages.create(
                model=self._model,
                max_tokens=max_tokens,
                messages=[{"role": "user", "content": prompt}],
                extra_body=dict(options),
            )
            return _read_answer(answer, self._model)


def _read_answer(answer: Any, model: str) -> Completion:
    """Return the text and the cost; the client passes on what an endpoint sends, of whatever type it is."""
    pieces = [_block_text(block) for block in answer.content]
    if not all(isinstance(piece, str) for piece in pieces):
        raise ExtractionFailed(f"{model} answered with something else than text")
    return Completion("".join(pieces), int(answer.usage.input_tokens), int(answer.usage.output_tokens))


def _block_text(block: Any) -> Any:
    if block.type == "tool_use":
        return json.dumps(block.input)
    return block.text if block.type == "text" else ""


@contextmanager
def _translate_errors(model: str, secrets: Collection[str]) -> Iterator[None]:
    """Translate the client's errors."""
    try:
        yield
    except MemorandaError:
        raise
    except Exception as error:  # noqa: BLE001 - translated: the client also raises plain errors for answers of the wrong form
        raise _translate(error, model, secrets) from safe_cause(error, secrets)


def _translate(error: Exception, model: str, secrets: Collection[str]) -> MemorandaError:
    if isinstance(error, anthropic.APIStatusError):
        message = hide(error.message, secrets)
        if is_temporary(error.status_code):
            return Unavailable(f"{model}: {message}", retry_after=parse_retry_after(error.response.headers))
        return InvalidInput(f"Anthropic refused {model} ({error.status_code}): {message}")
    if isinstance(error, anthropic.APIConnectionError):
        return Unavailable(f"Anthropic cannot be reached for {model}: {hide(error.message, secrets)}")
    if isinstance(error, anthropic.APIError):
        return ExtractionFailed(f"{model} gave no usable answer: {hide(error.message, secrets)}")
    return ExtractionFailed(f"{model} gave no usable answer: {type(error).__name__}")
