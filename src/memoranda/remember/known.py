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
from memoranda.remember.duplicates import KnownTextIndex
from memoranda.remember.echoes import EchoIndex, list_parts, to_lookup
from memoranda.remember.new_memory import WriteOptions, speaker_name
from memoranda.storage.base import PartitionKey, Store
from memoranda.storage.claims import FOLLOWED
from memoranda.text import query_terms
from memoranda.types import Memory, Scope

_NEIGHBOURS: Final = 8
"""How many memories that share most terms with a text are compared with it."""
_KNOWN_SHARE: Final = 0.7
"""The share of a text's terms that must be known for it to repeat something; the others are a lead-in."""
_MAX_TERMS: Final = 64


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
            same = search.find_all((each.text for each in compared), scope.session)
            known_terms = {term for each in compared for term in search.indexed(each.text)} if compared else set[str]()
            seq = partition.seq
        found = self._read(Scope(scope.tenant, scope.agent, scope.user), echoed | same)
        marked = _mark_echoes(utterances, [found[each] for each in sorted(echoed) if each in found])
        if not compared:
            return marked, Known()
        # A statement that was followed by another one is new when it is made again.
        memories = {each: found[each] for each in sorted(same) if each in found and FOLLOWED not in found[each].notes}
        known = ((memory.id, utterance_of_memory(memory, scope)) for memory in memories.values())
        return marked, Known(KnownTextIndex(known, known_terms), memories, seq)

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
        return list(filter(self._partition.postings.contains, query_terms(text)))

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


def utterance_of_memory(memory: Memory, scope: Scope) -> Utterance:
    """Return a stored memory as an utterance."""
    name = None if memory.speaker in (memory.trust, *ROLES) else memory.speaker
    speaker = speaker_name(name, memory.trust, scope)
    span = (0, len(memory.content))
    owner = speaker_name(None, "user", scope)
    return Utterance("", memory.trust, speaker, memory.valid_from, memory.content, span, owner=owner)


def _mark_echoes(utterances: Sequence[Utterance], memories: Sequence[Memory]) -> list[Utterance]:
    if not memories:
        return list(utterances)
    index = EchoIndex(memories)
    return [replace(each, echoes=tuple(index.find(each))) for each in utterances]
