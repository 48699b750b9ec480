from __future__ import annotations

from dataclasses import replace

import numpy as np

from memoranda.maintenance.base import UpkeepSettings
from memoranda.maintenance.consolidation import (
    PERIOD,
    THROUGH,
    clusters,
    finished_periods,
    finished_sessions,
    period_of,
    word_vectors,
)
from memoranda.maintenance.forget import with_descendants
from memoranda.results import Derivation
from memoranda.types import MemoryType
from tests.unit.maintenance.samples import NOW, SETTINGS, Subject, subject, turn

FEW = UpkeepSettings(session_least=3, period_least=3)


def talk(*numbers: int, days: float = 30, session: str = "s1") -> list[Subject]:
    return [turn(number, f"turn {number}", days=days, session=session) for number in numbers]


def test_a_conversation_is_summarised_when_it_has_been_silent_long_enough() -> None:
    works = finished_sessions([*talk(3, 1, 2), *talk(4, 5, 6, days=0.01, session="s2")], NOW, FEW)
    assert [[memory.id for memory in work.sources] for work in works] == [[1, 2, 3]]


def test_a_short_conversation_is_its_own_summary() -> None:
    assert finished_sessions(talk(1, 2), NOW, FEW) == []


def test_a_summary_is_made_again_only_when_the_talk_went_on() -> None:
    summary = subject(9, session="s1", derived="summary", metadata={THROUGH: 3})
    assert finished_sessions([*talk(1, 2, 3), summary], NOW, FEW) == []
    (work,) = finished_sessions([*talk(1, 2, 3, 10), summary], NOW, FEW)
    assert (work.replaces, work.through) == ((9,), 10)


def test_users_and_agents_have_their_own_summaries() -> None:
    mine = talk(1, 2, 3)
    other = [replace(each, memory=replace(each.memory, user="ada", id=each.memory.id + 3)) for each in mine]
    assert len(finished_sessions([*mine, *other], NOW, FEW)) == 2
    assert finished_sessions([*mine[:2], *other[:1]], NOW, FEW) == []


def test_a_week_is_looked_back_on_when_it_is_over() -> None:
    # 1 May 2026 is a Friday: the running week began four days ago.
    over, running = talk(1, 2, 3, days=10), talk(4, 5, 6, days=2)
    (work,) = finished_periods([*over, *running], NOW, FEW)
    assert [memory.id for memory in work.sources] == [1, 2, 3]
    assert work.about == "2026-04-20 to 2026-04-27"


def test_a_reflection_is_made_again_only_when_more_came_in() -> None:
    week, more = talk(1, 2, 3, days=10), talk(10, days=10)
    number = period_of(week[0].memory.valid_from, FEW)
    seen = subject(9, type=MemoryType.REFLECTION, derived="reflection", metadata={PERIOD: number, THROUGH: 3})
    assert finished_periods([*week, seen], NOW, FEW) == []
    assert finished_periods([*week, *more, seen], NOW, FEW)[0].replaces == (9,)


def test_related_memories_form_a_cluster_and_others_stay_alone() -> None:
    subjects = talk(1, 2, 3, 4, 5)
    near, far = np.eye(4, dtype=np.float32)[0], np.eye(4, dtype=np.float32)[1]
    vectors = {1: near, 2: far, 3: near, 4: near, 5: np.eye(4, dtype=np.float32)[2]}
    (work,) = clusters(subjects, vectors, 0.0, NOW, SETTINGS)
    assert [memory.id for memory in work.sources] == [1, 3, 4]


def test_a_cluster_is_bounded_in_size_and_time_and_run_again_finds_nothing() -> None:
    vectors = {number: np.array([1, 0], dtype=np.float32) for number in range(1, 30)}
    subjects = [turn(number, "x", days=200 - number) for number in range(1, 20)] + [turn(29, "x", days=90)]
    works = clusters(subjects, vectors, 0.0, NOW, UpkeepSettings(cluster_most=5))
    assert [len(work.sources) for work in works] == [5, 5, 5, 4]
    used = {memory.id for work in works for memory in work.sources}
    again = [replace(each, consolidated=each.memory.id in used) for each in subjects]
    assert clusters(again, vectors, 0.0, NOW, UpkeepSettings(cluster_most=5)) == []


def test_nearness_is_measured_from_the_models_own_baseline() -> None:
    vectors = {n: np.array([0.8, 0.6 * (-1) ** n], dtype=np.float32) for n in (1, 2, 3, 4)}
    subjects = [replace(each, memory=replace(each.memory, session=f"s{each.memory.id}")) for each in talk(1, 2, 3, 4)]
    # The cosine of the two directions is 0.28: much for a model whose strangers lie at -1, nothing for one at 0.2.
    assert len(clusters(subjects, vectors, -1.0, NOW, SETTINGS)) == 1
    assert clusters(subjects, vectors, 0.2, NOW, SETTINGS) == []


def test_words_stand_in_for_a_model() -> None:
    texts = ["our cat chased a red ball", "the cat and the red ball", "a red ball for our cat", "taxes are due in June"]
    subjects = [turn(number, text) for number, text in enumerate(texts, 1)]
    (work,) = clusters(subjects, word_vectors(each.memory for each in subjects), 0.0, NOW, SETTINGS)
    assert [memory.id for memory in work.sources] == [1, 2, 3]


def test_only_settled_episodic_memories_are_clustered() -> None:
    vectors = {number: np.array([1, 0], dtype=np.float32) for number in range(1, 10)}
    odd = [
        turn(1, "x", days=0.01),
        subject(2, days=30),
        subject(3, days=30, type=MemoryType.EPISODIC, derived="summary"),
        replace(turn(4, "x"), consolidated=True),
    ]
    assert clusters([*odd, turn(5, "x"), turn(6, "x")], vectors, 0.0, NOW, SETTINGS) == []


def test_forgetting_reaches_all_that_was_made_from_it() -> None:
    lines = [
        Derivation(10, 1, "consolidated"),
        Derivation(11, 10, "reflection"),
        Derivation(12, 2, "summary"),
        Derivation(3, 4, "merged"),
    ]
    assert with_descendants([1], lines) == {1, 10, 11}
    assert with_descendants([3], lines) == {3, 4}
    assert with_descendants([4], lines) == {3, 4}
    assert with_descendants([11], lines) == {11}
