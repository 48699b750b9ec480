"""Models behind an OpenAI-compatible endpoint (OpenAI, Ollama, vLLM, …), called with the official client."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import openai

from memoranda.errors import ExtractionFailed, InvalidInput, MemorandaError, Unavailable
from memoranda.llm.base import Completion, Retries, call_with_retries, parse_retry_after


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
            timeout: Seconds to wait for an answer.
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
        self._model = model
        self._temperature = temperature
        self._retries = retries or Retries()
        # OpenAI's newer models accept only the new parameter, other servers only the old one.
        self._limit_name = "max_tokens" if address else "max_completion_tokens"

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
        options: dict[str, object] = {self._limit_name: max_tokens}
        if self._temperature is not None:
            options["temperature"] = self._temperature
        with translate_errors(self._model):
            answer = self._client.chat.completions.create(
                model=self._model,
                messages=[{"role": "user", "content": prompt}],
                extra_body=options,
            )
        if not answer.choices:
            raise ExtractionFailed(f"{self._model} gave no answer")
        usage = answer.usage
        tokens = (usage.prompt_tokens, usage.completion_tokens) if usage else (0, 0)
        return Completion(answer.choices[0].message.content or "", *tokens)


@contextmanager
def translate_errors(model: str, unusable: type[MemorandaError] = ExtractionFailed) -> Iterator[None]:
    """Translate the client's errors; `unusable` is raised for an answer that cannot be used."""
    try:
        yield
    except (openai.RateLimitError, openai.InternalServerError) as error:
        raise Unavailable(f"{model}: {error.message}", retry_after=parse_retry_after(error.response.headers)) from error
    except openai.APIConnectionError as error:
        raise Unavailable(f"the endpoint of {model} cannot be reached: {error.message}") from error
    except openai.APIStatusError as error:
        raise InvalidInput(f"the endpoint refused {model} ({error.status_code}): {error.message}") from error
    except openai.APIError as error:
        raise unusable(f"the endpoint of {model} gave no usable answer: {error.message}") from error
