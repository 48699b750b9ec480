"""Finds older memories that a new one may change, so that the write can link or end what they say.

Only rules decide what is ended (`storage.supersession`). What is found here by words and by meaning gives those rules the
claims that a change names only by their value, and links statements that speak of a change in other words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import numpy as np

from memoranda.embedding.vectors import Vectors
from memoranda.index.partition import Partition
from memoranda.index.partitions import Partitions
from memoranda.remember.alignment import align, can_align
from memoranda.remember.clauses import blank_foreign
from memoranda.remember.corrections import find_taken_back
from memoranda.storage.base import PartitionKey, Store, chunked
from memoranda.storage.changes import NewMemory
from memoranda.storage.claims import ANY_ATTRIBUTE, CLAIMS, Claim, as_made, claim_from_json, claims_in, claims_of
from memoranda.storage.read import latest_ids
from memoranda.storage.supersession import relate
from memoranda.text import query_terms
from memoranda.types import FloatArray, IntArray, Memory, Scope, trust_rank

_CHANGE: Final = re.compile(
    r"\b(?:now|nowadays|these days|any ?more|no longer|new|newly|instead|officially|switch(?:ed|ing)?|moved|relocated|changed"
    # "left" as a side ("front left", "my left knee") or as what remains ("none left", "two days left") is no change.
    r"|(?<!front |lower |upper )(?<!the |top )(?<!my )(?<!his |her |are |was )(?<!is )(?<!back |rear |none |days )(?<!bottom )left"
    r"|quit|sold|joined|stopped|ended|broke up|split up|cancell?ed|upgraded|replaced|promoted|retired|became"
    r"|actually|correction|i meant|mistake|mixed (?:that|it) up|reschedul\w+|postpon\w+|pushed|renam\w+|dropped|traded"
    r"|swapped|gave up|given up|settled|updat\w+|raised|lowered|increas\w+|decreas\w+|reduc\w+|hired|fired|laid off|let go"
    r"|divorc\w+|got (?:married|engaged)|as of|from (?:now|here) on|ditch\w*|died|passed away|goodbye|expired?|closed|delay\w*"
    r"|extend\w*|bump\w*|convert\w*|no more|turns out|after all|oops|wait,? no|down to|up to|rolled out|shifted|revis\w+"
    r"|pulled the plug|going by|make (?:it|that)|take it back|decided (?:against|to)|scrap\w*|resolved|completed|finished"
    r"|discontinued|fully|unlimited|since|back (?:at|in|to)|done with|over with|been fine|treating me|rather|dropped out)\b",
    re.I,
)
_KIN: Final = re.compile(
    r"\b(?:my|our|his|her|their)\s+(?:\w+\s+)?(sister|brother|mother|father|mom|mum|dad|wife|husband|son|daughter|cousin|aunt|uncle"
    r"|grandma|grandpa|grandmother|grandfather|nephew|niece|neighbou?r|colleague|flatmate|roommate|kids?|children)\b",
    re.I,
)
_NAME: Final = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_WITH: Final = re.compile(r"\bwith [A-Z]")
_LATEST: Final = 12
"""How many memories back a correction without an old value may reach."""
_WITH_VALUE: Final = 16
_SIMILAR: Final = 6
_MAX_TERMS: Final = 64
_MAX_TEXT: Final = 2_000
"""A longer text is a document: it says too much to change one other memory."""
_FEW: Final = 2
_FEW_SHARE: Final = 0.005
"""A word that at most this share of the memories has, or this few, tells what a text is about."""
_FOLLOWED: Final = 2
"""How many older memories a change is linked to by its meaning at most."""
_COMPARED: Final = 12
_STANDS_OUT: Final = 0.25
"""How much nearer than the twelfth nearest a memory must be, on the same scale."""
_NEAR: Final = 0.34
"""How near two texts must be, from 0 for unrelated ones to 1 for the same, for one to speak of the other's subject."""


