"""What the scope holds already that the texts of one call could repeat: duplicates, and recalled text coming back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from memoranda.embedding.vectors import Vectors
from memoranda.index.partition import Partition
from memoranda.index.partitions import Partitions
from memoranda.messages.message import ROLES
from memoranda.remember.base import KnownTexts, NoKnownTexts, Utterance
from memoranda.remember.duplicates import KnownTextIndex, without_politeness
from memoranda.remember.echoes import EchoIndex, list_parts, to_lookup
from memoranda.remember.new_memory import WriteOptions, speaker_name
from memoranda.storage.base import PartitionKey, Store
from memoranda.storage.claims import FOLLOWED, VOICE
from memoranda.text.terms import query_terms
from memoranda.types import Memory, Scope

_NEIGHBOURS: Final = 8
"""How many memories that share most terms with a text are compared with it."""
_KNOWN_SHARE: Final = 0.7
"""The share of a text's terms that must be known for it to repeat something; the others are a lead-in."""
_MAX_TERMS: Final = 64
_NOBODY: Final = ""
"""Instead of a name, for what was said without one."""
_MAX_NAMES: Final = 8
"""Where more people spoke, nobody can tell which of them is the user."""


@dataclass(frozen=True, slots=True)
class Known:
    """The memories of the scope, up to the change `seq`, that could say the same as the texts of a call."""

    texts: KnownTexts = field(default_factory=NoKnownTexts)
    memories: dict[int, Memory] = field(default_factory=dict)
    seq: int | None = None
    """None when nothing was compared."""


class KnownFinder:
    """Looks up what texts may repeat: one visit to the index and one to the store for a whole call."""

    def __init__(self, store: Store, vectors: Vectors, partitions: Partitions) -> None:
        self._store = store
        self._vectors = vectors
        self._partitions = partitions

    def find(
        self, utterances: Sequence[Utterance], compared: Sequence[Utterance], options: WriteOptions
    ) -> tuple[list[Utterance], Known]:
        """Return the utterances, with the parts marked that only repeat what recall returned, and what is known.

        Args:
            utterances: What the call passes.
            compared: Those of them that may be duplicates. They are looked for in the session of the call; echoes in
                all sessions, since recall reads all of them.
            options: What holds for the whole call.
        """
        scope = options.scope
        generation = self._vectors.generation()
        partition = self._partitions.get_for_terms(PartitionKey(scope.tenant, scope.user), generation)
        parts = {each.text[slice(*part)] for each in utterances if each.text for part in list_parts(each)}
        with partition.lock:
            search = _Search(partition, scope.agent, options.now.timestamp())
            echoed = search.find_all(map(to_lookup, parts), None)
            same = search.find_all((without_politeness(each.text) for each in compared), scope.session)
            known_terms = {term for each in compared for term in search.indexed(each.text)} if compared else set[str]()
            seq = partition.seq
            names = _named_speakers(partition) if any(_is_unnamed(each, scope) for each in utterances) else {}
        utterances = self._name_owner(utterances, names, scope)
        found = self._read(Scope(scope.tenant, scope.agent, scope.user), echoed | same)
        marked = _mark_echoes(utterances, [found[each] for each in sorted(echoed) if each in found])
        if not compared:
            return marked, Known()
        # A statement that was followed by another one is new when it is made again.
        stated = {each: found[each] for each in sorted(same) if each in found and FOLLOWED not in found[each].notes}
        memories = {each: memory for each, memory in stated.items() if options.may_repeat(memory)}
        known = ((memory.id, utterance_of_memory(memory, scope)) for memory in memories.values())
        return marked, Known(KnownTextIndex(known, known_terms), memories, seq)

    def _name_owner(self, utterances: Sequence[Utterance], names: dict[int, str], scope: Scope) -> Sequence[Utterance]:
        """Return the utterances with the name of the user, where only one user ever spoke by name in the scope.

        "User moved to Rome" and "I moved to Rome" without a name are then about the person that the others are about.
        """
        said = self._read(Scope(scope.tenant, user=scope.user), set(names))
        own = [each for each, memory in sorted(said.items()) if memory.trust == "user" and VOICE not in memory.notes]
        # Whoever spoke without a name before is known by the id of the scope: the name is another person's.
        if len({names[each] for each in own}) != 1 or names[own[0]] in (_NOBODY, scope.user):
            return utterances
        owner = names[own[0]]
        return [replace(each, owner=owner) if _is_unnamed(each, scope) else each for each in utterances]

    def _read(self, scope: Scope, ids: set[int]) -> dict[int, Memory]:
        found = self._store.get(scope, sorted(ids)) if ids else []
        return {memory.id: memory for memory in found if memory is not None}


class _Search:
    """The searches of one call in a partition; the same words are searched once."""

    def __init__(self, partition: Partition, agent: str | None, now: float) -> None:
        self._partition = partition
        self._agent = agent
        self._now = now
        self._found: dict[tuple[str | None, tuple[str, ...]], list[int]] = {}

    def indexed(self, text: str) -> list[str]:
        """Return the terms of a text that the partition holds."""
        return self._partition.postings.held(query_terms(text))

    def find_all(self, texts: Iterable[str], session: str | None) -> set[int]:
        """Return the memories that share most terms with one of the texts."""
        return {memory_id for text in texts for memory_id in self._find(text, session)}

    def _find(self, text: str, session: str | None) -> list[int]:
        indexed = self.indexed(text)
        if not indexed or len(indexed) < _KNOWN_SHARE * len(query_terms(text)):
            return []
        key = (session, tuple(indexed[:_MAX_TERMS]))
        if key not in self._found:
            among = self._partition.eligible(self._agent, session, self._now)
            ids, _ = self._partition.postings.search(key[1], _NEIGHBOURS, among=among)
            self._found[key] = ids.tolist()
        return self._found[key]


def _is_unnamed(utterance: Utterance, scope: Scope) -> bool:
    """Return whether "the user" of an utterance is known only by the id of the scope."""
    return isinstance(scope.user, str) and utterance.owner == scope.user


def _named_speakers(partition: Partition) -> dict[int, str]:
    """Return who spoke, each with the first memory of theirs; nobody when they are many."""
    names = [name for name in partition.speakers if name not in ROLES]
    if len(names) > _MAX_NAMES:
        return {}
    unnamed = {int(said[0]): _NOBODY for name in (None, "user") if len(said := partition.said_by(name))}
    return unnamed | {int(said[0]): name for name in names if len(said := partition.said_by(name))}


def utterance_of_memory(memory: Memory, scope: Scope) -> Utterance:
    """Return a stored memory as an utterance."""
    name = None if memory.speaker in (memory.trust, *ROLES) else memory.speaker
    speaker = speaker_name(name, memory.trust, scope)
    span = (0, len(memory.content))
    owner = speaker if memory.trust == "user" else speaker_name(None, "user", scope)
    return Utterance("", memory.trust, speaker, memory.valid_from, memory.content, span, owner=owner)


def _mark_echoes(utterances: Sequence[Utterance], memories: Sequence[Memory]) -> list[Utterance]:
    if not memories:
        return list(utterances)
    index = EchoIndex(memories)
    return [replace(each, echoes=tuple(index.find(each))) for each in utterances]
