"""A partition of the index → the field a question is asked of, with the scope inside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memoranda.index.partition import Partition, Timeline
from memoranda.recall.arms import Arm, dense_arm, lexical_arm
from memoranda.recall.base import Field
from memoranda.recall.query import ROLES, Query, Reading, named_in
from memoranda.recall.rank import Evidence, Ranking, dialogue, rank
from memoranda.text import ENDS_WITH_QUESTION, query_terms
from memoranda.types import FloatArray, IntArray

EXACT_UP_TO = 50_000
"""Memories in scope that are all scored; of more, only the best candidates of each arm and their neighbours are."""
_CANDIDATES = 128
_SAMPLE = 2_048
_REACH = 2


@dataclass(frozen=True, slots=True)
class Meaning:
    """A question's vector, and the cosine of texts that have nothing to do with each other."""

    vector: FloatArray
    baseline: float


def ranked(partition: Partition, query: Query, reading: Reading, meaning: Meaning | None) -> Ranking:
    """Every memory the scope allows, with how well it fits. Filters come later: what they hide is still evidence."""
    scope, as_of = query.scope, None if query.as_of is None else query.as_of.timestamp()
    among = partition.eligible(scope.agent, scope.session, query.now.timestamp(), as_of)
    timeline = partition.timeline()
    total = len(timeline.ids) if among is None else len(among)
    if total <= EXACT_UP_TO:
        field = _whole(timeline) if among is None else _part(timeline, among, total)
        usual = field.ids
    else:
        everything = timeline.ids if among is None else among
        field = _part(timeline, _candidates(partition, reading, meaning, among), total)
        usual = everything[:: max(1, total // _SAMPLE)]
    return rank(_arms(partition, field, usual, reading, meaning), field, _evidence(partition, reading))


def speakers_of(partition: Partition, query: Query) -> tuple[str, ...]:
    """Those who said something that the scope allows; a name known only from elsewhere is a word like any other."""
    speakers, scope = partition.speakers, query.scope
    if scope.agent is None and scope.session is None:
        return speakers
    among = partition.eligible(scope.agent, scope.session, query.now.timestamp())
    if among is None:
        return speakers
    mentioned = named_in(query.text, speakers)
    asked = [name for name in speakers if name in ROLES or name in mentioned]
    return tuple(name for name in asked if len(np.intersect1d(partition.said_by(name), among, assume_unique=True)))


def _arms(
    partition: Partition, field: Field, usual: IntArray, reading: Reading, meaning: Meaning | None
) -> tuple[Arm, ...]:
    lexical = lexical_arm(reading.terms, partition.postings, field)
    if meaning is None or partition.index is None:
        return (lexical,)
    return dense_arm(meaning.vector, partition.index, field, usual, meaning.baseline), lexical


def _evidence(partition: Partition, reading: Reading) -> Evidence:
    talk = dialogue(partition.postings.average_length)
    asking = partition.postings.having(ENDS_WITH_QUESTION) if talk else np.empty(0, dtype=np.int64)
    said = _said(partition, reading.speakers[0]) if len(reading.speakers) == 1 else None
    holding = None if reading.wanted is None else partition.postings.having(reading.wanted)
    return Evidence(asking, talk, said, reading.windows, holding)


def _said(partition: Partition, speaker: str) -> IntArray:
    """What the speaker said, and what nobody said but names the speaker."""
    about, _ = partition.postings.scores(query_terms(speaker))
    unspoken = np.intersect1d(about, partition.said_by(None), assume_unique=True)
    return np.concatenate([partition.said_by(speaker), unspoken])


def _whole(timeline: Timeline) -> Field:
    places = np.arange(len(timeline.ids), dtype=np.int64)
    return Field(timeline.ids, places, timeline.sessions, timeline.times, timeline.by_id, len(timeline.ids))


def _part(timeline: Timeline, ids: IntArray, total: int) -> Field:
    places = np.sort(timeline.places(ids))
    chosen = timeline.ids[places]
    by_id = np.argsort(chosen, kind="stable")
    return Field(chosen, places, timeline.sessions[places], timeline.times[places], by_id, total)


def _candidates(partition: Partition, reading: Reading, meaning: Meaning | None, among: IntArray | None) -> IntArray:
    found = [partition.postings.search(reading.terms, _CANDIDATES, among=among)[0]]
    if meaning is not None and partition.index is not None:
        found.append(partition.index.search(meaning.vector, _CANDIDATES, among=among)[0])
    timeline = partition.timeline()
    places = np.concatenate([timeline.places(np.concatenate(found)), _dated(timeline, reading)])
    around = np.unique(places[:, None] + np.arange(-_REACH, _REACH + 1))
    near = timeline.ids[around[(around >= 0) & (around < len(timeline.ids))]]
    return near if among is None else np.intersect1d(near, among)


def _dated(timeline: Timeline, reading: Reading) -> IntArray:
    """The places inside the windows, unless those are so many that a window tells nothing."""
    inside = np.zeros(len(timeline.ids), dtype=np.bool_)
    for window in reading.windows:
        inside |= (timeline.times >= window.start.timestamp()) & (timeline.times < window.end.timestamp())
    places = np.flatnonzero(inside)
    return places if len(places) <= _SAMPLE else places[:0]
