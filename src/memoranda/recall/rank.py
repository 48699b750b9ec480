"""Add the arms and what is known around each memory (turns, session, speaker, time, answer type) into one ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from memoranda.embedding.base import unpack_sentences
from memoranda.index.partition import MACHINE_ROLES, UNNAMED, Partition
from memoranda.messages.message import ROLES
from memoranda.recall.arms import Arm, CandidateSet, combine_arms, with_best_sentences
from memoranda.recall.query import ParsedQuery
from memoranda.records import fast_maker
from memoranda.text.terms import ENDS_WITH_QUESTION, HAS_TIME, OR, keys_in_window, query_terms
from memoranda.types import ArmScore, FloatArray, IntArray, Window

NEIGHBOUR_SHARE = 0.1
"""Share of its score that a turn gives to the turns next to it; half as much to the next but one."""
REPLY_SHARE = 0.5
"""Share of its score that a question gives to its reply."""
ASKING_COST = 0.8
"""What a turn that ends with a question loses: a question states nothing."""
SESSION_SHARE = 0.25
"""Share of the best score in a session that all its turns get."""
SPEAKER_ODDS = 4.0
"""Four of five answers about somebody were said by that person."""
SPEAKER_SHARE = 0.7
"""Share of those log-odds that counts: what a person said is often close to a question about that person anyway."""
SPREAD_COST = 0.2
"""What a memory costs for each other of its session before it, when several things are asked for."""
_SPREAD_DEPTH = 40
"""How many of the best memories are put in that order."""
PEOPLE_SHARE = 0.9
"""The same for people with names: their names in a question are better evidence than "I" is for the user."""
COMPANY_ODDS = 19.0
"""Nineteen of twenty answers about somebody are in conversations in which that person took part."""
_INSIDE_ODDS = 4.0
_LATER_SHARE = 0.5
"""Share of the gain right after a window, falling from there: people mention an event for some time after it."""
_LATER_SECONDS = 7 * 86_400.0
_ANSWER_TYPE_ODDS = 7.0 / 3.0
_TIME_SHARE = 0.5
_ANSWER_TYPE_SHARE = 0.25
"""Share of those log-odds that counts: a text close to a question often holds its answer type, so the arms know it.

Of times, more counts than of numbers and names: these are in many texts, and most of them answer something else."""
_EVEN_SUM = 3.0
"""The sum at which a memory is as likely as not to be the one asked for."""
_SUM_SCALE = 1.5
_MAX_EXPONENT = 50.0
_make_score = fast_maker(ArmScore)
_GAINS = ("neighbours", "asking", "session", "speaker", "time", "kind")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the ranking uses besides the arms."""

    asking: IntArray
    """The ids of texts that end with a question."""
    said: IntArray | None
    """The ids of what the speakers asked about said; None when nobody is named."""
    windows: tuple[Window, ...]
    with_answer_type: IntArray | None = None
    """The ids of texts that hold the type of answer asked for; None when the question asks for no type."""
    asks_when: bool = False
    mentioning: tuple[IntArray, ...] = ()
    """For each window, the ids of texts that mention a time inside it."""
    names_people: bool = False
    """Whether the speakers asked about are people with names, and no roles."""
    only_people: bool = False
    """Whether the question names people, and nothing else to look for."""
    said_by_people: bool = False
    """Whether people said all that is searched: no assistant, and no document."""


def collect_evidence(partition: Partition, parsed: ParsedQuery) -> Evidence:
    """Look up in the index what the ranking needs besides the arms."""
    postings = partition.postings
    said = [_said_by(partition, speaker) for speaker in parsed.speakers]
    return Evidence(
        asking=postings.ids_with(ENDS_WITH_QUESTION),
        said=np.concatenate(said) if said else None,
        windows=parsed.windows,
        with_answer_type=None if parsed.answer_type is None else postings.ids_with(parsed.answer_type),
        asks_when=parsed.answer_type == HAS_TIME,
        mentioning=tuple(ids_mentioning(partition, window) for window in parsed.windows),
        names_people=any(speaker not in ROLES for speaker in parsed.speakers),
        only_people=parsed.only_people,
        said_by_people=not {*MACHINE_ROLES}.intersection(partition.speakers) and not len(partition.said_by(None)),
    )


def ids_mentioning(partition: Partition, window: Window) -> IntArray:
    """Return the ids of texts that mention a time inside a window, whenever they were said."""
    return partition.postings.ids_with(OR.join(keys_in_window(window.start, window.end)))


