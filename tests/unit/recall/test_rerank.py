from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memoranda import MemoryManager
from memoranda.embedding.local import StaticEmbedder
from memoranda.recall import pipeline, rank, rerank
from memoranda.recall.rerank import BEST, DEFAULT, cut_texts, reorder
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import FloatArray, Hit


class FakeEncoder:
    """Scores a text by the words of `liked` in it, and keeps what it was given."""

    def __init__(self, liked: str = "") -> None:
        self.liked = liked
        self.read: list[str] = []

    def scores(self, question: str, texts: Sequence[str]) -> FloatArray:
        del question
        self.read += texts
        return np.array([100.0 if self.liked and self.liked in text else 0.0 for text in texts], dtype=np.float32)


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> FakeEncoder:
    fake = FakeEncoder()
    monkeypatch.setattr(rerank, "open_cross_encoder", lambda _: fake)
    return fake


@pytest.fixture
def memory(tmp_path: Path) -> MemoryManager:
    return MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64))


def _say(memory: MemoryManager, session: str, *lines: str) -> None:
    pairs = [line.split(": ") for line in lines]
    messages = [{"role": "user", "name": name, "content": text} for name, text in pairs]
    memory.remember(messages, session=session, keep_all=True)


def _talk(memory: MemoryManager) -> None:
    _say(
        memory,
        "monday",
        "Ann: Where is your cat?",
        "Ben: The cat sleeps in the barn.",
        "Ann: My cat likes the kitchen.",
        "Ben: Kitchens are warm.",
    )


def _hits(memory: MemoryManager) -> tuple[Hit, ...]:
    return memory.recall("Where does the cat sleep?", mode="fast").hits


def test_sum_of_the_ranking_still_counts(memory: MemoryManager) -> None:
    _talk(memory)
    first, second = _hits(memory)[:2]
    sums = np.array([6.0, 5.0], dtype=np.float32)
    close = reorder((first, second), sums, np.array([1.0, 2.0], np.float32), 0.4)
    far = reorder((first, second), sums, np.array([-5.0, 5.0], np.float32), 0.4)
    assert [hit.id for hit in close] == [first.id, second.id]
    assert [hit.id for hit in far] == [second.id, first.id]


def test_default_mode_reads_hits_with_the_question_where_people_take_turns(
    memory: MemoryManager, encoder: FakeEncoder
) -> None:
    _talk(memory)
    encoder.liked = "Kitchens are warm."
    found = memory.recall("Where does the cat sleep?")
    assert found[0].content == "Kitchens are warm."
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    reason = {each.arm: each for each in found[0].why}["reranker"]
    assert (reason.rank, reason.gain > 0) == (1, True)


def test_reading_hits_with_the_question_keeps_the_mean_of_their_sums(memory: MemoryManager) -> None:
    _talk(memory)
    hits = _hits(memory)[:2]
    sums = np.array([6.0, 5.0], dtype=np.float32)
    gains = [hit.why[-1].gain for hit in reorder(hits, sums, np.array([1.0, -1.0], np.float32), 0.4)]
    assert gains == pytest.approx([0.4, -0.4])


def test_scores_are_spread_no_more_widely_by_a_model_that_is_sure_of_itself(memory: MemoryManager) -> None:
    _talk(memory)
    hits = _hits(memory)[:4]
    sums = np.array([6.0, 5.0, 4.0, 3.0], dtype=np.float32)
    sure = reorder(hits[: len(sums)], sums[: len(hits)], np.array([9.0, 8.0, -9.0, -9.5], np.float32)[: len(hits)], 0.6)
    scores = [hit.score for hit in sure]
    assert scores == sorted(scores, reverse=True)
    assert len({round(score, 2) for score in scores}) == len(scores)
    assert scores[0] < 0.95


