"""The rows that an erasure deletes: find, count and delete them, and find where their texts are left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Table, and_, delete, func, or_, select, text

from memoranda.conversation import stored
from memoranda.remember.duplicates import statement_tokens
from memoranda.results.maintenance import Derivation, StoreReceipt
from memoranda.storage.add import insert_changes
from memoranda.storage.base import ReadTransaction, Transaction, chunked
from memoranda.storage.changes import no_memory
from memoranda.storage.claim_resolution import resolve_slots
from memoranda.storage.claims import slots_of
from memoranda.storage.lifecycle import read_lineage
from memoranda.storage.meta import set_meta
from memoranda.storage.read import filter_conditions
from memoranda.storage.recalls import find_recalls
from memoranda.storage.rows import in_scope, scope_conditions, scope_of, stored_json
from memoranda.storage.schema import (
    ERASURE_PENDING,
    LAST_ERASURE,
    LONG_TEXT,
    associations,
    claims,
    executions,
    lineage,
    memories,
    messages,
    revisions,
    sessions,
    vectors,
)
from memoranda.text.terms import fold_phrase
from memoranda.types import ANY, EVERYTHING, Filter, Scope
from memoranda.validation import SHARED_USER

_MEMORY = memories.c
TEXT_OF_MEMORY: Final = func.coalesce(func.nullif(_MEMORY.content, "", type_=LONG_TEXT), _MEMORY.key)
"""An item that is not searched has no text: its key counts."""
_MESSAGE = messages.c


@dataclass(frozen=True, slots=True)
class ErasureTarget:
    """What to forget: a whole scope, or the memories in it that match these conditions."""

    scope: Scope
    ids: tuple[int, ...] = ()
    where: Filter = EVERYTHING
    containing: str | None = None
    message_seqs: tuple[int, ...] = ()
    """Messages to erase as well, with the memories made from them."""

    @property
    def whole_scope(self) -> bool:
        return not (self.ids or self.message_seqs) and self.where == EVERYTHING and self.containing is None


@dataclass(frozen=True, slots=True)
class ErasureRows:
    """The rows that an erasure deletes."""

    ids: frozenset[int]
    message_seqs: frozenset[int]
    counts: dict[str, int]
    """Row counts by store, for the receipt."""
    texts: frozenset[tuple[str, str]]
    """The texts of memories, earlier versions and messages, each with its user."""
    messages: frozenset[tuple[str, str]]
    """The ids of messages, each with its user."""
    keys: frozenset[tuple[str, str, str]]
    """The idempotency keys of memories, each after its agent and user."""

    @property
    def is_empty(self) -> bool:
        return not (self.ids or self.message_seqs or self.counts["recalls"])


def find_rows(tx: ReadTransaction, target: ErasureTarget) -> ErasureRows:
    """Find the target's memories, the messages behind them, and all memories derived from either."""
    ids = _find_memories(tx, target)
    if missing := sorted(set(target.ids) - ids):
        raise no_memory(target.scope, *missing)
    derivations = read_lineage(tx, Scope(target.scope.tenant, user=ANY))
    seqs: set[int] = set()
    while True:
        ids = with_derived(ids, derivations)
        seqs |= _find_messages(tx, target, ids)
        others = _find_memories_of(tx, seqs) - ids
        if not others:
            counts = _count_rows(tx, ids, seqs) | {"recalls": count_recalls(tx, target)}
            texts, message_ids = _read_texts(tx, ids, seqs)
            return ErasureRows(frozenset(ids), frozenset(seqs), counts, texts, message_ids, _read_keys(tx, ids))
        ids |= others


def _read_texts(
    tx: ReadTransaction, ids: Collection[int], seqs: Collection[int]
) -> tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]:
    """Return the texts of these memories and messages, and the ids of the messages, each with its user."""
    texts: set[tuple[str, str]] = set()
    message_ids: set[tuple[str, str]] = set()
    m, r = _MESSAGE, revisions.c
    for part in chunked(sorted(ids)):
        for user, content, message_id in tx.execute(
            select(_MEMORY.user, TEXT_OF_MEMORY, _MEMORY.message_id).where(_MEMORY.id.in_(part))
        ):
            texts.add((user, content))
            message_ids |= {(user, message_id)} if message_id else set()
        earlier = select(_MEMORY.user, r.content).join(memories, _MEMORY.id == r.memory_id)
        texts.update((row[0], row[1]) for row in tx.execute(earlier.where(r.memory_id.in_(part))))
    for part in chunked(sorted(seqs)):
        for user, content, message_id in tx.execute(select(m.user, m.content, m.message_id).where(m.seq.in_(part))):
            texts |= {(user, content)} if content else set()
            message_ids.add((user, message_id))
    return frozenset(texts), frozenset(message_ids)


