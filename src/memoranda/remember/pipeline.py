"""Remembering: what is told is read, what is worth keeping is stored, and what it says of somebody is believed or not.

Everything of one call is one commit: the turns for the ledger, the memories, and the claims that end by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from memoranda.errors import ExtractionFailed, InvalidType, Unavailable
from memoranda.llm.base import LLM, Metered, Usage
from memoranda.memories import message_log
from memoranda.memories.changes import Add, Change, Draft, PartitionKey, Say, StoredMessage
from memoranda.memories.claim_resolution import settle
from memoranda.memories.message_log import Turn
from memoranda.memories.read import changed_ids, get_memories
from memoranda.memories.rows import memory_from_draft, name
from memoranda.memories.write import Checked, News, apply_changes
from memoranda.messages.message import Message, as_message
from memoranda.remember import extraction
from memoranda.remember.base import Candidate, Known, NothingKnown, Saying, Verdict
from memoranda.remember.duplicates import SAME, KnownTexts
from memoranda.remember.extraction import candidate_of, candidates, extract_each, notes_of
from memoranda.remember.gate import Setting, known_already, masked
from memoranda.remember.llm_extraction import refine
from memoranda.storage.sqlite.connections import fetch_on
from memoranda.text import clean_text, content_hash, lexical_keys, query_terms
from memoranda.types import JSON, Memory, MemoryType, Outcome, Outcomes, Progress, Scope
from memoranda.validation import check_moment, check_name, check_own_type, check_unit, copy_json_object

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from memoranda.index.partitions import Partitions
    from memoranda.memories.vectors import Vectors
    from memoranda.storage.sqlite.store import SQLiteStore


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


class RememberPipeline:
    """The writing side of memory, from words to rows."""

    def __init__(self, store: SQLiteStore, vectors: Vectors, reader: Extractor, llm: LLM | None) -> None:
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
        return self._store.read(lambda connection: message_log.unread_turns(connection, scope, limit))

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
        message_log.set_unread(connection, model.asked, str(model.failure), at)
    elif model.asked:
        message_log.set_read(connection, model.asked)
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


Found: TypeAlias = list[Candidate | Verdict]
_NEIGHBOURS: Final = 3
"""Memories that share most words with a text: what says the same is among them."""
_MOST_WORDS: Final = 64
_NOBODY: Final = Setting()


@dataclass(frozen=True, slots=True)
class Read:
    """What was found, one list for each thing told, and the memories that it was compared with."""

    found: list[Found]
    known: Known = field(default_factory=NothingKnown)
    neighbours: dict[int, Memory] = field(default_factory=dict)
    seq: int | None = None
    """The change up to which it was compared; None when nothing was."""


class Extractor:
    """Reads what a call hands in. With `gate` off, every message is worth keeping."""

    def __init__(self, store: SQLiteStore, vectors: Vectors, partitions: Partitions, *, gate: bool) -> None:
        self._store = store
        self._vectors = vectors
        self._partitions = partitions
        self._gate = gate

    def read(self, told: Sequence[Told], call: Common) -> Read:
        """One list for each thing told, in order. A text is kept as it is; a message goes through the gate."""
        sayings = [saying_of(each, call.scope, call) for each in told]
        gated = [saying for each, saying in zip(told, sayings, strict=True) if self.judges(each, call)]
        against = self._known(gated, call) if gated else Read([])
        judged = iter(extract_each(gated, against.known, importance=call.importance))
        found = [
            next(judged) if self.judges(each, call) else self._taken(each, saying, call)
            for each, saying in zip(told, sayings, strict=True)
        ]
        return replace(against, found=found)

    def judges(self, told: Told, call: Common) -> bool:
        """Whether it goes through the gate: what passes by itself, as short-term memory does, need not be worth it."""
        passes = call.keep_all or call.type in PASSING
        return self._gate and told.message is not None and told.text is not None and not passes

    def _taken(self, told: Told, saying: Saying, call: Common) -> Found:
        if told.text is None:
            return [Verdict(saying.message_id, "rejected", "empty", f"the {saying.role} message has no text", (0, 0))]
        candidate = candidate_of(saying, _NOBODY, 1.0, call.importance)
        if told.message is None:
            candidate = replace(candidate, importance=max(DEFAULT_IMPORTANCE, candidate.importance))
        # What passes soon ends nothing, and neither does what nobody judged.
        believed = told.message is None and call.type not in PASSING
        return [candidate if believed else replace(candidate, claims=())]

    def _known(self, sayings: Sequence[Saying], call: Common) -> Read:
        """What could say the same: of what the scope has and still holds, the memories nearest by their words."""
        scope = call.scope
        partition = self._partitions.get_for_terms(PartitionKey(scope.tenant, scope.user), self._vectors.generation())
        words, ids = set[str](), set[int]()
        with partition.lock:
            seq, postings = partition.seq, partition.postings
            among = partition.eligible(scope.agent, scope.session, call.now.timestamp())
            for saying in sayings:
                asked = query_terms(saying.text)
                held = [word for word in asked if postings.contains(word)]
                words.update(held)
                if len(held) >= SAME * len(asked):  # else no memory holds enough of its words
                    ids.update(postings.search(held[:_MOST_WORDS], _NEIGHBOURS, among=among)[0].tolist())
        memories = [memory for memory in self._store.get(scope, sorted(ids)) if memory is not None]
        known = KnownTexts(as_said(memories, scope), words)
        return Read([], known, {memory.id: memory for memory in memories}, seq)


def saying_of(told: Told, scope: Scope, call: Common) -> Saying:
    """What was told as something said; the words of a text are those of the user."""
    text, message = told.text or "", told.message
    if message is None:
        return _saying("", "user", None, call.at or call.now, text, scope)
    return _saying(message.message_id, message.role, message.name, message.timestamp, text, scope)


def said_in(turn: Turn) -> Saying:
    """A turn of the ledger as something said."""
    scope, message = turn
    named = None if message.speaker == message.role else message.speaker
    return _saying(message.message_id, message.role, named, message.said_at, message.content or "", scope)


def importance_of(text: object, call: Common) -> float:
    """How much a text that was handed in matters; the caller's own value wins."""
    if call.importance is not None:
        return call.importance
    return max(DEFAULT_IMPORTANCE, extraction.importance_of(clean_text(text), call.at or call.now)[0])