def test_order_of_a_list_is_kept_where_the_model_tells_no_difference(
    memory: MemoryManager, encoder: FakeEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rank, "SPREAD_COST", 9.0)
    _say(memory, "monday", "Ann: I play the game chess.", "Ben: I play the game go.", "Ann: A game is fun to play.")
    _say(memory, "friday", "Ann: I was ill.", "Ben: We play a game.", "Ann: Get well soon.")
    question = "Which games does Ann play?"
    reranked = [hit.id for hit in memory.recall(question)]
    assert encoder.read
    monkeypatch.setattr(pipeline.RecallPipeline, "_plan_reranking", lambda *_: None)
    assert reranked == [hit.id for hit in memory.recall(question)]


def test_what_others_say_about_the_subject_is_no_sign_of_an_answer(memory: MemoryManager, encoder: FakeEncoder) -> None:
    _talk(memory)
    encoder.liked = "The cat sleeps in the barn."

    def read(question: str) -> float:
        explanation = memory.recall(question, limit=1, explain=True).explanation
        assert explanation is not None
        return explanation.signals["read"]

    assert read("Where does the cat of Ben sleep?") > 0
    assert read("Where does the cat of Ann sleep?") == 0


def test_answerable_heeds_the_reader_more_in_best(memory: MemoryManager, encoder: FakeEncoder) -> None:
    _talk(memory)
    encoder.liked = "The cat sleeps in the barn."
    question = "Where does the cat of Ben sleep?"
    assert memory.recall(question, mode="best").answerable > memory.recall(question).answerable


def test_default_mode_reads_no_notes(memory: MemoryManager, encoder: FakeEncoder) -> None:
    memory.add_memories(["The cat sleeps in the barn.", "Kitchens are warm.", "My cat likes the kitchen."])
    memory.recall("Where does the cat sleep?")
    assert encoder.read == []
    memory.recall("Where does the cat sleep?", mode="best")
    assert len(encoder.read) == 3


def test_default_mode_reads_what_one_person_says_alone(memory: MemoryManager, encoder: FakeEncoder) -> None:
    _say(memory, "monday", "Ann: The cat sleeps in the barn.", "Ann: Kitchens are warm.")
    memory.recall("Where does the cat sleep?")
    assert encoder.read == ["Ann: The cat sleeps in the barn.", "Ann: Kitchens are warm."]


def test_default_mode_reads_no_chat_with_an_assistant(memory: MemoryManager, encoder: FakeEncoder) -> None:
    messages = [
        {"role": "user", "content": "The cat sleeps in the barn."},
        {"role": "assistant", "content": "Barns are warm, and a cat likes that."},
    ]
    memory.remember(messages, session="monday", keep_all=True)
    memory.recall("Where does the cat sleep?")
    assert encoder.read == []


def test_question_in_another_language_is_not_read(memory: MemoryManager, encoder: FakeEncoder) -> None:
    _talk(memory)
    memory.recall("Wo schläft die Katze in der Nacht, und wer hat sie gesehen?")
    assert encoder.read == []


def test_reply_is_read_after_the_question_and_other_turns_alone(memory: MemoryManager, encoder: FakeEncoder) -> None:
    _talk(memory)
    memory.recall("Where does the cat sleep?")
    assert sorted(encoder.read) == [
        "Ann: My cat likes the kitchen.",
        "Ann: Where is your cat?",
        "Ann: Where is your cat? Ben: The cat sleeps in the barn.",
        "Ben: Kitchens are warm.",
    ]


def test_of_the_turn_before_only_its_questions_are_read(memory: MemoryManager, encoder: FakeEncoder) -> None:
    _say(memory, "monday", "Ann: I was away. Where is your cat? I like cats.", "Ben: In the barn.", "Ann: Good.")
    memory.recall("Where does the cat sleep?")
    assert "Ann: Where is your cat? Ben: In the barn." in encoder.read


