"""What the dashboard reads of one tenant. Looking at memories does not count as a use: nothing is recorded."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, tzinfo
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sqlalchemy import func, or_, select

from memoranda.dashboard import browse, overview
from memoranda.dashboard.browse import (
    ConversationPage,
    ConversationSummary,
    MemoryGraph,
    MemoryOrder,
    MemoryState,
    Provenance,
    SearchOrder,
)
from memoranda.dashboard.overview import LastUpkeep, MemoryStates, NamedCount, Overview, Person
from memoranda.maintenance.upkeep_store import last_run_key
from memoranda.manager.manager import MemoryManager
from memoranda.recall.ledger import AccessCounter
from memoranda.recall.pipeline import RecallPipeline
from memoranda.recall.render import RELEVANT, render_context
from memoranda.records import build
from memoranda.storage.base import PartitionKey, ReadTransaction
from memoranda.storage.meta import decode
from memoranda.storage.read import get_memories
from memoranda.storage.rows import in_scope
from memoranda.storage.schema import changes, memories, recalls
from memoranda.types import ANY, Filter, Hit, Memory, Recall, Scope
from memoranda.validation import check_datetime, check_optional_datetime, make_filter

if TYPE_CHECKING:
    from memoranda.manager.components import StoreComponents

_R = TypeVar("_R")
_M = memories.c
_BUDGET: Final = 1500
_CONSIDERED: Final = 30
"""Hits that are ranked, of which the first are the answer and the rest are shown as left out."""
_SHOWN: Final = 10
_MAX_DROPPED: Final = 8
_MAX_TERMS: Final = 6
_DEMO_USER: Final = "nora-and-theo"


@dataclass(frozen=True, slots=True)
class Dropped:
    """A memory that fits the words of a question but is not in the answer."""

    memory: Memory
    step: str
    reason: str


@dataclass(frozen=True, slots=True)
class DashboardAnswer:
    """A recall as an agent gets it, the text that it would be given, and what was left out."""

    recall: Recall
    hits: tuple[Hit, ...]
    text: str
    tokens: int
    found: int
    """How many hits were ranked: the first are in `hits`, and the text takes from all of them."""
    shown: int
    """How many of them the text has."""
    budget: int
    """How many tokens the text may have."""
    dropped: tuple[Dropped, ...]


class _Uncounted(AccessCounter):
    """Counts nothing."""

    def record(self, ids: Iterable[int]) -> None:
        """Ignore these accesses: a person who looks at a memory does not use it."""


class Insight:
    """Reads what the pages show, in the scope that a caller may read."""

    def __init__(self, manager: MemoryManager, tenant: str) -> None:
        self._manager = manager
        self._tenant = tenant
        self._lock = threading.Lock()
        self._cached: tuple[tuple[object, ...], Overview] | None = None
        self._numbers = overview.OverviewReader(tenant)
        self._reading = threading.Lock()
        self._pipeline: RecallPipeline | None = None

    def overview(self, scope: Scope | None = None, *, zone: str = "UTC") -> Overview:
        """Return the numbers of the first page, by days of a time zone: of a scope, or of the whole tenant.

        They are read again only after a change or a recall, and on another day.
        """
        opened = self._open()
        opened.ledger.write()
        latest = self._read(lambda tx: tx.execute(select(func.max(recalls.c.number))).scalar() or 0)
        days = overview.find_zone(zone)
        today = self._manager._components.clock().astimezone(days).date()
        key = (opened.store.head(PartitionKey(self._tenant, ANY)), latest, scope, days, today)
        with self._reading:
            if self._cached is None or self._cached[0] != key:
                self._cached = (key, self._read(lambda tx: self._read_numbers(tx, scope, days, today)))
            return replace(self._cached[1], last_upkeep=self._last_upkeep(whole=scope is None))

    def _read_numbers(self, tx: ReadTransaction, scope: Scope | None, zone: tzinfo, today: date) -> Overview:
        if scope is not None:
            return overview.read_scope(tx, scope, zone, today)
        return self._numbers.read(tx, zone=zone, today=today)

    def _last_upkeep(self, *, whole: bool) -> LastUpkeep | None:
        """Return when upkeep ran; how much it did is included only for the whole tenant."""
        found = self._open().store.get_meta(last_run_key(self._tenant))
        if found is None:
            return None
        run = decode(found, lambda text: build(LastUpkeep, json.loads(text)))
        return run if whole else replace(run, examined=None, changes=None, problems=None)

    def states(self, scope: Scope) -> MemoryStates:
        """Return how many memories are in which state."""
        return self._read(lambda tx: overview.count_states(tx, scope))

    def list_memories(
        self,
        scope: Scope,
        *,
        where: Mapping[str, Any] | None = None,
        types: Sequence[str] | None = None,
        state: MemoryState = "any",
        order: MemoryOrder = "newest",
        trust: Sequence[str] = (),
        limit: int = 50,
        after: int = 0,
    ) -> list[Memory]:
        """Return a page of memories."""
        filters = replace(make_filter(where, types), trusts=tuple(trust))
        return self._read(
            lambda tx: browse.list_by_state(tx, scope, filters, state=state, order=order, limit=limit, after=after)
        )

    def provenance(self, scope: Scope, memory_id: int) -> Provenance:
        """Return where a memory comes from, and which recalls returned it."""
        self._open().ledger.write()
        return self._read(lambda tx: browse.read_provenance(tx, scope, memory_id))

    def speakers(self, scope: Scope, limit: int, after: int) -> list[NamedCount]:
        """Return a page of those who speak in the memories of a scope and are no users; `after` is how many to skip."""
        return self._read(lambda tx: overview.list_speakers(tx, scope, limit, after))

    def person(self, scope: Scope, name: str, as_of: str | None) -> Person:
        """Return what is known about a person, whoever said it."""
        moment, facts = check_optional_datetime(as_of, "as_of"), self._manager._components.facts
        return overview.read_person(self._open().store, facts, scope, name, moment)

    def conversations(self, scope: Scope, limit: int, after: int) -> list[ConversationSummary]:
        """Return a page of the conversations of a scope, newest first; `after` is how many to skip."""
        return self._read(lambda tx: browse.list_conversations(tx, scope, limit, after))

    def conversation(self, scope: Scope, limit: int, after: int) -> ConversationPage:
        """Return a page of one conversation, with the memories in its margin."""
        return self._read(lambda tx: browse.read_conversation(tx, scope, exact_agent=True, limit=limit, after=after))

    def graph(self, scope: Scope, around: int | None, limit: int) -> MemoryGraph:
        """Return the newest memories with their links, or the neighbourhood of one."""
        return self._read(lambda tx: browse.read_graph(tx, scope, around=around, limit=limit))

    def changes_since(self, scope: Scope, head: int, limit: int = 50) -> tuple[int, list[tuple[str, int, str]]]:
        """Return the number of the latest change, and the newest changes after `head`: what, which memory, its user."""
        return self._read(lambda tx: _changes(tx, scope, head, limit))

    def ask(
        self,
        question: str,
        scope: Scope,
        *,
        mode: str | None = None,
        as_of: datetime | str | None = None,
        now: datetime | str | None = None,
        where: Mapping[str, Any] | None = None,
        types: Sequence[str] | None = None,
    ) -> DashboardAnswer:
        """Return a recall as an agent gets it, the prompt text made from it, and what was left out and why."""
        filters = make_filter(where, types)
        found = self._recall(question, scope, filters, mode=mode, as_of=as_of, now=now)
        then = as_of if as_of is not None else now
        moment = self._manager._components.clock() if then is None else check_datetime(then, "as_of")
        pipeline = self._pipeline_for_looking()
        wishes = pipeline.standing_wishes(question, scope, filters, _CONSIDERED, now=now, as_of=as_of)
        # As `context` does, which recalls nothing below this score.
        relevant = replace(found, hits=tuple(hit for hit in found.hits if hit.score >= RELEVANT))
        text = render_context(relevant, _BUDGET, moment, floor=RELEVANT, wishes=wishes.hits)
        hits = found.hits[:_SHOWN]
        below = [
            Dropped(hit.memory, "limit", f"rank {rank}, score {hit.score:.2f}: below the first {_SHOWN}")
            for rank, hit in enumerate(found.hits[_SHOWN:], _SHOWN + 1)
        ]
        dropped = [*self._kept_out(found, scope, filters, as_of=as_of, now=now), *below]
        return DashboardAnswer(
            replace(found, hits=()),
            hits,
            str(text),
            text.tokens,
            found=len(found.hits),
            shown=len(text.hits),
            budget=_BUDGET,
            dropped=tuple(dropped[:_MAX_DROPPED]),
        )

    def search(
        self,
        question: str,
        scope: Scope,
        *,
        where: Mapping[str, Any] | None = None,
        types: Sequence[str] | None = None,
        state: MemoryState = "any",
        order: SearchOrder = "best",
        trust: Sequence[str] = (),
        limit: int = 30,
    ) -> Recall:
        """Return the best hits for what was typed so far, with no neural model.

        Memories in a state that recall leaves out are found by their words, and only when that state is asked for.
        """
        filters = replace(make_filter(where, types), trusts=tuple(trust), pinned=True if state == "pinned" else None)
        found = self._recall(question, scope, filters, mode="fast", limit=limit)
        hits: Sequence[Hit] = found.hits
        if state in browse.OUTSIDE_RECALL:
            terms = () if found.explanation is None else found.explanation.terms
            hits = self._read(lambda tx: browse.find_by_words(tx, scope, filters, state, terms[:_MAX_TERMS], limit))
        if order != "best":
            hits = sorted(hits, key=lambda hit: hit.id, reverse=order == "newest")
        return replace(found, hits=tuple(hits))

    def load_demo(self) -> int:
        """Store the demo conversation as the memories of its own user; return how many memories that user has then."""
        lines = files("memoranda.demo").joinpath("conversation.jsonl").read_text(encoding="utf-8").splitlines()
        sessions: dict[str, list[dict[str, str]]] = {}
        for row in map(json.loads, lines):
            message = {
                "role": "user",
                "name": row["speaker"],
                "content": row["text"],
                "timestamp": row["at"],
                "message_id": row["id"],
            }
            sessions.setdefault(row["session"], []).append(message)
        stored = 0
        for session, said in sessions.items():
            outcomes = self._manager.remember(said, user=_DEMO_USER, session=session)
            stored += sum(outcome.memory is not None for outcome in outcomes)
        return stored

    def _recall(
        self,
        question: str,
        scope: Scope,
        where: Filter,
        *,
        mode: str | None,
        limit: int = _CONSIDERED,
        as_of: datetime | str | None = None,
        now: datetime | str | None = None,
    ) -> Recall:
        return self._pipeline_for_looking().recall(
            question, scope, where, limit, now=now, as_of=as_of, mode=mode, explain=True
        )

    def _pipeline_for_looking(self) -> RecallPipeline:
        with self._lock:
            if self._pipeline is None:
                opened, clock = self._open(), self._manager._components.clock
                self._pipeline = RecallPipeline(
                    opened.store, opened.vectors, opened.partitions, clock, _Uncounted(opened.store, clock)
                )
            return self._pipeline

    def _kept_out(
        self,
        found: Recall,
        scope: Scope,
        filters: Filter,
        *,
        as_of: datetime | str | None,
        now: datetime | str | None,
    ) -> list[Dropped]:
        """Return memories with a word of the question that no longer take part in recall, and what keeps them out."""
        terms = () if found.explanation is None else found.explanation.terms
        known = {hit.id for hit in found.hits}
        outside = self._read(lambda tx: _outside_recall(tx, scope, terms[:_MAX_TERMS]))
        dropped = []
        for memory in (each for each in outside if each.id not in known):
            reason = self._pipeline_for_looking().why_not(
                found.query, memory.id, scope, filters, _SHOWN, now=now, as_of=as_of
            )
            if reason.step != "found":
                dropped.append(Dropped(memory, reason.step, reason.reason))
        return dropped

    def _open(self) -> StoreComponents:
        return self._manager._components.open()

    def _read(self, work: Callable[[ReadTransaction], _R]) -> _R:
        return self._open().store.read(work, tenant=self._tenant)


def _outside_recall(tx: ReadTransaction, scope: Scope, terms: Sequence[str]) -> list[Memory]:
    words = [term for term in terms if term.isalnum() and len(term) > 2]
    if not words:
        return []
    outside = or_(_M.superseded_by.is_not(None), _M.archived_at.is_not(None), _M.quarantined_at.is_not(None))
    matches = or_(*(_M.terms.contains(word, autoescape=True) for word in words))
    ids = list(tx.scalars(select(_M.id).where(*in_scope(scope), outside, matches).order_by(_M.id.desc()).limit(6)))
    return [each for each in get_memories(tx, scope, ids) if each is not None]


def _changes(tx: ReadTransaction, scope: Scope, head: int, limit: int) -> tuple[int, list[tuple[str, int, str]]]:
    h = changes.c
    owner = [h.tenant == scope.tenant]
    if scope.user is None or isinstance(scope.user, str):
        owner.append(h.user == (scope.user or ""))
    query = select(h.seq, h.op, h.memory_id, h.user).where(h.seq > head, *owner)
    rows = list(tx.execute(query.order_by(h.seq.desc()).limit(limit)))
    return max((row[0] for row in rows), default=head), [(row[1], row[2], row[3]) for row in rows]
