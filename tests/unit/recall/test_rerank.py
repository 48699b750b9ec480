from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from memoranda import MemoryManager, Message
from memoranda.errors import MissingExtra
from memoranda.recall import rerank
from memoranda.recall.rerank import CrossEncoder, combine_scores
from memoranda.types import FloatArray


@pytest.fixture(scope="module")
def reranker() -> CrossEncoder:
    return CrossEncoder()


def test_text_that_answers_beats_text_that_shares_words(reranker: CrossEncoder) -> None:
    texts = ["Paris is the capital of France.", "The capital letter is larger than others.", "I like tea."]
    scores = reranker.scores("What is the capital of France?", texts)
    assert scores.argmax() == 0
    assert scores.argmin() == 2


def test_pair_scores_the_same_alone_and_in_a_batch(reranker: CrossEncoder) -> None:
    alone = reranker.scores("Where is the kettle?", ["on the stove"])
    batched = reranker.scores("Where is the kettle?", ["a much longer text about something else", "on the stove"])
    assert alone[0] == batched[1]


def test_long_texts_and_questions_are_cut(reranker: CrossEncoder) -> None:
    assert np.isfinite(reranker.scores("why " * 10_000, ["because " * 100_000, "🎉", "…"])).all()


def test_no_texts_give_no_scores(reranker: CrossEncoder) -> None:
    assert reranker.scores("Where?", []).tolist() == []


def test_missing_package_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "memoranda_reranker", None)
    with pytest.raises(MissingExtra, match=r"mode 'best'.*memoranda\[best\]"):
        CrossEncoder()


def test_ranking_sum_still_counts_after_reranking() -> None:
    sums = np.array([6.0, 5.0], dtype=np.float32)
    close = combine_scores(sums, np.array([1.0, 2.0], np.float32), np.array([1.0, 2.0], np.float32))
    far = combine_scores(sums, np.array([-5.0, 5.0], np.float32), np.array([-5.0, 5.0], np.float32))
    assert close.argmax() == 0
    assert far.argmax() == 1


def test_score_after_previous_turn_counts_more_than_score_alone() -> None:
    sums = np.zeros(2, dtype=np.float32)
    order = combine_scores(sums, np.array([2.0, 0.0], np.float32), np.array([0.0, 2.0], np.float32))
    assert order[1] > order[0] > 0


def test_first_hits_of_a_dialogue_are_reranked_by_default(tmp_path: Path) -> None:
    lines = ["Ann: Did the kettle arrive?", "Ben: Yes, it is on the stove.", "Ann: Good.", "Ben: It was dear."]
    with MemoryManager(f"sqlite:///{tmp_path}/a.db") as manager:
        said = [Message(role="user", name=line.split(":")[0], content=line.split(": ")[1]) for line in lines]
        manager.remember(said, session="s")
        found = manager.recall("Where is the kettle now, Ben?")
        assert found[0].content == "Yes, it is on the stove."
        assert "reranker" in {each.arm for each in found[0].why}
        scores = [hit.score for hit in found]
        assert scores == sorted(scores, reverse=True)
        fast = manager.recall("Where is the kettle now, Ben?", mode="fast")
        assert "reranker" not in {each.arm for hit in fast for each in hit.why}
        first = manager.recall("Where is the kettle now, Ben?", limit=1)
        assert first[0].id == found[0].id
        assert manager.why_not("Where is the kettle now, Ben?", found[0].id, limit=1).step == "found"
        assert manager.why_not("Where is the kettle now, Ben?", found[1].id, limit=1).rank == 2


def test_notes_and_chats_with_an_assistant_are_not_reranked_by_default(tmp_path: Path) -> None:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db") as manager:
        manager.remember([Message("user", "Where is my kettle?"), Message("assistant", "On the stove.")], session="s")
        manager.add_memories(["The kettle is new.", "The stove is old."])
        found = manager.recall("the kettle")
        assert found.hits
        assert "reranker" not in {each.arm for hit in found for each in hit.why}


def test_without_the_package_the_default_mode_does_not_rerank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerank, "_is_installed", lambda: False)
    with MemoryManager(f"sqlite:///{tmp_path}/a.db") as manager:
        said = [
            Message(role="user", name=name, content=text) for name, text in (("Ann", "Tea?"), ("Ben", "I drink tea."))
        ]
        manager.remember(said, session="s")
        found = manager.recall("Who drinks tea?")
        assert (len(found) > 0, found.degraded) == (True, ())
        assert "reranker" not in {each.arm for hit in found for each in hit.why}


def test_a_pair_is_scored_once_per_tenant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scored: list[str] = []

    def count(_: CrossEncoder, question: str, texts: Sequence[str], text_tokens: int = 0) -> FloatArray:
        del question, text_tokens
        scored.extend(texts)
        return np.zeros(len(texts), dtype=np.float32)

    monkeypatch.setattr(CrossEncoder, "scores", count)
    with MemoryManager(f"sqlite:///{tmp_path}/a.db") as manager:
        for each in (manager, manager.for_tenant("other")):
            said = [
                Message("user", text, name=name) for name, text in (("Ann", "I have a cat."), ("Ben", "My cat is old."))
            ]
            each.remember(said, session="s")
        manager.recall("Whose cat is old?")
        manager.recall("Whose cat is old?")
        assert sorted(scored) == ["Ann: I have a cat.", "Ben: My cat is old."]
        manager.for_tenant("other").recall("Whose cat is old?")
        assert len(scored) == 4
