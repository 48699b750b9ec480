"""Answers that are errors → the errors the embedded manager raises."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx2

from memoranda import errors
from memoranda.errors import Denied, MemorandaError, Unavailable

_URN: Final = "urn:memoranda:"
_KNOWN: Final = {
    kind.__name__: kind
    for kind in (
        errors.InvalidInput,
        errors.InvalidType,
        errors.NotFound,
        errors.Conflict,
        errors.ExtractionFailed,
        errors.Incompatible,
        errors.Closed,
    )
}


def error_of(status: int, body: bytes, headers: httpx2.Headers) -> Exception:
    """The error that an answer stands for."""
    problem = _problem(body)
    name, detail = str(problem.get("type", "")).removeprefix(_URN), str(problem.get("detail") or f"status {status}")
    if name == "IndexError":
        return IndexError(detail)
    if status in (401, 403):
        return Denied(detail, status=status)
    if status in (408, 429, 502, 503, 504) and name != "ExtractionFailed":
        wait = headers.get("retry-after", "")
        return Unavailable(detail, retry_after=float(wait) if wait.isdigit() else None, status=status)
    if name in _KNOWN:
        return _KNOWN[name](detail)
    if 400 <= status < 500:
        return errors.InvalidInput(detail)
    return MemorandaError(f"the server failed: {detail} (request {headers.get('x-request-id', 'unknown')})")


@contextmanager
def translated(url: str) -> Iterator[None]:
    """Foreign errors become ours here, and nowhere else."""
    try:
        yield
    except httpx2.TimeoutException as error:
        raise Unavailable(f"{url} did not answer in time: try again") from error
    except httpx2.TransportError as error:
        raise Unavailable(f"{url} cannot be reached ({error}): is the server running?") from error


def _problem(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
