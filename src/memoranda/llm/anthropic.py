"""Anthropic's models, called with the official client."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import anthropic

from memoranda.errors import ExtractionFailed, InvalidInput, Unavailable
from memoranda.llm.base import Completion, Retries, call_with_retries, parse_retry_after


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
            timeout: Seconds to wait for an answer.
            retries: How often to retry when the API is unavailable.
        """
        key = api_key or os.environ.get("ANTHROPIC_API_KEY")
        if not model:
            raise InvalidInput("say which model: AnthropicLLM('claude-…')")
        if not key:
            raise InvalidInput("Anthropic needs a key: give api_key, or set ANTHROPIC_API_KEY")
        # Retries are done by `call_with_retries`, whose waiting can be tested.
        self._client = anthropic.Anthropic(api_key=key, base_url=base_url, timeout=timeout, max_retries=0)
        self._model = model
        self._retries = retries or Retries()

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        """Return the model's text."""
        return self.generate(prompt, max_tokens=max_tokens).text

    def generate(self, prompt: str, *, max_tokens: int) -> Completion:
        """Return the model's text and its cost."""
        answer, attempts = call_with_retries(lambda: self._request(prompt, max_tokens), self._retries)
        return replace(answer, attempts=attempts)

    def close(self) -> None:
        """Close the connections. Calling it again does nothing."""
        self._client.close()

    def _request(self, prompt: str, max_tokens: int) -> Completion:
        with _translate_errors(self._model):
            answer = self._client.messages.create(
                model=self._model, max_tokens=max_tokens, messages=[{"role": "user", "content": prompt}]
            )
        text = "".join(block.text for block in answer.content if block.type == "text")
        return Completion(text, answer.usage.input_tokens, answer.usage.output_tokens)


@contextmanager
def _translate_errors(model: str) -> Iterator[None]:
    """Translate the client's errors."""
    try:
        yield
    except (anthropic.RateLimitError, anthropic.InternalServerError) as error:
        raise Unavailable(f"{model}: {error.message}", retry_after=parse_retry_after(error.response.headers)) from error
    except anthropic.APIConnectionError as error:
        raise Unavailable(f"Anthropic cannot be reached for {model}: {error.message}") from error
    except anthropic.APIStatusError as error:
        raise InvalidInput(f"Anthropic refused {model} ({error.status_code}): {error.message}") from error
    except anthropic.APIError as error:
        raise ExtractionFailed(f"{model} gave no usable answer: {error.message}") from error
