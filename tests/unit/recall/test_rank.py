from __future__ import annotations

from datetime import UTC, datetime
from math import log

import numpy as np
import pytest

from memoranda.index.faiss import FAISSIndex
from memoranda.index.lexical import Postings
from memoranda.index.partition import UNNAMED
from memoranda.recall.arms import Arm, CandidateSet, QueryVector, combine_arms, dense_arm, lexical_arm
from memoranda.recall.rank import (
    Evidence,
    Ranking,
    answer_type_gains,
    neighbour_gains,
    order_rows,
    rank,
    session_gains,
    speaker_gains,
    time_gains,
    to_scores,
)
from memoranda.types import FloatArray, Window

NO_IDS = np.empty(0, dtype=np.int64)
DAY = 86_400.0
START = datetime(2023, 5, 1, tzinfo=UTC)


def make_candidates(
    sessions: list[int],
    *,
    ids: list[int] | None = None,
    times: list[float] | None = None,
    dialogue: float = 0.0,
) -> CandidateSet:
    numbers = np.array(ids or range(1, len(sessions) + 1), dtype=np.int64)
    positions = np.arange(len(sessions), dtype=np.int64)
    moments = np.array(times or [0.0] * len(sessions), dtype=np.float64)
    shares = np.full(len(sessions), dialogue, dtype=np.float32)
    return CandidateSet(
        numbers, positions, np.array(sessions, dtype=np.int64), moments, np.argsort(numbers), len(sessions), shares
    )


def floats(*values: float) -> FloatArray:
    return np.array(values, dtype=np.float32)


def make_ranking(dense: FloatArray, candidates: CandidateSet, evidence: Evidence | None = None) -> Ranking:
    arms = [Arm("dense", dense, dense), Arm("lexical", np.zeros_like(dense), np.zeros_like(dense))]
    return rank(arms, candidates, evidence or Evidence(NO_IDS, None, ()))


class TestCandidateSet:
    def test_rows_of_leaves_out_unknown_ids(self) -> None:
        candidates = make_candidates([0, 0, 1], ids=[30, 10, 20])
        assert candidates.rows_of(np.array([10, 20, 99])).tolist() == [1, 2]

    def test_adjacent_rows_share_a_session(self) -> None:
        assert make_candidates([0, 0, 1, 1]).adjacent(1).tolist() == [True, False, True]
        assert make_candidates([UNNAMED, UNNAMED]).adjacent(1).tolist() == [False]

    def test_gap_in_timeline_separates_rows(self) -> None:
        candidates = make_candidates([0, 0, 0])
        gap = CandidateSet(
            candidates.ids,
            np.array([0, 2, 3]),
            candidates.sessions,
            candidates.times,
            candidates.by_id,
            4,
            candidates.dialogue,
        )
        assert gap.adjacent(1).tolist() == [False, True]
        assert [gap.previous(row) for row in range(3)] == [None, None, 1]


class TestArms:
    def test_lexical_arm_scores_by_share_of_question_terms(self) -> None:
        texts = Postings()
        texts.add(1, ["tea", "milk"])
        texts.add(2, ["tea", "sun"])
        texts.add(3, ["sun", "sea"])
        arm = lexical_arm(("tea", "milk"), texts, make_candidates([0, 0, 0]))
        assert arm.raw[0] > arm.raw[1] > arm.raw[2] == 0
        assert arm.scores[0] > arm.scores[1] > arm.scores[2]

    def test_unknown_words_score_all_texts_equally(self) -> None:
        arm = lexical_arm(("tea",), Postings(), make_candidates([0, 0]))
        assert arm.raw.tolist() == [0, 0]
        assert arm.scores[0] == arm.scores[1]

    def test_lexical_arm_without_terms_scores_zero(self) -> None:
        assert lexical_arm((), Postings(), make_candidates([0, 0])).scores.tolist() == [0, 0]

    def test_dense_arm_scores_deviations_from_mean(self) -> None:
        index = FAISSIndex(2)
        index.add(np.array([1, 2, 3]), np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32))
        candidates = make_candidates([0, 0, 0])
        arm = dense_arm(QueryVector(floats(1, 0), 0.0), index, candidates, candidates.ids)
        assert arm.raw.tolist() == pytest.approx([1.0, 0.8, 0.0])
        assert arm.scores[0] > arm.scores[1] > arm.scores[2]

    def test_memory_without_vector_scores_zero(self) -> None:
        index = FAISSIndex(2)
        index.add(np.array([1]), np.array([[1, 0]], dtype=np.float32))
        candidates = make_candidates([0, 0])
        arm = dense_arm(QueryVector(floats(1, 0), 0.0), index, candidates, candidates.ids)
        assert arm.scores[1] == 0 < arm.scores[0]

    def test_single_arm_counts_fully(self) -> None:
        assert combine_arms([Arm("lexical", floats(1), floats(2.0))], floats(0)).tolist() == [2.0]

    def test_words_count_half_outside_dialogues(self) -> None:
        arms = [Arm("dense", floats(1, 1), floats(0, 0)), Arm("lexical", floats(1, 1), floats(1, 1))]
        in_dialogue, alone = combine_arms(arms, floats(1, 0)).tolist()
        assert alone == pytest.approx(in_dialogue / 2)

    def test_words_count_alike_where_the_model_does_not_know_the_language(self) -> None:
        unsure = Arm("dense", floats(1, 1), floats(0, 0), is_sure=False)
        in_dialogue, alone = combine_arms([unsure, Arm("lexical", floats(1, 1), floats(1, 1))], floats(1, 0)).tolist()
        assert alone == in_dialogue