def _said_by(partition: Partition, speaker: str) -> IntArray:
    """Return the ids of what the speaker said, and of texts without a speaker that name the speaker."""
    about, _ = partition.postings.scores(query_terms(speaker))
    without_speaker = np.intersect1d(about, partition.said_by(None), assume_unique=True)
    return np.concatenate([partition.said_by(speaker), without_speaker])


@dataclass(frozen=True, slots=True)
class Ranking:
    """Every candidate with its sum, and what the sum consists of."""

    candidates: CandidateSet
    arms: tuple[Arm, ...]
    content: FloatArray
    """The arms and the turns around: how well a memory fits, whoever said it and whenever."""
    gains: Mapping[str, FloatArray]
    sums: FloatArray
    """In standard deviations."""
    said: NDArray[np.bool_]
    """Which memories the speakers asked about said."""
    evidence: Evidence
    nothing: FloatArray
    """The gains of those names under which nobody gains; zeros."""
    company: NDArray[np.bool_] | None = None
    """The memories of conversations with them; None when no people with names are asked about."""
    by_people: bool = False
    """Whether all that the people asked about said matches: the question names a time, or nothing else than people."""

    @property
    def dialogue(self) -> float:
        """0…1: how much of the candidates is dialogue, where people take turns."""
        return float(self.candidates.dialogue.mean()) if len(self.candidates) else 0.0

    def best(self, limit: int, allowed: NDArray[np.bool_] | None = None) -> IntArray:
        """Return the rows of the best memories, best first, ties by id."""
        matching = self._matching()
        if matching is None:
            rows = np.arange(len(self.candidates)) if allowed is None else np.flatnonzero(allowed)
        else:
            rows = np.flatnonzero(matching if allowed is None else matching & allowed)
        if limit < len(rows):
            sums = self.sums[rows]
            rows = rows[sums >= np.partition(sums, len(sums) - limit)[len(sums) - limit]]
        return rows[np.lexsort((self.candidates.ids[rows], -self.sums[rows]))[:limit]]

    def why(self, row: int) -> tuple[ArmScore, ...]:
        """Return the score and rank of one memory in each arm and boost that counts for or against it."""
        return self.why_each([row])[0]

    def why_each(self, rows: Sequence[int]) -> list[tuple[ArmScore, ...]]:
        """Return the same for several memories, which takes hardly longer than for one."""
        found: list[list[ArmScore]] = [[] for _ in rows]
        for arm in self.arms:
            _add_scores(found, arm.name, arm.raw, arm.scores, rows, arm.raw[rows] > 0)
        for name, gains in self.gains.items():
            if gains is not self.nothing:
                _add_scores(found, name, gains, gains, rows, gains[rows] != 0)
        return [tuple(scores) for scores in found]

    def _matching(self) -> NDArray[np.bool_] | None:
        """Return which memories match; None for all: with vectors, every memory is close to some degree."""
        if any(arm.name == "dense" for arm in self.arms):
            return None
        matching = self.gains["time"] > 0
        for arm in self.arms:
            matching |= arm.raw > 0
        if not self.by_people:
            return matching
        # A time is a preference: a question that names one excludes nothing else that the person said.
        matching |= self.said
        return matching if matching.any() else None


def _add_scores(
    found: list[list[ArmScore]],
    name: str,
    values: FloatArray,
    gains: FloatArray,
    rows: Sequence[int],
    counting: NDArray[np.bool_],
) -> None:
    """Add to the scores of those rows that count what an arm or a boost gives them, with their rank in it."""
    if not counting.any():
        return
    chosen = values[rows]
    # How many are above each: sorting once takes less than to compare all with each of them.
    ranks = 1 + len(values) - np.sort(values).searchsorted(chosen, side="right")
    each = zip(found, counting.tolist(), ranks.tolist(), chosen.tolist(), gains[rows].tolist(), strict=True)
    for scores, counts, rank, value, gain in each:
        if counts:
            scores.append(_make_score(name, rank, value, gain))


