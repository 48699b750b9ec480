"""What others stored while a call was being read: compared once more, inside the transaction that writes the call.

Twins are looked for before the transaction opens, among what was there then. Two processes that are told nearly the
same at the same moment would both find nothing. So the writer that comes second looks again, only at what was changed
since it looked first: mostly nothing at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memoranda.extraction.base import Saying
from memoranda.extraction.gate import known_already
from memoranda.parts.reading import as_said
from memoranda.reconcile.known import KnownTexts
from memoranda.storage.base import Add, Change, Draft, PartitionKey, Say
from memoranda.storage.connections import fetch_on
from memoranda.storage.reading import changed_ids, get_memories
from memoranda.storage.rows import memory_from_draft, name
from memoranda.storage.writing import Checked, News
from memoranda.types import Memory, Outcome, Scope

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """The changes of others to a scope since one of them."""

    scope: Scope
    since: int
    now: datetime

    def news(self, connection: Connection, changes: Sequence[Change]) -> News:
        """The changes without the memories that another writer has stored by now; their turns stay, for the ledger."""
        known = self._known(connection, changes)
        return [_only_said(change) if place in known else change for place, change in enumerate(changes)], known

    def checked(self, changes: Sequence[Change]) -> Checked:
        return Checked(changes, (self.scope.tenant, name(self.scope.user)), self.news)

    def _known(self, connection: Connection, changes: Sequence[Change]) -> dict[int, Outcome]:
        ids = changed_ids(connection, PartitionKey(self.scope.tenant, self.scope.user), self.since)
        if not len(ids):
            return {}
        found = get_memories(fetch_on(connection), self.scope, ids.tolist())
        stored = {memory.id: memory for memory in found if memory is not None and _holds(memory, self.now)}
        texts = KnownTexts(as_said(stored.values(), self.scope))
        ends = [(place, _end(change, texts, stored)) for place, change in enumerate(changes)]
        return {place: end for place, end in ends if end is not None}


def _end(change: Change, texts: KnownTexts, stored: Mapping[int, Memory]) -> Outcome | None:
    """How a memory to be ends that is known already; None for news."""
    if not isinstance(change, Add) or change.draft.message is None:
        return None
    verdict = known_already(_saying(change.draft), texts)
    if verdict is None or not isinstance(verdict.twin, int):
        return None
    said = change.draft.message.message_id
    return Outcome(verdict.status, stored[verdict.twin], verdict.reason, said, verdict.rule)


def _only_said(change: Change) -> Change:
    assert isinstance(change, Add)
    assert change.draft.message is not None
    return Say(change.draft.scope, change.draft.message, change.draft.recorded_at)


def _saying(draft: Draft) -> Saying:
    ((_, saying),) = as_said([memory_from_draft(draft, 0)], draft.scope)
    return saying


def _holds(memory: Memory, now: datetime) -> bool:
    ends = (memory.valid_to, memory.expires_at)
    return memory.archived_at is None and all(end is None or end > now for end in ends)
