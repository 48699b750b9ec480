"""A model behind an OpenAI-compatible endpoint (OpenAI, Ollama, vLLM, …), through the official client."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import openai

from memoranda.errors import ExtractionFailed, InvalidInput, Unavailable
from memoranda.llm.base import Completion
from memoranda.llm.retrying import Retries, retry_after, with_retries


class OpenAILLM:
    """An `LLM` that asks a chat endpoint.

    The key comes from `api_key` or `OPENAI_API_KEY`, the address from `base_url`, `OPENAI_BASE_URL` or OpenAI's own. An
    endpoint of one's own often needs no key: any text will do.
    """

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
        address = base_url or os.environ.get("OPENAI_BASE_URL")
        key = api_key or os.environ.get("OPENAI_API_KEY")
        if not model:
            raise InvalidInput("say which model: OpenAILLM('gpt-…')")
        if not key:
            raise InvalidInput("an endpoint needs a key: give api_key, or set OPENAI_API_KEY")
        # We wait and try again ourselves, so that the waiting can be tested.
        self._client = openai.OpenAI(api_key=key, base_url=address, timeout=timeout, max_retries=0)
        self._model = model
        self._temperature = temperature
        self._retries = retries or Retries()
        # OpenAI's newer models know only the new word for it, other servers only the old one.
        self._limit_name = "max_tokens" if address else "max_completion_tokens"

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
        options: dict[str, object] = {self._limit_name: max_tokens}
        if self._temperature is not None:
            options["temperature"] = self._temperature
        with _translated(self._model):
            answer = self._client.chat.completions.create(
                model=self._model,
                messages=[{"role": "user", "content": prompt}],
                extra_body=options,
            )
        if not answer.choices:
            raise ExtractionFailed(f"{self._model} gave no answer")
        usage = answer.usage
        counted = (usage.prompt_tokens, usage.completion_tokens) if usage else (0, 0)
        return answer.choices[0].message.content or "", counted


@contextmanager
def _translated(model: str) -> Iterator[None]:
    """The client's errors as ours: wait and ask again, or change the call."""
    try:
        yield
    except (openai.RateLimitError, openai.InternalServerError) as error:
        raise Unavailable(f"{model}: {error.message}", retry_after=retry_after(error.response.headers)) from error
    except openai.APIConnectionError as error:
        raise Unavailable(f"the endpoint of {model} cannot be reached: {error.message}") from error
    except openai.APIStatusError as error:
        raise InvalidInput(f"the endpoint refused {model} ({error.status_code}): {error.message}") from error
    except openai.APIError as error:
        raise ExtractionFailed(f"the endpoint of {model} gave no usable answer: {error.message}") from error
