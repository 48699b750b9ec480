"""Questions for several things, and utterances that continue a conversation, in a store of chats with an assistant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda import MemoryManager
from memoranda.settings import MemoryConfig

CHATS = {
    "spec": ["I draft an OpenAPI spec for the billing service.", "Shall we check the error schema?"],
    "fund": ["My allocation for the fund: 60 percent stocks, 40 bonds.", "That is balanced."],
    "zelda": [
        "I played the game Zelda all weekend.",
        "Zelda is a long game to play.",
        "Play games less!",
        "Which game?",
    ],
    "chess": ["Chess is the game that I played on Thursday.", "A sharp opening."],
    "hades": ["On the Switch I played a game called Hades.", "Well done."],
    "starter": ["My sourdough starter is called Bubbles.", "Feed it every day."],
    "ok": ["The boss wants the report by Friday.", "ok"],
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryManager]:
    config = MemoryConfig(db_url=f"sqlite:///{tmp_path / 'a.db'}", enable_vector_search=False)
    with MemoryManager(config) as opened:
        for session, texts in CHATS.items():
            roles = ["user", "assistant"] * 2
            messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
            opened.remember(messages, user="u", session=session, keep_all=True)
        yield opened


@pytest.mark.parametrize(
    ("utterance", "session"),
    [
        ("Ready to review that OpenAPI spec", "spec"),
        ("Back to the allocation we discussed", "fund"),
        ("ok, next step for the starter", "starter"),
        ("Hey, Bubbles is alive!", "starter"),
        ("Where were we with the error schema?", "spec"),
    ],
)
def test_utterance_finds_the_conversation_that_it_continues(
    memory: MemoryManager, utterance: str, session: str
) -> None:
    assert memory.recall(utterance, user="u").sessions[0] == session


def test_list_question_covers_the_sessions_within_the_limit(memory: MemoryManager) -> None:
    answer = memory.recall("Which games did I play?", user="u", limit=4, explain=True)
    assert set(answer.sessions) >= {"zelda", "chess", "hades"}
    assert answer.explanation is not None
    assert any("several" in note for note in answer.explanation.notes)
    scores = [hit.score for hit in answer]
    assert scores == sorted(scores, reverse=True)


def test_rank_that_why_not_gives_is_the_place_in_a_list(memory: MemoryManager) -> None:
    hits = memory.recall("Which games did I play?", user="u", limit=8)
    for place, hit in enumerate(hits, start=1):
        assert memory.why_not("Which games did I play?", hit.id, user="u", limit=8).rank == place
