"""Find where texts are left after an erasure: in execution records and in ended sessions, which are kept as a log."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any, Final

from sqlalchemy import select

from memoranda.remember.duplicates import statement_tokens
from memoranda.results.receipts import StoreReceipt
from memoranda.storage.base import ReadTransaction
from memoranda.storage.schema import executions, sessions
from memoranda.text.terms import fold_phrase

_RUN: Final = 3
"""A shorter text counts only where it is a whole value: "yes" is in every log."""
_NAMED: Final = 5
"""How many records a receipt names."""


class ErasedTexts:
    """Texts that were erased, to be found in others."""

    def __init__(self, texts: Collection[str], phrase: str | None = None) -> None:
        self._phrase = None if phrase is None else fold_phrase(phrase)
        self._whole: set[tuple[str, ...]] = set()
        self._by_start: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
        for text in texts:
            words = statement_tokens(text)
            self._whole.add(words)
            words = words[:-1] if words[-1:] == ("?",) else words
            if len(words) >= _RUN:
                self._by_start[words[:_RUN]].append(words)

    def is_in(self, text: str) -> bool:
        """Return whether a text contains one of them, whatever its case and punctuation."""
        if self._phrase is not None and self._phrase in fold_phrase(text):
            return True
        words = statement_tokens(text)
        if words in self._whole:
            return True
        return any(
            words[position : position + len(found)] == found
            for position in range(len(words) - _RUN + 1)
            for found in self._by_start.get(words[position : position + _RUN], ())
        )

    def is_in_json(self, text: str) -> bool:
        return any(self.is_in(each) for each in _strings(json.loads(text)))


def find_traces(tx: ReadTransaction, tenant: str, texts: ErasedTexts) -> list[StoreReceipt]:
    """Return for the execution records and the ended sessions of a tenant how many hold one of the texts."""
    e, s = executions.c, sessions.c
    records = [
        row[0]
        for row in tx.execute(select(e.id, e.record).where(e.tenant == tenant).order_by(e.number))
        if texts.is_in_json(row[1])
    ]
    ended = [
        row[0]
        for row in tx.execute(select(s.id, s.metadata).where(s.tenant == tenant).order_by(s.ended_at))
        if texts.is_in_json(row[1])
    ]
    why = "the audit trail is append-only, and its records are signed"
    return [_describe("execution records", records, why), _describe("ended sessions", ended, "their metadata is kept")]


def _describe(place: str, ids: list[str], why: str) -> StoreReceipt:
    if not ids:
        return StoreReceipt(place, "erased")
    named = ", ".join(ids[:_NAMED]) + ("…" if len(ids) > _NAMED else "")
    return StoreReceipt(place, "remains", len(ids), f"{why}: {named}")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