class TestDialogue:
    def test_neighbour_gains_fall_with_distance(self) -> None:
        gains = neighbour_gains(floats(0, 0, 4, 0, 0, 0), np.zeros(6, dtype=np.bool_), make_candidates([0] * 6))
        assert gains.tolist() == pytest.approx([0.2, 0.4, 0, 0.4, 0.2, 0])

    def test_neighbour_gains_stay_inside_a_session(self) -> None:
        gains = neighbour_gains(floats(4, 0), np.array([True, False]), make_candidates([0, 1]))
        assert gains.tolist() == [0, 0]

    def test_reply_gains_from_question(self) -> None:
        asking = np.array([True, False, False])
        gains = neighbour_gains(floats(4, 0, 0), asking, make_candidates([0, 0, 0]))
        assert gains.tolist() == pytest.approx([0, 2.4, 0.2])

    def test_single_memory_has_no_neighbour_gain(self) -> None:
        assert neighbour_gains(floats(4), np.zeros(1, dtype=np.bool_), make_candidates([0])).tolist() == [0]

    def test_session_shares_its_best_score(self) -> None:
        gains = session_gains(floats(1, 4, 2, 8), make_candidates([UNNAMED, 0, 0, 1]))
        assert gains.tolist() == [0, 1, 1, 2]

    def test_session_gain_is_never_negative(self) -> None:
        assert session_gains(floats(-1, -2), make_candidates([0, 0])).tolist() == [0, 0]


class TestOrder:
    def test_question_for_several_things_covers_more_sessions(self) -> None:
        candidates = make_candidates([0, 0, 0, 1])
        ranking = make_ranking(floats(3.0, 2.9, 2.8, 2.75), candidates)
        plain, _ = order_rows(ranking, 3, None, several=False)
        several, sums = order_rows(ranking, 3, None, several=True)
        assert plain.tolist() == [0, 1, 2]
        assert set(several.tolist()) == {0, 1, 3}
        assert sorted(sums.tolist(), reverse=True) == sums.tolist()

    def test_memories_without_a_session_keep_their_order(self) -> None:
        ranking = make_ranking(floats(3.0, 2.9, 2.8), make_candidates([UNNAMED] * 3))
        assert order_rows(ranking, 3, None, several=True)[0].tolist() == [0, 1, 2]

    def test_more_rows_than_are_spread_follow_in_falling_order(self) -> None:
        ranking = make_ranking(floats(*np.linspace(5, 1, 60).tolist()), make_candidates([0] * 60))
        rows, sums = order_rows(ranking, 60, None, several=True)
        assert sorted(rows.tolist()) == list(range(60))
        assert (np.diff(sums) <= 0).all()