class UpdateFinder:
    """Finds what new memories may change among the stored ones of their scope."""

    def __init__(self, store: Store, vectors: Vectors, partitions: Partitions) -> None:
        self._store = store
        self._vectors = vectors
        self._partitions = partitions

    def attach(self, new: Sequence[NewMemory], now: datetime) -> None:
        """Set `related` and `follows` of the new memories that speak of a change."""
        told = [each for each in new if _is_read(each)]
        followed: list[list[int]] = []
        similar: list[list[int]] = []
        replaced: list[list[int]] = []
        field = _SearchField(self._partitions, self._vectors.generation(), now)
        for each in told:
            partition = field.partition(each)
            with partition.lock:
                among = field.same_speaker(partition, each)
                each.related = tuple(self._find_related(partition, each, among))
                similar.append(self._find_similar(partition, each, among))
                followed.append(self._find_followed(partition, each, among))
                replaced.append(_find_replaced(partition, each, among))
        for each, older in zip(told, self._read(told, similar), strict=True):
            self._align(each, older)
        for each, holders, nearby in zip(told, self._read(told, replaced), self._read(told, followed), strict=True):
            aligned = {memory_id for memory_id, _ in each.aligned}
            each.corrects = tuple(_select_corrected(each, [older for older in holders if older.id not in aligned]))
            follows = [
                older.id
                for older in nearby
                if older.id not in {*aligned, *each.corrects} and _same_people(older.content, each.content)
            ]
            each.follows = tuple(dict.fromkeys(follows))[:_FOLLOWED]

    def _read(self, new: Sequence[NewMemory], similar: Sequence[Sequence[int]]) -> Iterator[list[Memory]]:
        """Yield the memories that are similar to each new one; those of one user are read together."""
        wanted: dict[Scope, set[int]] = {}
        for each, ids in zip(new, similar, strict=True):
            wanted.setdefault(_whole_scope(each), set()).update(ids)
        found: dict[tuple[Scope, int], Memory] = {}
        for scope, wanted_ids in wanted.items():
            for part in chunked(sorted(wanted_ids)):
                read = self._store.get(scope, part)
                found.update(((scope, memory.id), memory) for memory in read if memory is not None)
        for each, ids in zip(new, similar, strict=True):
            keys = ((_whole_scope(each), memory_id) for memory_id in ids)
            yield [found[key] for key in keys if key in found]

    def _align(self, new: NewMemory, similar: Sequence[Memory]) -> None:
        """Make claims for the sentences that repeat an older one with another value, or deny it."""
        spoken = claims_in(new.notes) if similar else []
        for older in similar:
            if older.valid_from > new.valid_from:
                continue
            offset = evidence_start(new.notes), evidence_start(older.notes)
            said_at, trust = (older.valid_from, new.valid_from), (older.trust, new.trust)
            for pair in align(older.content, new.content, _speaker_of(new), said_at, trust):
                made, known = shift(pair.newer, offset[0]), shift(pair.older, offset[1])
                if any(_same_evidence(claim, made) and _would_relate(older, claim) for claim in spoken):
                    continue  # a pattern reads it already
                new.notes[CLAIMS] = [*_as_list(new.notes.get(CLAIMS)), made.to_json()]
                new.aligned = (*new.aligned, (older.id, known))

    def _find_followed(self, partition: Partition, new: NewMemory, among: IntArray) -> list[int]:
        """Return older memories that a change in other words may be about: near in meaning, with a telling word."""
        if not speaks_of_change(new.content):
            return []
        near, salient = self._find_near(partition, new, among), _find_salient(partition, new, among)
        few = len(among) < _COMPARED
        return [*near, *(older for older in salient if few or older in near)]

    @staticmethod
    def _find_similar(partition: Partition, new: NewMemory, among: IntArray) -> list[int]:
        """Return the memories that share most words with the new one."""
        terms = query_terms(new.content)[:_MAX_TERMS]
        if not terms or not len(among) or not can_align(new.content):
            return []
        found: list[int] = partition.postings.search(terms, _SIMILAR, among=among)[0].tolist()
        return found

    def _find_related(self, partition: Partition, new: NewMemory, among: IntArray) -> Iterator[int]:
        """Yield the memories that contain a value which the new one changes."""
        for claim in _open_changes(new):
            if claim.operation == "correct" and claim.replaces is None:
                yield from self._store.read(lambda tx: latest_ids(tx, new.scope, _LATEST))
            elif terms := query_terms(claim.replaces or claim.value):
                yield from partition.postings.search(terms, _WITH_VALUE, among=among)[0].tolist()

    def _find_near(self, partition: Partition, new: NewMemory, among: IntArray) -> list[int]:
        """Return the older memories of the same speaker that are nearest in meaning, if they are near enough."""
        embedder, vector = self._vectors.embedder, new.vector
        if embedder is None or vector is None or partition.index is None or not len(among):
            return []
        ids, cosines = partition.index.search(_unit(vector), _COMPARED, among=among)
        nearness = (cosines - embedder.identity.baseline) / (1.0 - embedder.identity.baseline)
        # Where much was said, something is always near: only what stands out from the rest counts.
        least = max(_NEAR, float(nearness[-1]) + _STANDS_OUT) if len(ids) == _COMPARED else _NEAR
        return [int(memory_id) for memory_id in ids[nearness >= least][:_FOLLOWED]]


