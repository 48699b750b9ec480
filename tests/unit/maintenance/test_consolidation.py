from __future__ import annotations

from dataclasses import replace

import numpy as np

from memoranda.maintenance.consolidation import (
    PERIOD_KEY,
    THROUGH_KEY,
    find_clusters,
    find_finished_periods,
    find_finished_sessions,
    period_of,
    word_vectors,
)
from memoranda.maintenance.policies import UpkeepItem, UpkeepSettings
from memoranda.types import MemoryType
from tests.unit.maintenance.samples import NOW, SETTINGS, make_item, make_turn

FEW = UpkeepSettings(session_least=3, period_least=3)


def make_turns(*ids: int, days: float = 30, session: str = "s1") -> list[UpkeepItem]:
    return [make_turn(memory_id, f"turn {memory_id}", days=days, session=session) for memory_id in ids]


def test_finished_session_is_found_after_timeout() -> None:
    groups = find_finished_sessions([*make_turns(3, 1, 2), *make_turns(4, 5, 6, days=0.01, session="s2")], NOW, FEW)
    assert [[memory.id for memory in group.sources] for group in groups] == [[1, 2, 3]]


def test_short_session_gets_no_summary() -> None:
    assert find_finished_sessions(make_turns(1, 2), NOW, FEW) == []


def test_session_is_summarized_again_only_after_new_turns() -> None:
    summary = make_item(9, session="s1", derived="summary", metadata={THROUGH_KEY: 3})
    assert find_finished_sessions([*make_turns(1, 2, 3), summary], NOW, FEW) == []
    (group,) = find_finished_sessions([*make_turns(1, 2, 3, 10), summary], NOW, FEW)
    assert (group.replaces, group.newest_id) == ((9,), 10)


def test_sessions_of_different_users_are_separate() -> None:
    first = make_turns(1, 2, 3)
    other = [replace(item, memory=replace(item.memory, user="ada", id=item.memory.id + 3)) for item in first]
    assert len(find_finished_sessions([*first, *other], NOW, FEW)) == 2
    assert find_finished_sessions([*first[:2], *other[:1]], NOW, FEW) == []


def test_period_is_found_when_it_is_over() -> None:
    # 1 May 2026 is a Friday: the running week began four days ago.
    over, running = make_turns(1, 2, 3, days=10), make_turns(4, 5, 6, days=2)
    (group,) = find_finished_periods([*over, *running], NOW, FEW)
    assert [memory.id for memory in group.sources] == [1, 2, 3]
    assert group.description == "2026-04-20 to 2026-04-27"


def test_period_is_reflected_on_again_only_after_new_memories() -> None:
    week, more = make_turns(1, 2, 3, days=10), make_turns(10, days=10)
    number = period_of(week[0].memory.valid_from, FEW)
    seen = make_item(9, type=MemoryType.REFLECTION, derived="reflection", metadata={PERIOD_KEY: number, THROUGH_KEY: 3})
    assert find_finished_periods([*week, seen], NOW, FEW) == []
    assert find_finished_periods([*week, *more, seen], NOW, FEW)[0].replaces == (9,)


def test_related_memories_form_a_cluster() -> None:
    items = make_turns(1, 2, 3, 4, 5)
    near, far = np.eye(4, dtype=np.float32)[0], np.eye(4, dtype=np.float32)[1]
    vectors = {1: near, 2: far, 3: near, 4: near, 5: np.eye(4, dtype=np.float32)[2]}
    (group,) = find_clusters(items, vectors, 0.0, NOW, SETTINGS)
    assert [memory.id for memory in group.sources] == [1, 3, 4]


def test_cluster_is_limited_in_size_and_time_and_found_only_once() -> None:
    vectors = {number: np.array([1, 0], dtype=np.float32) for number in range(1, 30)}
    items = [make_turn(number, "x", days=200 - number) for number in range(1, 20)] + [make_turn(29, "x", days=90)]
    groups = find_clusters(items, vectors, 0.0, NOW, UpkeepSettings(cluster_most=5))
    assert [len(group.sources) for group in groups] == [5, 5, 5, 4]
    used = {memory.id for group in groups for memory in group.sources}
    again = [replace(item, consolidated=item.memory.id in used) for item in items]
    assert find_clusters(again, vectors, 0.0, NOW, UpkeepSettings(cluster_most=5)) == []


def test_similarity_is_measured_from_model_baseline() -> None:
    vectors = {n: np.array([0.8, 0.6 * (-1) ** n], dtype=np.float32) for n in (1, 2, 3, 4)}
    items = [
        replace(item, memory=replace(item.memory, session=f"s{item.memory.id}")) for item in make_turns(1, 2, 3, 4)
    ]
    # The cosine of the two directions is 0.28: high for a model with baseline -1, low for one with 0.2.
    assert len(find_clusters(items, vectors, -1.0, NOW, SETTINGS)) == 1
    assert find_clusters(items, vectors, 0.2, NOW, SETTINGS) == []


def test_word_vectors_replace_missing_model() -> None:
    texts = ["our cat chased a red ball", "the cat and the red ball", "a red ball for our cat", "taxes are due in June"]
    items = [make_turn(number, text) for number, text in enumerate(texts, 1)]
    (group,) = find_clusters(items, word_vectors(item.memory for item in items), 0.0, NOW, SETTINGS)
    assert [memory.id for memory in group.sources] == [1, 2, 3]


def test_only_finished_episodic_memories_are_clustered() -> None:
    vectors = {number: np.array([1, 0], dtype=np.float32) for number in range(1, 10)}
    odd = [
        make_turn(1, "x", days=0.01),
        make_item(2, days=30),
        make_item(3, days=30, type=MemoryType.EPISODIC, derived="summary"),
        replace(make_turn(4, "x"), consolidated=True),
    ]
    assert find_clusters([*odd, make_turn(5, "x"), make_turn(6, "x")], vectors, 0.0, NOW, SETTINGS) == []