class TestBoosts:
    def test_speaker_gains_more_the_less_that_speaker_said(self) -> None:
        half, few = speaker_gains(np.array([True, False])), speaker_gains(np.array([True, False, False, False]))
        assert few[0] > half[0] > 0 == half[1]
        assert speaker_gains(np.array([True, True])).tolist() == [0, 0]
        assert speaker_gains(np.array([False, False])).tolist() == [0, 0]

    def test_conversations_with_the_speaker_gain_more_the_fewer_they_are_and_own_words_most(self) -> None:
        said = np.array([True, False, False, False])
        gains = speaker_gains(said, np.array([True, True, False, False]))
        assert gains[0] > gains[1] > 0
        assert gains[2:].tolist() == [0, 0]
        alone = speaker_gains(said, np.array([True, True, True, True]))
        assert alone[0] > 0
        assert alone[1:].tolist() == [0, 0, 0]

    def test_window_gains_more_the_fewer_are_inside(self) -> None:
        first, second = START.timestamp(), START.timestamp() + 100 * DAY
        day = Window(START, datetime(2023, 5, 2, tzinfo=UTC), "on 1 May")
        few = time_gains([day], make_candidates([0] * 8, times=[first, *[second] * 7]))
        many = time_gains([day], make_candidates([0] * 8, times=[*[first] * 4, *[second] * 4]))
        assert few.tolist() == pytest.approx([np.log(4 * 7), *[0] * 7])
        assert many[0] == pytest.approx(np.log(4))

    def test_window_around_everything_gains_nothing(self) -> None:
        day = Window(START, datetime(2023, 5, 2, tzinfo=UTC), "on 1 May")
        assert time_gains([day], make_candidates([0, 0], times=[START.timestamp()] * 2)).tolist() == [0, 0]
        assert time_gains([], make_candidates([0, 0])).tolist() == [0, 0]

    def test_memory_soon_after_window_gains_half_and_before_it_nothing(self) -> None:
        day = Window(START, datetime(2023, 5, 2, tzinfo=UTC), "on 1 May")
        start = START.timestamp()
        gains = time_gains([day], make_candidates([0] * 4, times=[start - 1, start, start + DAY, start + 9 * DAY]))
        assert gains[0] == gains[3] == 0
        assert gains[2] == pytest.approx(gains[1] / 2)

    def test_answer_type_gains_more_the_fewer_texts_hold_it(self) -> None:
        few, many = (
            answer_type_gains(np.array([1]), make_candidates([0] * 8)),
            answer_type_gains(np.array([1, 2]), make_candidates([0] * 4)),
        )
        assert few.tolist() == pytest.approx([np.log(7 / 3 * 7) / 4, *[0] * 7])
        assert many.tolist() == pytest.approx([np.log(7 / 3) / 4] * 2 + [0, 0])

    def test_answer_type_in_nearly_every_text_or_none_gains_nothing(self) -> None:
        candidates = make_candidates([0] * 4)
        assert answer_type_gains(np.array([1, 2, 3]), candidates).tolist() == [0] * 4
        assert answer_type_gains(np.array([1, 2, 3, 4]), candidates).tolist() == [0] * 4
        assert answer_type_gains(np.array([99]), candidates).tolist() == [0] * 4
        assert answer_type_gains(None, candidates).tolist() == [0] * 4


class TestRanking:
    def test_best_come_first_and_ties_by_id(self) -> None:
        ranking = make_ranking(floats(1, 3, 3, 2), make_candidates([0, 1, 2, 3], ids=[4, 3, 2, 1]))
        assert ranking.candidates.ids[ranking.best(3)].tolist() == [2, 3, 1]
        assert ranking.best(99).tolist() == [2, 1, 3, 0]

    def test_best_leaves_out_filtered_rows(self) -> None:
        ranking = make_ranking(floats(1, 3, 2), make_candidates([0, 1, 2]))
        assert ranking.best(2, np.array([True, False, True])).tolist() == [2, 0]

    def test_without_vectors_only_matching_rows_are_found(self) -> None:
        arm = Arm("lexical", floats(0, 0.5), floats(-0.1, 3.0))
        ranking = rank([arm], make_candidates([0, 1]), Evidence(NO_IDS, None, ()))
        assert ranking.best(10).tolist() == [1]

    def test_why_names_each_reason_with_its_rank(self) -> None:
        evidence = Evidence(np.array([1]), np.array([2]), ())
        candidates = make_candidates([0, 0], dialogue=1.0)
        why = {each.arm: each for each in make_ranking(floats(0.9, 0.5), candidates, evidence).why(1)}
        assert set(why) == {"dense", "neighbours", "session", "speaker"}
        assert (why["dense"].rank, why["speaker"].rank) == (2, 1)
        assert why["speaker"].gain == pytest.approx(0.7 * log(4))

    def test_question_turn_loses_in_dialogue_but_not_among_notes(self) -> None:
        evidence = Evidence(np.array([1]), None, ())
        turns = make_ranking(floats(1, 0.9), make_candidates([0, 1], dialogue=1.0), evidence)
        notes = make_ranking(floats(1, 0.9), make_candidates([0, 1]), evidence)
        assert turns.best(1).tolist() == [1]
        assert notes.best(1).tolist() == [0]

    def test_rules_of_dialogue_hold_only_in_the_pieces_that_are_dialogue(self) -> None:
        candidates = make_candidates([0, 0, 1, 1])
        candidates.dialogue[:2] = 1.0
        ranking = make_ranking(floats(2, 0, 2, 0), candidates, Evidence(np.array([1, 3]), None, ()))
        assert ranking.gains["neighbours"][1] > 0 == ranking.gains["neighbours"][3]
        assert ranking.gains["asking"][0] < 0 == ranking.gains["asking"][2]
        assert ranking.dialogue == 0.5

    def test_no_candidates_give_empty_ranking(self) -> None:
        assert make_ranking(floats(), make_candidates([])).best(5).tolist() == []

    def test_scores_lie_between_0_and_1_in_order_of_sums(self) -> None:
        scores = to_scores(floats(-1e6, -3, 0, 3, 12, 1e6))
        assert scores.min() >= 0
        assert scores.max() <= 1
        assert (np.diff(scores) >= 0).all()
        assert scores[3] == pytest.approx(0.5)