class _SearchField:
    """The partitions of one call, and what each speaker said in them: each is looked up once."""

    def __init__(self, partitions: Partitions, generation: int | None, now: datetime) -> None:
        self._partitions = partitions
        self._generation = generation
        self._now = now.timestamp()
        self._opened: dict[PartitionKey, Partition] = {}
        self._said: dict[tuple[PartitionKey, str | None, str | None], IntArray] = {}

    def partition(self, new: NewMemory) -> Partition:
        key = PartitionKey(new.scope.tenant, new.scope.user)
        if key not in self._opened:
            self._opened[key] = self._partitions.get(key, self._generation)
        return self._opened[key]

    def same_speaker(self, partition: Partition, new: NewMemory) -> IntArray:
        """Return the memories that the same speaker said, or the notes beside which a new note stands."""
        speaker = None if new.message is None else new.message.speaker
        key = (partition.key, new.scope.agent, speaker)
        if key not in self._said:
            among = partition.eligible(new.scope.agent, None, self._now)
            said = partition.said_by(speaker)
            self._said[key] = said if among is None else np.intersect1d(said, among, assume_unique=True)
        return self._said[key]


def _is_read(new: NewMemory) -> bool:
    trusted = trust_rank(new.trust) >= trust_rank("document")
    return trusted and len(new.content) <= _MAX_TEXT and new.quarantined_at is None


def _whole_scope(new: NewMemory) -> Scope:
    return Scope(new.scope.tenant, user=new.scope.user)


def speaks_of_change(text: str) -> bool:
    """Return whether a text speaks of a change in the writer's own words."""
    return _CHANGE.search(blank_foreign(text)) is not None


def _same_people(one: str, other: str) -> bool:
    """Return whether two texts do not speak of different people: "I am allergic", "my daughter is not"."""
    kin, other_kin = set(map(str.casefold, _KIN.findall(one))), set(map(str.casefold, _KIN.findall(other)))
    names, other_names = set(_NAME.findall(one)), set(_NAME.findall(other))
    return kin == other_kin and (not names or not other_names or bool(names & other_names) or not _WITH.search(other))


def _find_replaced(partition: Partition, new: NewMemory, among: IntArray) -> list[int]:
    """Return the memories that may hold a value which the new one takes back: "the 21st, not the 12th"."""
    found: list[int] = []
    for value in find_taken_back(new.content, new.valid_from) if len(among) else ():
        found += partition.postings.search(value.terms, _WITH_VALUE, among=among)[0].tolist()
    return list(dict.fromkeys(found))


def _select_corrected(new: NewMemory, holders: Sequence[Memory]) -> list[int]:
    """Return the memories with a value that the new one takes back; those with its subject, if there are any.

    Only a day is telling enough where the new one does not name its subject: "It's 2 January now instead of the 9th".
    """
    about, others = list[int](), list[int]()
    for older in holders:
        for value in find_taken_back(new.content, new.valid_from):
            if older.valid_from <= new.valid_from and value.is_in(older.content, older.valid_from):
                shared = set(query_terms(new.content)) & set(query_terms(older.content)) - set(value.terms)
                (about if shared else others if value.day else []).append(older.id)
    return list(dict.fromkeys(about or others))[:_FOLLOWED]


def _find_salient(partition: Partition, new: NewMemory, among: IntArray) -> list[int]:
    """Return the memories that share a telling word with the new one: a word that few other memories have."""
    postings, limit = partition.postings, max(_FEW, int(_FEW_SHARE * len(partition)))
    shared: Counter[int] = Counter()
    for term in query_terms(new.content)[:_MAX_TERMS]:
        holders = postings.ids_with(term)
        if 0 < len(holders) <= limit:
            shared.update(holders[np.isin(holders, among)].tolist())
    return sorted(shared, key=lambda memory_id: (-shared[memory_id], -memory_id))[:_FOLLOWED]


def evidence_start(notes: Mapping[str, Any]) -> int:
    """Return where in its message the text of a memory begins."""
    evidence = notes.get("evidence")
    return int(evidence[0]) if isinstance(evidence, list) else 0


def shift(claim: Claim, offset: int) -> Claim:
    return replace(claim, span=(claim.span[0] + offset, claim.span[1] + offset))


def _speaker_of(new: NewMemory) -> str:
    if new.message is not None and new.message.speaker and new.message.speaker != new.message.role:
        return new.message.speaker
    return new.scope.user if isinstance(new.scope.user, str) else "user"


def _same_evidence(one: Claim, other: Claim) -> bool:
    return one.span[0] < other.span[1] and other.span[0] < one.span[1]


def _would_relate(older: Memory, claim: Claim) -> bool:
    """Return whether the older memory makes a claim in the same slot that the newer one bears on, ended or not."""
    made = [claim_from_json(as_made(known)) for known in claims_of(older)]
    return any(
        known.attribute == claim.attribute and known.subject == claim.subject and relate(known, claim) != "none"
        for known in made
    )


def _as_list(value: object) -> list[Any]:
    return list(value) if isinstance(value, list) else []


def _unit(vector: FloatArray) -> FloatArray:
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector


def _open_changes(new: NewMemory) -> list[Claim]:
    """Return the changes that name only values."""
    return [claim for claim in claims_in(new.notes) if claim.attribute == ANY_ATTRIBUTE]
