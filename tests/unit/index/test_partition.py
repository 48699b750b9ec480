from __future__ import annotations

from math import inf

import numpy as np
import pytest

from memoranda.errors import Incompatible
from memoranda.index.partition import UNNAMED, Partition
from memoranda.storage.base import IndexRow
from tests.unit.index.samples import ANNA, DIMENSION, random_row, row


def is_eligible(each: IndexRow, agent: str | None, session: str | None, now: float, as_of: float | None) -> bool:
    if agent not in (None, each.agent) or session not in (None, each.session) or each.expires_at <= now:
        return False
    if as_of is None:
        return each.valid_to > now
    return each.valid_from <= as_of < each.valid_to


@pytest.mark.parametrize("seed", range(4))
def test_eligible_ids_stay_correct_through_changes(seed: int) -> None:
    rng, partition, rows = np.random.default_rng(seed), Partition(ANNA, 1), dict[int, IndexRow]()
    for _ in range(15):
        new_rows = [random_row(rng, int(number)) for number in rng.choice(150, 25, replace=False)]
        partition.upsert(new_rows)
        rows |= {each.id: each for each in new_rows}
        removed = rng.choice(150, 12, replace=False)
        partition.remove(removed)
        rows = {number: each for number, each in rows.items() if number not in set(removed.tolist())}
        agent, session = [None, "a", "x"][rng.integers(3)], [None, "s", "x"][rng.integers(3)]
        now, as_of = float(rng.integers(100, 200)), [None, float(rng.integers(200))][rng.integers(2)]
        expected = sorted(each.id for each in rows.values() if is_eligible(each, agent, session, now, as_of))
        found = partition.eligible(agent, session, now, as_of)
        assert (sorted(rows) if found is None else found.tolist()) == expected
        assert partition.ids.tolist() == sorted(rows)
        assert partition.index is not None
        assert partition.index.ids.tolist() == sorted(number for number, each in rows.items() if each.vector)
        assert len(partition.postings) == len(rows)
        said = sorted(each.id for each in rows.values() if each.speaker == "Ben")
        assert partition.said_by("Ben").tolist() == said


def test_eligible_is_none_when_all_may_be_seen() -> None:
    partition = Partition(ANNA)
    assert partition.eligible(None, None, 0.0) is None
    partition.upsert([row(1, session="s"), row(2, session="s", expires_at=50.0)])
    assert partition.eligible(None, "s", 49.9) is None
    found = partition.eligible(None, "s", 50.0)
    assert found is not None
    assert found.tolist() == [1]


def test_unknown_agent_or_session_has_no_eligible_ids() -> None:
    partition = Partition(ANNA)
    partition.upsert([row(1), row(2, agent="a", session="s")])
    for agent, session in (("x", None), (None, "x"), ("a", "x")):
        found = partition.eligible(agent, session, 0.0)
        assert found is not None
        assert found.tolist() == []


def test_timeline_sorts_by_session_and_time() -> None:
    partition = Partition(ANNA)
    partition.upsert(
        [
            row(1, session="s", valid_from=30.0),
            row(2, session="t", valid_from=20.0),
            row(3, session="s", valid_from=10.0),
            row(4, valid_from=5.0),
            row(5, session="s", valid_from=10.0),
        ]
    )
    timeline = partition.timeline()
    assert timeline.ids.tolist() == [4, 3, 5, 1, 2]
    assert timeline.sessions.tolist() == [UNNAMED, 0, 0, 0, 1]
    assert timeline.times.tolist() == [5.0, 10.0, 10.0, 30.0, 20.0]
    assert timeline.positions(np.array([1, 99, 4])).tolist() == [3, -1, 0]
    assert partition.timeline() is timeline
    partition.remove(np.array([3]))
    assert partition.timeline().ids.tolist() == [4, 5, 1, 2]


