"""Deriving memories: find the memories that belong together, then write one memory from each group.

A summary is derived from a finished session, a reflection from a finished period, a consolidated memory from a cluster
of related memories. Pure, except for the optional language model; numpy is loaded when a function needs it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from memoranda.conversation.base import default_counter
from memoranda.conversation.summarizing import Sentence, format_transcript, select_sentences, summarize_lines_with_llm
from memoranda.llm.base import LLM
from memoranda.maintenance.policies import SHORT_LIVED, UpkeepItem, UpkeepSettings, is_live, owner_key
from memoranda.results.maintenance import DerivationKind
from memoranda.storage.changes import NewMemory
from memoranda.text.sentences import split_sentences
from memoranda.text.terms import content_hash, lexical_keys, query_terms
from memoranda.types import JSON, Clock, FloatArray, Memory, MemoryType, Scope, trust_rank

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

THROUGH_KEY: Final = "through"
"""The metadata key for the id of the newest source that a derived memory was made from."""
PERIOD_KEY: Final = "period"
"""The metadata key for the number of the period that a reflection covers."""
_MESSAGES_KEY: Final = "message_ids"
"""The metadata key for the messages that a derived memory quotes."""
_SUMMARY_SHARE: Final = 0.1
"""The length of a summary or reflection, as a share of the length of its sources."""
_MIN_LENGTH: Final = 600
_MAX_LENGTH: Final = 4_000
_BLOCK: Final = 2_000
"""How many memories, in the order of time, are compared with each other at once."""
_BUCKETS: Final = 512
# A Monday, so that periods of a week are calendar weeks.
_FIRST_PERIOD: Final = datetime(1970, 1, 5, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SourceGroup:
    """Memories from which one new memory is to be derived."""

    description: str
    """A name for reports, such as the session or the period."""
    sources: tuple[Memory, ...]
    """In the order of time."""
    replaces: tuple[int, ...] = ()
    """Earlier memories of the same kind that the new one supersedes."""

    @property
    def newest_id(self) -> int:
        return max(memory.id for memory in self.sources)


@dataclass(frozen=True, slots=True)
class DerivedMemory:
    """A memory derived from others and not yet stored."""

    new: NewMemory
    kind: DerivationKind
    sources: tuple[Memory, ...]
    """The memories it quotes; with a model, all those that the model read."""
    replaces: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DerivationSpec:
    """The kind of memory to derive and its form."""

    kind: DerivationKind
    type: MemoryType
    heading: str
    """The first line; `{description}` is filled in from the group."""
    share: float
    """The length to keep, as a share of the length of the sources."""


SUMMARY: Final = DerivationSpec("summary", MemoryType.EPISODIC, "Summary of a conversation:", _SUMMARY_SHARE)
REFLECTION: Final = DerivationSpec(
    "reflection", MemoryType.REFLECTION, "Looking back on {description}:", _SUMMARY_SHARE
)
CONSOLIDATION: Final = DerivationSpec("consolidated", MemoryType.SEMANTIC, "", 1.0)


def find_finished_sessions(items: Iterable[UpkeepItem], now: datetime, settings: UpkeepSettings) -> list[SourceGroup]:
    """Return the finished conversations whose latest turns are in no summary yet."""
    turns: dict[tuple[str, ...], list[Memory]] = defaultdict(list)
    summaries: dict[tuple[str, ...], list[Memory]] = defaultdict(list)
    for item in items:
        memory = item.memory
        if memory.session is None or not is_live(item, now):
            continue
        key = (*owner_key(memory), memory.session)
        if item.derived == "summary":
            summaries[key].append(memory)
        elif item.derived is None and memory.message_id is not None:
            turns[key].append(memory)
    return [
        SourceGroup(f"the session {key[-1]}", _sort_by_time(group), tuple(memory.id for memory in summaries[key]))
        for key, group in sorted(turns.items())
        if len(group) >= settings.session_least
        and now - max(memory.recorded_at for memory in group) > settings.session_timeout
        and not _covers(summaries[key], group)
    ]


def find_finished_periods(items: Iterable[UpkeepItem], now: datetime, settings: UpkeepSettings) -> list[SourceGroup]:
    """Return, for each agent and user, the past periods with enough memories that no reflection covers yet."""
    memories: dict[tuple[tuple[str, ...], int], list[Memory]] = defaultdict(list)
    reflections: dict[tuple[tuple[str, ...], int], list[Memory]] = defaultdict(list)
    for item in items:
        memory = item.memory
        if not is_live(item, now):
            continue
        if item.derived == "reflection":
            reflections[owner_key(memory), int(memory.metadata.get(PERIOD_KEY, -1))].append(memory)
        elif item.derived is None and memory.key is None and memory.type not in (*SHORT_LIVED, MemoryType.SHARED):
            memories[owner_key(memory), period_of(memory.valid_from, settings)].append(memory)
    groups: list[SourceGroup] = []
    for key, group in sorted(memories.items(), key=lambda entry: entry[0]):
        start = _FIRST_PERIOD + key[1] * settings.period
        end = start + settings.period
        newest = max(memory.recorded_at for memory in group)
        is_finished = max(end, newest) + settings.session_timeout < now
        if is_finished and len(group) >= settings.period_least and not _covers(reflections[key], group):
            replaces = tuple(memory.id for memory in reflections[key])
            groups.append(SourceGroup(f"{start:%Y-%m-%d} to {end:%Y-%m-%d}", _sort_by_time(group), replaces))
    return groups


def period_of(time: datetime, settings: UpkeepSettings) -> int:
    """Return the number of the period that contains a time."""
    return (time - _FIRST_PERIOD) // settings.period


def _covers(derived: Sequence[Memory], sources: Sequence[Memory]) -> bool:
    newest = max(memory.id for memory in sources)
    return any(int(memory.metadata.get(THROUGH_KEY, 0)) >= newest for memory in derived)


def _sort_by_time(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    return tuple(sorted(memories, key=lambda memory: (memory.valid_from, memory.id)))


def find_clusters(
    items: Iterable[UpkeepItem],
    vectors: Mapping[int, FloatArray],
    baseline: float,
    now: datetime,
    settings: UpkeepSettings,
) -> list[SourceGroup]:
    """Return clusters of related episodic memories that were not consolidated yet.

    A second call with the memories that are left over finds nothing more.

    Args:
        items: The memories to look at.
        vectors: Their unit vectors, by memory id.
        baseline: The cosine of two unrelated texts.
        now: The time of the upkeep run.
        settings: How similar and how old memories must be.
    """
    candidates: dict[tuple[str, ...], list[Memory]] = defaultdict(list)
    for item in items:
        if _can_be_clustered(item, now, settings) and item.memory.id in vectors:
            candidates[owner_key(item.memory)].append(item.memory)
    found: list[SourceGroup] = []
    for _, left in sorted(candidates.items()):
        while clusters := _cluster(_sort_by_time(left), vectors, baseline, settings):
            found += [SourceGroup(f"{len(group)} related memories", _sort_by_time(group)) for group in clusters]
            used = {memory.id for group in clusters for memory in group}
            left = [memory for memory in left if memory.id not in used]
    return found


def word_vectors(memories: Iterable[Memory]) -> dict[int, FloatArray]:
    """Return unit vectors made from hashed content words, for a store without an embedding model."""
    import numpy as np

    vectors: dict[int, FloatArray] = {}
    for memory in memories:
        row = np.zeros(_BUCKETS, dtype=np.float32)
        for word in query_terms(memory.content):
            row[int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest()) % _BUCKETS] = 1
        length = float(np.linalg.norm(row))
        if length:
            vectors[memory.id] = row / length
    return vectors


def _can_be_clustered(item: UpkeepItem, now: datetime, settings: UpkeepSettings) -> bool:
    memory = item.memory
    is_statement = memory.type is MemoryType.EPISODIC and item.derived is None and memory.key is None
    is_finished = now - memory.recorded_at > settings.session_timeout
    return is_statement and is_finished and not item.consolidated and is_live(item, now)


def _cluster(
    memories: Sequence[Memory], vectors: Mapping[int, FloatArray], baseline: float, settings: UpkeepSettings
) -> list[list[Memory]]:
    clusters: list[list[Memory]] = []
    for start in range(0, len(memories), _BLOCK):
        block = memories[start : start + _BLOCK]
        positions = _cluster_block(block, vectors, baseline, settings)
        clusters += [[block[position] for position in cluster] for cluster in positions]
    return clusters


def _cluster_block(
    block: Sequence[Memory], vectors: Mapping[int, FloatArray], baseline: float, settings: UpkeepSettings
) -> list[list[int]]:
    """Put each memory into the cluster it is most similar to on average, or start a new one if none is close enough."""
    import numpy as np

    span = settings.cluster_span.total_seconds()
    rows = np.stack([vectors[memory.id] for memory in block])
    required = settings.related - settings.same_session * _same_session(block)
    margins = ((rows @ rows.T - baseline) / (1 - baseline) - required).astype(np.float32)
    # Row c: the sum of the margins of all members of cluster c, for every memory.
    sums, sizes, ends = np.zeros_like(margins), np.zeros(len(block)), np.zeros(len(block))
    clusters: list[list[int]] = []
    for position, memory in enumerate(block):
        time = memory.valid_from.timestamp()
        count = len(clusters)
        is_open = (sizes[:count] < settings.cluster_most) & (time - ends[:count] <= span)
        averages = np.where(is_open, sums[:count, position] / np.maximum(sizes[:count], 1), -np.inf)
        best = int(np.argmax(averages)) if count else 0
        if not count or averages[best] < 0:
            best = count
            clusters.append([])
        clusters[best].append(position)
        sums[best] += margins[position]
        sizes[best] += 1
        ends[best] = time
    return [cluster for cluster in clusters if len(cluster) >= settings.cluster_least]


def _same_session(block: Sequence[Memory]) -> NDArray[np.float32]:
    """Return a matrix with 1 where two memories are from the same session, else 0."""
    import numpy as np

    codes: dict[str, int] = {}
    numbers = [-1 - n if m.session is None else codes.setdefault(m.session, len(codes)) for n, m in enumerate(block)]
    sessions = np.array(numbers)
    matrix: NDArray[np.float32] = (sessions[:, None] == sessions[None, :]).astype(np.float32)
    return matrix


def derive_memory(
    group: SourceGroup,
    spec: DerivationSpec,
    clock: Clock,
    llm: LLM | None = None,
    metadata: Mapping[str, JSON] | None = None,
) -> DerivedMemory:
    """Write one memory from a group, without its vector.

    Args:
        group: The memories to write it from.
        spec: What kind of memory to write, and how long.
        clock: The clock of the manager.
        llm: The model that writes it; without one, it quotes the most important sentences.
        metadata: What to store with it.
    """
    sentences = [
        sentence for position, memory in enumerate(group.sources) for sentence in _split_memory(position, memory)
    ]
    length = sum(len(sentence.text) for sentence in sentences)
    if llm is None:
        chosen = select_sentences(sentences, min(_MAX_LENGTH, max(_MIN_LENGTH, int(spec.share * length))))
        lines, quoted = format_transcript(chosen), {sentence.turn for sentence in chosen}
    else:
        ratio = max(spec.share / 2, _SUMMARY_SHARE)
        lines, quoted = (
            [summarize_lines_with_llm(format_transcript(sentences), llm, default_counter(), ratio=ratio)],
            set(),
        )
    heading = [spec.heading.format(description=group.description)] if spec.heading else []
    sources = tuple(group.sources[position] for position in sorted(quoted)) or group.sources
    new = _new_memory("\n".join([*heading, *lines]), group, spec, sources, clock(), metadata or {})
    if llm is not None:
        new.trust = "model"  # its own words, whoever said what it read
    return DerivedMemory(new, spec.kind, sources, group.replaces)


def _split_memory(position: int, memory: Memory) -> list[Sentence]:
    speaker = memory.speaker or memory.source or memory.trust
    day = memory.valid_from.date().isoformat()
    # A named speaker counts as a user: `select_sentences` gives less weight to the role "assistant".
    role = memory.trust if memory.speaker == memory.trust else "user"
    return [Sentence(position, speaker, role, day, text) for text in split_sentences(memory.content)]


def _new_memory(
    content: str,
    group: SourceGroup,
    spec: DerivationSpec,
    sources: Sequence[Memory],
    now: datetime,
    metadata: Mapping[str, JSON],
) -> NewMemory:
    first, sessions = group.sources[0], {memory.session for memory in group.sources}
    session = first.session if len(sessions) == 1 and spec.kind != "reflection" else None
    message_ids: list[JSON] = [memory.message_id for memory in sources if memory.message_id is not None]
    source_ids = ",".join(str(memory.id) for memory in group.sources)
    return NewMemory(
        content=content,
        type=spec.type,
        scope=Scope(first.tenant, first.agent, first.user, session),
        importance=max(memory.importance for memory in sources),
        recorded_at=now,
        valid_from=group.sources[-1].valid_from,
        content_hash=content_hash(content),
        terms=lexical_keys(content),
        source=spec.kind,
        # A derived memory is trusted no more than the least trusted of its sources.
        trust=min((memory.trust for memory in sources), key=trust_rank),
        metadata={THROUGH_KEY: group.newest_id, _MESSAGES_KEY: message_ids, **metadata},
        # The same sources are derived from only once.
        idempotency_key=f"upkeep:{spec.kind}:{content_hash(source_ids).hex()}",
    )
