"""Structured answers: JSON from a model's text, validated, with one request for a correction."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from memoranda.errors import ExtractionFailed, InvalidInput
from memoranda.llm.base import LLM
from memoranda.types import JSON

T = TypeVar("T")
_CODE_BLOCK = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)
# The prompt comes first and unchanged, so that a model can reuse its cached reading of it.
_REPAIR = """{prompt}

You were asked this before, and your answer could not be used: {problem}
Your answer was:
<answer>
{answer}
</answer>
Give it again as JSON that can be used, and nothing else.

JSON:"""
_MAX_QUOTED = 2_000


def ask_for_json(llm: LLM, prompt: str, parse: Callable[[JSON], T], *, max_tokens: int) -> T:
    """Ask the model and return its parsed JSON.

    An unusable answer is sent back once for correction. If the second answer is unusable too, `ExtractionFailed` is
    raised with its text attached.

    Args:
        llm: The model.
        prompt: The task, which asks for JSON.
        parse: Converts the JSON; raises `InvalidInput` for JSON that it cannot use.
        max_tokens: The limit for each answer.
    """
    first = llm.complete(prompt, max_tokens=max_tokens)
    try:
        return parse(find_json(first))
    except InvalidInput as problem:
        repair = _REPAIR.format(problem=problem, answer=first[:_MAX_QUOTED], prompt=prompt)
    second = llm.complete(repair, max_tokens=max_tokens)
    try:
        return parse(find_json(second))
    except InvalidInput as problem:
        raise ExtractionFailed(f"the model's answer cannot be used: {problem}", text=second) from problem


def find_json(text: str) -> JSON:
    """Return the JSON in a text that may contain other words: from a code block, or the first that can be parsed."""
    block = _CODE_BLOCK.search(text)
    for piece in (block[1], text) if block else (text,):
        for match in re.finditer(r"[\[{]", piece):
            try:
                value: JSON = json.JSONDecoder().raw_decode(piece, match.start())[0]
            except (ValueError, RecursionError):
                continue
            return value
    raise InvalidInput("it holds no JSON")


def expect_object(value: JSON, name: str) -> Mapping[str, JSON]:
    """Return the value if it is an object."""
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} must be an object, not {_describe(value)}")
    return value


def expect_list(value: JSON, name: str) -> Sequence[JSON]:
    """Return the value if it is a list."""
    if not isinstance(value, list):
        raise InvalidInput(f"{name} must be a list, not {_describe(value)}")
    return value


def expect_text(value: JSON, name: str) -> str:
    """Return the value if it is a text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{name} must be a text, not {_describe(value)}")
    return value


def expect_number(value: JSON, name: str, *, minimum: float, maximum: float) -> float:
    """Return the value if it is a number within the bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not minimum <= value <= maximum:
        raise InvalidInput(f"{name} must be a number from {minimum:g} to {maximum:g}")
    return float(value)


def _describe(value: JSON) -> str:
    if isinstance(value, str):
        return "a text" if value.strip() else "an empty text"
    return "null" if value is None else type(value).__name__
