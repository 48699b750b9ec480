"""What to do when a model fails: translate and describe the error, bound a call in time, and wait before the next."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from memoranda.errors import ExtractionFailed, InvalidInput, MemorandaError, Unavailable
from memoranda.llm.base import Retries, call_with_retries, is_temporary, parse_retry_after
from memoranda.security.redaction import default_redactor

T = TypeVar("T")
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


def call_by_deadline(seconds: float, call: Callable[[], T], retries: Retries, name: str) -> tuple[T, int]:
    """Return the result of a call, and the number of attempts.

    Args:
        seconds: How long all attempts together may take.
        call: What to call.
        retries: How often to call it again after a temporary failure.
        name: The model, for error messages.
    """
    deadline = time.monotonic() + seconds

    def attempt() -> T:
        return call_within(max(0.0, deadline - time.monotonic()), call, name)

    return call_with_retries(attempt, retries, deadline)


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
