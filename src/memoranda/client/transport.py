"""How calls reach the server: one connection pool, the key in a header, every write under a key of its own."""

from __future__ import annotations

import functools
import json
import uuid
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

import httpx2

from memoranda.client.requests import Call
from memoranda.client.responses import error_of, translated
from memoranda.errors import Incompatible, InvalidInput, Unavailable

R = TypeVar("R")
_TRIES: Final = 3
_PIECE: Final = 65_536
_IMPORT: Final = {"Content-Type": "application/x-ndjson"}


def _options(url: str, api_key: str | None, timeout: float) -> dict[str, Any]:
    if not url.startswith(("http://", "https://")):
        raise InvalidInput(f"{url!r} is not the address of a server: write http://127.0.0.1:8700")
    headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    return {"base_url": url, "headers": headers, "timeout": timeout}


def _request(call: Call[R]) -> dict[str, Any]:
    headers = {} if call.body is None else {"Content-Type": "application/json"}
    if call.writes:
        # Sent again after a broken connection, it is still done once.
        headers["Idempotency-Key"] = uuid.uuid4().hex
    return {"method": call.method, "url": call.path, "content": call.body, "params": call.params, "headers": headers}


def _result(call: Call[R], response: httpx2.Response) -> R:
    if not response.is_success:
        raise error_of(response.status_code, response.content, response.headers)
    try:
        answer = json.loads(response.content)
    except ValueError as error:
        raise Incompatible(f"{response.url} answered with no JSON: is it a Memoranda server?") from error
    return call.result(answer)


class Transport:
    """Sends calls and waits for the answers. Safe to use from several threads."""

    def __init__(self, url: str, api_key: str | None, timeout: float, client: httpx2.Client | None = None) -> None:
        self.url = url
        self._client = client or httpx2.Client(**_options(url, api_key, timeout))

    def send(self, call: Call[R]) -> R:
        request = _request(call)
        call.report(0)
        for attempt in range(_TRIES):
            try:
                with translated(self.url):
                    response = self._client.request(**request)
                return _result(call, response)
            except Unavailable as error:
                if attempt == _TRIES - 1 or not isinstance(error.__cause__, httpx2.ConnectError | httpx2.ReadError):
                    raise
        raise AssertionError("unreachable")

    def download(self, path: str, params: dict[str, str | int], target: Path) -> None:
        with translated(self.url), self._client.stream("GET", path, params=params) as response:
            if not response.is_success:
                raise error_of(response.status_code, response.read(), response.headers)
            with target.open("wb") as file:
                for piece in response.iter_bytes(_PIECE):
                    file.write(piece)

    def upload(self, path: str, source: Path) -> Any:
        with translated(self.url), source.open("rb") as file:
            response = self._client.post(path, content=iter(lambda: file.read(_PIECE), b""), headers=_IMPORT)
        return _result(Call("POST", path, lambda answer: answer), response)

    def close(self) -> None:
        self._client.close()


class AsyncTransport:
    """The same, awaited."""

    def __init__(self, url: str, api_key: str | None, timeout: float, client: httpx2.AsyncClient | None = None) -> None:
        self.url = url
        self._client = client or httpx2.AsyncClient(**_options(url, api_key, timeout))

    async def send(self, call: Call[R]) -> R:
        request = _request(call)
        call.report(0)
        for attempt in range(_TRIES):
            try:
                with translated(self.url):
                    response = await self._client.request(**request)
                return _result(call, response)
            except Unavailable as error:
                if attempt == _TRIES - 1 or not isinstance(error.__cause__, httpx2.ConnectError | httpx2.ReadError):
                    raise
        raise AssertionError("unreachable")

    async def close(self) -> None:
        await self._client.aclose()


P = ParamSpec("P")


class Remote(Protocol):
    """Whoever has a transport."""

    @property
    def _transport(self) -> Transport: ...


class AsyncRemote(Protocol):
    @property
    def _transport(self) -> AsyncTransport: ...


def sent(build: Callable[P, Call[R]]) -> Callable[Concatenate[Remote, P], R]:
    """The blocking method."""

    @functools.wraps(build)
    def method(self: Remote, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._transport.send(build(*args, **kwargs))

    return method


def awaited(build: Callable[P, Call[R]]) -> Callable[Concatenate[AsyncRemote, P], Coroutine[Any, Any, R]]:
    """The awaited method."""

    @functools.wraps(build)
    async def method(self: AsyncRemote, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._transport.send(build(*args, **kwargs))

    return method
