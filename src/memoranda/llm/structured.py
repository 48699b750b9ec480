"""Answers of a model: JSON that is validated, with one request for a correction, and what to do when a call fails."""

from __future__ import annotations

import contextvars
import json
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Generic, TypeVar

from memoranda.errors import ExtractionFailed, InvalidInput, MemorandaError, Unavailable
from memoranda.llm.base import LLM, Completion, Retries, SchemaLLM, call_with_retries, is_temporary, parse_retry_after
from memoranda.security.redaction import default_redactor
from memoranda.types import JSON

T = TypeVar("T")
_MAX_ANSWER: Final = 200_000
"""Characters of an answer that are read; no answer within `max_tokens` is that long."""
_MAX_TRIES: Final = 2_000
_OPENING: Final = re.compile(r"[\[{]")
_BEGINS_JSON: Final = re.compile(r"\[\s*(?:\{|$)|\{\s*(?:\"|$)")
"""The beginning of a list of objects or of an object, which may be cut off."""
_PAGE: Final = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)?<(?:!doctype html|html|head|body)\b", re.I | re.S)
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
    raise InvalidInput("it is a page of HTML, not JSON" if is_html(text) else "it holds no JSON")


def is_html(text: str) -> bool:
    """Return whether a text is a page, such as a login page that stands before an endpoint."""
    return _PAGE.match(text) is not None


def refuse_page(answer: object, model: str) -> None:
    """Raise `ExtractionFailed` for an answer that a client passed on as a text, since it is no JSON."""
    if isinstance(answer, str | bytes):
        text = answer if isinstance(answer, str) else answer.decode("utf-8", "replace")
        what = "a page of HTML" if is_html(text) else "text"
        raise ExtractionFailed(f"the endpoint of {model} answered {what}, not JSON: is the address right?")


def _items_in(value: JSON) -> list[JSON] | None:
    """Return the items of a list with an object, of the only list in an object, or the object; None if it has none."""
    if isinstance(value, list):
        return value if not value or any(isinstance(item, dict) for item in value) else None
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


_MAX_LENGTH: Final = 200
_PAUSES: Final = tuple(timedelta(seconds=seconds) for seconds in (0, 30, 60, 120, 300, 900))
"""How long a model is not asked after it has failed once, twice, …; the last one for every further failure."""


def describe_failure(error: BaseException) -> str:
    """Return one short line about a failure, for logs and results. It holds no secret and no whole prompt."""
    first_line = next((line.strip() for line in _words(error).splitlines() if line.strip()), "")
    text = default_redactor().text(first_line[: 4 * _MAX_LENGTH])
    text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 1]}…"


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a program's own error may fail to print; its class is named all the same
        return ""


def hide(text: str, secrets: Collection[str]) -> str:
    """Return the text with the given secrets replaced; an endpoint may repeat a key in its error."""
    for secret in secrets:
        text = text.replace(secret, "[redacted]")
    return text


def safe_cause(error: BaseException, secrets: Collection[str]) -> BaseException | None:
    """Return the error as a cause to show, or None when it or one of its own causes holds a secret."""
    seen: BaseException | None = error
    for _ in range(10):
        if seen is None:
            return error
        words = f"{seen.args} {_words(seen)}"
        if hide(words, secrets) != words or isinstance(seen, UnicodeError):  # it prints the text it could not encode
            return None
        seen = seen.__cause__ or seen.__context__
    return None


@contextmanager
def translate_errors(
    client: Any, model: str, secrets: Collection[str], *, unusable: type[MemorandaError] = ExtractionFailed
) -> Iterator[None]:
    """Translate the errors of an official client.

    Args:
        client: The package `openai` or `anthropic`, whose classes of errors have the same names.
        model: The model that was asked.
        secrets: What no message may contain.
        unusable: The error for an answer that cannot be used.
    """
    try:
        yield
    except MemorandaError:
        raise
    except Exception as error:  # noqa: BLE001 - translated: clients also raise plain errors for answers of the wrong form
        raise _translate(client, error, model, secrets, unusable) from safe_cause(error, secrets)


def _translate(
    client: Any, error: Any, model: str, secrets: Collection[str], unusable: type[MemorandaError]
) -> MemorandaError:
    message = hide(error.message, secrets) if isinstance(error, client.APIError) else type(error).__name__
    if isinstance(error, client.APIStatusError):
        if is_temporary(error.status_code):
            return Unavailable(f"{model}: {message}", retry_after=parse_retry_after(error.response.headers))
        return InvalidInput(f"the endpoint refused {model} ({error.status_code}): {message}")
    if isinstance(error, client.APIConnectionError):
        return Unavailable(f"the endpoint of {model} cannot be reached: {message}")
    return unusable(f"the endpoint of {model} gave no usable answer: {message}")


def call_within(seconds: float, call: Callable[[], T], name: str) -> T:
    """Return the result of the call; raise `Unavailable` when it takes longer.

    An HTTP client limits the time for each piece of an answer, not for all of it, so an endpoint that sends one byte a
    second would hold the caller forever. The call runs in its own thread, which is left behind when it is too slow.
    """
    future: Future[T] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            future.set_result(context.run(call))
        except BaseException as error:  # noqa: BLE001 - the caller is told: `result` raises it
            future.set_exception(error)

    threading.Thread(target=run, name="memoranda-model-call", daemon=True).start()
    try:
        return future.result(seconds)
    except FutureTimeout:
        if future.done():  # the call itself raised it
            raise
    raise Unavailable(f"{name} did not answer within {seconds:.3g} seconds")


def complete_by_deadline(seconds: float, call: Callable[[], Completion], retries: Retries, name: str) -> Completion:
    """Return the answer of a model, with the number of attempts.

    Args:
        seconds: How long all attempts together may take.
        call: What to call.
        retries: How often to call it again after a temporary failure.
        name: The model, for error messages.
    """
    deadline = time.monotonic() + seconds

    def attempt() -> Completion:
        return call_within(max(0.0, deadline - time.monotonic()), call, name)

    answer, attempts = call_with_retries(attempt, retries, deadline)
    return replace(answer, attempts=attempts)


class CallPause:
    """Decides whether a model that failed is asked again yet. One for each model; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._until: datetime | None = None
        self.last_failure: str | None = None

    def reason(self, now: datetime) -> str | None:
        """Return why the model is not asked now; None when it may be asked."""
        with self._lock:
            if self._until is None or now >= self._until:
                return None
            return f"{self.last_failure} (it is asked again after {self._until:%Y-%m-%d %H:%M:%S} UTC)"

    def record_success(self) -> None:
        with self._lock:
            self._failures, self._until, self.last_failure = 0, None, None

    def record_unusable(self, error: BaseException) -> bool:
        """Record an answer that could not be used; return whether it is the first failure in a row.

        The model can be reached, so it is asked again about the next message.
        """
        with self._lock:
            is_first = self.last_failure is None
            self._failures, self._until, self.last_failure = 0, None, describe_failure(error)
            return is_first

    def record_failure(self, error: BaseException, now: datetime) -> bool:
        """Record that the model gave no answer; return whether it is the first failure in a row."""
        asked_for = error.retry_after if isinstance(error, Unavailable) else None
        wish = min(timedelta(seconds=asked_for or 0), _PAUSES[-1])
        with self._lock:
            is_first = self.last_failure is None
            self._failures += 1
            self.last_failure = describe_failure(error)
            self._until = now + max(_PAUSES[min(self._failures, len(_PAUSES)) - 1], wish)
            return is_first
