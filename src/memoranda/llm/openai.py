"""Models behind an OpenAI-compatible endpoint (OpenAI, Ollama, vLLM, …), called with the official client."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import openai

from memoranda.errors import ExtractionFailed, InvalidInput
from memoranda.llm.base import Completion, Retries
from memoranda.llm.structured import complete_by_deadline, refuse_page, translate_errors
from memoranda.types import JSON


class OpenAILLM:
    """An `LLM` that calls a chat endpoint."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        temperature: float | None = 0.0,
        retries: Retries | None = None,
    ) -> None:
        """Create the client; nothing is sent.

        Args:
            model: The name of the model.
            base_url: The address; `OPENAI_BASE_URL` or OpenAI's own by default.
            api_key: The key; `OPENAI_API_KEY` by default. For an endpoint that needs no key, pass any text.
            timeout: Seconds to wait for an answer, all tries together.
            temperature: The sampling temperature; None leaves it to the endpoint.
            retries: How often to retry when the endpoint is unavailable.
        """
        address = base_url or os.environ.get("OPENAI_BASE_URL")
        key = api_key or os.environ.get("OPENAI_API_KEY")
        if not model:
            raise InvalidInput("say which model: OpenAILLM('gpt-…')")
        if not key:
            raise InvalidInput("an endpoint needs a key: give api_key, or set OPENAI_API_KEY")
        # Retries are done by `call_with_retries`, whose waiting can be tested.
        self._client = openai.OpenAI(api_key=key, base_url=address, timeout=timeout, max_retries=0)
        self._secrets = (key,)
        self._model = model
        self._timeout = timeout
        self._temperature = temperature
        self._retries = retries or Retries()
        # OpenAI's newer models accept only the new parameter, other servers only the old one.
        self._limit_name = "max_tokens" if address else "max_completion_tokens"
        self._takes_schemas = True

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        """Return the model's text."""
        return self.generate(prompt, max_tokens=max_tokens).text

    def generate(self, prompt: str, *, max_tokens: int) -> Completion:
        """Return the model's text and its cost."""
        return self._generate(prompt, {self._limit_name: max_tokens})

    def generate_json(self, prompt: str, *, schema: Mapping[str, JSON], max_tokens: int) -> Completion:
        """Return JSON text that fits the schema, or what `generate` returns where the endpoint refuses schemas."""
        if not self._takes_schemas:
            return self.generate(prompt, max_tokens=max_tokens)
        named = {"name": "answer", "strict": True, "schema": dict(schema)}
        options = {self._limit_name: max_tokens, "response_format": {"type": "json_schema", "json_schema": named}}
        try:
            return self._generate(prompt, options)
        except InvalidInput:
            answer = self.generate(prompt, max_tokens=max_tokens)
        self._takes_schemas = False  # it answers without a schema only
        return replace(answer, attempts=answer.attempts + 1)

    def close(self) -> None:
        """Close the connections. Calling it again does nothing."""
        self._client.close()

    def _generate(self, prompt: str, options: Mapping[str, object]) -> Completion:
        return complete_by_deadline(self._timeout, lambda: self._request(prompt, options), self._retries, self._model)

    def _request(self, prompt: str, options: Mapping[str, object]) -> Completion:
        body = dict(options)
        if self._temperature is not None:
            body["temperature"] = self._temperature
        with translate_errors(openai, self._model, self._secrets):
            answer = self._client.chat.completions.create(
                model=self._model,
                messages=[{"role": "user", "content": prompt}],
                extra_body=body,
            )
            return _read_answer(answer, self._model)


def _read_answer(answer: Any, model: str) -> Completion:
    """Return the text and the cost; the client passes on what an endpoint sends, of whatever type it is."""
    refuse_page(answer, model)
    if not answer.choices:
        raise ExtractionFailed(f"{model} gave no answer")
    text = answer.choices[0].message.content
    if text is not None and not isinstance(text, str):
        raise ExtractionFailed(f"{model} answered with {type(text).__name__} where a text is expected")
    usage = answer.usage
    tokens = (int(usage.prompt_tokens or 0), int(usage.completion_tokens or 0)) if usage else (0, 0)
    return Completion(text or "", *tokens)