def _read_keys(tx: ReadTransaction, ids: Collection[int]) -> frozenset[tuple[str, str, str]]:
    """Return the idempotency keys under which these memories were stored, each after its agent and user."""
    found: set[tuple[str, str, str]] = set()
    columns = (_MEMORY.agent, _MEMORY.user, _MEMORY.idempotency_key)
    for part in chunked(sorted(ids)):
        rows = tx.execute(select(*columns).where(_MEMORY.id.in_(part), _MEMORY.idempotency_key.is_not(None)))
        found.update((row[0], row[1], row[2]) for row in rows)
    return frozenset(found)


def recall_matches(target: ErasureTarget) -> Callable[[str], bool] | None:
    """Return which recalls of the scope are erased, by their words; None for all of them."""
    return None if target.whole_scope else lambda words: _contains(words, target.containing)


def erases_recalls(target: ErasureTarget) -> bool:
    """Return whether the questions asked in the scope are erased: with all of it, or those that contain the text."""
    return target.whole_scope or (target.containing is not None and target.where == EVERYTHING and not target.ids)


def count_recalls(tx: ReadTransaction, target: ErasureTarget) -> int:
    return len(find_recalls(tx, target.scope, recall_matches(target))) if erases_recalls(target) else 0


def with_derived(ids: Iterable[int], derivations: Iterable[Derivation]) -> set[int]:
    """Return the ids, those of everything derived from them, and those they were merged with."""
    reachable: dict[int, set[int]] = defaultdict(set)
    for line in derivations:
        reachable[line.source_id].add(line.derived_id)
        if line.kind == "merged":
            reachable[line.derived_id].add(line.source_id)
    found, queue = set(ids), list(ids)
    while queue:
        new = reachable[queue.pop()] - found
        found |= new
        queue += new
    return found


def _find_memories(tx: ReadTransaction, target: ErasureTarget) -> set[int]:
    # Shared knowledge belongs to nobody, so forgetting a scope never erases it.
    conditions = [*in_scope(target.scope), *filter_conditions(target.where), _MEMORY.user != SHARED_USER]
    if target.message_seqs and not target.ids:
        return set()
    query = select(_MEMORY.id, _MEMORY.content, _MEMORY.value).where(*conditions)
    queries = [query.where(_MEMORY.id.in_(part)) for part in chunked(target.ids)] if target.ids else [query]
    rows = (row for query in queries for row in tx.execute(query))
    return {row[0] for row in rows if _contains(f"{row[1]}\n{row[2] or ''}", target.containing)}


def _find_messages(tx: ReadTransaction, target: ErasureTarget, ids: Collection[int]) -> set[int]:
    """Find the messages behind these memories, their copies in conversations, and messages that match the target."""
    columns = ("message_id", "tenant", "agent", "user", "session")
    is_copy = and_(*(_MESSAGE[column] == _MEMORY[column] for column in columns))
    found: set[int] = set(target.message_seqs)
    for part in chunked(sorted(ids)):
        found.update(
            tx.scalars(select(_MEMORY.message_seq).where(_MEMORY.id.in_(part), _MEMORY.message_seq.is_not(None)))
        )
        found.update(tx.scalars(select(_MESSAGE.seq).join(memories, is_copy).where(_MEMORY.id.in_(part))))
    in_target = scope_conditions(messages, target.scope)
    if target.whole_scope:
        found.update(tx.scalars(select(_MESSAGE.seq).where(*in_target)))
    elif target.containing is not None and target.where == EVERYTHING and not target.ids:
        rows = tx.execute(select(_MESSAGE.seq, _MESSAGE.content, _MESSAGE.payload).where(*in_target))
        found.update(row[0] for row in rows if _contains(f"{row[1]}\n{row[2]}", target.containing))
    return found


