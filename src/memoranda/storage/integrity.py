"""Checks and repairs of rows that are the same on every store."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import bindparam, select, text, update

from memoranda.display import plural
from memoranda.errors import Incompatible
from memoranda.storage.base import ReadTransaction, Transaction, chunked
from memoranda.storage.claims import claims_of, index_claims, owner_of, slot_of
from memoranda.storage.row_hash import find_damaged
from memoranda.storage.rows import SELECT_MEMORY, memory_from_row, with_note_keys
from memoranda.storage.schema import claims, lineage, memories, messages, revisions
from memoranda.text.terms import content_hash, lexical_keys

_BATCH: Final = 500
_NOT_LOGGED: Final = "SELECT id FROM memories EXCEPT SELECT memory_id FROM changes WHERE op = 'add'"
_WRONG_SIZE: Final = "length(data) <> 4 * dimension OR length(sentences) % dimension <> 0"
_CHECKS: Final = {
    "memories without a vector": """
        SELECT id FROM memories WHERE content <> '' AND EXISTS (SELECT 1 FROM generations WHERE active = 1)
        EXCEPT SELECT memory_id FROM vectors JOIN generations ON generations.id = generation WHERE active = 1
        ORDER BY id""",
    "vectors of the wrong size": f"""
        SELECT memory_id FROM vectors JOIN generations ON generations.id = generation WHERE {_WRONG_SIZE}""",
    "memories missing from the change log": f"{_NOT_LOGGED} ORDER BY id",
}
_REPAIRS: Final = {
    "vectors of the wrong size removed, to be made again": f"""
        DELETE FROM vectors WHERE EXISTS
        (SELECT 1 FROM generations WHERE generations.id = vectors.generation AND ({_WRONG_SIZE}))""",
    "memories entered in the change log": f"""
        INSERT INTO changes (op, memory_id, tenant, "user", at)
        SELECT 'add', id, tenant, "user", recorded_at FROM memories WHERE id IN ({_NOT_LOGGED})""",
}


def run_checks(tx: ReadTransaction, own: Mapping[str, str]) -> list[str]:
    """Return one sentence for each check that selects rows, with the first of them; then the damaged rows.

    Args:
        tx: The transaction.
        own: The checks of this store: for each sentence, a query for the ids of rows of which it is true.
    """
    found = []
    for what, query in {**_CHECKS, **own}.items():
        if ids := [str(row[0]) for row in tx.execute(text(query))]:
            found.append(f"{len(ids)} {what}: {_first_of(ids)}")
    damaged = [*damaged_memories(tx), *find_damaged(tx, messages), *find_damaged(tx, revisions)]
    return [*found, *damaged, *_describe_claims(tx)]


def run_repairs(tx: Transaction, own: Mapping[str, str]) -> list[str]:
    """Run the statements, those of this store last, then write terms and claims again; return what was done."""
    done = [
        f"{count} {what}" for what, each in {**_REPAIRS, **own}.items() if (count := tx.execute(text(each)).rowcount)
    ]
    if count := add_terms(tx):
        done.append(f"{plural(count, 'memory')} given their terms again")
    if count := _restore_claims(tx):
        done.append(f"{plural(count, 'memory')} given their claims again")
    return done


def _first_of(ids: Sequence[str]) -> str:
    return f"{', '.join(ids[:5])}{'…' if len(ids) > 5 else ''}"


def damaged_memories(tx: ReadTransaction) -> list[str]:
    """Return the memories that are not what was written, one sentence each."""
    found: list[str] = []
    query = SELECT_MEMORY.add_columns(memories.c.content_hash).order_by(memories.c.id)
    for row in tx.execute(query.execution_options(yield_per=_BATCH)):
        try:
            if content_hash(memory_from_row(row).content) != row[-1]:  # by which only repetitions are recognised
                found.append(f"memory {row[0]} is damaged (its hash is not that of its text): restore a backup")
        except Incompatible as error:
            found.append(str(error))
    return found


def misplaced_claims(tx: ReadTransaction) -> list[int]:
    """Return the memories whose rows in `claims` are not those of their notes."""
    merged = select(lineage.c.source_id).where(lineage.c.kind == "merged")
    dropped = set(tx.scalars(merged))  # the memory that repeats them makes their claims
    ids = list(tx.scalars(select(memories.c.id).order_by(memories.c.id)))
    return [each for part in chunked(ids) for each in _misplaced(tx, part, dropped)]


def _misplaced(tx: ReadTransaction, ids: Sequence[int], dropped: Collection[int]) -> Iterator[int]:
    known: dict[int, set[tuple[int, object]]] = {}
    columns = (claims.c.memory_id, claims.c.position, claims.c.slot)
    for memory_id, position, slot in tx.execute(select(*columns).where(claims.c.memory_id.in_(ids))):
        known.setdefault(memory_id, set()).add(
            (position, bytes(slot) if isinstance(slot, bytes | memoryview) else slot)
        )
    for memory_id, made in _claims_of_notes(tx, [each for each in ids if each not in dropped]):
        if made != known.get(memory_id, set()):
            yield memory_id


def _claims_of_notes(tx: ReadTransaction, ids: Sequence[int]) -> Iterator[tuple[int, set[tuple[int, bytes]]]]:
    for row in tx.execute(SELECT_MEMORY.where(memories.c.id.in_(ids)).order_by(memories.c.id)):
        try:
            memory = memory_from_row(row)
        except Incompatible:
            continue  # `damaged_memories` names it
        owner = owner_of(memory)
        yield memory.id, {(position, slot_of(owner, claim)) for position, claim in enumerate(claims_of(memory))}


def _describe_claims(tx: ReadTransaction) -> list[str]:
    """Return one sentence on claims that are missing or that nobody made; nothing when there are none."""
    ids = [str(each) for each in misplaced_claims(tx)]
    return [f"{plural(len(ids), 'memory')} with wrong claims: {_first_of(ids)}"] if ids else []


def _restore_claims(tx: Transaction) -> int:
    """Write the rows of `claims` again where they are not those of the notes, and return for how many memories."""
    ids = misplaced_claims(tx)
    for part in chunked(ids):
        for row in list(tx.execute(SELECT_MEMORY.where(memories.c.id.in_(part)))):
            memory = memory_from_row(row)
            index_claims(tx, memory.id, owner_of(memory), memory.notes)
    return len(ids)


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
