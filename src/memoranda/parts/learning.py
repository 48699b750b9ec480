"""Remembering: what is told is read, what is worth keeping is stored, and what it says of somebody is believed or not.

Everything of one call is one commit: the turns for the ledger, the memories, and the claims that end by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from memoranda.errors import ExtractionFailed, Unavailable
from memoranda.extraction.base import Candidate, Verdict
from memoranda.extraction.llm import refine
from memoranda.extraction.notes import notes_of
from memoranda.extraction.rules import candidates, extract_each
from memoranda.llm.base import LLM, Usage
from memoranda.llm.metered import Metered
from memoranda.messages.message import Message
from memoranda.parts.believing import settle
from memoranda.parts.drafts import (
    Common,
    Content,
    Told,
    listed,
    message_draft,
    stored_message,
    text_draft,
    told,
    without_secrets,
)
from memoranda.parts.meanwhile import Meanwhile
from memoranda.parts.reading import Read, Reader, said_in, unspoken_notes
from memoranda.storage import ledger
from memoranda.storage.base import Add, Change, Draft, Say
from memoranda.storage.ledger import Turn
from memoranda.storage.writing import apply_changes
from memoranda.text import clean_text
from memoranda.types import Memory, Outcome, Outcomes, Progress, Scope

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from memoranda.parts.vectors import Vectors
    from memoranda.storage.sqlite import SQLiteStore

_CATCH_UP: Final = 20
"""Turns that a model failed to read and is given again with each call."""
_Planned: TypeAlias = Draft | Verdict


@dataclass(frozen=True, slots=True)
class _Model:
    """What a model made of what the rules let pass."""

    found: tuple[Candidate | Verdict, ...] = ()
    usage: Usage = field(default_factory=Usage)
    failure: Unavailable | ExtractionFailed | None = None
    asked: tuple[Turn, ...] = ()
    """The turns it was given."""


class Learning:
    """The writing side of memory, from words to rows."""

    def __init__(self, store: SQLiteStore, vectors: Vectors, reader: Reader, llm: LLM | None) -> None:
        self._store = store
        self._vectors = vectors
        self._reader = reader
        self._llm = llm

    def remember(
        self, content: Content | Sequence[Content], call: Common, once: str | None, progress: Progress | None = None
    ) -> Outcomes:
        """How each thing told ended, in order; what a model adds comes after all that was said."""
        contents = listed(content)
        given = [told(item, key) for item, key in zip(contents, _numbered(once, len(contents)), strict=True)]
        read = self._reader.read(given, call)
        kept = [self._kept(each, call) for each in given]
        model = self._asked(given, read, kept, call)
        plan = [
            [_planned(piece, each, message, call, place) for place, piece in enumerate(pieces)]
            for each, message, pieces in zip(given, kept, read.found, strict=True)
        ]
        plan.append(self._told_by(model, call))
        meanwhile = None if read.seq is None else Meanwhile(call.scope, read.seq, call.now)
        ended = self._written(plan, kept, call, model, meanwhile, progress)
        return _answer(_in_words(plan, ended, read), model)

    def unread(self, scope: Scope, limit: int = _CATCH_UP) -> list[Turn]:
        """The oldest turns that a model failed to read."""
        return self._store.read(lambda connection: ledger.unread_turns(connection, scope, limit))

    def catch_up(self, scope: Scope, call: Common, llm: LLM) -> Outcomes | None:
        """Has a model read some of what it failed to read before; None when there is nothing left."""
        turns = self.unread(scope)
        if not turns:
            return None
        model = _read_by(llm, [], turns, Read([]), call)
        plan = [self._told_by(model, call)]
        ended = self._written(plan, [], call, model)
        return _answer(_in_words(plan, ended, Read([])), model)

    def _kept(self, each: Told, call: Common) -> Message | None:
        """The message as it goes into the ledger."""
        if each.message is None or not self._reader.judges(each, call):
            return each.message
        return without_secrets(each.message)

    def _asked(self, given: Sequence[Told], read: Read, kept: Sequence[Message | None], call: Common) -> _Model:
        """What the model, where there is one, makes of the messages that passed, and of those it failed on before."""
        if self._llm is None:
            return _Model()
        passed: list[Candidate] = []
        turns: list[Turn] = []
        for each, message, pieces in zip(given, kept, read.found, strict=True):
            worth = candidates(pieces)
            if message is not None and worth and self._reader.judges(each, call):
                passed += worth
                turns.append((call.scope, stored_message(message)))
        before = self.unread(Scope(call.scope.tenant, call.scope.agent, call.scope.user))
        return _read_by(self._llm, passed, before, read, call, turns) if passed or before else _Model()

    def _told_by(self, model: _Model, call: Common) -> list[_Planned]:
        turns = {turn[1].message_id: turn for turn in model.asked}
        return [_fact(each, turns, call) if isinstance(each, Candidate) else each for each in model.found]

    def _written(
        self,
        plan: Sequence[Sequence[_Planned]],
        kept: Sequence[Message | None],
        call: Common,
        model: _Model,
        meanwhile: Meanwhile | None = None,
        progress: Progress | None = None,
    ) -> Iterator[Outcome]:
        """The outcomes of the drafts, in order, once everything is on disk."""
        self._vectors.attach([piece for pieces in plan for piece in pieces if isinstance(piece, Draft)], progress)
        changes = _changes(plan, kept, call)
        drafts = [isinstance(change, Add) for change in changes]
        claims = any(isinstance(each, Add) and "claims" in each.draft.notes for each in changes)
        if model.asked or claims:
            ended = self._store.write(lambda connection, at: _commit(connection, changes, model, meanwhile, at))
        else:
            ended = self._store.apply(changes if meanwhile is None or not any(drafts) else meanwhile.checked(changes))
        return iter([outcome for outcome, is_draft in zip(ended, drafts, strict=True) if is_draft])


def _commit(
    connection: Connection, changes: Sequence[Change], model: _Model, meanwhile: Meanwhile | None, at: int
) -> list[Outcome]:
    news, known = (changes, {}) if meanwhile is None else meanwhile.news(connection, changes)
    ended = settle(connection, apply_changes(connection, news, at), at)
    ended = [known.get(place, outcome) for place, outcome in enumerate(ended)]
    if model.failure is not None:
        ledger.set_unread(connection, model.asked, str(model.failure), at)
    elif model.asked:
        ledger.set_read(connection, model.asked)
    return ended


def _read_by(
    llm: LLM, passed: Sequence[Candidate], before: Sequence[Turn], read: Read, call: Common, turns: Sequence[Turn] = ()
) -> _Model:
    meter = Metered(llm)
    asked = tuple({turn[1].message_id: turn for turn in (*before, *turns)}.values())  # one of an id; the rest waits
    again = [said_in(turn) for turn in before if turn in asked]
    passed = [*passed, *candidates([piece for pieces in extract_each(again) for piece in pieces])]
    try:
        refined = refine(passed, meter, read.known, importance=call.importance)
    except (Unavailable, ExtractionFailed) as error:
        return _Model(usage=meter.usage, failure=error, asked=asked)
    return _Model(refined.found, meter.usage, asked=asked)


def _planned(piece: Candidate | Verdict, each: Told, message: Message | None, call: Common, place: int) -> _Planned:
    """A draft of what passed; a verdict stays one."""
    if isinstance(piece, Verdict):
        return piece
    key = None if each.once is None else f"{each.once}.{place}" if place else each.once
    if message is None:
        draft = text_draft(piece.content, call, importance=piece.importance)
        return replace(draft, idempotency_key=key, deduplicate=True, notes=unspoken_notes(piece))
    return _draft(piece, message_draft(piece.content, message, call, piece.type), key)


def _fact(piece: Candidate, turns: dict[str, Turn], call: Common) -> Draft:
    """What a model found, with the turn it found it in."""
    scope, message = turns[piece.message_id]
    spoken = Message.from_dict(message.payload)
    return _draft(piece, message_draft(piece.content, spoken, replace(call, scope=scope, type=None), piece.type), None)


def _draft(piece: Candidate, draft: Draft, key: str | None) -> Draft:
    return replace(draft, importance=piece.importance, notes=notes_of(piece), idempotency_key=key)


def _changes(plan: Sequence[Sequence[_Planned]], kept: Sequence[Message | None], call: Common) -> list[Change]:
    """Additions first, so that they are written together; then the turns of which nothing is remembered."""
    adds: list[Change] = [Add(piece) for pieces in plan for piece in pieces if isinstance(piece, Draft)]
    silent = [
        message
        for message, pieces in zip(kept, plan, strict=False)
        if message is not None and not any(isinstance(piece, Draft) for piece in pieces)
    ]
    return [*adds, *(Say(call.scope, stored_message(message), call.now) for message in silent)]


def _in_words(plan: Sequence[Sequence[_Planned]], ended: Iterator[Outcome], read: Read) -> list[Outcome]:
    """One outcome for each piece of the plan, in order."""
    outcomes: list[Outcome] = []
    of_message: dict[str, Memory] = {}
    for piece in (piece for pieces in plan for piece in pieces):
        if isinstance(piece, Verdict):
            twin = read.neighbours.get(piece.twin) if isinstance(piece.twin, int) else of_message.get(piece.twin or "")
            outcomes.append(Outcome(piece.status, twin, piece.reason, piece.message_id, piece.rule))
            continue
        outcome = next(ended)
        outcomes.append(outcome)
        if outcome.message_id is not None and outcome.memory is not None:
            of_message.setdefault(outcome.message_id, outcome.memory)
    return outcomes


def _answer(outcomes: list[Outcome], model: _Model) -> Outcomes:
    ended = Outcomes(outcomes, model.usage)
    if model.failure is None:
        return ended
    text: Any = getattr(model.failure, "text", "")
    raise ExtractionFailed(
        f"what was said is stored, and what rules read from it; the model gave nothing usable ({model.failure}). "
        "It is asked again by the next remember() and by upkeep()",
        text=text,
        outcomes=ended,
    ) from model.failure


def _numbered(once: str | None, count: int) -> list[str | None]:
    if once is None:
        return [None] * count
    key = clean_text(once, "idempotency_key")
    return [key] if count == 1 else [f"{key}#{n}" for n in range(count)]
