from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from memoranda.index.faiss import FAISSIndex
from memoranda.index.lexical import Postings
from memoranda.recall.arms import Arm, content_scores, dense_arm, lexical_arm
from memoranda.recall.base import NO_SESSION, Field, align
from memoranda.recall.rank import (
    Evidence,
    Ranking,
    as_score,
    dialogue,
    holding_gains,
    neighbour_gains,
    rank,
    session_gains,
    speaker_gains,
    time_gains,
)
from memoranda.types import FloatArray, Window

NONE = np.empty(0, dtype=np.int64)
DAY = 86_400.0
START = datetime(2023, 5, 1, tzinfo=UTC)


def field_of(sessions: list[int], *, ids: list[int] | None = None, times: list[float] | None = None) -> Field:
    numbers = np.array(ids or range(1, len(sessions) + 1), dtype=np.int64)
    places = np.arange(len(sessions), dtype=np.int64)
    when = np.array(times or [0.0] * len(sessions), dtype=np.float64)
    return Field(numbers, places, np.array(sessions, dtype=np.int64), when, np.argsort(numbers), len(sessions))


def floats(*values: float) -> FloatArray:
    return np.array(values, dtype=np.float32)


def ranking_of(dense: FloatArray, field: Field, evidence: Evidence | None = None) -> Ranking:
    arms = [Arm("dense", dense, dense), Arm("lexical", np.zeros_like(dense), np.zeros_like(dense))]
    return rank(arms, field, evidence or Evidence(NONE, 0.0, None, ()))


class TestField:
    def test_rows_are_found_by_id_and_strangers_left_out(self) -> None:
        field = field_of([0, 0, 1], ids=[30, 10, 20])
        assert field.rows_of(np.array([10, 20, 99])).tolist() == [1, 2]

    def test_neighbours_are_of_one_session_and_none_without_a_session(self) -> None:
        assert field_of([0, 0, 1, 1]).beside(1).tolist() == [True, False, True]
        assert field_of([NO_SESSION, NO_SESSION]).beside(1).tolist() == [False]

    def test_a_gap_in_the_timeline_parts_neighbours(self) -> None:
        field = field_of([0, 0, 0])
        gap = Field(field.ids, np.array([0, 2, 3]), field.sessions, field.times, field.by_id, 4)
        assert gap.beside(1).tolist() == [False, True]
        assert [gap.before(row) for row in range(3)] == [None, None, 1]

    def test_scores_by_id_are_laid_over_the_rows(self) -> None:
        field = field_of([0, 0, 1], ids=[30, 10, 20])
        assert align(field, np.array([10, 30, 40]), floats(1, 2, 3)).tolist() == [2, 1, 0]


class TestArms:
    def test_the_lexical_arm_knows_how_much_of_the_question_a_text_holds(self) -> None:
        texts = Postings()
        texts.add(1, ["tea", "milk"])
        texts.add(2, ["tea", "sun"])
        texts.add(3, ["sun", "sea"])
        arm = lexical_arm(("tea", "milk"), texts, field_of([0, 0, 0]))
        assert arm.raw[0] > arm.raw[1] > arm.raw[2] == 0
        assert arm.scores[0] > arm.scores[1] > arm.scores[2]

    def test_words_that_nobody_said_tell_none_from_another(self) -> None:
        arm = lexical_arm(("tea",), Postings(), field_of([0, 0]))
        assert arm.raw.tolist() == [0, 0]
        assert arm.scores[0] == arm.scores[1]

    def test_no_words_at_all_say_nothing(self) -> None:
        assert lexical_arm((), Postings(), field_of([0, 0])).scores.tolist() == [0, 0]

    def test_the_dense_arm_counts_from_what_is_usual_and_not_from_zero(self) -> None:
        index = FAISSIndex(2)
        index.add(np.array([1, 2, 3]), np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32))
        field = field_of([0, 0, 0])
        arm = dense_arm(floats(1, 0), index, field, field.ids, 0.0)
        assert arm.raw.tolist() == pytest.approx([1.0, 0.8, 0.0])
        assert arm.scores[0] > arm.scores[1] > arm.scores[2]

    def test_a_memory_without_a_vector_is_neither_near_nor_far(self) -> None:
        index = FAISSIndex(2)
        index.add(np.array([1]), np.array([[1, 0]], dtype=np.float32))
        field = field_of([0, 0])
        arm = dense_arm(floats(1, 0), index, field, field.ids, 0.0)
        assert arm.scores[1] == 0 < arm.scores[0]

    def test_one_arm_alone_counts_fully(self) -> None:
        assert content_scores([Arm("lexical", floats(1), floats(2.0))]).tolist() == [2.0]


class TestTalk:
    def test_short_texts_are_talk_and_long_ones_are_not(self) -> None:
        assert dialogue(20) == 1.0
        assert dialogue(60) == 0.5
        assert dialogue(200) == 0.0

    def test_a_turn_gives_to_those_around_it_less_the_further_they_are(self) -> None:
        gains = neighbour_gains(floats(0, 0, 4, 0, 0, 0), np.zeros(6, dtype=np.bool_), field_of([0] * 6))
        assert gains.tolist() == pytest.approx([0.4, 0.8, 0, 0.8, 0.4, 0])

    def test_nothing_goes_from_one_session_to_the_next(self) -> None:
        gains = neighbour_gains(floats(4, 0), np.array([True, False]), field_of([0, 1]))
        assert gains.tolist() == [0, 0]

    def test_a_question_gives_to_its_reply(self) -> None:
        asking = np.array([True, False, False])
        gains = neighbour_gains(floats(4, 0, 0), asking, field_of([0, 0, 0]))
        assert gains.tolist() == pytest.approx([0, 2.8, 0.4])

    def test_one_memory_alone_has_no_neighbours(self) -> None:
        assert neighbour_gains(floats(4), np.zeros(1, dtype=np.bool_), field_of([0])).tolist() == [0]

    def test_a_session_shares_its_best_and_what_has_none_gets_nothing(self) -> None:
        gains = session_gains(floats(1, 4, 2, 8), field_of([NO_SESSION, 0, 0, 1]))
        assert gains.tolist() == [0, 1, 1, 2]

    def test_a_session_where_nothing_fits_loses_nothing(self) -> None:
        assert session_gains(floats(-1, -2), field_of([0, 0])).tolist() == [0, 0]