def _find_memories_of(tx: ReadTransaction, seqs: Collection[int]) -> set[int]:
    """Find the memories made from these messages."""
    found: set[int] = set()
    for part in chunked(sorted(seqs)):
        found.update(tx.scalars(select(_MEMORY.id).where(_MEMORY.message_seq.in_(part))))
    return found


def _contains(content: str, phrase: str | None) -> bool:
    return phrase is None or fold_phrase(phrase) in fold_phrase(content)


def _count_rows(tx: ReadTransaction, ids: Collection[int], seqs: Collection[int]) -> dict[str, int]:
    def count(table: Table, condition: ColumnElement[bool]) -> int:
        return int(tx.execute(select(func.count()).select_from(table).where(condition)).scalar_one())

    link, line = associations.c, lineage.c
    counts = dict.fromkeys(("vectors", "revisions", "claims", "associations", "lineage", "conversation log"), 0)
    for part in chunked(sorted(ids)):
        counts["vectors"] += count(vectors, vectors.c.memory_id.in_(part))
        counts["revisions"] += count(revisions, revisions.c.memory_id.in_(part))
        counts["claims"] += count(claims, claims.c.memory_id.in_(part))
        counts["associations"] += count(associations, or_(link.memory_id.in_(part), link.related_memory_id.in_(part)))
        counts["lineage"] += count(lineage, or_(line.derived_id.in_(part), line.source_id.in_(part)))
    for part in chunked(sorted(seqs)):
        counts["conversation log"] += count(messages, and_(_MESSAGE.seq.in_(part), _MESSAGE.position.is_not(None)))
    return {"memories": len(ids), "messages": len(seqs) - counts["conversation log"], **counts}


def delete_rows(tx: Transaction, target: ErasureTarget, rows: ErasureRows) -> None:
    """Delete the rows, and record in the same commit that the file must still be cleaned of their bytes.

    Claims that only the deleted memories had ended become current again.
    """
    slots = slots_of(tx, Scope(target.scope.tenant, user=ANY), sorted(rows.ids))
    owners: list[tuple[int, str, str]] = []
    for part in chunked(sorted(rows.ids)):
        found = tx.execute(select(_MEMORY.id, _MEMORY.tenant, _MEMORY.user).where(_MEMORY.id.in_(part)))
        owners += [(row[0], row[1], row[2]) for row in found]
        tx.execute(delete(lineage).where(lineage.c.source_id.in_(part)))
        tx.execute(delete(memories).where(_MEMORY.id.in_(part)))  # vectors, links, lineage and revisions cascade
    _delete_messages(tx, rows.message_seqs)
    if target.whole_scope and target.scope.session is not None:
        in_session = (sessions.c.tenant == target.scope.tenant, sessions.c.workflow == target.scope.session)
        tx.execute(delete(sessions).where(*in_session))
    tx.execute(text("DELETE FROM counters WHERE entries <= 0"))
    insert_changes(tx, "remove", owners)
    mark_erasure(tx)
    resolve_slots(tx, slots)


def mark_erasure(tx: Transaction) -> None:
    """Record that the file must be cleaned of erased bytes, and that indexes loaded before must be loaded again."""
    head = tx.execute(text("SELECT coalesce(max(seq), 0) FROM changes")).scalar_one()
    for key in (ERASURE_PENDING, LAST_ERASURE):
        set_meta(tx, key, str(head))


def _delete_messages(tx: Transaction, seqs: Collection[int]) -> None:
    """Delete messages; those in a stored conversation are taken out so that its positions stay without gaps."""
    m = _MESSAGE
    for part in chunked(sorted(seqs)):
        rows = tx.execute(select(m.seq, m.position, m.tenant, m.agent, m.user, m.session).where(m.seq.in_(part)))
        positions: dict[Scope, list[int]] = {}
        unplaced: list[int] = []
        for seq, position, tenant, agent, user, session in rows:
            if position is None:
                unplaced.append(seq)
            else:
                positions.setdefault(scope_of(tenant, agent, user, session), []).append(position)
        tx.execute(delete(messages).where(m.seq.in_(unplaced)))
        for scope, gone in positions.items():
            stored.delete_positions(tx, scope, sorted(gone))


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
        for erased in texts:
            words = statement_tokens(erased)
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
        return any(self.is_in(each) for each in _strings(stored_json(text)))


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
