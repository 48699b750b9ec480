"""The interface to a language model, its usage and its retries. Nothing requires one; some features gain from one."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, runtime_checkable

from memoranda import registry
from memoranda.errors import ExtractionFailed, InvalidInput, Unavailable
from memoranda.text.tokens import estimate_tokens
from memoranda.types import JSON, Usage

__all__ = ["LLM", "Completion", "CountingLLM", "MeteredLLM", "SchemaLLM", "Usage", "open_llm"]

_EXPECTED_AFTER_COLON = {"gguf": "path of a .gguf file", "scripted": "path of a JSON list of answers"}


class LLM(Protocol):
    """Completes prompts. Raises `Unavailable` when the model cannot be reached. Safe to call from several threads."""

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        """Return the model's text, at most about `max_tokens` tokens long."""
        ...


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's text and its cost."""

    text: str
    input_tokens: int
    output_tokens: int
    attempts: int = 1
    """How often the model was called until it answered."""


@runtime_checkable
class CountingLLM(Protocol):
    """An `LLM` that also reports the cost of each answer."""

    def complete(self, prompt: str, *, max_tokens: int) -> str: ...

    def generate(self, prompt: str, *, max_tokens: int) -> Completion:
        """Do the same as `complete`, and count the tokens read and written."""
        ...


@runtime_checkable
class SchemaLLM(Protocol):
    """An `LLM` that can be held to a JSON schema."""

    def generate_json(self, prompt: str, *, schema: Mapping[str, JSON], max_tokens: int) -> Completion:
        """Return JSON text that fits the schema, where the endpoint supports it; else what `generate` returns."""
        ...


class LLMFactory(Protocol):
    """The type of a registry entry of the kind "llm". It is called with the text after the colon in `name:model`."""

    def __call__(self, model: str, /) -> LLM: ...


def open_llm(name: str) -> LLM:
    """Return the model of this name.

    `InvalidInput` lists the known names, `MissingExtra` says what to install. Keys and addresses come from the
    provider's environment variables (`OPENAI_API_KEY`, `OPENAI_BASE_URL`, …).
    """
    provider, _, model = name.partition(":")
    factory: LLMFactory = registry.resolve("llm", provider)
    if not model:
        raise InvalidInput(
            f"{name!r} names no model: write {provider}:<{_EXPECTED_AFTER_COLON.get(provider, 'model')}>"
        )
    return factory(model)


class MeteredLLM:
    """Passes prompts to another model and adds up their cost. Make one for each operation."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self._usage = Usage()
        self._lock = threading.Lock()

    @property
    def usage(self) -> Usage:
        """The cost so far."""
        with self._lock:
            return self._usage

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        """Return the model's text."""
        return self.generate(prompt, max_tokens=max_tokens).text

    def generate(self, prompt: str, *, max_tokens: int) -> Completion:
        """Return the answer. A call that fails is counted too."""
        llm = self._llm
        if isinstance(llm, CountingLLM):
            return self._count(lambda: llm.generate(prompt, max_tokens=max_tokens))
        return self._count(lambda: llm.complete(prompt, max_tokens=max_tokens), prompt)

    def generate_json(self, prompt: str, *, schema: Mapping[str, JSON], max_tokens: int) -> Completion:
        """Return the answer, held to the schema if the model can be."""
        llm = self._llm
        if isinstance(llm, SchemaLLM):
            return self._count(lambda: llm.generate_json(prompt, schema=schema, max_tokens=max_tokens))
        return self.generate(prompt, max_tokens=max_tokens)

    def _count(self, call: Callable[[], object], prompt: str = "") -> Completion:
        """Call the model and add its cost; tokens are estimated for a model that returns a plain text."""
        try:
            answer = call()
        except BaseException:
            self._add(Usage(calls=1))
            raise
        if isinstance(answer, Completion) and isinstance(answer.text, str):
            self._add(Usage(answer.attempts, answer.input_tokens, answer.output_tokens))
            return answer
        if isinstance(answer, str):
            completion = Completion(answer, estimate_tokens(prompt), estimate_tokens(answer))
            self._add(Usage(1, completion.input_tokens, completion.output_tokens, estimated=True))
            return completion
        self._add(Usage(calls=1))
        raise ExtractionFailed(f"the model returned {type(answer).__name__} where a text is expected")

    def _add(self, usage: Usage) -> None:
        with self._lock:
            self._usage += usage


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Retries:
    """How often to retry and how long to wait: exponential backoff with jitter, unless the model says how long."""

    times: int = 2
    """Attempts after the first."""
    first_wait: float = 0.5
    longest_wait: float = 30.0
    rng: random.Random = field(default_factory=random.Random, compare=False)
    sleep: Callable[[float], None] = field(default=time.sleep, compare=False)

    def __post_init__(self) -> None:
        if self.times < 0 or self.first_wait < 0 or self.longest_wait < 0:
            raise InvalidInput("retries must not be negative")

    def wait(self, attempt: int, retry_after: float | None) -> float:
        """Return the seconds to wait after a failed attempt; the first attempt is 0."""
        if retry_after is not None:
            return min(retry_after, self.longest_wait)
        # Random, so that many callers do not retry at the same time.
        return self.rng.uniform(0, min(self.longest_wait, self.first_wait * 2**attempt))


def call_with_retries(call: Callable[[], T], retries: Retries, deadline: float = math.inf) -> tuple[T, int]:
    """Return the result of the call and the number of attempts; raise the last `Unavailable` when all fail.

    With a deadline, of `time.monotonic()`, no attempt is made that would begin after it.
    """
    for attempt in range(retries.times + 1):
        try:
            return call(), attempt + 1
        except Unavailable as error:
            wait = retries.wait(attempt, error.retry_after)
            if attempt == retries.times or time.monotonic() + wait >= deadline:
                raise
            retries.sleep(wait)
    raise AssertionError("unreachable")


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds in the `retry-after` header, or None when it is missing or is a date."""
    try:
        return max(0.0, float(headers["retry-after"]))
    except (KeyError, ValueError):
        return None


def is_temporary(status: int) -> bool:
    """Return whether the same request may work later, by the HTTP status of its answer."""
    return status in (408, 409, 425, 429) or status >= 500