class TestBoosts:
    def test_what_the_person_asked_about_said_stands_out(self) -> None:
        field = field_of([0, 0, 0])
        assert speaker_gains(np.array([1, 3]), field).tolist() == [1, 0, 1]
        assert speaker_gains(None, field).tolist() == [0, 0, 0]

    def test_a_window_counts_more_the_fewer_it_leaves(self) -> None:
        first, second = START.timestamp(), START.timestamp() + 100 * DAY
        day = Window(START, datetime(2023, 5, 2, tzinfo=UTC), "on 1 May")
        few = time_gains([day], field_of([0] * 8, times=[first, *[second] * 7]))
        many = time_gains([day], field_of([0] * 8, times=[*[first] * 4, *[second] * 4]))
        assert few.tolist() == pytest.approx([np.log(4 * 7), *[0] * 7])
        assert many[0] == pytest.approx(np.log(4))

    def test_a_window_around_everything_says_nothing(self) -> None:
        day = Window(START, datetime(2023, 5, 2, tzinfo=UTC), "on 1 May")
        assert time_gains([day], field_of([0, 0], times=[START.timestamp()] * 2)).tolist() == [0, 0]
        assert time_gains([], field_of([0, 0])).tolist() == [0, 0]

    def test_what_is_told_soon_after_counts_half_and_what_came_before_not_at_all(self) -> None:
        day = Window(START, datetime(2023, 5, 2, tzinfo=UTC), "on 1 May")
        start = START.timestamp()
        gains = time_gains([day], field_of([0] * 4, times=[start - 1, start, start + DAY, start + 9 * DAY]))
        assert gains[0] == gains[3] == 0
        assert gains[2] == pytest.approx(gains[1] / 2)

    def test_what_holds_the_kind_asked_for_counts_more_the_fewer_do(self) -> None:
        few, many = holding_gains(np.array([1]), field_of([0] * 8)), holding_gains(np.array([1, 2]), field_of([0] * 4))
        assert few.tolist() == pytest.approx([np.log(7 / 3 * 7) / 2, *[0] * 7])
        assert many.tolist() == pytest.approx([np.log(7 / 3) / 2] * 2 + [0, 0])

    def test_a_kind_that_nearly_every_text_holds_says_nothing_and_neither_does_none(self) -> None:
        field = field_of([0] * 4)
        assert holding_gains(np.array([1, 2, 3]), field).tolist() == [0] * 4
        assert holding_gains(np.array([1, 2, 3, 4]), field).tolist() == [0] * 4
        assert holding_gains(np.array([99]), field).tolist() == [0] * 4
        assert holding_gains(None, field).tolist() == [0] * 4


class TestRanking:
    def test_the_best_come_first_and_equals_by_id(self) -> None:
        ranking = ranking_of(floats(1, 3, 3, 2), field_of([0, 1, 2, 3], ids=[4, 3, 2, 1]))
        assert ranking.field.ids[ranking.best(3)].tolist() == [2, 3, 1]
        assert ranking.best(99).tolist() == [2, 1, 3, 0]

    def test_a_filter_hides_rows(self) -> None:
        ranking = ranking_of(floats(1, 3, 2), field_of([0, 1, 2]))
        assert ranking.best(2, np.array([True, False, True])).tolist() == [2, 0]

    def test_without_vectors_only_what_something_speaks_for_is_found(self) -> None:
        arm = Arm("lexical", floats(0, 0.5), floats(-0.1, 3.0))
        ranking = rank([arm], field_of([0, 1]), Evidence(NONE, 0.0, None, ()))
        assert ranking.best(10).tolist() == [1]

    def test_every_reason_is_named_with_its_rank(self) -> None:
        evidence = Evidence(np.array([1]), 1.0, np.array([2]), ())
        why = {each.arm: each for each in ranking_of(floats(0.9, 0.5), field_of([0, 0]), evidence).why(1)}
        assert set(why) == {"dense", "neighbours", "session", "speaker"}
        assert (why["dense"].rank, why["speaker"].rank) == (2, 1)
        assert why["speaker"].gain == 1.0

    def test_asking_stands_back_in_a_talk_and_not_among_long_texts(self) -> None:
        asking = np.array([1])
        talk = ranking_of(floats(1, 0.9), field_of([0, 1]), Evidence(asking, 1.0, None, ()))
        long = ranking_of(floats(1, 0.9), field_of([0, 1]), Evidence(asking, 0.0, None, ()))
        assert talk.best(1).tolist() == [1]
        assert long.best(1).tolist() == [0]

    def test_nothing_to_rank_is_an_empty_ranking(self) -> None:
        assert ranking_of(floats(), field_of([])).best(5).tolist() == []

    def test_scores_lie_between_0_and_1_and_keep_the_order(self) -> None:
        scores = as_score(floats(-1e6, -3, 0, 3, 12, 1e6))
        assert scores.min() >= 0
        assert scores.max() <= 1
        assert (np.diff(scores) >= 0).all()
        assert scores[3] == pytest.approx(0.5)
