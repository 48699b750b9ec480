"""The candidates of a question, and the score that each arm (dense, lexical) gives them, inside the scope.

An arm's scores are standard deviations above the mean of the scope, so that arms of any scale can be added, and the
distance between the first and the second is kept. A small scope gives a poor mean: typical values from elsewhere
count as `_PRIOR_COUNT` more memories.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, datetime
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from memoranda.index.base import TextIndex, VectorIndex
from memoranda.index.partition import UNNAMED, Partition, Timeline
from memoranda.recall.query import ParsedQuery, RecallQuery
from memoranda.text.sentences import sentence_spans
from memoranda.text.terms import ENDS_WITH_QUESTION, query_terms, terms
from memoranda.types import FloatArray, IntArray

DENSE_WEIGHT = 0.8
"""Weight of meaning; the rest is that of words."""
UNSURE_DENSE_WEIGHT = 0.7
"""The same for static vectors, and for questions in other languages than English, which a model knows less well."""
WORDS_OUTSIDE_DIALOGUES = 0.5
"""Share of the weight of words that is left in what people say alone: it says all it means in its own words,
and shares common ones with a question by chance. Only where a model knows the language."""
DENSE_POWER = 1.2
"""Above 1: a text that stands out says more than several that are somewhat near."""
EXACT_UP_TO = 50_000
"""Up to this many memories in scope, all are scored; above, the best candidates of each arm and their neighbours."""
_CANDIDATES_PER_ARM = 128
_SAMPLE_SIZE = 2_048
_NEIGHBOUR_REACH = 2
_PRIOR_COUNT = 20
_PRIOR_SPREAD = 0.1
"""Typical deviation of cosines, as a share of the distance between unrelated and equal."""
_LEAD_IN = re.compile(
    r"(?:(?:so|and|but|ok|okay|hi|hello|hey|hiya|well|again|also|then|now|please|sorry|thanks|yes|yeah|right|alright"
    r"|once more|btw|by the way|tell me|remind me|(?P<embeds>(?:can|could|would|will) you"
    r" (?:please )?(?:tell|remind) me|do you (?:still )?(?:know|remember)))\b[\s,.!:;…-]*)+",
    re.I,
)
_CONTRACTED = re.compile(r"\b(who|what|where|when|which|why|how)['’]s\b", re.I)
_AGAIN = re.compile(r"(?<![\s,])[\s,]+(?:again|please|then|now)\s*(?:\?+\s*)?$", re.I)
_ASKING = frozenset(query_terms("know tell remind remember"))
"""Words that introduce a question: "can you tell me", "do you know"."""
_SAME_WORDS = {"could": "can", "would": "will", "might": "may", "an": "a", "the": "a"}
"""Words whose exchange does not change the meaning of a question, unlike prepositions, negations and pronouns."""
_REQUEST = re.compile(
    r"(?:(?:please|kindly|hey|ok|okay|now|so|and|can you|could you|would you|will you)\b[\s,]*)*"
    r"(?:tell|write|explain|remind|show|give|list|help|find|make|summari[sz]e|translate|describe|suggest|recommend|draft|create|compare|"
    r"calculate|define|read|sing|name|count|generate|compose|check|look up|search)\b",
    re.I,
)
"""A request instead of a question: "Tell me a joke."."""
_PRIOR_WORDS = (0.03, 0.08)
"""Typical mean and deviation of the share of a question's term weight that a text holds."""


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The vector of a question, and the typical cosine of two unrelated texts."""

    vector: FloatArray
    baseline: float
    is_sure: bool = True
    """Whether a neural model made it, of a question in English."""


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """The memories to score, one per row, by session and time.

    Two rows of one session whose positions differ by one are consecutive turns.
    """

    ids: IntArray
    positions: IntArray
    """Ascending positions in the timeline of the partition."""
    sessions: IntArray
    """A number per session, equal numbers together; `UNNAMED` for no session."""
    times: NDArray[np.float64]
    by_id: IntArray
    """The rows in the order of their ids."""
    total: int
    """How many memories are in scope; more than the rows of a large scope."""
    dialogue: FloatArray
    """0…1 per row: how much people take turns in its session."""
    in_scope: IntArray | None = None
    """The ids of all memories in scope, over which words are counted; None when the whole partition is."""

    def __len__(self) -> int:
        return len(self.ids)

    def rows_of(self, ids: IntArray) -> IntArray:
        """Return the row of each id that is in the set, leaving out the others."""
        if not len(self.ids) or not len(ids):
            return np.empty(0, dtype=np.int64)
        found = np.searchsorted(self.ids, ids, sorter=self.by_id)
        rows = self.by_id[np.minimum(found, len(self.ids) - 1)]
        known: IntArray = rows[self.ids[rows] == ids]
        return known

    def adjacent(self, distance: int) -> NDArray[np.bool_]:
        """Return for each row (but the last ones) whether the row `distance` later is that many turns later."""
        first, second = slice(None, -distance), slice(distance, None)
        same = (self.sessions[first] == self.sessions[second]) & (self.sessions[first] != UNNAMED)
        adjacent: NDArray[np.bool_] = same & (self.positions[second] - self.positions[first] == distance)
        return adjacent

    def previous(self, row: int) -> int | None:
        """Return the row of the turn right before this one in the same session."""
        if not row or self.sessions[row] == UNNAMED or self.sessions[row - 1] != self.sessions[row]:
            return None
        return row - 1 if self.positions[row] - self.positions[row - 1] == 1 else None


def find_same_question(partition: Partition, parsed: ParsedQuery) -> IntArray:
    """Return the ids of questions with all terms of this one, outside dialogues: there, one leads to its answer."""
    asked = partition.postings.ids_with(ENDS_WITH_QUESTION)
    looked_up = [term for term in parsed.terms if term not in _ASKING]
    for term in looked_up:
        asked = np.intersect1d(asked, partition.postings.ids_with(term)) if len(asked) else asked
    if not len(asked) or not looked_up:
        return asked[:0]
    timeline = partition.timeline()
    positions = timeline.positions(asked)
    outside: IntArray = asked[(positions >= 0) & (timeline.dialogue[positions] == 0)]
    return outside


def repeats_question(content: str, question: str) -> bool:
    """Return whether a memory is only the question or request itself, said before: it answers nothing."""
    asks = content.rstrip().endswith("?") or _REQUEST.match(content.strip())
    if not asks or len(sentence_spans(content)) > 1:
        return False
    (before, is_embedded), (now, embeds) = _words_asked(content), _words_asked(question)
    # "Do you know where I can park?" has another order of words than the question in it.
    return sorted(before) == sorted(now) if is_embedded or embeds else before == now


def _words_asked(question: str) -> tuple[list[str], bool]:
    """Return the words of a question without what only leads to it, and whether that turns their order round."""
    plain = _CONTRACTED.sub(r"\1 is", _AGAIN.sub("", question.strip()))
    lead = _LEAD_IN.match(plain)
    words = terms(plain[lead.end() :] if lead else plain)
    return [_SAME_WORDS.get(word, word) for word in words], bool(lead and lead["embeds"])


def select_candidates(
    partition: Partition,
    query: RecallQuery,
    parsed: ParsedQuery,
    vector: QueryVector | None,
    without: IntArray,
) -> tuple[CandidateSet, IntArray]:
    """Return the memories in scope to score, and the ids over which the dense arm takes its mean.

    Filters are applied later: a memory that they hide still counts for its neighbours and its session. What is in
    `without` counts for nothing.
    """
    scope, as_of = query.scope, None if query.as_of is None else query.as_of.timestamp()
    known_at = None if query.known_at is None else query.known_at.timestamp()
    was = None if parsed.was is None or as_of is not None else (_seconds(parsed.was.start), _seconds(parsed.was.end))
    eligible = partition.eligible(scope.agent, scope.session, query.now.timestamp(), as_of, known_at, was)
    timeline = partition.timeline()
    if len(without):
        eligible = np.setdiff1d(timeline.ids if eligible is None else eligible, without)
    total = len(timeline.ids) if eligible is None else len(eligible)
    if total <= EXACT_UP_TO:
        candidates = _all_of(timeline) if eligible is None else _part_of(timeline, eligible, total, eligible)
        return candidates, candidates.ids
    everything = timeline.ids if eligible is None else eligible
    candidates = _part_of(timeline, _find_candidates(partition, parsed, vector, eligible), total, eligible)
    return candidates, everything[:: max(1, total // _SAMPLE_SIZE)]


def _seconds(moment: datetime) -> float:
    return -inf if moment.year == MINYEAR else inf if moment.year == MAXYEAR else moment.timestamp()


def _all_of(timeline: Timeline) -> CandidateSet:
    return CandidateSet(
        timeline.ids,
        timeline.all_positions,
        timeline.sessions,
        timeline.times,
        timeline.by_id,
        len(timeline.ids),
        timeline.dialogue,
    )


def _part_of(timeline: Timeline, ids: IntArray, total: int, in_scope: IntArray | None) -> CandidateSet:
    positions = np.sort(timeline.positions(ids))
    chosen = timeline.ids[positions]
    by_id = np.argsort(chosen, kind="stable")
    return CandidateSet(
        chosen,
        positions,
        timeline.sessions[positions],
        timeline.times[positions],
        by_id,
        total,
        timeline.dialogue[positions],
        in_scope,
    )


def _find_candidates(
    partition: Partition, parsed: ParsedQuery, vector: QueryVector | None, eligible: IntArray | None
) -> IntArray:
    """Return the ids of each arm's best candidates, of the memories inside the windows, and of their neighbours."""
    found = [partition.postings.search(parsed.terms, _CANDIDATES_PER_ARM, among=eligible)[0]]
    if vector is not None and partition.index is not None:
        found.append(partition.index.search(vector.vector, _CANDIDATES_PER_ARM, among=eligible)[0])
    timeline = partition.timeline()
    positions = np.concatenate([timeline.positions(np.concatenate(found)), _positions_in_windows(timeline, parsed)])
    around = np.unique(positions[:, None] + np.arange(-_NEIGHBOUR_REACH, _NEIGHBOUR_REACH + 1))
    ids = timeline.ids[around[(around >= 0) & (around < len(timeline.ids))]]
    return ids if eligible is None else np.intersect1d(ids, eligible)