def rank(arms: Sequence[Arm], candidates: CandidateSet, evidence: Evidence) -> Ranking:
    """Add up the arms and the gains of each candidate."""
    arm_sums = combine_arms(arms, candidates.dialogue if evidence.said_by_people else np.ones_like(candidates.dialogue))
    said = _mark(evidence.said, candidates)
    nothing = np.zeros(len(candidates), dtype=np.float32)
    gains = dict.fromkeys(_GAINS, nothing)
    content = arm_sums
    if candidates.dialogue.any():
        asking = _mark(evidence.asking, candidates)
        gains["neighbours"] = candidates.dialogue * neighbour_gains(arm_sums, asking, candidates)
        gains["asking"] = -np.float32(ASKING_COST) * candidates.dialogue * asking
        content = arm_sums + gains["neighbours"] + gains["asking"]
    if (candidates.sessions != UNNAMED).any():
        gains["session"] = session_gains(content, candidates)
    company = _company(said, candidates) if evidence.names_people else None
    if said.any():
        gains["speaker"] = speaker_gains(said, company)
    if evidence.windows or evidence.mentioning:
        gains["time"] = time_gains(evidence.windows, candidates, evidence.mentioning)
    if evidence.with_answer_type is not None:
        share = _TIME_SHARE if evidence.asks_when else _ANSWER_TYPE_SHARE
        gains["kind"] = answer_type_gains(evidence.with_answer_type, candidates, share)
    sums = content + gains["session"] + gains["speaker"] + gains["time"] + gains["kind"]
    by_people = bool(evidence.windows) or evidence.only_people
    return Ranking(candidates, tuple(arms), content, gains, sums, said, evidence, nothing, company, by_people)


