"""Explain, as data, why a memory was found or was not, and how likely it is that memory holds an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from datetime import datetime
from functools import partial
from itertools import pairwise
from math import exp, log
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memoranda.display import plural
from memoranda.errors import InvalidType, NotFound
from memoranda.index.partition import Partition
from memoranda.messages.message import ROLES
from memoranda.recall.arms import repeats_question
from memoranda.recall.query import Mode, ParsedQuery, RecallQuery
from memoranda.recall.rank import Ranking, to_scores
from memoranda.results.recall import Replay, Why, WhyNot, WhyNotStep
from memoranda.security.id_cipher import show_id
from memoranda.storage.claims import claims_in, claims_of, fold
from memoranda.storage.lifecycle import read_archive_reason, read_lineage
from memoranda.storage.read import matching_ids
from memoranda.text.sentences import words_of
from memoranda.text.terms import query_terms
from memoranda.types import EVERYTHING, ArmScore, Explanation, Filter, Hit, IntArray, Memory, Recall, Scope

if TYPE_CHECKING:
    from memoranda.storage.base import Store


def explain_query(parsed: ParsedQuery, ranking: Ranking, signals: dict[str, float]) -> Explanation:
    """Return how the question was parsed, and what the answer is based on."""
    return Explanation(
        speakers=parsed.speakers,
        windows=parsed.windows,
        terms=parsed.terms,
        embedded=parsed.embedded if any(arm.name == "dense" for arm in ranking.arms) else None,
        considered=ranking.candidates.total,
        dialogue=ranking.dialogue,
        signals=signals,
        notes=parsed.notes,
    )


def why(answer: Recall | Replay, memory_id: int) -> tuple[ArmScore, ...]:
    """Return the score of one hit in each arm and boost."""
    if not isinstance(answer, Recall | Replay):
        raise InvalidType(f"recall must be a Recall or its id, not {type(answer).__name__}")
    recall = answer if isinstance(answer, Recall) else answer.recall
    for hit in recall:
        if hit.id == memory_id:
            return Why(hit.why)
    if isinstance(answer, Replay) and any(hit.id == memory_id for hit in answer.erased):
        raise NotFound(f"memory {show_id(memory_id)} was among the hits of this recall and has been deleted since")
    raise NotFound(f"memory {show_id(memory_id)} is not among the {len(recall)} hits of this recall: use why_not")


def explain_absence(
    store: Store,
    query: RecallQuery,
    partition: Partition,
    ranking: Ranking,
    allowed: NDArray[np.bool_] | None,
    order: IntArray,
    memory: Memory,
    hits: Sequence[Hit],
    shown: Sequence[Hit],
) -> WhyNot:
    """Return which step left out a memory of the scope, or its rank.

    What the steps themselves computed decides; the memory's row only tells why a step decided so.

    Args:
        store: Where the memory that replaced it is read from.
        query: The question.
        partition: The index that was searched.
        ranking: The candidates and their sums.
        allowed: Which candidates pass the filters; None when there are no filters.
        order: The rows of the candidates that match, best first.
        memory: The memory that was expected.
        hits: The best hits, reranked.
        shown: The hits as they are returned, with what was said later above what it follows.
    """
    for position, hit in enumerate(shown, start=1):
        if hit.id == memory.id:
            return WhyNot(memory.id, "it is among the hits", position, hit.score, hit.why, "found")
    rows = ranking.candidates.rows_of(np.array([memory.id], dtype=np.int64))
    if repeats_question(memory.content, query.text):
        return WhyNot(memory.id, "it only repeats the question", step="repeats")
    if not len(rows):
        return _explain_no_candidate(store, query, partition, memory)
    row = int(rows[0])
    if allowed is not None and not allowed[row]:
        return WhyNot(memory.id, _name_filters(store, query, memory), step="filter")
    positions = np.flatnonzero(order == row)
    if not len(positions):
        reason = "it shares no word with the question, and no model compared its meaning"
        return WhyNot(memory.id, reason, step="no match")
    rank, score, why = int(positions[0]) + 1, float(to_scores(ranking.sums[row : row + 1])[0]), ranking.why(row)
    for position, hit in enumerate(hits, start=1):
        if hit.id == memory.id:
            rank, score, why = position, hit.score, hit.why
    step, reason = _compare_rank(rank, score, query.limit, query.min_score)
    return WhyNot(memory.id, reason, rank, score, why, step)


def _compare_rank(rank: int, score: float, limit: int, floor: float | None) -> tuple[WhyNotStep, str]:
    if floor is not None and score < floor:
        return "floor", f"its score of {score:.3f} is below the lowest that counts, {floor:.3f}"
    if rank > limit:
        better = f"{plural(rank - 1, 'memory')} {'fits' if rank == 2 else 'fit'} better"
        return "limit", f"{better}, and the limit is {limit}"
    return "limit", f"what was said later was put above it, and the limit is {limit}"


def explain_other_scope(store: Store, scope: Scope, memory_id: int) -> WhyNot:
    """Return why a scope does not have a memory. Nothing is said about memories of other users."""
    other = store.get(Scope(scope.tenant, user=scope.user), [memory_id])[0]
    if other is None:
        return WhyNot(memory_id, f"there is no memory {show_id(memory_id)} in {scope}", step="scope")
    pairs = (("agent", scope.agent, other.agent), ("session", scope.session, other.session))
    differing = [
        f"its {name} is {its!r}, and the question asks for {asked!r}"
        for name, asked, its in pairs
        if asked is not None and asked != its
    ]
    return WhyNot(memory_id, "; ".join(differing), step="scope")


def _explain_no_candidate(store: Store, query: RecallQuery, partition: Partition, memory: Memory) -> WhyNot:
    """Return why a memory was not scored: it is not in the index, not at this time, or no arm found it."""
    wanted = np.array([memory.id], dtype=np.int64)
    with partition.lock:
        indexed = bool((partition.timeline().positions(wanted) >= 0).all())
    if not indexed:
        return _explain_not_indexed(store, memory)
    reason = _explain_time(store, query, memory)
    if reason is not None:
        return reason
    return WhyNot(memory.id, "the scope is large, and no arm chose it as one of its best candidates", step="candidates")


def _explain_not_indexed(store: Store, memory: Memory) -> WhyNot:
    """Name the condition of `index_conditions` that keeps a memory out of the index."""
    if not memory.content:
        return WhyNot(memory.id, "it was put with index=False, so that no question finds it", step="no match")
    owner = Scope(memory.tenant, user=memory.user)
    lines = store.read(lambda tx: read_lineage(tx, owner, [memory.id]), tenant=memory.tenant)
    by = _get_successor(store, memory)
    if memory.archived_at is not None:
        if any(line.source_id == memory.id and line.kind == "merged" for line in lines):
            reason = (
                f"upkeep merged it on {_date(memory.archived_at)}{_name_successor(by, ' into ')}, which says the same"
            )
            return WhyNot(memory.id, reason, step="merged", superseded_by=by, since=memory.archived_at)
        cause = store.read(lambda tx: read_archive_reason(tx, memory.id), tenant=memory.tenant)
        who = f"by upkeep ({cause})" if cause else "by a call of archive()"
        ended = memory.superseded_by is not None
        back = f"it also ended{_name_successor(by, ', replaced by ')}" if ended else "restore() returns it to recall"
        reason = f"it was archived on {_date(memory.archived_at)} {who}: {back}"
        return WhyNot(memory.id, reason, step="archived", superseded_by=by, since=memory.archived_at)
    if memory.quarantined_at is not None:
        reason = f"it is quarantined since {_date(memory.quarantined_at)}: release it, or discard it"
        return WhyNot(memory.id, reason, step="quarantined", since=memory.quarantined_at)
    sources = [
        str(show_id(line.source_id)) for line in lines if line.derived_id == memory.id and line.kind == "consolidated"
    ]
    reason = f"it only repeats the memories {', '.join(sources)}, which are recalled themselves"
    return WhyNot(memory.id, reason, step="repeats")


def _explain_time(store: Store, query: RecallQuery, memory: Memory) -> WhyNot | None:
    """Name the condition of `Partition.eligible` that leaves out a memory; None when it passes them all."""
    known_at, now = query.known_at, query.now if query.known_at is None else min(query.now, query.known_at)
    moment = now if query.as_of is None else query.as_of
    if memory.has_expired(now):
        return WhyNot(memory.id, f"it expired on {_date(memory.expires_at)}", step="expired", since=memory.expires_at)
    if known_at is not None and memory.recorded_at > known_at:
        reason = f"it was stored on {_date(memory.recorded_at)}, and the question asks what was known before"
        return WhyNot(memory.id, reason, step="not yet known", since=memory.recorded_at)
    start = min([memory.valid_from, *(claim.valid_from for claim in claims_in(memory.notes) if claim.valid_to is None)])
    if query.as_of is not None and start > query.as_of:
        reason = f"it is true from {_date(start)}, and the question asks about {_date(query.as_of)}"
        return WhyNot(memory.id, reason, step="not yet true", since=start)
    if memory.valid_to is None or memory.valid_to > moment:
        return None
    if known_at is not None and memory.superseded_at is not None and memory.superseded_at > known_at:
        return None  # that it had ended was learnt later
    by = _get_successor(store, memory)
    if memory.superseded_by is None:
        reason = f"it stopped being true on {_date(memory.valid_to)}"
        return WhyNot(memory.id, reason, step="ended", since=memory.valid_to)
    reason = f"it was superseded on {_date(memory.valid_to)}{_name_successor(by, ' by ')}"
    return WhyNot(memory.id, reason, step="superseded", superseded_by=by, since=memory.valid_to)


def _get_successor(store: Store, memory: Memory) -> Memory | None:
    """Return the memory that replaced this one, which is always of the same user."""
    if memory.superseded_by is None:
        return None
    return store.get(Scope(memory.tenant, user=memory.user), [memory.superseded_by])[0]


def _name_successor(by: Memory | None, word: str) -> str:
    return "" if by is None else f"{word}memory {show_id(by.id)}, {by.content!r}, stored on {_date(by.recorded_at)}"


def _name_filters(store: Store, query: RecallQuery, memory: Memory) -> str:
    """Name the filters that a memory does not pass, by applying each alone."""
    failed: list[str] = []
    for name, alone in _split_filter(query.where):
        matches = partial(matching_ids, scope=query.scope, where=alone, memory_id=memory.id)
        found = store.read(matches, tenant=memory.tenant)
        if not len(found):
            failed.append(name)
    types = "" if "types" not in failed else f": its type is {memory.type.value}"
    return f"the filters exclude it ({', '.join(failed)}){types}"


def _split_filter(where: Filter) -> Iterator[tuple[str, Filter]]:
    """Yield each condition of a filter as a filter of its own, with its name."""
    for spec in fields(Filter):
        value = getattr(where, spec.name)
        if spec.name == "metadata":
            yield from ((f"metadata {condition.key!r}", Filter(metadata=(condition,))) for condition in value)
        elif value != getattr(EVERYTHING, spec.name):
            yield spec.name, replace(EVERYTHING, **{spec.name: value})


def _date(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M}"


_WEIGHTS = {"top": 0.3, "meaning": 4.0, "words": 1.5, "other_speaker": -2.0, "read": 0.06, "fact": 2.5}
"""Fitted on LoCoMo (questions about the wrong person, and about what only another conversation mentions), rounded, and
checked on LongMemEval: see docs/benchmarks-history.md."""
_BIAS = -3.5
_WEIGHTS_IN_BEST = {**_WEIGHTS, "other_speaker": -4.0, "read": 0.2}
"""The large reranker knows better whether a text answers, and less well whom it is about."""
_BIAS_IN_BEST = -3.3


_ASKED_BY = {
    "city": "live living reside home",
    "employer": "work working job company",
    "occupation": "job profession work",
    "age": "old",
    "name": "called",
    "partner": "married dating",
    "allergic to": "allergy allergies",
}
"""Words by which a question asks for an attribute, besides its name."""
_SELF = frozenset(("i", "we", "user"))
_SURE = 1e-4


def answer_signals(
    ranking: Ranking,
    speakers: tuple[str, ...],
    allowed: NDArray[np.bool_] | None = None,
    question: str = "",
    hits: Sequence[Hit] = (),
    best_hit: Hit | None = None,
) -> dict[str, float]:
    """Return the inputs of `answerable`; empty when there is no memory to answer from.

    Args:
        ranking: The candidates and their sums.
        speakers: The speakers that the question is about.
        allowed: Which candidates pass the filters; None when there are no filters.
        question: The text of the question.
        hits: The best hits, reranked, more of them than are returned.
        best_hit: The first hit that is returned.
    """
    rows = np.arange(len(ranking.candidates)) if allowed is None else np.flatnonzero(allowed)
    if not len(rows):
        return {}
    best = rows[int(np.argmax(ranking.sums[rows]))]
    raw = {arm.name: arm.raw for arm in ranking.arms}
    names_one_person = len(speakers) == 1 and speakers[0] not in ROLES
    return {
        "top": float(ranking.sums[best]),
        "meaning": float(raw["dense"][best]) if "dense" in raw else 0.0,
        "words": float(raw["lexical"][rows].max()),
        "other_speaker": _lead_of_other_speakers(ranking, rows) if names_one_person else 0.0,
        "read": _read_log_odds(ranking, hits, of_speaker=names_one_person),
        "fact": float(best_hit is not None and _holds_asked_fact(best_hit.memory, question)),
    }


def _read_log_odds(ranking: Ranking, hits: Sequence[Hit], *, of_speaker: bool) -> float:
    """Return what the reranker gives the best hit, or the best one of the person asked about; 0 where it read none.

    It also likes what others say about the subject. Where it read nothing of that person, the lowest score counts.
    """
    read = {hit.id: each.score for hit in hits for each in hit.why if each.arm == "reranker"}
    if not read:
        return 0.0
    scores = list(read.values())
    if of_speaker:
        rows = ranking.candidates.rows_of(np.array(list(read), dtype=np.int64)).tolist()
        said = [score for row, score in zip(rows, scores, strict=True) if ranking.said[row]]
        scores = said or [min(scores)]
    probability = min(max(scores[0], _SURE), 1.0 - _SURE)
    return log(probability / (1.0 - probability))


def _holds_asked_fact(memory: Memory, question: str) -> bool:
    """Return whether a memory holds the value of a slot that a question asks for: "Where do I live?"."""
    if memory.valid_to is not None or not claims_of(memory):
        return False
    words = [word.casefold() for word in words_of(question)]
    owned = {word for owner, word in pairwise(words) if owner in ("my", "our")}
    own = {fold(memory.speaker or ""), fold(str(memory.user)), "user"}
    for claim in claims_in(memory.notes):
        named = set(query_terms(claim.attribute))
        others = set(query_terms(_ASKED_BY.get(claim.attribute, "")))
        asked = set(query_terms(question))
        # A claim about anything has no name that a question could ask for.
        if claim.valid_to is not None or not named or not (named <= asked or others & asked):
            continue
        about_self = not _SELF.isdisjoint(words) or not (named | others).isdisjoint(query_terms(" ".join(owned)))
        if (about_self and fold(claim.subject) in own) or fold(claim.subject) in fold(question):
            return True
    return False


def answerable(signals: dict[str, float], mode: Mode = "default") -> float:
    """Return a probability; 0 when there is no memory to answer from."""
    if not signals:
        return 0.0
    weights, bias = (_WEIGHTS_IN_BEST, _BIAS_IN_BEST) if mode == "best" else (_WEIGHTS, _BIAS)
    return 1.0 / (1.0 + exp(-bias - sum(weight * signals[name] for name, weight in weights.items())))


def _lead_of_other_speakers(ranking: Ranking, rows: IntArray) -> float:
    """Return how much the best memory leads the best one of the person asked about: a sign of the wrong person.

    Only talks with that person count: in a large scope, somebody elsewhere always says something closer.
    """
    said = rows[ranking.said[rows]]
    if not len(said):
        return 0.0
    talks = rows if ranking.company is None else rows[ranking.company[rows]]
    return float(ranking.content[talks].max() - ranking.content[said].max())