def _positions_in_windows(timeline: Timeline, parsed: ParsedQuery) -> IntArray:
    """Return the positions inside the windows; none when they are too many to tell memories apart."""
    inside = np.zeros(len(timeline.ids), dtype=np.bool_)
    for window in parsed.windows:
        inside |= (timeline.times >= window.start.timestamp()) & (timeline.times < window.end.timestamp())
    positions = np.flatnonzero(inside)
    return positions if len(positions) <= _SAMPLE_SIZE else positions[:0]


@dataclass(frozen=True, slots=True)
class Arm:
    """The scores of one arm, one per candidate."""

    name: str
    raw: FloatArray
    """How well each fits on the arm's own scale, 0…1."""
    scores: FloatArray
    """Standard deviations above the mean."""
    mean: float = 0.0
    deviation: float = 1.0
    """Of the cosines in the scope, in the dense arm."""
    is_sure: bool = True
    """As in `QueryVector`."""


def score_arms(
    partition: Partition,
    candidates: CandidateSet,
    sample: IntArray,
    parsed: ParsedQuery,
    vector: QueryVector | None,
) -> tuple[Arm, ...]:
    """Score the candidates with each arm; without a vector, the lexical arm scores alone.

    Args:
        partition: The index of the memories.
        candidates: The memories to score.
        sample: The ids over which the dense arm takes its mean.
        parsed: The parsed question.
        vector: The vector of the question, if there is one.
    """
    lexical = lexical_arm(parsed.terms, partition.postings, candidates)
    if vector is None or partition.index is None:
        return (lexical,)
    return dense_arm(vector, partition.index, candidates, sample), lexical


