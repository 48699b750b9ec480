"""A language model by name: `openai:<model>`, `anthropic:<model>`, `gguf:<file>`, `scripted:<file>`."""

from __future__ import annotations

from typing import Protocol

from memoranda import registry
from memoranda.errors import InvalidInput
from memoranda.llm.base import LLM


class LLMFactory(Protocol):
    """What an entry of the registry's kind "llm" must be: called with what stands after the colon in `name:model`."""

    def __call__(self, model: str, /) -> LLM: ...


def open_llm(name: str) -> LLM:
    """The model of this name; `InvalidInput` lists the names there are, `MissingExtra` says what to install.

    Keys and addresses come from the environment of the provider (`OPENAI_API_KEY`, `OPENAI_BASE_URL`, …).
    """
    provider, _, model = name.partition(":")
    factory: LLMFactory = registry.resolve("llm", provider)
    if not model:
        raise InvalidInput(f"{name!r} names no model: write {provider}:<{_AFTER.get(provider, 'model')}>")
    return factory(model)


_AFTER = {"gguf": "path of a .gguf file", "scripted": "path of a JSON list of answers"}
