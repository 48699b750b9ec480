"""Every error that Memoranda raises, named by what the caller can do about it; and pydantic's errors in plain words.

MemorandaError                     .status is the HTTP status that a server answers with
├── InvalidInput  (ValueError)     change the call                             422
│   └── InvalidType (TypeError)    change the type of an argument              422
├── NotFound      (LookupError)    names what is missing, and in which scope   404
├── Conflict                       read again, then decide again: .current     409, 412
├── Denied                         use another key, or ask for permission      403, 401
├── Unavailable                    the same call may work later: retry_after   503, 429
│   └── OutcomeUnknown             read again: it may have been written        503
├── ExtractionFailed               the model's answer is unusable; attached    502
├── Incompatible                   data does not fit this code or model        500, 409
│   └── EncryptionKeyError         give the key that the data was encrypted with  500
├── MissingExtra  (ImportError)    prints the install command                  501
└── Closed                         used after close()                          500
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from memoranda.types import Memory


PROBLEM_URN: Final = "urn:memoranda:"
"""In a response of the server, followed by the name of the error."""


_LONGEST: Final = 2000


class MemorandaError(Exception):
    """Base class of all errors of this package."""

    status = 500

    def __str__(self) -> str:
        text = super().__str__()  # it may name what the caller gave, however long that is
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 4 :]}"

    def public_message(self) -> str:
        """Return what a remote caller may read: the text of a server error may name files of the server."""
        return str(self) if self.status < 500 else summarize(type(self))


def summarize(kind: type[MemorandaError]) -> str:
    """Return the first line of the description of a kind of error."""
    return (kind.__doc__ or kind.__name__).splitlines()[0].rstrip(".")


class InvalidInput(MemorandaError, ValueError):
    """The call itself is wrong; nothing was changed."""

    status = 422


class InvalidType(InvalidInput, TypeError):
    """An argument has the wrong type; nothing was changed."""


class NotFound(MemorandaError, LookupError):
    """The requested object does not exist in the given scope."""

    status = 404


class Conflict(MemorandaError):
    """Somebody else changed the object first: read it again, then decide.

    When an update of a memory raises it, `current` is the memory as it is now.
    """

    status = 409

    def __init__(self, message: str, *, current: Memory | None = None, status: int = 409) -> None:
        super().__init__(message)
        self.current = current
        self.status = status


class Denied(MemorandaError):
    """The key sent to a server is missing, no longer valid, or not allowed to do this."""

    status = 403

    def __init__(self, message: str, *, status: int = 403) -> None:
        super().__init__(message)
        self.status = status


class Unavailable(MemorandaError):
    """A store or a model cannot answer now; the same call may work later."""

    status = 503

    def __init__(self, message: str, *, retry_after: float | None = None, status: int = 503) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.status = status


class OutcomeUnknown(Unavailable):
    """A commit failed in such a way that nobody can tell whether it was written: read again, then decide."""


class ExtractionFailed(MemorandaError):
    """A model did not return a usable answer; its answer is attached as `text`.

    When `remember(…, strict=True)` raises it, everything that needs no model has been stored (see `outcomes`), and the
    model is asked again later.
    """

    status = 502

    def __init__(self, message: str, *, text: str = "", outcomes: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.text = text
        self.outcomes = outcomes


class Incompatible(MemorandaError):
    """The stored data does not fit this code, schema or embedding model."""

    status = 500

    def __init__(self, message: str, *, status: int = 500) -> None:
        super().__init__(message)
        self.status = status


class EncryptionKeyError(Incompatible):
    """The key of encrypted data is missing or wrong, or a key is given for data that is not encrypted."""


class MissingExtra(MemorandaError, ImportError):
    """An optional dependency is not installed; the message contains the install command."""

    status = 501

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f'{feature} needs an extra: pip install "memoranda[{extra}]"')
        self.extra = extra


class Closed(MemorandaError):
    """The object was used after close()."""

    status = 500


_MAX_QUOTED: Final = 60
_MUST_BE: Final = "must be "
TYPE_ERRORS: Final = {
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
    "string_unicode": "holds a lone surrogate: not valid Unicode",
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


def describe_mistakes(errors: Iterable[Mapping[str, Any]], *, skip: int = 0) -> dict[str, str]:
    """Return what is wrong with each field, by its name, in words for a person.

    Args:
        errors: The errors of pydantic.
        skip: How many steps of each location come before the name of the field.
    """
    choices: dict[str, list[str]] = {}
    inputs: dict[str, str] = {}
    for error in errors:
        name = _field_name(error["loc"][skip:])
        choices.setdefault(name, []).append(_describe_mistake(error))
        inputs.setdefault(name, _quote(error.get("input")))
    return {name: _join(dict.fromkeys(found), inputs[name]) for name, found in choices.items()}


def _field_name(location: Sequence[int | str]) -> str:
    """Return the name of a field without the names of pydantic's choices."""
    name = ""
    for step in location:
        if isinstance(step, int):
            name += f"[{step}]"
        elif not step.isidentifier() or step in _CHOICES:
            break
        else:
            name += f".{step}" if name else step
    return name


def _describe_mistake(error: Mapping[str, Any]) -> str:
    kind, context = error["type"], error.get("ctx") or {}
    words = TYPE_ERRORS.get(kind) or _LIMITS.get(kind)
    whole = {name: int(value) for name, value in context.items() if isinstance(value, float) and value.is_integer()}
    return words.format(**{**context, **whole}) if words else str(error["msg"])


def _join(found: Iterable[str], value: str) -> str:
    """Return what a field must be: one of these, and not what was given."""
    words = list(found)
    if not all(each.startswith(_MUST_BE) for each in words):
        return words[0]
    return f"{_MUST_BE}{' or '.join(each.removeprefix(_MUST_BE) for each in words)}, not {value}"


def _quote(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=lambda other: type(other).__name__)
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"
