"""An answer that a program can use: JSON out of a model's text, checked, repaired once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from memoranda.errors import ExtractionFailed, InvalidInput
from memoranda.llm.base import LLM
from memoranda.types import JSON

T = TypeVar("T")
_FENCED = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)
# The task stands first and unchanged, so that a model need not read it again.
_REPAIR = """{prompt}

You were asked this before, and your answer could not be used: {problem}
Your answer was:
<answer>
{answer}
</answer>
Give it again as JSON that can be used, and nothing else.

JSON:"""
_SHOWN = 2_000


def ask(llm: LLM, prompt: str, read: Callable[[JSON], T], *, max_tokens: int) -> T:
    """What `read` makes of the model's JSON. `read` raises `InvalidInput` for what it cannot use.

    An answer that cannot be used is sent back once; after that it is `ExtractionFailed`, with the last text attached.
    """
    first = llm.complete(prompt, max_tokens=max_tokens)
    try:
        return read(json_in(first))
    except InvalidInput as problem:
        again = _REPAIR.format(problem=problem, answer=first[:_SHOWN], prompt=prompt)
    second = llm.complete(again, max_tokens=max_tokens)
    try:
        return read(json_in(second))
    except InvalidInput as problem:
        raise ExtractionFailed(f"the model's answer cannot be used: {problem}", text=second) from problem


def json_in(text: str) -> JSON:
    """The JSON in a text that may hold more: a fenced block, or the first value that can be read."""
    fenced = _FENCED.search(text)
    for piece in (fenced[1], text) if fenced else (text,):
        for match in re.finditer(r"[\[{]", piece):
            try:
                value: JSON = json.JSONDecoder().raw_decode(piece, match.start())[0]
            except (ValueError, RecursionError):
                continue
            return value
    raise InvalidInput("it holds no JSON")


def an_object(value: JSON, where: str) -> Mapping[str, JSON]:
    """The value, if it is an object."""
    if not isinstance(value, dict):
        raise InvalidInput(f"{where} must be an object, not {_kind(value)}")
    return value


def a_list(value: JSON, where: str) -> Sequence[JSON]:
    """The value, if it is a list."""
    if not isinstance(value, list):
        raise InvalidInput(f"{where} must be a list, not {_kind(value)}")
    return value


def a_text(value: JSON, where: str) -> str:
    """The value, if it is a text that says something."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{where} must be a text, not {_kind(value)}")
    return value


def a_number(value: JSON, where: str, *, least: float, most: float) -> float:
    """The value, if it is a number within the bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise InvalidInput(f"{where} must be a number from {least:g} to {most:g}")
    return float(value)


def _kind(value: JSON) -> str:
    if isinstance(value, str):
        return "a text" if value.strip() else "an empty text"
    return "null" if value is None else type(value).__name__
