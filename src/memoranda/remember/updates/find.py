"""Find older memories that a new one may change, so that the write can link or end what they say.

Only rules end a claim (`storage.supersession`). The memories found here by words and by meaning give those rules the
claims that a change names only by their value, and are linked to statements that describe a change in other words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import numpy as np

from memoranda.dates.find import find_mentions
from memoranda.embedding.vectors import Vectors
from memoranda.index.partition import Partition
from memoranda.index.partitions import Partitions
from memoranda.remember.base import framing_in
from memoranda.remember.reading.clauses import find_clauses
from memoranda.remember.reading.lexicon import FORMER
from memoranda.remember.reading.subjects import are_different_things, same_people
from memoranda.remember.updates.alignment import align, can_align
from memoranda.remember.updates.likeness import (
    changes_in,
    describes_change,
    describes_event,
    is_own_past_action,
    is_past_only,
    is_plain,
    is_state,
    likeness,
    names_recent_time,
)
from memoranda.remember.updates.links import add_claim, evidence_start, find_linked, link_by_words
from memoranda.storage.base import PartitionKey, Store, chunked
from memoranda.storage.changes import NewMemory
from memoranda.storage.claim_binding import names_thing
from memoranda.storage.claim_resolution import BY_MEANING, MARKS_ONLY
from memoranda.storage.claims import (
    ANY_ATTRIBUTE,
    RETRACTIONS,
    Claim,
    Operation,
    as_made,
    claim_from_json,
    claims_in,
    claims_of,
    ended_when_said,
)
from memoranda.storage.supersession import relate
from memoranda.text.sentences import overlap
from memoranda.text.terms import query_terms
from memoranda.types import FloatArray, IntArray, Memory, Scope, trust_rank

_WITH_VALUE: Final = 16
_SIMILAR: Final = 6
_MAX_TERMS: Final = 64
_MAX_TEXT: Final = 2_000
"""A longer text is a document: it says too much to change one other memory."""
_FEW: Final = 2
_FEW_SHARE: Final = 0.005
"""A word that at most this share of the memories has, or this few, is specific to what a text is about."""
_FOLLOWED: Final = 2
"""How many older memories a change is linked to by its meaning at most."""
_COMPARED: Final = 12
_LISTED: Final = 24
"""How many of the nearest memories are compared by topics and words."""
_CLEAR: Final = 0.65
"""How near a change must be to a statement where much was said, counted as for `_NEAR`."""
_CLEAR_EVENT: Final = 0.7
"""The same for an event that need not be a change."""
_SPECIFIC_WORD: Final = 0.1
"""How much nearer a change is to a statement with a word that few others have."""
_SURE_AMONG_MANY: Final = 0.75
"""The same as `_SURE`, where much was said."""
_HAPPENED: Final = 0.3
"""How much less near a past event is: a change replaces a state, not an event."""
_BATCH: Final = 24
"""How many memories of the same call a memory is compared with at most, the last ones before it."""
_NEAR: Final = 0.38
"""How near an event must be to a statement to be about the same thing: the nearness in meaning, from 0 for unrelated
texts to 1 for the same, with what shared topics and words add. Of pairs of unrelated statements 3 in 100 are."""
_SURE: Final = 0.55
"""How near an event must be for recall to put it above the statement even where a question hardly names it."""
_NEAR_IN_CALL: Final = 0.55
"""The same for a statement of the same call: what is said one after the other is always alike."""
_ABOUT_AS_NEAR: Final = 0.1
"""How much less likely than the likeliest another memory may be for an event to follow both."""
_STANDS_OUT: Final = 0.25
"""Where much was said, something is always near: how much nearer in meaning than the twelfth nearest a memory must be."""
_NEAR_AMONG_MANY: Final = 0.34
_LONG_BEFORE: Final = timedelta(days=90)
_IN_THE_PAST: Final = re.compile(r"\b(?:1[89]|20)\d\d\b|\bago\b|\blast\b", re.I)
_SINCE: Final = re.compile(r"\b(?:since|from|as of|until|till)\b", re.I)


class UpdateFinder:
    """Finds what new memories may change among the stored ones of their scope."""

    def __init__(self, store: Store, vectors: Vectors, partitions: Partitions) -> None:
        self._store = store
        self._vectors = vectors
        self._partitions = partitions

    def attach(self, new: Sequence[NewMemory], now: datetime) -> None:
        """Set `related` and `follows` of the new memories that describe a change."""
        candidates = [each for each in new if _is_read(each)]
        similar: list[list[int]] = []
        replaced: list[list[int]] = []
        followed: list[_Nearby] = []
        partitions = _CallPartitions(self._partitions, self._vectors.generation(), now)
        for each in candidates:
            partition = partitions.partition(each)
            with partition.lock:
                among = partitions.same_speaker(partition, each)
                each.related = tuple(self._find_related(partition, each, among))
                similar.append(self._find_similar(partition, each, among))
                followed.append(self._find_followed(partition, each, among))
                replaced.append(find_linked(partition, each, among))
        read = zip(similar, followed, replaced, strict=True)
        needed_ids = [{*alike, *near.likely(), *held} for alike, near, held in read]
        for n, found in enumerate(self._read(candidates, needed_ids)):
            olders = {
                key: each
                for key, each in found.items()
                if not are_different_things(each.content, candidates[n].content)
            }
            self._align(candidates[n], [olders[older] for older in similar[n] if older in olders])
            self._follow(candidates[n], olders, followed[n], candidates[max(0, n - _BATCH) : n])
            link_by_words(
                candidates[n], [olders[older] for older in replaced[n] if older in olders], _speaker_of(candidates[n])
            )

    def _follow(self, new: NewMemory, olders: Mapping[int, Memory], near: _Nearby, batch: Sequence[NewMemory]) -> None:
        """Set the memories that a new one follows: near ones, and those said before it in the same call."""
        aligned = {memory_id for memory_id, _ in new.aligned}
        before = _said_before(new, batch, self._baseline)
        said = [older for older in before if not are_different_things(older.content, new.content)]
        happened = _last_time_in(new)
        least = _min_nearness([*near.nearness.values(), *(older.nearness for older in said)])
        others = [
            _Older(older, olders[older].content, nearness, olders[older].valid_from)
            for older, nearness in near.nearness.items()
            if older in olders and older not in aligned
        ]
        others, said = ([each for each in found if not _is_before(happened, each)] for found in (others, said))
        likely = [older for older in (*others, *said) if older.nearness >= least]
        if not near.among_many:
            new.follows = tuple(_choose_followed(new.content, likely, among_many=False))
        elif near.plain:
            new.follows = tuple(
                _choose_among_many(new.content, others, near.salient)
                or _choose_followed(new.content, said, among_many=True)
            )
        elif describes_change(new.content):
            new.follows = tuple(_choose_followed(new.content, likely, among_many=True))

    @property
    def _baseline(self) -> float:
        """How near the embedder finds unrelated texts."""
        if self._vectors.embedder is None:
            return 0.0
        identity = self._vectors.embedder.identity
        return identity.baseline if identity.texts_baseline is None else identity.texts_baseline

    def _read(self, new: Sequence[NewMemory], similar: Sequence[Collection[int]]) -> Iterator[dict[int, Memory]]:
        """Yield the memories that are similar to each new one, by id; those of one user are read together."""
        needed_ids: dict[Scope, set[int]] = {}
        for each, ids in zip(new, similar, strict=True):
            needed_ids.setdefault(_whole_scope(each), set()).update(ids)
        found: dict[tuple[Scope, int], Memory] = {}
        for scope, needed in needed_ids.items():
            for part in chunked(sorted(needed)):
                read = self._store.get(scope, part)
                found.update(((scope, memory.id), memory) for memory in read if memory is not None)
        for each, ids in zip(new, similar, strict=True):
            keys = ((_whole_scope(each), memory_id) for memory_id in ids)
            yield {key[1]: found[key] for key in keys if key in found}

    def _align(self, new: NewMemory, similar: Sequence[Memory]) -> None:
        """Add claims for the sentences that repeat an older one with another value, or deny it."""
        framing = framing_in(new.notes)
        if framing == "quoted":
            return
        spoken = claims_in(new.notes) if similar else []
        for older in similar:
            if older.valid_from > new.valid_from:
                continue
            offset = evidence_start(new.notes), evidence_start(older.notes)
            said_at, trust = (older.valid_from, new.valid_from), (older.trust, new.trust)
            for pair in align(older.content, new.content, _speaker_of(new), said_at, trust):
                if framing is not None:
                    operation: Operation = "state" if framing == "unrelated_context" else pair.newer.operation
                    pair = replace(pair, newer=replace(pair.newer, doubted=framing == "uncertain", operation=operation))
                made, known = shift(pair.newer, offset[0]), shift(pair.older, offset[1])
                if any(overlap(claim.span, made.span) and _would_relate(older, claim) for claim in spoken):
                    continue  # a pattern reads it already
                add_claim(new, made)
                new.aligned = (*new.aligned, (older.id, known))

    def _find_followed(self, partition: Partition, new: NewMemory, among: IntArray) -> _Nearby:
        """Return older memories that an event may be about, with how near each is in meaning."""
        if not len(among) or not describes_event(new.content) or _is_past_only(new):
            return _Nearby({})
        many, plain = len(among) >= _COMPARED, is_plain(new.content)
        if many and not plain and not describes_change(new.content):
            return _Nearby({}, among_many=True)
        near = self._find_near(partition, new, among, _LISTED if plain else _COMPARED)
        if many and near and not plain:
            return _Nearby(near, among_many=True)
        salient = _find_salient(partition, new, among)
        by_salient_word = (
            self._find_near(partition, new, np.array(sorted(salient), np.int64), _FOLLOWED) if salient else {}
        )
        return _Nearby(dict.fromkeys(salient, 0.0) | by_salient_word | near, many, plain, frozenset(salient))

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
            if claim.operation in RETRACTIONS or (claim.operation == "correct" and claim.replaces is None):
                continue  # the write finds what was said last
            if terms := query_terms(_name_of(claim)):
                yield from partition.postings.search(terms, _WITH_VALUE, among=among)[0].tolist()

    def _find_near(self, partition: Partition, new: NewMemory, among: IntArray, limit: int) -> dict[int, float]:
        """Return the older memories of the same speaker that are nearest in meaning, and how near they are."""
        embedder, vector = self._vectors.embedder, new.vector
        if embedder is None or vector is None or partition.index is None:
            return {}
        ids, cosines = partition.index.search(_unit(vector), limit, among=among)
        nearness = (cosines - self._baseline) / (1.0 - self._baseline)
        return dict(zip(ids.tolist(), nearness.tolist(), strict=True))


class _CallPartitions:
    """The partitions that one call reads, and the memories of each speaker in them: each is looked up once."""

    def __init__(self, partitions: Partitions, generation: int | None, now: datetime) -> None:
        self._partitions = partitions
        self._generation = generation
        self._now = now.timestamp()
        self._opened: dict[PartitionKey, Partition] = {}
        self._by_speaker: dict[tuple[PartitionKey, str | None, str | None], IntArray] = {}

    def partition(self, new: NewMemory) -> Partition:
        key = PartitionKey(new.scope.tenant, new.scope.user)
        if key not in self._opened:
            self._opened[key] = self._partitions.get(key, self._generation)
        return self._opened[key]

    def same_speaker(self, partition: Partition, new: NewMemory) -> IntArray:
        """Return the memories of the same speaker; for a note without a speaker, the other such notes."""
        speaker = None if new.message is None else new.message.speaker
        key = (partition.key, new.scope.agent, speaker)
        if key not in self._by_speaker:
            among = partition.eligible(new.scope.agent, None, self._now)
            said = partition.said_by(speaker)
            self._by_speaker[key] = said if among is None else np.intersect1d(said, among, assume_unique=True)
        return self._by_speaker[key]


def _is_read(new: NewMemory) -> bool:
    trusted = trust_rank(new.trust) >= trust_rank("document")
    return trusted and len(new.content) <= _MAX_TEXT and new.quarantined_at is None


def _whole_scope(new: NewMemory) -> Scope:
    return Scope(new.scope.tenant, user=new.scope.user)


@dataclass(frozen=True, slots=True)
class _Nearby:
    """Older memories by id, with how near each is in meaning."""

    nearness: dict[int, float]
    among_many: bool = False
    """Whether the speaker has so many memories that some are always near."""
    plain: bool = False
    """Whether the new memory is a plain sentence, which topics and words can be read from."""
    salient: frozenset[int] = frozenset()
    """Those that share a rare word with the new memory."""

    def likely(self) -> list[int]:
        """Return the ids of those that are near enough, or whose topics may show that they are meant."""
        if self.plain and self.among_many:
            return list(self.nearness)
        least = _min_nearness(list(self.nearness.values()))
        return [memory_id for memory_id, near in self.nearness.items() if near >= least]


def _min_nearness(nearness: Sequence[float]) -> float:
    """Return how near a memory must be in meaning: where there are many, much nearer than the twelfth nearest."""
    if len(nearness) < _COMPARED:
        return -math.inf
    return max(_NEAR_AMONG_MANY, sorted(nearness, reverse=True)[_COMPARED - 1] + _STANDS_OUT)


@dataclass(frozen=True, slots=True)
class _Older:
    """A memory that was said before: its id, or the new memory itself when it is part of the same call."""

    key: int | NewMemory
    content: str
    nearness: float
    said_at: datetime


def _said_before(new: NewMemory, batch: Sequence[NewMemory], baseline: float) -> Iterator[_Older]:
    """Yield what the same speaker said earlier in the same call, if the new memory describes a change."""
    for older in batch if batch and describes_change(new.content) and not _is_past_only(new) else ():
        if (older.scope, _speaker_of(older)) == (new.scope, _speaker_of(new)) and older.valid_from <= new.valid_from:
            yield _Older(older, older.content, _nearness(older.vector, new.vector, baseline), older.valid_from)


def _is_past_only(new: NewMemory) -> bool:
    """Return whether a memory describes only the past: "My old number was 0170 1234", but not "My last day was Friday"."""
    if is_past_only(new.content):
        return True
    made, clauses = claims_in(new.notes), find_clauses(new.content)
    over = ended_when_said(made)
    said = bool(made) or (bool(clauses) and FORMER.search(new.content) is not None)
    return over and said and not names_recent_time(new.content) and all(each.tense == "past" for each in clauses)


def _nearness(one: FloatArray | None, other: FloatArray | None, baseline: float) -> float:
    if one is None or other is None:
        return 0.0
    return (float(_unit(one) @ _unit(other)) - baseline) / (1.0 - baseline)


def _last_time_in(new: NewMemory) -> datetime | None:
    """Return the end of the last time that a text names; None when it names none, or says since when something holds.

    A day without a year ("5 May") may lie ahead, and does not count.
    """
    if _SINCE.search(new.content):
        return None
    mentions = find_mentions(new.content, new.valid_from)
    return max((mention.end for mention in mentions if _IN_THE_PAST.search(mention.text)), default=None)


def _is_before(happened: datetime | None, older: _Older) -> bool:
    """Return whether an event was over long before an older statement about the present: then it does not follow it."""
    return happened is not None and happened < older.said_at - _LONG_BEFORE


def _choose_followed(text: str, olders: Sequence[_Older], *, among_many: bool) -> list[tuple[int | NewMemory, float]]:
    """Return the older memories that the events of a text are most likely about, and how likely; often none."""
    found = [each for event in changes_in(text) for each in _choose_followed_by(event, olders, among_many=among_many)]
    return [each for n, each in enumerate(found) if all(each[0] is not other[0] for other in found[:n])]


def _choose_followed_by(
    text: str, olders: Sequence[_Older], *, among_many: bool
) -> list[tuple[int | NewMemory, float]]:
    """Return the older memories that an event is most likely about, the likeliest first, and how likely; often none."""
    scored = [(likeness(older.content, text, older.nearness), older) for older in olders]
    likely = [each for each in scored if each[0] >= _min_score(each[1]) and same_people(each[1].content, text)]
    likely.sort(key=lambda each: each[0], reverse=True)
    least = likely[0][0] - _ABOUT_AS_NEAR if likely else 0.0
    return [
        (older.key, _strength(text, older, score, among_many=among_many))
        for score, older in likely[:_FOLLOWED]
        if score >= least
    ]


def _choose_among_many(
    text: str, olders: Sequence[_Older], salient: Collection[int]
) -> list[tuple[int | NewMemory, float]]:
    """Return the statements that a plain sentence is most likely about, where much was said; none if it is not clear."""
    changes = describes_change(text)
    scored = [
        (_clearness(older, text) + _SPECIFIC_WORD * (changes and older.key in salient), older) for older in olders
    ]
    least = _CLEAR if changes else _CLEAR_EVENT
    likely = [each for each in scored if each[0] >= least and same_people(each[1].content, text)]
    best = max((score for score, _ in likely), default=0.0)
    close = [
        (older.key, _strength_among_many(text, score)) for score, older in likely if score >= best - _ABOUT_AS_NEAR
    ]
    return close if len(close) <= _FOLLOWED else []


def _clearness(older: _Older, text: str) -> float:
    """Return how likely a text is about a plain statement; below any threshold for another kind of text."""
    if not is_plain(older.content):
        return -math.inf
    return likeness(older.content, text, older.nearness, whole=True) - (0.0 if is_state(older.content) else _HAPPENED)


def _strength_among_many(text: str, clearness: float) -> float:
    if is_own_past_action(text):
        return MARKS_ONLY
    return min(clearness, 1.0) if clearness >= _SURE_AMONG_MANY and describes_change(text) else BY_MEANING


def _strength(text: str, older: _Older, likeness: float, *, among_many: bool) -> float:
    """Return how strong a link is. Something done once only marks, and so does a statement of the same call: statements
    made one after the other are always alike."""
    if not isinstance(older.key, int) or is_own_past_action(text):
        return MARKS_ONLY
    return min(likeness, 1.0) if likeness >= _SURE and not among_many and describes_change(text) else BY_MEANING


def _min_score(older: _Older) -> float:
    return _NEAR if isinstance(older.key, int) else _NEAR_IN_CALL


def _find_salient(partition: Partition, new: NewMemory, among: IntArray) -> list[int]:
    """Return the memories that share a rare word with the new one: a word that few other memories have."""
    postings, limit = partition.postings, max(_FEW, int(_FEW_SHARE * len(partition)))
    shared: Counter[int] = Counter()
    for term in query_terms(new.content)[:_MAX_TERMS]:
        holders = postings.ids_with(term)
        if 0 < len(holders) <= limit:
            shared.update(holders[np.isin(holders, among)].tolist())
    return sorted(shared, key=lambda memory_id: (-shared[memory_id], -memory_id))[:_FOLLOWED]


def shift(claim: Claim, offset: int) -> Claim:
    return replace(claim, span=(claim.span[0] + offset, claim.span[1] + offset))


def _speaker_of(new: NewMemory) -> str:
    if new.message is not None and new.message.speaker and new.message.speaker != new.message.role:
        return new.message.speaker
    return new.scope.user if isinstance(new.scope.user, str) else "user"


def _would_relate(older: Memory, claim: Claim) -> bool:
    """Return whether the older memory has a claim in the same slot, ended or not, to which the newer one relates."""
    made = [claim_from_json(as_made(known)) for known in claims_of(older)]
    return any(
        known.attribute == claim.attribute and known.subject == claim.subject and relate(known, claim) != "none"
        for known in made
    )


def _unit(vector: FloatArray) -> FloatArray:
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector


def _name_of(claim: Claim) -> str:
    """Return the words by which a change names what it is about."""
    return claim.attribute.partition(" ")[0] if names_thing(claim) else claim.replaces or claim.value


def _open_changes(new: NewMemory) -> list[Claim]:
    """Return the changes that name only values."""
    return [claim for claim in claims_in(new.notes) if claim.attribute == ANY_ATTRIBUTE or names_thing(claim)]
