from __future__ import annotations

from starlette.types import Message, Receive, Scope, Send

from memoranda.server.auth import LOCAL
from memoranda.server.idempotency import IdempotencyCache


async def _app(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 201, "headers": []})
    await send({"type": "http.response.body", "body": b"{}"})


async def _receive() -> Message:
    return {"type": "http.disconnect"}


async def _all_stored(tenant: str, ids: set[int]) -> bool:
    return True


async def _is_replayed(cache: IdempotencyCache, key: str) -> bool:
    seen: list[Message] = []

    async def send(message: Message) -> None:
        seen.append(message)

    scope = {"method": "POST", "path": "/v1/memories", "query_string": b"", "state": {"principal": LOCAL}}
    await cache.run(_app, scope, b"{}", _receive, send, key)
    return (b"idempotency-replayed", b"true") in seen[0]["headers"]


async def test_cache_of_short_responses_is_bounded() -> None:
    cache = IdempotencyCache(_all_stored, lambda: 0.0)
    for number in range(40_000):
        assert not await _is_replayed(cache, f"key {number}")
    assert await _is_replayed(cache, "key 39999")
    assert not await _is_replayed(cache, "key 0")


async def test_response_is_cached_for_ten_minutes() -> None:
    now = 0.0
    cache = IdempotencyCache(_all_stored, lambda: now)
    assert not await _is_replayed(cache, "key")
    now = 599.0
    assert await _is_replayed(cache, "key")
    now = 601.0
    assert not await _is_replayed(cache, "key")
