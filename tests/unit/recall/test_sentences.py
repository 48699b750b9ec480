"""What one sentence of a longer text says is found by the vector of that sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memoranda import MemoryManager, Message
from memoranda.embedding.base import pack_sentences, unpack_sentences
from memoranda.embedding.model import EmbeddingModel
from memoranda.errors import Incompatible, InvalidInput
from memoranda.recall import pipeline
from memoranda.recall.arms import Arm, with_best_sentences
from memoranda.recall.rerank import Reranking
from memoranda.testing.contracts import unit_rows
from memoranda.testing.fakes import HashEmbedder
from memoranda.text.sentences import split_sentences
from memoranda.types import FloatArray
from tests.driver import sqlite3

HIDDEN = "Quite a week at the harbour with rain and wind. We adopted a greyhound. The office moved upstairs again."
SHORT = "A greyhound ran along the canal while we had lunch near the old lock"


class BySentence(HashEmbedder):
    """Gives the hashed words of each sentence too, and keeps what it embedded."""

    gives_sentences = True

    def __init__(self) -> None:
        super().__init__(64)
        self.embedded: list[str] = []

    def embed_sentences(self, texts: Sequence[str]) -> Sequence[FloatArray]:
        self.embedded += texts
        return [self.embed([text, *self._sentences(text)], kind="passage") for text in texts]

    @staticmethod
    def _sentences(text: str) -> list[str]:
        found = split_sentences(text)
        return found if len(found) > 1 else []


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def memory(path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(path, embedder=BySentence()) as manager:
        yield manager


def _stored(path: Path) -> dict[int, int | None]:
    """Return how many sentences of each memory have a vector."""
    with closing(sqlite3.connect(path)) as raw:
        rows = raw.execute("SELECT memory_id, length(sentences) FROM vectors ORDER BY memory_id").fetchall()
    return {row[0]: None if row[1] is None else row[1] // 64 for row in rows}


def _dense(memory: MemoryManager, question: str, content: str) -> float:
    hit = next(each for each in memory.recall(question, user="ann") if each.content == content)
    return next(reason.gain for reason in hit.why if reason.arm == "dense")


@pytest.mark.parametrize(("speakers", "gain"), [(["Ann", "Ben"], True), (["Ann", "Ann"], False), (None, False)])
def test_sentence_about_the_question_counts_more_than_the_turn_around_it(
    tmp_path: Path, speakers: list[str] | None, gain: bool
) -> None:
    texts = [HIDDEN, "We like tea and scones. Ben likes juice. Eva likes milk.", SHORT]
    gains = []
    for embedder in (HashEmbedder(64), BySentence()):
        with MemoryManager(tmp_path / f"{type(embedder).__name__}.db", embedder=embedder) as manager:
            said = [Message("user", text, name=speakers[n % 2] if speakers else None) for n, text in enumerate(texts)]
            manager.remember(said, user="ann", session="monday")
            gains.append(_dense(manager, "We adopted a greyhound", HIDDEN))
    assert (gains[1] > gains[0] + 0.5) == gain
    assert gain or gains[1] == pytest.approx(gains[0])


def test_sentences_change_no_signal_of_answerable(tmp_path: Path) -> None:
    signals = []
    for embedder in (HashEmbedder(64), BySentence()):
        with MemoryManager(tmp_path / f"{type(embedder).__name__}.db", embedder=embedder) as manager:
            texts = (
                (HIDDEN, "Ann"),
                ("We like tea and scones. Ben likes juice. Eva likes milk.", "Ben"),
                (SHORT, "Ann"),
            )
            said = [Message("user", text, name=name) for text, name in texts]
            manager.remember(said, user="ann", session="monday")
            found = manager.recall("Ben, we adopted a greyhound", user="ann", explain=True)
            assert found.explanation
            signals.append(
                {name: found.explanation.signals[name] for name in ("top", "meaning", "words", "other_speaker")}
            )
    assert signals[0] == pytest.approx(signals[1])


@pytest.mark.parametrize("mode", [None, "best"])
def test_sentences_are_compared_before_hits_are_reranked(
    memory: MemoryManager, monkeypatch: pytest.MonkeyPatch, mode: str | None
) -> None:
    memory.remember([Message("user", HIDDEN, name="Ann"), Message("user", SHORT, name="Ben")], user="ann", session="s")
    steps: list[str] = []

    def rank_again(ranking: object, *_: object) -> object:
        steps.append("sentences")
        return ranking

    def rerank(*arguments: Any) -> object:
        steps.append("reranking")
        return arguments[5]

    monkeypatch.setattr(pipeline, "rank_by_sentences", rank_again)
    monkeypatch.setattr(Reranking, "rerank", rerank)
    assert len(memory.recall("We adopted a greyhound", user="ann", mode=mode)) == 2
    assert steps == ["sentences", "reranking"]


def test_text_of_one_sentence_has_no_further_vectors(memory: MemoryManager, path: Path) -> None:
    memory.add_memories([HIDDEN, SHORT], user="ann")
    assert list(_stored(path).values()) == [3, 0]


def test_edit_replaces_the_sentences(memory: MemoryManager, path: Path) -> None:
    written = memory.add_memory(HIDDEN, user="ann")
    memory.update(written.id, content="The office is closed. Nobody is here.", user="ann")
    assert _stored(path) == {written.id: 2}
    memory.update(written.id, content="The office is closed", user="ann")
    assert _stored(path) == {written.id: 0}


def test_text_of_another_user_brings_its_sentences_along(path: Path) -> None:
    embedder = BySentence()
    with MemoryManager(path, embedder=embedder) as manager:
        manager.add_memory(HIDDEN, user="ann")
        manager.add_memory(HIDDEN, user="ben")
    assert embedder.embedded == [HIDDEN]
    assert list(_stored(path).values()) == [3, 3]


def test_move_to_another_model_makes_the_sentences(path: Path) -> None:
    with MemoryManager(path, embedder=HashEmbedder(32)) as manager:
        manager.add_memories([HIDDEN, SHORT], user="ann")
    assert list(_stored(path).values()) == [None, None]
    with MemoryManager(path, embedder=BySentence()) as manager:
        manager.reembed()
    assert list(_stored(path).values()) == [3, 0]


def test_reembed_adds_the_sentences_of_an_older_file_and_repair_does_not(path: Path) -> None:
    embedder = BySentence()
    with MemoryManager(path, embedder=embedder) as manager:
        manager.add_memories([HIDDEN, SHORT], user="ann")
        with closing(sqlite3.connect(path)) as raw, raw:
            raw.execute("UPDATE vectors SET sentences = NULL")
            raw.execute("DELETE FROM vectors WHERE memory_id = (SELECT id FROM memories WHERE content = ?)", (SHORT,))
        embedder.embedded.clear()
        manager.repair()
        assert embedder.embedded == [SHORT]
        assert [manager.reembed(), manager.reembed()] == [1, 0]
    assert list(_stored(path).values()) == [3, 0]


def test_model_in_a_cache_gives_the_same_sentences(path: Path) -> None:
    inner = BySentence()
    with MemoryManager(path, embedder=EmbeddingModel(inner)) as manager:
        manager.add_memory(HIDDEN, user="ann")
    assert list(_stored(path).values()) == [3]
    with pytest.raises(InvalidInput, match="no vectors of sentences"):
        EmbeddingModel(HashEmbedder(64)).embed_sentences([HIDDEN])


def test_damaged_sentences_are_ignored_found_and_made_again(memory: MemoryManager, path: Path) -> None:
    memory.remember([Message("user", HIDDEN, name="Ann"), Message("user", SHORT, name="Ben")], user="ann", session="s")
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE vectors SET sentences = x'0102' WHERE sentences IS NOT NULL")
    assert memory.recall("We adopted a greyhound", user="ann")[0].content == HIDDEN
    assert any("wrong size" in problem for problem in memory.check().problems)
    memory.repair()
    assert list(_stored(path).values()) == [3, 0]


class BadRows(BySentence):
    def __init__(self, rows: object) -> None:
        super().__init__()
        self._rows = rows

    def embed_sentences(self, texts: Sequence[str]) -> Sequence[FloatArray]:
        del texts
        return self._rows  # type: ignore[return-value]


@pytest.mark.parametrize(
    "rows",
    [
        None,
        [],
        [np.empty((0, 64))],
        [np.ones((2, 63))],
        [np.full((2, 64), np.nan)],
        [np.vstack([np.ones(64), np.full(64, np.nan)])],
        [np.vstack([np.ones(64), np.zeros(64)])],
    ],
)
def test_wrong_rows_of_an_embedder_are_refused_and_nothing_is_stored(path: Path, rows: object) -> None:
    with MemoryManager(path, embedder=BadRows(rows)) as manager:
        with pytest.raises(Incompatible, match="hash"):
            manager.add_memory(HIDDEN, user="ann")
        assert manager.list_memories(user="ann") == []


def test_packed_rows_keep_their_direction() -> None:
    rows = unit_rows(np.random.default_rng(0), 7)
    packed = pack_sentences(rows)
    assert len(packed) == rows.size
    assert (np.einsum("ij,ij->i", unpack_sentences(packed, rows.shape[1]), rows) > 0.999).all()
    assert pack_sentences(rows[:0]) == b""


def test_level_of_the_dense_arm_stays_and_other_texts_stay_where_they_are() -> None:
    scores = np.array([2.0, 1.0, -0.5, 3.0], dtype=np.float32)
    arm = Arm("dense", np.ones(4, dtype=np.float32), scores, mean=0.6, deviation=0.05)
    changed = with_best_sentences(arm, np.array([0, 1]), np.array([0.8, 0.7]))
    assert changed.scores[2:].tolist() == scores[2:].tolist()
    deviations = [(value ** (1 / 1.2)) for value in changed.scores[:2].tolist()]
    assert sum(deviations) == pytest.approx(sum(value ** (1 / 1.2) for value in (2.0, 1.0)), abs=1e-5)
