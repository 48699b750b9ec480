"""Ids as a caller sees them: plain, or through a secret permutation that a server uses for each tenant.

Ids count the rows of the whole store. Shown as they are, they tell a tenant how much the others write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from hashlib import blake2b
from typing import Final

_HALF_BITS: Final = 26
_HALF: Final = (1 << _HALF_BITS) - 1
_PERMUTED: Final = 1 << 2 * _HALF_BITS
"""Numbers from 1 to here are permuted: JSON readers keep integers of up to 53 bits exact. Others stay as they are."""
_ROUNDS: Final = 6
_CACHED: Final = 1_000
"""Ids that a cipher remembers: those of one large result. A server has a cipher for each tenant."""


class IdCipher:
    """A keyed permutation of ids (a Feistel network): without the key, nobody can tell an id from a random number."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.encode = lru_cache(maxsize=_CACHED)(self._encode)
        self.decode = lru_cache(maxsize=_CACHED)(self._decode)

    def _encode(self, number: int, kind: str = "memory") -> int:
        """Return the id to show; each kind of number has a permutation of its own."""
        return self._walk(number, kind, range(_ROUNDS), swap=False)

    def _decode(self, shown: int, kind: str = "memory") -> int:
        """Return the id that was shown; of a number that was never shown, one that does not exist."""
        return self._walk(shown, kind, range(_ROUNDS - 1, -1, -1), swap=True)

    def _walk(self, number: int, kind: str, rounds: range, *, swap: bool) -> int:
        if not 0 < number < _PERMUTED:
            return number
        while True:
            number = self._permute(number, kind, rounds, swap=swap)
            if number:  # 0 is no id: permuted once more, it is one
                return number

    def _permute(self, number: int, kind: str, rounds: range, *, swap: bool) -> int:
        left, right = number >> _HALF_BITS, number & _HALF
        if swap:
            left, right = right, left
        for position in rounds:
            left, right = right, left ^ self._mix(position, kind, right)
        if swap:
            left, right = right, left
        return left << _HALF_BITS | right

    def _mix(self, position: int, kind: str, half: int) -> int:
        text = f"{kind}/{position}/{half}".encode("ascii")
        return int.from_bytes(blake2b(text, digest_size=8, key=self._key).digest()) & _HALF


_cipher: ContextVar[IdCipher | None] = ContextVar("memoranda_shown_ids", default=None)


@contextmanager
def using_cipher(cipher: IdCipher | None) -> Iterator[None]:
    """Write ids in texts with this permutation."""
    token = _cipher.set(cipher)
    try:
        yield
    finally:
        _cipher.reset(token)


def show_id(number: int, kind: str = "memory") -> int:
    """Return an id as the caller of the running call sees it, for a text.

    Not inside of a transaction: another caller's thread may run it. See `IdText`.
    """
    cipher = _cipher.get()
    return number if cipher is None else cipher.encode(number, kind)


def read_shown_id(shown: int) -> int:
    """Return the id that a caller means."""
    cipher = _cipher.get()
    return shown if cipher is None else cipher.decode(shown)


class IdText(str):
    """A text that names ids, made inside of a transaction: as it stands with plain ids, to be shown with others."""

    __slots__ = ("after", "before", "ids")

    before: str
    ids: tuple[int, ...]
    after: str

    def __new__(cls, before: str, ids: tuple[int, ...], after: str = "") -> IdText:
        self = super().__new__(cls, f"{before}{', '.join(map(str, ids))}{after}")
        self.before, self.ids, self.after = before, ids, after
        return self

    def shown(self, show: Callable[[int], int]) -> str:
        """Return the text with its ids changed."""
        return f"{self.before}{', '.join(str(show(number)) for number in self.ids)}{self.after}"