def test_alias_in_the_question_is_read_as_the_name_in_the_texts(
    memory: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class Listening(FakeEncoder):
        def scores(self, question: str, texts: Sequence[str]) -> FloatArray:
            asked.append(question)
            return super().scores(question, texts)

    monkeypatch.setattr(rerank, "open_cross_encoder", lambda _: Listening())
    said = (
        "Please call me Kate.",
        "I love sailing on the sea.",
        "I love sailing on the lake.",
        "My boat has a red sail.",
    )
    names = ("Katherine", "Tom", "Katherine", "Tom")
    messages = [{"role": "user", "name": name, "content": text} for name, text in zip(names, said, strict=True)]
    memory.remember(messages, session="monday")
    memory.recall("Which sport does Kate love?")
    assert asked == ["Which sport does Katherine love?"]


def test_fast_mode_and_stores_without_a_neural_model_read_nothing(
    memory: MemoryManager, encoder: FakeEncoder, tmp_path: Path
) -> None:
    _talk(memory)
    memory.recall("Where does the cat sleep?", mode="fast")
    for name, embedder in (("static", StaticEmbedder()), ("lookup", _Lookup(64))):
        with MemoryManager(f"sqlite:///{tmp_path}/{name}.db", embedder=embedder) as other:
            _talk(other)
            other.recall("Where does the cat sleep?")
    assert encoder.read == []


class _Lookup(HashEmbedder):
    instant = True


def test_rank_of_why_not_is_the_rank_after_reranking(memory: MemoryManager, encoder: FakeEncoder) -> None:
    _talk(memory)
    encoder.liked = "Kitchens are warm."
    for position, hit in enumerate(memory.recall("Where does the cat sleep?"), start=1):
        why = memory.why_not("Where does the cat sleep?", hit.id)
        assert (why.rank, why.step) == (position, "found")
        assert why.score == pytest.approx(hit.score)


def test_lowest_score_counts_after_reranking(memory: MemoryManager, encoder: FakeEncoder) -> None:
    _talk(memory)
    encoder.liked = "Kitchens are warm."
    everything = memory.recall("Where does the cat sleep?")
    floor = everything[0].score
    assert [hit.id for hit in memory.recall("Where does the cat sleep?", min_score=floor)] == [everything[0].id]


def test_pair_is_scored_once_per_model_and_tenant(memory: MemoryManager, encoder: FakeEncoder) -> None:
    other = memory.for_tenant("other")
    for each in (memory, other):
        _talk(each)
    for _ in range(2):
        memory.recall("Whose cat is old?", mode="best")
    once = len(encoder.read)
    assert once == len(set(encoder.read)) > 0
    other.recall("Whose cat is old?", mode="best")
    assert len(encoder.read) == 2 * once


def test_scored_pairs_are_kept_up_to_a_limit(
    memory: MemoryManager, encoder: FakeEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerank, "_CACHED_PAIRS", 2)
    _talk(memory)
    memory.recall("Whose cat is old?", mode="best")
    once = len(encoder.read)
    memory.recall("Whose cat is old?", mode="best")
    assert once < len(encoder.read) <= 2 * once


def test_only_the_first_hits_are_read(
    memory: MemoryManager, encoder: FakeEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "BEST", replace(BEST, limit=2))
    _talk(memory)
    encoder.liked = "Kitchens are warm."
    found = memory.recall("Where does the cat sleep?", mode="best")
    assert len(encoder.read) == 2
    assert ["reranker" in {each.arm for each in hit.why} for hit in found] == [True, True, False, False]


def test_best_reads_a_hit_once_after_the_whole_turn_before(memory: MemoryManager, encoder: FakeEncoder) -> None:
    said = [("Ann", "I was in town. Where is the cat?"), ("Ben", "In the barn, asleep."), ("Ann", "Good to know.")]
    memory.remember([{"role": "user", "name": name, "content": text} for name, text in said], session="s")
    memory.recall("Where does the cat sleep?", mode="best")
    assert "Ann: I was in town. Where is the cat? Ben: In the barn, asleep." in encoder.read
    assert len(encoder.read) == 2  # the last turn says nothing and is not stored


@pytest.mark.parametrize(("length", "count"), [(10, 15), (500, 12), (10_000, 6), (0, 15)])
def test_of_long_texts_fewer_hits_are_read(length: int, count: int) -> None:
    texts = ["x" * length] * 15
    assert len(cut_texts(DEFAULT, texts)) == count
    assert cut_texts(replace(DEFAULT, characters=1), texts) == (texts if not length else texts[:1])
    assert cut_texts(BEST, texts) == texts