def rank_by_sentences(ranking: Ranking, query: FloatArray, packed: Mapping[int, bytes]) -> Ranking:
    """Rank again with the best sentence of some memories, given as packed vectors by id, in place of their texts.

    The vector of a text is a mean of its sentences: what one of them says is closer to a question than the whole.
    """
    sound = {each: rows for each, rows in packed.items() if rows and len(rows) % len(query) == 0}
    if not sound:
        return ranking
    rows = ranking.candidates.rows_of(np.array(list(sound), dtype=np.int64))
    counts = np.array([len(each) // len(query) for each in sound.values()])
    cosines = unpack_sentences(b"".join(sound.values()), len(query)).astype(np.float64) @ query
    best = np.maximum.reduceat(cosines, np.cumsum(counts) - counts)
    arms = [with_best_sentences(arm, rows, best) if arm.name == "dense" else arm for arm in ranking.arms]
    return rank(arms, ranking.candidates, ranking.evidence)


def _mark(ids: IntArray | None, candidates: CandidateSet) -> NDArray[np.bool_]:
    """Return which candidates have one of these ids."""
    marked = np.zeros(len(candidates), dtype=np.bool_)
    if ids is not None:
        marked[candidates.rows_of(ids)] = True
    return marked


def neighbour_gains(scores: FloatArray, asking: NDArray[np.bool_], candidates: CandidateSet) -> FloatArray:
    """Return what each turn gets from the turns around it: a share of their scores, more from a question before it."""
    gains = np.zeros_like(scores)
    for distance in (1, 2):
        if len(candidates) <= distance:
            break
        share = np.where(candidates.adjacent(distance), np.float32(NEIGHBOUR_SHARE / distance), np.float32(0))
        gains[distance:] += share * scores[:-distance]
        gains[:-distance] += share * scores[distance:]
    if len(candidates) > 1 and asking.any():
        replies = candidates.adjacent(1) & asking[:-1]
        gains[1:] += np.where(replies, REPLY_SHARE * np.maximum(scores[:-1], 0), 0)
    return gains


def session_gains(scores: FloatArray, candidates: CandidateSet) -> FloatArray:
    """Return a share of the best score in its session for each memory: where one memory fits, more may."""
    sessions = candidates.sessions
    unnamed = sessions == UNNAMED
    starts = np.concatenate(([0], np.flatnonzero(sessions[1:] != sessions[:-1]) + 1))
    best = np.maximum(np.maximum.reduceat(scores, starts), 0)
    gains = SESSION_SHARE * np.repeat(best, np.diff(starts, append=len(candidates)))
    gains[unnamed] = 0
    return gains.astype(np.float32)


def _company(said: NDArray[np.bool_], candidates: CandidateSet) -> NDArray[np.bool_]:
    """Return the memories of the speakers asked about, and those of others in conversations with them."""
    sessions = np.unique(candidates.sessions[said])
    with_them = np.isin(candidates.sessions, sessions[sessions != UNNAMED])
    company: NDArray[np.bool_] = said | (with_them & (candidates.dialogue > 0))
    return company


def speaker_gains(said: NDArray[np.bool_], company: NDArray[np.bool_] | None = None) -> FloatArray:
    """Return the gain of the memories of the speakers asked about: the smaller their share of the scope, the higher.

    With `company`, all memories of conversations with them gain, and their own gain more.
    """
    if company is None or not company.any():
        return said * np.float32(SPEAKER_SHARE * _log_odds(SPEAKER_ODDS, said))
    conversations = np.float32(PEOPLE_SHARE * _log_odds(COMPANY_ODDS, company))
    own = np.float32(PEOPLE_SHARE * _log_odds(SPEAKER_ODDS, said[company]))
    return (conversations * company + own * said).astype(np.float32)


def time_gains(windows: Sequence[Window], candidates: CandidateSet, mentioning: Sequence[IntArray] = ()) -> FloatArray:
    """Return the gain of memories inside a window, or that mention a time in it: the fewer they are, the higher it is.

    When a share f of all memories lies inside, and four of five answers do, the odds of a memory inside are
    4 · (1 - f) / f times those of one outside. A window around nearly everything gains nothing.
    """
    gains = np.zeros(len(candidates), dtype=np.float32)
    for window in windows:
        gains = np.maximum(gains, _window_share(window, candidates))
    for ids in mentioning:
        gains[candidates.rows_of(ids)] = 1.0
    return gains * np.float32(_log_odds(_INSIDE_ODDS, gains))


def answer_type_gains(
    with_answer_type: IntArray | None, candidates: CandidateSet, share: float = _ANSWER_TYPE_SHARE
) -> FloatArray:
    """Return the gain of texts that hold the answer type asked for, as seven of ten answers do: see `time_gains`."""
    gains = np.zeros(len(candidates), dtype=np.float32)
    if with_answer_type is None:
        return gains
    gains[candidates.rows_of(with_answer_type)] = 1.0
    return gains * np.float32(share * _log_odds(_ANSWER_TYPE_ODDS, gains))


def _window_share(window: Window, candidates: CandidateSet) -> FloatArray:
    """Return 1 for memories inside the window, less for those soon after it, 0 for the rest."""
    start, end = window.start.timestamp(), window.end.timestamp()
    fade = max(_LATER_SECONDS, end - start)
    later = _LATER_SHARE * np.clip(1.0 - (candidates.times - end) / fade, 0.0, 1.0)
    inside = np.where(candidates.times < end, 1.0, later)
    return np.where(candidates.times >= start, inside, 0.0).astype(np.float32)


def _log_odds(odds: float, inside: FloatArray | NDArray[np.bool_]) -> float:
    """Return the log-odds of a memory inside against one outside, never below 0."""
    share = float(inside.mean()) if len(inside) else 0.0
    return max(0.0, log(odds * (1.0 - share) / share)) if 0.0 < share < 1.0 else 0.0


def order_rows(
    ranking: Ranking, count: int, allowed: NDArray[np.bool_] | None, *, several: bool
) -> tuple[IntArray, FloatArray]:
    """Return the rows of the best memories and their sums, best first; for several things, from more sessions."""
    rows = ranking.best(max(count, _SPREAD_DEPTH) if several else count, allowed)
    sums = ranking.sums[rows]
    if several:
        first, spread_sums = _spread(ranking, rows[:_SPREAD_DEPTH])
        rows = np.concatenate([first, rows[_SPREAD_DEPTH:]])
        sums = np.minimum.accumulate(np.concatenate([spread_sums, sums[_SPREAD_DEPTH:]]))
    return rows[:count], sums[:count]


def _spread(ranking: Ranking, rows: IntArray) -> tuple[IntArray, FloatArray]:
    """Return rows in the order in which they cover several sessions, and their sums, which fall.

    Each memory of a session counts `SPREAD_COST` less than the one chosen before it: the pieces of a list lie in
    different sessions. A memory without a session stands alone.
    """
    sessions, sums = ranking.candidates.sessions[rows], ranking.sums[rows].astype(np.float64)
    order: list[int] = []
    values: list[float] = []
    for _ in range(len(rows)):
        best = int(np.argmax(sums))
        order.append(best)
        values.append(float(sums[best]))
        if sessions[best] != UNNAMED:
            sums[sessions == sessions[best]] -= SPREAD_COST
        sums[best] = -np.inf
    return rows[order], np.array(values, dtype=np.float32)


def to_scores(sums: FloatArray) -> FloatArray:
    """Map sums to scores from 0 to 1, in the same order."""
    exponent = np.clip((_EVEN_SUM - sums.astype(np.float64)) / _SUM_SCALE, -_MAX_EXPONENT, _MAX_EXPONENT)
    return (1.0 / (1.0 + np.exp(exponent))).astype(np.float32)
