"""Who calls: keys, principals and their scopes."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from memoranda.aio.threads import in_thread
from memoranda.errors import Denied, Unavailable
from memoranda.server.errors import denied
from memoranda.server.keys import SCOPES, ApiKey, Keys, info_of, split_key
from memoranda.server.limits import Bucket
from memoranda.types import DEFAULT_TENANT, Clock

_REMEMBERED: Final = 10_000


_NOTE_EVERY: Final = 60.0


_REFUSED: Final = "this key is not valid: it is wrong, revoked or expired"


@dataclass(frozen=True, slots=True)
class Principal:
    """Whoever a key stands for."""

    key_id: str
    tenant: str
    scopes: frozenset[str]

    def require(self, scope: str) -> None:
        if scope not in self.scopes:
            raise Denied(f"this key has no {scope!r} scope: use one that has")


LOCAL: Final = Principal("local", DEFAULT_TENANT, frozenset(SCOPES))
"""Whoever calls a server on this machine that has no keys."""


@dataclass(slots=True)
class _Known:
    proof: bytes
    """A hash of the secret that was checked: the secret itself is not kept."""
    key: ApiKey
    checked_at: float
    noted_at: float


class Authenticator:
    """Checks keys. A checked one is trusted for a moment, so that not every request reads the store."""

    def __init__(self, keys: Keys, clock: Clock, *, trusted: float, tick: Callable[[], float] = time.monotonic) -> None:
        self._keys = keys
        self._clock = clock
        self._trusted = trusted
        self._tick = tick
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._buckets: dict[str, Bucket] = {}
        self._open_until = 0.0

    async def authenticate(self, header: str | None, *, local: bool) -> Principal:
        """The principal behind an `Authorization` header; `Denied` when there is none."""
        if header is None:
            if local and not await self._has_keys():
                return LOCAL
            raise denied("no key: send it as 'Authorization: Bearer <key>'")
        scheme, _, text = header.partition(" ")
        parts = split_key(text.strip()) if scheme.lower() == "bearer" else None
        if parts is None:
            raise denied(_REFUSED)
        key = await self._check(*parts)
        self._limit(key)
        return Principal(key.id, key.tenant, frozenset(key.scopes))

    async def _has_keys(self) -> bool:
        # Asked again after a moment: with the first key, the door closes for those who have none.
        if self._tick() < self._open_until:
            return False
        found = await in_thread(self._keys.any_valid, self._clock())
        if not found:
            self._open_until = self._tick() + self._trusted
        return found

    async def _check(self, key_id: str, secret: str) -> ApiKey:
        known = self._known.get(key_id)
        now = self._clock()
        if known is None or self._tick() - known.checked_at >= self._trusted:
            known = await in_thread(self._look_up, key_id, secret, known)
        if not hmac.compare_digest(known.proof, _proof(secret)) or not known.key.is_valid(now):
            self._known.pop(key_id, None)
            raise denied(_REFUSED)
        return known.key

    def _look_up(self, key_id: str, secret: str, before: _Known | None) -> _Known:
        row = self._keys.find(key_id)
        # An unknown id costs what a wrong secret costs, so that neither can be told from the other.
        expected = row.digest if row is not None else bytes(32)
        if not hmac.compare_digest(self._keys.digest(key_id, secret), expected) or row is None:
            raise denied(_REFUSED)
        now = self._tick()
        known = _Known(_proof(secret), info_of(row), now, before.noted_at if before else float("-inf"))
        if known.key.is_valid(self._clock()) and now - known.noted_at >= _NOTE_EVERY:
            self._keys.note_use(key_id)
            known.noted_at = now
        self._remember(key_id, known)
        return known

    def _remember(self, key_id: str, known: _Known) -> None:
        self._known[key_id] = known
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def _limit(self, key: ApiKey) -> None:
        if key.rate is None:
            return
        bucket = self._buckets.get(key.id)
        if bucket is None or bucket.rate != key.rate:
            bucket = self._buckets[key.id] = Bucket.full(key.rate, self._tick())
        wait = bucket.take(self._tick())
        if wait:
            raise Unavailable("this key has used up its rate: wait a moment", retry_after=wait, status=429)


def _proof(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
