"""Sends calls to the server: one connection pool, the key in a header, an idempotency key for every write."""

from __future__ import annotations

import functools
import json
import uuid
from collections.abc import Callable, Coroutine
from typing import Any, BinaryIO, Concatenate, Final, Generic, ParamSpec, Protocol, TypeVar

import httpx2

from memoranda.client.calls import Calls, HttpCall, to_error, translate_errors
from memoranda.errors import Incompatible, InvalidInput, MemorandaError, Unavailable

P = ParamSpec("P")
R = TypeVar("R")
_ATTEMPTS: Final = 3
_CHUNK: Final = 65_536
_IMPORT_HEADERS: Final = {"Content-Type": "application/x-ndjson"}


class HttpTransport:
    """Sends calls and waits for the responses. Safe to use from several threads."""

    def __init__(self, url: str, api_key: str | None, timeout: float, client: httpx2.Client | None = None) -> None:
        self.url = url
        self._client = client or httpx2.Client(**_client_options(url, api_key, timeout))

    def send(self, call: HttpCall[R]) -> R:
        """Send a call and return its result; after a broken connection, try again."""
        request = _request_options(call)
        call.report(0)
        for attempt in range(_ATTEMPTS):
            try:
                with translate_errors(self.url):
                    response = self._client.request(**request)
                return _read_result(call, response)
            except Unavailable as error:
                if not _may_retry(error, attempt):
                    raise
        raise AssertionError("unreachable")

    def download(self, path: str, params: dict[str, str | int], target: BinaryIO) -> None:
        """Stream the response of a GET into a file."""
        with translate_errors(self.url), self._client.stream("GET", path, params=params) as response:
            if not response.is_success:
                raise to_error(response.status_code, response.read(), response.headers)
            for chunk in response.iter_bytes(_CHUNK):
                target.write(chunk)

    def upload(self, path: str, source: BinaryIO) -> Any:
        """Stream a file as the body of a POST; return the JSON of the response."""
        with translate_errors(self.url):
            response = self._client.post(path, content=iter(lambda: source.read(_CHUNK), b""), headers=_IMPORT_HEADERS)
        return _read_result(HttpCall("POST", path, lambda result: result), response)

    def close(self) -> None:
        self._client.close()


class AsyncHttpTransport:
    """The same, awaited."""

    def __init__(self, url: str, api_key: str | None, timeout: float, client: httpx2.AsyncClient | None = None) -> None:
        self.url = url
        self._client = client or httpx2.AsyncClient(**_client_options(url, api_key, timeout))

    async def send(self, call: HttpCall[R]) -> R:
        """Send a call and return its result; after a broken connection, try again."""
        request = _request_options(call)
        call.report(0)
        for attempt in range(_ATTEMPTS):
            try:
                with translate_errors(self.url):
                    response = await self._client.request(**request)
                return _read_result(call, response)
            except Unavailable as error:
                if not _may_retry(error, attempt):
                    raise
        raise AssertionError("unreachable")

    async def close(self) -> None:
        await self._client.aclose()


def _client_options(url: str, api_key: str | None, timeout: float) -> dict[str, Any]:
    if not url.startswith(("http://", "https://")):
        raise InvalidInput(f"{url!r} is not the address of a server: write http://127.0.0.1:8700")
    headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    return {"base_url": url, "headers": headers, "timeout": timeout}


def _request_options(call: HttpCall[R]) -> dict[str, Any]:
    headers = {} if call.body is None else {"Content-Type": "application/json"}
    if call.writes:
        # The server runs a write once, even when a broken connection makes us send it again.
        headers["Idempotency-Key"] = uuid.uuid4().hex
    return {"method": call.method, "url": call.path, "content": call.body, "params": call.params, "headers": headers}


def _read_result(call: HttpCall[R], response: httpx2.Response) -> R:
    if not response.is_success:
        raise to_error(response.status_code, response.content, response.headers)
    try:
        result = json.loads(response.content)
    except ValueError as error:
        raise Incompatible(f"{response.url} did not answer with JSON: is it a Memoranda server?") from error
    return call.result(result)


def _may_retry(error: Unavailable, attempt: int) -> bool:
    broken = isinstance(error.__cause__, httpx2.ConnectError | httpx2.ReadError)
    return broken and attempt < _ATTEMPTS - 1


class HasTransport(Protocol):
    @property
    def _transport(self) -> HttpTransport: ...


class HasAsyncTransport(Protocol):
    @property
    def _transport(self) -> AsyncHttpTransport: ...


def sync_method(build: Callable[P, HttpCall[R]]) -> Callable[Concatenate[HasTransport, P], R]:
    """Return a method that builds a call and sends it."""

    @functools.wraps(build)
    def method(self: HasTransport, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._transport.send(build(*args, **kwargs))

    return method


def async_method(
    build: Callable[P, HttpCall[R]],
) -> Callable[Concatenate[HasAsyncTransport, P], Coroutine[Any, Any, R]]:
    """Return the same as a coroutine method."""

    @functools.wraps(build)
    async def method(self: HasAsyncTransport, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._transport.send(build(*args, **kwargs))

    return method


class _Steps(Generic[R]):
    """A generator of calls, which gets the result or the error of each of them."""

    result: R
    """What the generator returned; set when there is no next call."""

    def __init__(self, calls: Calls[R]) -> None:
        self._calls = calls
        self._step: Callable[[], HttpCall[R]] = functools.partial(next, calls)

    def next_call(self) -> HttpCall[R] | None:
        """Return the next call; None when the generator has returned."""
        try:
            return self._step()
        except StopIteration as end:
            self.result = end.value
            return None

    def answer(self, result: R) -> None:
        self._step = functools.partial(self._calls.send, result)

    def fail(self, error: MemorandaError) -> None:
        self._step = functools.partial(self._calls.throw, error)


def sync_calls(build: Callable[P, Calls[R]]) -> Callable[Concatenate[HasTransport, P], R]:
    """Return a method that sends each call that a generator yields, and returns what the generator returns."""

    @functools.wraps(build)
    def method(self: HasTransport, /, *args: P.args, **kwargs: P.kwargs) -> R:
        steps = _Steps(build(*args, **kwargs))
        while (call := steps.next_call()) is not None:
            try:
                steps.answer(self._transport.send(call))
            except MemorandaError as error:
                steps.fail(error)
        return steps.result

    return method


def async_calls(
    build: Callable[P, Calls[R]],
) -> Callable[Concatenate[HasAsyncTransport, P], Coroutine[Any, Any, R]]:
    """Return the same as a coroutine method."""

    @functools.wraps(build)
    async def method(self: HasAsyncTransport, /, *args: P.args, **kwargs: P.kwargs) -> R:
        steps = _Steps(build(*args, **kwargs))
        while (call := steps.next_call()) is not None:
            try:
                steps.answer(await self._transport.send(call))
            except MemorandaError as error:
                steps.fail(error)
        return steps.result

    return method
