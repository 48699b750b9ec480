"""Every error that Memoranda raises, named by what the caller can do about it.

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

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

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