def notes_on(text: str, memory: Memory) -> dict[str, JSON]:
    """What is read from the new words of a memory, which are no longer those of its message."""
    ((_, saying),) = as_said([replace(memory, content=text)], Scope(memory.tenant, user=memory.user))
    return unspoken_notes(candidate_of(saying, _NOBODY, 1.0))


def unspoken_notes(candidate: Candidate) -> dict[str, JSON]:
    """The notes of something that is not the words of a message."""
    return {name: note for name, note in notes_of(candidate).items() if name != "evidence"}


def as_said(memories: Iterable[Memory], scope: Scope) -> Iterator[tuple[int, Saying]]:
    """Memories as something said, by their ids."""
    for memory in memories:
        named = None if memory.speaker == memory.trust else memory.speaker
        yield memory.id, _saying("", memory.trust, named, memory.valid_from, memory.content, scope)


def _saying(message_id: str, role: str, name: str | None, at: datetime, text: str, scope: Scope) -> Saying:
    return Saying(message_id, role, _speaker(name, role, scope), at, text, (0, len(text)))


def _speaker(name: str | None, role: str, scope: Scope) -> str:
    """Who speaks: by name, else the user of the scope where a user speaks, else the role."""
    if name:
        return name
    return scope.user if role == "user" and isinstance(scope.user, str) else role


Content: TypeAlias = str | Message | Mapping[str, Any]
DEFAULT_IMPORTANCE = 0.5
"""Of a text that somebody handed in to be kept; what is found in it can only add to it."""
PASSING = (MemoryType.SHORT_TERM, MemoryType.WORKING)


@dataclass(frozen=True, slots=True)
class Common:
    """What holds for every memory of one call."""

    scope: Scope
    now: datetime
    type: MemoryType | None
    source: str | None
    importance: float | None
    metadata: dict[str, JSON]
    at: datetime | None
    short_term_ttl: timedelta
    keep_all: bool = False
    """Whether every message is kept, worth it or not."""