@pytest.mark.parametrize(
    ("speakers", "share"),
    [
        (["Ann", "Ben", "Ann", "Ben"], 1.0),
        (["Ann", "Ann", "Ben", "Ben"], 2 / 3),
        (["Ann", "Ann", "Ann", "Ann"], 0.0),
        (["user", "assistant", "user", "assistant"], 0.0),
        ([None, None, None, None], 0.0),
        (["Ann"], 0.0),
    ],
)
def test_session_is_a_dialogue_where_people_take_turns(speakers: list[str | None], share: float) -> None:
    partition = Partition(ANNA)
    partition.upsert([row(10 + n, session="s", speaker=name, valid_from=n) for n, name in enumerate(speakers)])
    assert partition.timeline().dialogue.tolist() == pytest.approx([share] * len(speakers))


def test_each_session_is_a_dialogue_or_not_by_itself() -> None:
    partition = Partition(ANNA)
    said = [("a", "Ann"), ("a", "Ben"), ("b", "user"), ("b", "assistant"), ("c", "Ann"), (None, "Ben"), (None, "Ann")]
    partition.upsert([row(n, session=session, speaker=who) for n, (session, who) in enumerate(said, start=1)])
    timeline = partition.timeline()
    by_id = dict(zip(timeline.ids.tolist(), timeline.dialogue.tolist(), strict=True))
    assert [by_id[n] for n in range(1, 8)] == [1, 1, 0, 0, 0, 0, 0]
    assert Partition(ANNA).timeline().dialogue.tolist() == []


def test_terms_are_found_without_vectors() -> None:
    partition = Partition(ANNA)
    partition.upsert([row(1, terms="red house"), row(2, terms="blue car")])
    assert partition.index is None
    assert partition.postings.search(["car"], 5)[0].tolist() == [2]


def test_memory_without_vector_is_removed_from_vector_index() -> None:
    vector = np.eye(DIMENSION, dtype=np.float32)[0].tobytes()
    partition = Partition(ANNA, 1)
    partition.upsert([row(1, vector=vector), row(2, vector=vector)])
    partition.upsert([row(1)])
    assert partition.index is not None
    assert partition.index.ids.tolist() == [2]
    assert len(partition) == 2


@pytest.mark.parametrize("vector", [b"\0" * 12, np.full(DIMENSION, np.nan, dtype=np.float32).tobytes()])
def test_invalid_vector_is_refused_before_anything_changes(vector: bytes) -> None:
    partition = Partition(ANNA, 1)
    partition.upsert([row(1, terms="red", vector=np.eye(DIMENSION, dtype=np.float32)[0].tobytes())])
    with pytest.raises(Incompatible, match="reembed"):
        partition.upsert([row(1, terms="blue"), row(2, terms="blue", vector=vector)])
    assert partition.ids.tolist() == [1]
    assert partition.postings.search(["red"], 5)[0].tolist() == [1]


def test_speakers_are_those_of_present_memories() -> None:
    partition = Partition(ANNA)
    partition.upsert([row(1, speaker="Ben"), row(2), row(3, speaker="Anna"), row(4, speaker="Ben", valid_to=inf)])
    assert partition.speakers == ("Anna", "Ben")
    assert partition.said_by("Ben").tolist() == [1, 4]
    assert partition.said_by("Nobody").tolist() == []
    partition.remove(np.array([3]))
    assert list(partition.speakers) == ["Ben"]


def test_names_of_removed_memories_are_forgotten_and_the_others_stay_right() -> None:
    partition = Partition(ANNA)
    partition.upsert([row(1, agent="a", session="kept", speaker="Ben")])
    for number in range(2, 1_000):
        partition.upsert([row(number, agent="b", session=f"session {number}", speaker=f"guest {number}")])
        partition.remove(np.array([number - 1] if number > 2 else []))
    assert len(partition._sessions) < 200
    assert len(partition._speakers) < 200
    assert partition.said_by("Ben").tolist() == [1]
    assert partition.said_by("guest 999").tolist() == [999]
    assert partition.speakers == ("Ben", "guest 999")
    for session, found in (("kept", [1]), ("session 999", [999]), ("session 5", [])):
        seen = partition.eligible(None, session, 0.0)
        assert seen is not None
        assert seen.tolist() == found
