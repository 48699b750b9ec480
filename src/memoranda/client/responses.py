"""Responses of the server: JSON becomes the dataclasses that the embedded manager returns, or its errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import httpx2

from memoranda import errors
from memoranda.errors import PROBLEM_URN, Denied, Incompatible, MemorandaError, Unavailable
from memoranda.records import ResultList, build
from memoranda.results.recall import Context
from memoranda.types import Hit, Memory, Outcome, Outcomes

_T = TypeVar("_T")
_ERRORS: Final = {
    kind.__name__: kind
    for kind in (
        errors.InvalidInput,
        errors.InvalidType,
        errors.NotFound,
        errors.ExtractionFailed,
        errors.Incompatible,
        errors.Closed,
    )
}


def deserialize(kind: type[_T], data: Any) -> _T:
    """Return a value of this type. Unknown fields are ignored; a missing field is an error."""
    try:
        return build(kind, data)
    except (KeyError, TypeError, ValueError) as error:
        raise Incompatible(f"the server's {kind} does not fit this client: use the same version ({error!r})") from error


def parse_list(kind: type[list[_T]], noun: str) -> Callable[[Any], list[_T]]:
    """Return a function that reads a response as a list of this type, of results that are called `noun`."""
    return lambda response: ResultList(deserialize(kind, response), noun)


def parse_outcomes(response: Any) -> Outcomes:
    """Read a response as the outcomes of a write."""
    outcomes = deserialize(list[Outcome], response)
    failure = next((outcome.queued for outcome in outcomes if outcome.queued), None)
    return Outcomes(outcomes, failure=failure)


def parse_context(response: Any) -> Context:
    """Read a response as text for a prompt."""
    return Context(
        response["text"],
        hits=deserialize(tuple[Hit, ...], response["hits"]),
        left_out=response["left_out"],
        tokens=response["tokens"],
        recall_id=response["recall_id"],
        answerable=response["answerable"],
        degraded=tuple(response["degraded"]),
    )


def to_error(status: int, body: bytes, headers: httpx2.Headers) -> Exception:
    """Return the error that a response describes."""
    problem = _parse_problem(body)
    name = str(problem.get("type", "")).removeprefix(PROBLEM_URN)
    detail = str(problem.get("detail") or f"status {status}")
    if name == "IndexError":
        return IndexError(detail)
    if status in (401, 403):
        return Denied(detail, status=status)
    if status in (408, 429, 502, 503, 504) and name != "ExtractionFailed":
        wait = headers.get("retry-after", "")
        kind = errors.OutcomeUnknown if name == "OutcomeUnknown" else Unavailable
        return kind(detail, retry_after=float(wait) if wait.isdigit() else None, status=status)
    if name == "Conflict":
        current = problem.get("current")
        memory = deserialize(Memory, current) if isinstance(current, dict) else None
        return errors.Conflict(detail, current=memory, status=status)
    if name in _ERRORS:
        return _ERRORS[name](detail)
    if 400 <= status < 500:
        return errors.InvalidInput(detail)
    return MemorandaError(f"the server failed: {detail} (request {headers.get('x-request-id', 'unknown')})")


@contextmanager
def translate_errors(url: str) -> Iterator[None]:
    """Turn the HTTP library's errors into ours."""
    try:
        yield
    except httpx2.TimeoutException as error:
        raise Unavailable(f"{url} did not answer in time: try again") from error
    except httpx2.TransportError as error:
        raise Unavailable(f"{url} cannot be reached ({error}): is the server running?") from error


def _parse_problem(body: bytes) -> dict[str, Any]:
    try:
        problem = json.loads(body)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}
