"""Anthropic's models, through the official client."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import anthropic

from memoranda.errors import ExtractionFailed, InvalidInput, Unavailable
from memoranda.llm.base import Completion
from memoranda.llm.retrying import Retries, retry_after, with_retries


class AnthropicLLM:
    """An `LLM` that asks Anthropic.

    The key comes from `api_key` or `ANTHROPIC_API_KEY`, the address from `base_url`, `ANTHROPIC_BASE_URL` or
    Anthropic's own.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        retries: Retries | None = None,
    ) -> None:
        key = api_key or os.environ.get("ANTHROPIC_API_KEY")
        if not model:
            raise InvalidInput("say which model: AnthropicLLM('claude-…')")
        if not key:
            raise InvalidInput("Anthropic needs a key: give api_key, or set ANTHROPIC_API_KEY")
        # We wait and try again ourselves, so that the waiting can be tested.
        self._client = anthropic.Anthropic(api_key=key, base_url=base_url, timeout=timeout, max_retries=0)
        self._model = model
        self._retries = retries or Retries()

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        """The model's text."""
        return self.generate(prompt, max_tokens=max_tokens).text

    def generate(self, prompt: str, *, max_tokens: int) -> Completion:
        """The model's text, and what it cost."""
        answer, attempts = with_retries(lambda: self._ask(prompt, max_tokens), self._retries)
        text, usage = answer
        return Completion(text, *usage, attempts)

    def close(self) -> None:
        """Closes the connections; may be called twice."""
        self._client.close()

    def _ask(self, prompt: str, max_tokens: int) -> tuple[str, tuple[int, int]]:
        with _translated(self._model):
            answer = self._client.messages.create(
                model=self._model, max_tokens=max_tokens, messages=[{"role": "user", "content": prompt}]
            )
        text = "".join(block.text for block in answer.content if block.type == "text")
        return text, (answer.usage.input_tokens, answer.usage.output_tokens)


@contextmanager
def _translated(model: str) -> Iterator[None]:
    """The client's errors as ours: wait and ask again, or change the call."""
    try:
        yield
    except (anthropic.RateLimitError, anthropic.InternalServerError) as error:
        raise Unavailable(f"{model}: {error.message}", retry_after=retry_after(error.response.headers)) from error
    except anthropic.APIConnectionError as error:
        raise Unavailable(f"Anthropic cannot be reached for {model}: {error.message}") from error
    except anthropic.APIStatusError as error:
        raise InvalidInput(f"Anthropic refused {model} ({error.status_code}): {error.message}") from error
    except anthropic.APIError as error:
        raise ExtractionFailed(f"{model} gave no usable answer: {error.message}") from error
