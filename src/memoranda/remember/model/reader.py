"""Asks a language model about messages, when it may be asked, and keeps what happened for the write and the report.

Whatever the model does, the messages are stored: what it has not read is queued and given to it again later, at growing
intervals. A model that cannot be reached is not asked with every call (`CallPause`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from memoranda.llm.base import LLM, MeteredLLM
from memoranda.llm.structured import CallPause, describe_failure
from memoranda.remember.base import Candidate, KnownTexts, Verdict
from memoranda.remember.extraction import extract_each, only_candidates
from memoranda.remember.model.facts import ModelContext, extract_facts
from memoranda.remember.new_memory import WriteOptions, utterance_of_turn
from memoranda.storage.base import Store
from memoranda.storage.changes import MarkExtracted, StoredTurn
from memoranda.storage.message_log import read_unextracted
from memoranda.storage.read import read_recent_notes
from memoranda.types import Scope, Usage

RETRIED: Final = 20
"""How many messages that a model failed to read are given to it again with each call."""
_RECENT: Final = 500
"""In how many memories names are looked up."""
_NAMED_KINDS: Final = ("person", "name", "place", "organisation")
_log = logging.getLogger("memoranda")


@dataclass(slots=True)
class ModelAnswer:
    """What a model found in the messages that it was given."""

    found: list[tuple[StoredTurn, Candidate | Verdict]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    read: list[StoredTurn] = field(default_factory=list)
    unread: list[StoredTurn] = field(default_factory=list)
    """Those that it was asked about and did not read to the end."""
    waiting: list[StoredTurn] = field(default_factory=list)
    """Those that it was not asked about, because it failed shortly before."""
    failure: str | None = None
    error: Exception | None = None

    def marks(self) -> list[MarkExtracted]:
        """Return the changes that queue messages, and take those that were read out of the queue."""
        reason = self.failure or ""
        marks = [MarkExtracted(tuple(self.read)) if self.read else None]
        marks.append(MarkExtracted(tuple(self.unread), reason) if self.unread else None)
        marks.append(MarkExtracted(tuple(self.waiting), reason, asked=False) if self.waiting else None)
        return [mark for mark in marks if mark is not None]

    def queued_ids(self) -> set[str]:
        return {turn[1].message_id for turn in (*self.unread, *self.waiting)}


class ModelReader:
    """Gives messages to a model, new ones first, then some that it failed to read before."""

    def __init__(self, store: Store, llm: LLM, pause: CallPause | None = None) -> None:
        self._store = store
        self._llm = llm
        self._pause = pause or CallPause()

    def read(
        self, candidates: Sequence[Candidate], turns: Sequence[StoredTurn], known: KnownTexts, options: WriteOptions
    ) -> ModelAnswer:
        """Ask about what passed the gate in these messages, and about messages that were not read before."""
        reason = self._pause.reason(options.now)
        if reason is not None:
            return ModelAnswer(waiting=list(turns), failure=reason if turns else None)
        scope = options.scope
        queued = read_queued(self._store, Scope(scope.tenant, scope.agent, scope.user), RETRIED, options.now)
        new = {(each, message.message_id, message.content) for each, message in turns}
        old = [turn for turn in queued if (turn[0], turn[1].message_id, turn[1].content) not in new]
        answer, meter = ModelAnswer(), MeteredLLM(self._llm)
        if turns or old:
            context = self._context(known, options)
            # Apart from each other: a message that no model can read must not keep new ones from being read.
            if self._ask(meter, candidates, turns, context, answer, options.now):
                self._ask(meter, _candidates(old), old, context, answer, options.now)
        answer.usage = meter.usage
        return answer

    def read_again(self, turns: Sequence[StoredTurn], known: KnownTexts, options: WriteOptions) -> ModelAnswer:
        """Ask about messages that were not read before."""
        reason = self._pause.reason(options.now)
        if reason is not None:
            return ModelAnswer(failure=reason)
        answer, meter = ModelAnswer(), MeteredLLM(self._llm)
        self._ask(meter, _candidates(turns), turns, self._context(known, options), answer, options.now)
        answer.usage = meter.usage
        return answer

    def _ask(
        self,
        llm: LLM,
        candidates: Sequence[Candidate],
        turns: Sequence[StoredTurn],
        context: ModelContext,
        answer: ModelAnswer,
        now: datetime,
    ) -> bool:
        """Ask, and add to the answer; return whether the model answered."""
        if not turns:
            return True
        # Of messages with the same id, the model reads one; the others wait for the next call.
        asked = {turn[1].message_id: turn for turn in reversed(turns)}
        findings = extract_facts(candidates, llm, context)
        answer.found += [(asked[piece.message_id], piece) for piece in findings.found]
        left = {candidate.message_id for candidate in candidates} - findings.read
        answer.unread += [turn for key, turn in asked.items() if key in left]
        answer.read += [turn for key, turn in asked.items() if key not in left]
        if findings.failure is not None:
            answer.error, answer.failure = findings.failure, describe_failure(findings.failure)
        self._note(findings.failure, now, answered=findings.answered)
        return findings.answered

    def _note(self, failure: Exception | None, now: datetime, *, answered: bool) -> None:
        if failure is None:
            self._pause.record_success()
            return
        is_first = self._pause.record_unusable(failure) if answered else self._pause.record_failure(failure, now)
        if is_first:
            # Once, not with every call: a chat loop goes on while the model is out.
            _log.warning(
                "the language model failed: %s. The messages are stored, and it is asked again later",
                describe_failure(failure),
            )

    def _context(self, known: KnownTexts, options: WriteOptions) -> ModelContext:
        scope = options.scope
        user = scope.user if isinstance(scope.user, str) else None
        owner = Scope(scope.tenant, scope.agent, scope.user)
        notes = self._store.read(lambda tx: read_recent_notes(tx, owner, _RECENT), tenant=scope.tenant)
        names = {
            entity["text"] for each in notes for entity in each.get("entities", ()) if entity["kind"] in _NAMED_KINDS
        }
        return ModelContext(known, names, user, options.importance)


def read_queued(store: Store, scope: Scope, limit: int, due: datetime | None = None) -> list[StoredTurn]:
    """Return the oldest messages that a model failed to read; with `due`, those that it may be asked about by then."""
    return store.read(lambda tx: read_unextracted(tx, scope, limit, due), tenant=scope.tenant)


def _candidates(turns: Sequence[StoredTurn]) -> list[Candidate]:
    utterances = [utterance_of_turn(turn) for turn in {turn[1].message_id: turn for turn in reversed(turns)}.values()]
    return only_candidates([piece for found in extract_each(utterances) for piece in found])
