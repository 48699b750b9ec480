"""Structured answers: JSON from a model's text, validated, with one request for a correction."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from memoranda.errors import ExtractionFailed, InvalidInput, MemorandaError
from memoranda.llm.base import LLM, SchemaLLM
from memoranda.types import JSON

T = TypeVar("T")
_MAX_ANSWER: Final = 200_000
"""Characters of an answer that are read; no answer within `max_tokens` is that long."""
_MAX_TRIES: Final = 2_000
_OPENING: Final = re.compile(r"[\[{]")
_BEGINS_JSON: Final = re.compile(r"\[\s*(?:\{|$)|\{\s*(?:\"|$)")
"""The beginning of a list of objects or of an object, which may be cut off."""
_CODE_BLOCK = re.compile(r"```(?:json)?\s*+(.*?)```", re.DOTALL)
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


@dataclass(frozen=True, slots=True)
class ItemAnswer(Generic[T]):
    """The usable items of an answer, and why others are missing."""

    items: tuple[T, ...]
    failure: MemorandaError | None = None
    """What is wrong with the rest of the answer; None when all of it could be used."""


def ask_for_items(
    llm: LLM, prompt: str, schema: Mapping[str, JSON], parse: Callable[[JSON, int], T], *, max_tokens: int
) -> ItemAnswer[T]:
    """Ask the model for a list and return its usable items.

    An answer that is not usable as a whole is sent back once for correction; the items that were usable stay. Raises
    what the model raises when the first call fails.

    Args:
        llm: The model.
        prompt: The task, which asks for a JSON list of objects.
        schema: The JSON schema of the answer, for models that can be held to one.
        parse: Converts one item, given with its number; raises `InvalidInput` for one that it cannot use.
        max_tokens: The limit for each answer.
    """
    first = _complete_json(llm, prompt, schema, max_tokens)
    usable, problem = _parse_items(first, parse)
    if problem is None:
        return ItemAnswer(tuple(usable))
    repair = _REPAIR.format(problem=problem, answer=first[:_MAX_QUOTED], prompt=prompt)
    try:
        second = _complete_json(llm, repair, schema, max_tokens)
    except Exception as error:  # reported as the failure, beside the items of the first answer
        if not usable:
            raise
        failure = error if isinstance(error, MemorandaError) else ExtractionFailed(type(error).__name__)
        return ItemAnswer(tuple(usable), failure)
    corrected, problem = _parse_items(second, parse)
    items = tuple(dict.fromkeys([*usable, *corrected]))
    if problem is None:
        return ItemAnswer(items)
    return ItemAnswer(items, ExtractionFailed(f"the model's answer cannot be used: {problem}", text=second))


def _complete_json(llm: LLM, prompt: str, schema: Mapping[str, JSON], max_tokens: int) -> str:
    if isinstance(llm, SchemaLLM):
        return llm.generate_json(prompt, schema=schema, max_tokens=max_tokens).text
    return llm.complete(prompt, max_tokens=max_tokens)


def _parse_items(answer: str, parse: Callable[[JSON, int], T]) -> tuple[list[T], str | None]:
    """Return the usable items of an answer, and the first problem with the others."""
    try:
        items, problem = find_items(answer)
    except InvalidInput as error:
        return [], str(error)
    usable: list[T] = []
    for number, item in enumerate(items, 1):
        try:
            usable.append(parse(item, number))
        except InvalidInput as error:
            problem = problem or str(error)
    return usable, problem


def find_items(text: str) -> tuple[list[JSON], str | None]:
    """Return the objects of a JSON list in a text, and a problem when the list is cut off.

    Small models also give one object, or an object with the list in it.
    """
    found: list[JSON] = []
    is_cut_off = False
    for piece in _pieces(text):
        position, tries = 0, 0
        while (match := _OPENING.search(piece, position)) and tries < _MAX_TRIES:
            tries += 1
            value, end = _decode(piece, match.start())
            items = None if end is None else _items_in(value)
            if end is None or items is None:
                is_cut_off |= end is None and _BEGINS_JSON.match(piece, match.start()) is not None
                position = match.start() + 1 if end is None else end
                continue
            found += items
            if not is_cut_off:
                return found, None
            position = end
        if is_cut_off:
            return found, "it is cut off"
    raise InvalidInput("it holds no JSON")


def _items_in(value: JSON) -> list[JSON] | None:
    """Return the objects in a value: of a list, of the only list in an object, or the object; None if it has none."""
    if isinstance(value, list):
        return value if all(isinstance(item, dict) for item in value) else None
    if isinstance(value, dict):
        lists = [inner for inner in value.values() if isinstance(inner, list)]
        if len(lists) == 1 and len(value) == 1:
            return _items_in(lists[0])
        return [value] if value else None
    return None


def _pieces(text: str) -> Iterator[str]:
    text = text[:_MAX_ANSWER]
    block = _CODE_BLOCK.search(text)
    if block:
        yield block[1]
    yield text


def _decode(text: str, position: int) -> tuple[JSON, int | None]:
    """Return the JSON value at a position, and where it ends; None for the end when there is none."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, position)
    except (ValueError, RecursionError):
        return None, None
    return value, end


def expect_object(value: JSON, name: str) -> Mapping[str, JSON]:
    """Return the value if it is an object."""
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} must be an object, not {_describe(value)}")
    return value


def expect_text(value: JSON, name: str) -> str:
    """Return the value if it is a text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{name} must be a text, not {_describe(value)}")
    return value


def expect_number(value: JSON, name: str, *, minimum: float, maximum: float) -> float:
    """Return the value if it is a number within the bounds; else raise `InvalidInput`.

    Args:
        value: What the model answered.
        name: The field, for the error message.
        minimum: The lowest number.
        maximum: The highest number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not minimum <= value <= maximum:
        raise InvalidInput(f"{name} must be a number from {minimum:g} to {maximum:g}")
    return float(value)


def _describe(value: JSON) -> str:
    if isinstance(value, str):
        return "a text" if value.strip() else "an empty text"
    return "null" if value is None else type(value).__name__
