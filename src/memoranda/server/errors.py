"""Errors as `application/problem+json` (RFC 9457), derived from the error tree."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from pydantic_core import to_jsonable_python
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from memoranda.errors import PROBLEM_URN, Conflict, InvalidInput, InvalidType, MemorandaError, Unavailable, summarize
from memoranda.server.observability import LOGGER
from memoranda.types import Memory

MEDIA_TYPE: Final = "application/problem+json"
_TITLES: Final = {
    400: "The request cannot be parsed",
    403: "The request is not allowed",
    404: "There is no such route",
    405: "The route does not support this method",
    408: "The request did not arrive in time",
    413: "The request is too large",
    415: "The request is not JSON",
    421: "The Host header does not name this server",
}
_MAX_VALIDATION_ERRORS: Final = 20
_MAX_QUOTED: Final = 60
_MUST_BE: Final = "must be "
_TYPES: Final = {
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_attributes_type": "must be an object",
}
"""What a field must be, for errors of pydantic about its type."""
_LIMITS: Final = {
    "missing": "is missing",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "finite_number": "must be a finite number",
    "literal_error": "must be {expected}",
    "string_too_short": "must be a text of at least {min_length} characters",
    "string_too_long": "must be a text of at most {max_length} characters",
    "string_pattern_mismatch": "must be a text that matches {pattern}",
    "too_short": "must be a list of at least {min_length} items",
    "too_long": "must be a list of at most {max_length} items",
}
_CHOICES: Final = frozenset({"str", "int", "float", "bool"})
"""Names of a union's choices that could be names of fields."""


class RequestRejected(InvalidInput):
    """A request rejected before its content is read."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def error_response(error: MemorandaError, request_id: str) -> Response:
    """Return the problem for the caller. The details of a server error go into the log only."""
    status = error.status
    if status >= 500:
        LOGGER.error("failed", exc_info=error, extra={"fields": {"request_id": request_id}})
    headers: dict[str, str] = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, Unavailable) and error.retry_after is not None:
        headers["Retry-After"] = str(max(1, round(error.retry_after)))
    kind = InvalidInput if isinstance(error, RequestRejected) else type(error)
    title = _TITLES[status] if isinstance(error, RequestRejected) else summarize(kind)
    current = error.current if isinstance(error, Conflict) else None
    return _problem(status, kind.__name__, title, error.public_message(), headers=headers, current=current)


def internal_error_response() -> Response:
    """Return the problem for an unexpected exception."""
    return _problem(
        500, "Internal", "The server failed", "an unexpected error; the server's log has it under the request id"
    )


async def handle_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MemorandaError)
    return error_response(error, request.state.request_id)


async def handle_index_error(_: Request, error: Exception) -> Response:
    return _problem(422, "IndexError", "There is no message at that position", str(error))


async def handle_http_exception(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    title = _TITLES.get(error.status_code, "The request was refused")
    return _problem(error.status_code, "Refused", title, error.detail, headers=error.headers)


async def handle_validation_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found: Sequence[Mapping[str, Any]] = error.errors()[:_MAX_VALIDATION_ERRORS]
    kind = InvalidType if all(item["type"] in _TYPES for item in found) else InvalidInput
    mistakes = describe_mistakes(found)
    errors = [{"where": name.split("."), "what": what} for name, what in mistakes.items()]
    detail = "; ".join(f"{name} {what}".strip() for name, what in list(mistakes.items())[:3])
    return _problem(422, kind.__name__, summarize(kind), detail, errors=errors)


def describe_mistakes(errors: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return what is wrong with each field of a request, by its name, in words for a person."""
    choices: dict[str, list[str]] = {}
    inputs: dict[str, str] = {}
    for error in errors:
        name = _field_name(error["loc"])
        choices.setdefault(name, []).append(_describe_mistake(error))
        inputs.setdefault(name, _quote(error.get("input")))
    return {name: _join(dict.fromkeys(found), inputs[name]) for name, found in choices.items()}


def _field_name(location: Sequence[int | str]) -> str:
    """Return the name of a field without where it was sent, and without the names of pydantic's choices."""
    name = ""
    for step in location[1:]:
        if isinstance(step, int):
            name += f"[{step}]"
        elif not step.isidentifier() or step in _CHOICES:
            break
        else:
            name += f".{step}" if name else step
    return name


def _describe_mistake(error: Mapping[str, Any]) -> str:
    kind, context = error["type"], error.get("ctx") or {}
    words = _TYPES.get(kind) or _LIMITS.get(kind)
    whole = {name: int(value) for name, value in context.items() if isinstance(value, float) and value.is_integer()}
    return words.format(**{**context, **whole}) if words else str(error["msg"])


def _join(found: Iterable[str], given: str) -> str:
    """Return what a field must be: one of these, and not what was given."""
    words = list(found)
    if not all(each.startswith(_MUST_BE) for each in words):
        return words[0]
    return f"{_MUST_BE}{' or '.join(each.removeprefix(_MUST_BE) for each in words)}, not {given}"


def _quote(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=lambda other: type(other).__name__)
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"


def _problem(
    status: int,
    kind: str,
    title: str,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    errors: Sequence[Mapping[str, Any]] = (),
    current: Memory | None = None,
) -> Response:
    body: dict[str, Any] = {"type": PROBLEM_URN + kind, "title": title, "status": status, "detail": detail}
    if errors:
        body["errors"] = list(errors)
    if current is not None:
        body["current"] = to_jsonable_python(current)
    # `json.dumps` writes ASCII only, so the detail may quote text that is not valid Unicode.
    return Response(json.dumps(body), status, headers=dict(headers or {}), media_type=MEDIA_TYPE)