def dense_arm(query: QueryVector, vectors: VectorIndex, candidates: CandidateSet, sample: IntArray) -> Arm:
    """Score by the cosine of question and memory; the mean is taken over the ids in `sample`."""
    baseline = query.baseline
    cosines = vectors.scores(query.vector, candidates.ids)
    sampled = cosines if sample is candidates.ids else vectors.scores(query.vector, sample)
    known = sampled > -1.0  # -1 means that a memory has no vector yet
    if not known.all():
        sampled = sampled[known]
    mean, deviation = _moments(sampled, len(sampled), (baseline, _PRIOR_SPREAD * (1.0 - baseline)))
    deviations = (cosines - mean) / deviation
    if sampled is not cosines:
        deviations = np.where(cosines > -1.0, deviations, 0.0)
    raw = ((cosines - baseline) / (1.0 - baseline)).clip(0.0, 1.0)
    scores = _to_power(deviations, DENSE_POWER)
    return Arm("dense", raw.astype(np.float32, copy=False), scores, mean, deviation, query.is_sure)


def with_best_sentences(arm: Arm, rows: IntArray, best: NDArray[np.float64]) -> Arm:
    """Return the dense arm with the best sentence of some texts in place of the whole text.

    How much closer the best sentence is counts by its distance from the mean of these texts: the level of the scores
    stays, and a text without sentences stays where it is.

    Args:
        arm: The dense arm.
        rows: The candidates whose sentences have vectors.
        best: The highest cosine of the question and a sentence of each.
    """
    deviations = _to_power(arm.scores[rows], 1.0 / DENSE_POWER).astype(np.float64)
    closer = (best - arm.mean) / arm.deviation - deviations
    scores = arm.scores.copy()
    scores[rows] = _to_power(deviations + closer - closer.mean(), DENSE_POWER)
    return replace(arm, scores=scores)


