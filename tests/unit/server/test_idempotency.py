from __future__ import annotations

from starlette.types import Message, Receive, Scope, Send

from memoranda.server.auth import LOCAL
from memoranda.server.idempotency import Replays


async def _done(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 201, "headers": []})
    await send({"type": "http.response.body", "body": b"{}"})


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


async def _was_repeated(replays: Replays, key: str) -> bool:
    seen: list[Message] = []

    async def send(message: Message) -> None:
        seen.append(message)

    scope = {"method": "POST", "path": "/v1/memories", "query_string": b"", "state": {"principal": LOCAL}}
    await replays.run(_done, scope, b"{}", _nothing, send, key)
    return (b"idempotency-replayed", b"true") in seen[0]["headers"]


async def test_many_short_answers_are_not_kept_without_end() -> None:
    replays = Replays(lambda: 0.0)
    for number in range(40_000):
        assert not await _was_repeated(replays, f"key {number}")
    assert await _was_repeated(replays, "key 39999")
    assert not await _was_repeated(replays, "key 0")


async def test_an_answer_is_kept_for_ten_minutes() -> None:
    now = 0.0
    replays = Replays(lambda: now)
    assert not await _was_repeated(replays, "key")
    now = 599.0
    assert await _was_repeated(replays, "key")
    now = 601.0
    assert not await _was_repeated(replays, "key")
