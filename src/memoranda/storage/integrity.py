"""Checks and repairs of rows that are the same on every store."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import bindparam, select, update

from memoranda.errors import Incompatible
from memoranda.storage.base import ReadTransaction, Transaction
from memoranda.storage.rows import SELECT_MEMORY, memory_from_row, with_note_keys
from memoranda.storage.schema import memories
from memoranda.text import lexical_keys

_BATCH: Final = 500


def damaged_memories(tx: ReadTransaction) -> list[str]:
    """Return the memories that are not what was written, one sentence each."""
    found: list[str] = []
    for row in tx.execute(SELECT_MEMORY.order_by(memories.c.id).execution_options(yield_per=_BATCH)):
        try:
            memory_from_row(row)
        except Incompatible as error:
            found.append(str(error))
    return found


def renew_terms(tx: Transaction) -> int:
    """Make the terms of all memories again by the rules of this version, and return how many have changed."""
    return _write_terms(tx, tx.execute(_TERMS_OF_MEMORIES))


def add_terms(tx: Transaction) -> int:
    """Make the terms of memories that have none, and return how many got some."""
    return _write_terms(tx, tx.execute(_TERMS_OF_MEMORIES.where(memories.c.terms == "")))


_TERMS_OF_MEMORIES: Final = select(
    memories.c.id, memories.c.terms, memories.c.content, memories.c.notes, memories.c.speaker, memories.c.user
)


def _write_terms(tx: Transaction, rows: Iterable[Any]) -> int:
    """Write the terms of those rows whose terms differ from what their content gives."""
    made = [
        {"memory_id": memory_id, "made": new}
        for memory_id, old, content, notes, speaker, user in rows
        if (new := _terms_of(old, content, notes, speaker, user)) != old
    ]
    if made:
        statement = update(memories).where(memories.c.id == bindparam("memory_id")).values(terms=bindparam("made"))
        tx.execute(statement, made)
    return len(made)


def _terms_of(terms: str, content: str, notes: str, speaker: str | None, user: str | None) -> str:
    try:
        return with_note_keys(lexical_keys(content), json.loads(notes or "{}"), speaker, user, content)
    except (TypeError, ValueError, AttributeError):
        return terms  # a damaged row: `check` names it