def common(
    scope: Scope,
    now: datetime,
    short_term_ttl: timedelta,
    *,
    type: object = None,
    source: object = None,
    importance: object = None,
    metadata: object = None,
    at: object = None,
) -> Common:
    """The arguments of one call, checked."""
    extra = copy_json_object(metadata, "metadata")
    if importance is None:
        importance = extra.get("importance")
    return Common(
        scope=scope,
        now=now,
        type=None if type is None else check_own_type(type),
        source=check_name(source, "source"),
        importance=None if importance is None else check_unit(importance, "importance"),
        metadata=extra,
        at=None if at is None else check_moment(at, "at"),
        short_term_ttl=short_term_ttl,
    )


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that a call hands in: a text, or a message."""

    text: str | None
    """Its words; None for a message that has none (only calls, only pictures)."""
    message: Message | None = None
    once: str | None = None
    """The idempotency key."""


def told(content: Content, once: str | None = None) -> Told:
    """What was handed in, checked."""
    if isinstance(content, str):
        return Told(clean_text(content), None, once)
    message = as_message(content)
    text = spoken_text(message)
    return Told(None if text is None else clean_text(text), message, once)


def listed(content: Content | Sequence[Content]) -> list[Content]:
    """One content or several, as a list."""
    given: object = content
    if isinstance(content, str | Message | Mapping):
        return [content]
    if isinstance(given, bytes | bytearray) or not isinstance(content, Sequence):
        raise InvalidType(f"content must be a text, a message or a list of them, not {type(content).__name__}")
    return list(content)


def text_draft(
    text: object, call: Common, *, key: str | None = None, value: JSON = None, importance: float | None = None
) -> Draft:
    """A draft from a plain text, kept whatever is there already."""
    content = clean_text(text)
    kind = call.type or MemoryType.SEMANTIC
    return Draft(
        content=content,
        type=kind,
        scope=call.scope,
        importance=call.importance if call.importance is not None else importance or DEFAULT_IMPORTANCE,
        recorded_at=call.now,
        valid_from=call.at or call.now,
        content_hash=content_hash(content),
        terms=lexical_keys(content),
        source=call.source,
        metadata=call.metadata,
        key=key,
        value=value,
        expires_at=_expiry(kind, call),
    )


def message_draft(text: str, message: Message, call: Common, type: MemoryType) -> Draft:
    """A draft from words of a message, or of a model that read it."""
    kind = call.type or type
    return Draft(
        content=text,
        type=kind,
        scope=call.scope,
        importance=DEFAULT_IMPORTANCE if call.importance is None else call.importance,
        recorded_at=call.now,
        valid_from=message.timestamp,
        content_hash=content_hash(text),
        terms=lexical_keys(text),
        source=call.source or "conversation",
        trust=message.role,
        metadata={**message.metadata, **call.metadata},
        message=stored_message(message),
        expires_at=_expiry(kind, call),
    )


def stored_message(message: Message) -> StoredMessage:
    """A message as the ledger keeps it."""
    return StoredMessage(
        message.message_id,
        message.role,
        spoken_text(message),
        message.timestamp,
        message.name or message.role,
        message.to_dict(),
    )


def without_secrets(message: Message) -> Message:
    """The message with its secrets blotted out, everything else where it stood; itself when it has none."""
    content = message.content
    if isinstance(content, str):
        return _with_content(message, masked(content))
    if isinstance(content, list):
        return _with_content(message, [_masked_part(part) for part in content])
    return message


def _masked_part(part: Any) -> Any:
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        return {**part, "text": masked(part["text"])}
    return part


def _with_content(message: Message, content: Any) -> Message:
    return message if content == message.content else Message.from_dict({**message.to_dict(), "content": content})


def spoken_text(message: Message) -> str | None:
    """The words of a message; None when it has none (only calls, only pictures)."""
    content = message.content
    if isinstance(content, str):
        return content if content.strip() else None
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "\n".join(part for part in parts if isinstance(part, str)).strip() or None
    return None


def _expiry(kind: MemoryType, call: Common) -> datetime | None:
    return call.now + call.short_term_ttl if kind in PASSING else None


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
    verdict = known_already(_utterance_of(change.draft), texts)
    if verdict is None or not isinstance(verdict.twin, int):
        return None
    said = change.draft.message.message_id
    return Outcome(verdict.status, stored[verdict.twin], verdict.reason, said, verdict.rule)


def _only_said(change: Change) -> Change:
    assert isinstance(change, Add)
    assert change.draft.message is not None
    return Say(change.draft.scope, change.draft.message, change.draft.recorded_at)


def _utterance_of(draft: Draft) -> Saying:
    ((_, saying),) = as_said([memory_from_draft(draft, 0)], draft.scope)
    return saying


def _holds(memory: Memory, now: datetime) -> bool:
    ends = (memory.valid_to, memory.expires_at)
    return memory.archived_at is None and all(end is None or end > now for end in ends)
