"""What is told → candidates and verdicts: read by rules, against what the scope holds already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeAlias

from memoranda.extraction import rules
from memoranda.extraction.base import Candidate, Known, NothingKnown, Saying, Verdict
from memoranda.extraction.gate import Setting
from memoranda.extraction.notes import notes_of
from memoranda.extraction.rules import candidate_of, extract_each
from memoranda.parts.drafts import DEFAULT_IMPORTANCE, PASSING, Common, Told
from memoranda.reconcile.duplicates import SAME
from memoranda.reconcile.known import KnownTexts
from memoranda.storage.base import PartitionKey
from memoranda.storage.ledger import Turn
from memoranda.text import clean_text, query_terms
from memoranda.types import JSON, Memory, Scope

if TYPE_CHECKING:
    from memoranda.index.partitions import Partitions
    from memoranda.parts.vectors import Vectors
    from memoranda.storage.sqlite import SQLiteStore

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


class Reader:
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
        partition = self._partitions.words(PartitionKey(scope.tenant, scope.user), self._vectors.generation())
        words, ids = set[str](), set[int]()
        with partition.lock:
            seq, postings = partition.seq, partition.postings
            among = partition.eligible(scope.agent, scope.session, call.now.timestamp())
            for saying in sayings:
                asked = query_terms(saying.text)
                held = [word for word in asked if postings.holds(word)]
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
    return max(DEFAULT_IMPORTANCE, rules.importance_of(clean_text(text), call.at or call.now)[0])


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
