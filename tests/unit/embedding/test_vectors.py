from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from memoranda import MemoryManager
from memoranda.embedding.base import EmbedderIdentity, InputKind
from memoranda.embedding.model import EmbeddingModel
from memoranda.errors import Incompatible, Unavailable
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import FloatArray


class Counting(HashEmbedder):
    def __init__(self) -> None:
        super().__init__(64)
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        self.embedded += texts if kind == "passage" else []
        return super().embed(texts, kind=kind)


class AllInputs(HashEmbedder):
    """Keeps every text that it is asked to embed."""

    def __init__(self) -> None:
        super().__init__(64)
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        self.seen += texts
        return super().embed(texts, kind=kind)


class Instant(Counting):
    instant = True


@pytest.fixture(params=[Counting, Instant])
def embedder(request: pytest.FixtureRequest) -> Counting:
    made: Counting = request.param()
    return made


def test_a_text_is_embedded_once_unless_its_vector_costs_nothing(tmp_path: Path, embedder: Counting) -> None:
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=embedder) as manager:
        manager.add_memories(["tea at five", "coffee at nine"], user="ann")
        manager.add_memory("tea at five", user="ben")
    again = ["tea at five"] if isinstance(embedder, Instant) else []
    assert embedder.embedded == ["tea at five", "coffee at nine", *again]


def test_every_text_gets_its_own_vector(tmp_path: Path, embedder: Counting) -> None:
    texts = [f"note {n} about {'tea' if n % 2 else 'coffee'}" for n in range(600)]
    seen: list[tuple[int, int]] = []
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=embedder) as manager:
        manager.add_memories(texts, user="ann", progress=lambda done, total: seen.append((done, total)))
        assert manager.check().ok
        for text in (texts[0], texts[257], texts[599]):
            assert manager.recall(text, user="ann", limit=1)[0].content == text
    assert seen == [(256, 600), (512, 600), (600, 600)]


@pytest.mark.parametrize("cached", [False, True])
def test_texts_and_questions_of_another_tenant_save_no_embedding(tmp_path: Path, cached: bool) -> None:
    inner = AllInputs()
    embedder = EmbeddingModel(inner) if cached else inner
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=embedder, tenant="red") as red:
        blue = red.for_tenant("blue")
        for manager in (red, blue):
            inner.seen.clear()
            manager.add_memory("the merger is on", user="ann")
            manager.remember("Ann signs in May", user="ann")
            manager.recall("is the merger on?", user="ann")
            assert {"the merger is on", "Ann signs in May", "is the merger on?"} <= set(inner.seen)
        blue.close()


def test_tenant_reuses_its_own_vectors(tmp_path: Path) -> None:
    inner = AllInputs()
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=EmbeddingModel(inner), tenant="red") as red:
        for _ in range(2):
            red.add_memory("the merger is on", user="ann")
            red.recall("is the merger on?", user="ann")
    assert sorted(inner.seen) == ["is the merger on?", "the merger is on"]


class StockModel(HashEmbedder):
    """Has the identity of the model that the package had before."""

    @property
    def identity(self) -> EmbedderIdentity:
        sha256 = "d74a213ce7122581aa2e024601e79e969373e7fe3cd3aa78c4996a5c79d4c5ad"
        return EmbedderIdentity("onnx", "e5-small-v2", 384, sha256, baseline=0.72)


def test_file_of_the_model_before_says_what_to_do_and_reembed_moves_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    with MemoryManager(url, embedder=StockModel(384)) as manager:
        manager.add_memories(["Mia adopted a puppy.", "Interest rates rose again."], user="ann")
    with MemoryManager(url) as manager:
        with pytest.raises(Incompatible, match=r"e5-small-v2.*e5-dialogue.*memoranda reembed"):
            manager.recall("Which pet does Mia have?", user="ann")
        with pytest.raises(Incompatible, match="reembed"):
            manager.add_memory("It rained.", user="ann")
        assert manager.reembed() == 2
        assert manager.recall("Which animal is in the family?", user="ann")[0].content == "Mia adopted a puppy."
        assert manager.check().ok


class Answering(HashEmbedder):
    """Returns or raises what it is told to."""

    answer: object = None

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        if isinstance(self.answer, Exception):
            raise self.answer
        return super().embed(texts, kind=kind) if self.answer == "right" else self.answer  # type: ignore[return-value]


WRONG_ANSWERS = {
    "nothing": (None, Incompatible),
    "text": ("abc", Incompatible),
    "objects": ([[object()] * 64], Incompatible),
    "too few": (np.ones((0, 64)), Incompatible),
    "one row without its list": (np.ones(64), Incompatible),
    "another dimension": (np.ones((1, 3)), Incompatible),
    "no number": (np.full((1, 64), np.nan), Incompatible),
    "infinite": (np.full((1, 64), np.inf), Incompatible),
    "no connection": (ConnectionRefusedError(111, "Connection refused"), Unavailable),
    "no memory": (MemoryError(), Unavailable),
    "a mistake in it": (TypeError("unexpected keyword"), Incompatible),
    "its own error": (Unavailable("later"), Unavailable),
}


def test_embedder_that_answers_wrongly_is_named_and_nothing_is_stored(tmp_path: Path) -> None:
    embedder = Answering(64)
    with MemoryManager(tmp_path / "memories.db", embedder=embedder) as manager:
        for name, (answer, kind) in WRONG_ANSWERS.items():
            embedder.answer = answer
            with pytest.raises(kind):
                manager.remember(f"I like tea with {name}.", user="nora")
        embedder.answer = "right"
        assert manager.list_memories(user="nora") == []
        manager.remember("I like tea.", user="nora")
        assert manager.recall("tea", user="nora").hits