def _to_power(deviations: NDArray[np.floating], power: float) -> FloatArray:
    raised: FloatArray = (np.sign(deviations) * np.abs(deviations) ** power).astype(np.float32)
    return raised


def lexical_arm(terms: Sequence[str], texts: TextIndex, candidates: CandidateSet) -> Arm:
    """Score by BM25, as a share of what a text that holds every term scores."""
    full_score = texts.full_match_score(terms, candidates.in_scope)
    if not full_score:
        return Arm("lexical", np.zeros(len(candidates), np.float32), np.zeros(len(candidates), np.float32))
    shares = texts.scores_of(candidates.ids, terms, candidates.in_scope) / np.float32(full_score)
    sampled = shares
    if candidates.total != len(candidates):
        sampled = texts.scores(terms, candidates.in_scope)[1] / np.float32(full_score)
    mean, deviation = _moments(sampled, candidates.total, _PRIOR_WORDS)
    # Most texts share no word with a question, so the deviation is tiny: its floor keeps one rare word in proportion.
    scores = (shares - mean) / max(deviation, _PRIOR_WORDS[1])
    return Arm("lexical", np.minimum(shares, 1.0), scores.astype(np.float32, copy=False))


def combine_arms(arms: Sequence[Arm], dialogue: FloatArray) -> FloatArray:
    """Return the weighted sum of the arms per candidate, the dense one first; a single arm counts fully.

    Args:
        arms: The arms.
        dialogue: How much people take turns around each candidate, 0…1.
    """
    if len(arms) == 1:
        return arms[0].scores
    dense, lexical = arms
    if not dense.is_sure:
        mixed = UNSURE_DENSE_WEIGHT * dense.scores + (1.0 - UNSURE_DENSE_WEIGHT) * lexical.scores
    else:
        left = WORDS_OUTSIDE_DIALOGUES + (1.0 - WORDS_OUTSIDE_DIALOGUES) * dialogue
        mixed = DENSE_WEIGHT * dense.scores + (1.0 - DENSE_WEIGHT) * left * lexical.scores
    combined: FloatArray = mixed.astype(np.float32, copy=False)
    return combined


def _moments(sample: FloatArray, count: int, prior: tuple[float, float]) -> tuple[float, float]:
    """Return mean and deviation of `count` numbers, of which the sample holds all that are not 0, and of the prior."""
    prior_mean, spread = prior
    numbers = sample.astype(np.float64)
    mean = (float(numbers.sum()) + _PRIOR_COUNT * prior_mean) / (count + _PRIOR_COUNT)
    squares = float(numbers @ numbers) + _PRIOR_COUNT * (prior_mean * prior_mean + spread * spread)
    return mean, sqrt(max(squares / (count + _PRIOR_COUNT) - mean * mean, 1e-12))
