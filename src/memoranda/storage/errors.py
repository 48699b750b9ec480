"""Translate errors of the database and the file system into Memoranda's own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from json import JSONDecodeError
from typing import ParamSpec, TypeVar

from sqlalchemy.exc import DataError, DBAPIError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from memoranda.errors import Conflict, Incompatible, InvalidInput, MemorandaError, Unavailable

_DAMAGED = (
    "malformed", "not a database", "file is encrypted", "corrupt", "no such table", "no such column", "utf-8",
    "vtable constructor failed", "unsupported file format", "invalid fts5", "parse error",
)  # fmt: skip
_NO_MEMORY = "{}: there is not enough memory, nothing was changed: use smaller texts, or fewer at once"
_BAD_VALUE = ("binding parameter", "not supported", "too large to convert", "too big", "bind parameter")
_FULL = ("disk is full", "database or disk is full")
_READ_ONLY = ("readonly", "read-only", "attempt to write", "unable to open")


_called = threading.local()
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def called_by_sqlite(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Return a function for SQL: SQLite replaces its exceptions by one of its own, but Ctrl-C in it stays Ctrl-C."""

    @wraps(function)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        try:
            return function(*args, **kwargs)
        except Exception:
            _called.has_failed = True
            raise

    return call


def _was_interrupted(message: str) -> bool:
    """Return whether Ctrl-C ended a statement in a function that SQLite called: nothing else has ended it then."""
    has_failed = getattr(_called, "has_failed", False)
    _called.has_failed = False
    return "user-defined function" in message and not has_failed


@contextmanager
def translate_errors(where: str) -> Iterator[None]:
    """Raise Memoranda's own error, which says what to do, in place of a driver's."""
    try:
        yield
    except MemorandaError:
        raise
    except DBAPIError as error:
        if _was_interrupted(str(error.orig)):
            raise KeyboardInterrupt from None
        refused = isinstance(error, DataError)
        raise _translate(str(error.orig), where, refused=refused) from error
    except (UnicodeDecodeError, JSONDecodeError) as error:  # nothing but stored values is decoded in a transaction
        raise _translate(f"malformed text: {error}", where) from error
    except UnicodeEncodeError as error:
        raise _unencodable(where) from error
    except MemoryError as error:
        raise Unavailable(_NO_MEMORY.format(where)) from error
    except OverflowError as error:
        raise InvalidInput(f"a number is too large for the database ({error}): use one of at most 64 bits") from error
    except PoolTimeout as error:
        raise Unavailable(f"{where}: too many reads at once, none ended in time", retry_after=1.0) from error
    except StatementError as error:
        raise InvalidInput(f"a value cannot be stored ({error.orig}): pass one of the documented types") from error
    except OSError as error:
        advice = "check the folder's permissions and space, or choose another path"
        raise Unavailable(f"{where}: {error.strerror or error}: {advice}") from error


def _unencodable(where: str) -> InvalidInput:
    """Return the error of a path that this system cannot encode, or else of a value."""
    try:
        os.fsencode(where)
    except UnicodeEncodeError:
        advice = "use a UTF-8 locale or another path"
        return InvalidInput(f"{where!a} cannot be a file name in this system's encoding: {advice}")
    return InvalidInput("a text holds a lone surrogate, which no database can store: it is not valid Unicode")


def _translate(message: str, where: str, *, refused: bool = False) -> MemorandaError:
    """Return our error for a driver's message; `refused` when the driver says that it is about the value itself."""
    lowered = message.lower()
    if any(phrase in lowered for phrase in _DAMAGED):
        return Incompatible(f"{where} is damaged or not a Memoranda database ({message}): restore a backup")
    if refused or any(phrase in lowered for phrase in _BAD_VALUE):
        return InvalidInput(f"a value cannot be stored ({message}): pass one of the documented types and sizes")
    if "out of memory" in lowered:
        return Unavailable(_NO_MEMORY.format(where))
    if any(phrase in lowered for phrase in _FULL):
        return Unavailable(f"{where}: the disk is full, nothing was written: free some space, then try again")
    if any(phrase in lowered for phrase in _READ_ONLY):
        return Unavailable(
            f"{where} cannot be written ({message}): check the folder's permissions or choose another path"
        )
    if "locked" in lowered or "busy" in lowered:
        return Unavailable(f"{where} is locked by another program ({message})", retry_after=1.0)
    if "foreign key" in lowered:
        return Incompatible(f"{where} was moved to another embedding model by another process: open it again")
    if "unique constraint" in lowered:
        return Conflict(f"{where}: another writer wrote the same row first ({message})")
    if "constraint failed" in lowered:
        return Conflict(f"{where}: this does not fit what is stored ({message}): read again, then decide again")
    return Unavailable(f"{where}: the database failed ({message})")
