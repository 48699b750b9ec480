"""Every error Memoranda raises, named by what the caller can do about it.

MemorandaError                     .status, for the server door
├── InvalidInput  (ValueError)     change the call                        422
│   └── InvalidType (TypeError)    change the type of an argument         422
├── NotFound      (LookupError)    names what and in which scope          404
├── Conflict                       re-read, then decide again             409
├── Denied                         use another key, or ask for the right  403, 401
├── Unavailable                    same call may work later, retry_after  503, 429
├── ExtractionFailed               the model answered; text attached      502
├── Incompatible                   data does not fit this code or model   500
├── MissingExtra  (ImportError)    prints the install line                501
└── Closed                         used after close()                     500
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class MemorandaError(Exception):
    """Base of all errors of this package."""

    status = 500


class InvalidInput(MemorandaError, ValueError):
    """The call itself is wrong; nothing was changed."""

    status = 422


class InvalidType(InvalidInput, TypeError):
    """An argument has the wrong type; nothing was changed."""


class NotFound(MemorandaError, LookupError):
    """What was named does not exist in the scope that was asked."""

    status = 404


class Conflict(MemorandaError):
    """Somebody else changed it first: read it again, then decide."""

    status = 409


class Denied(MemorandaError):
    """The key given to a server is missing, no longer valid, or not allowed to do this."""

    status = 403

    def __init__(self, message: str, *, status: int = 403) -> None:
        super().__init__(message)
        self.status = status


class Unavailable(MemorandaError):
    """A store or model cannot answer now; the same call may work later."""

    status = 503

    def __init__(self, message: str, *, retry_after: float | None = None, status: int = 503) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.status = status


class ExtractionFailed(MemorandaError):
    """A model was to read something and did not give anything usable; what it answered is attached.

    From `remember`, everything that needs no model is stored, as `outcomes` says, and the model is asked again later.
    """

    status = 502

    def __init__(self, message: str, *, text: str = "", outcomes: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.text = text
        self.outcomes = outcomes


class Incompatible(MemorandaError):
    """The data on disk does not fit this code, schema or embedding model."""

    status = 500


class MissingExtra(MemorandaError, ImportError):
    """An optional dependency is not installed; the message is the install line."""

    status = 501

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f'{feature} needs an extra: pip install "memoranda[{extra}]"')
        self.extra = extra


class Closed(MemorandaError):
    """Used after close()."""

    status = 500
