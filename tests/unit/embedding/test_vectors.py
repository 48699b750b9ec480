from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from memoranda import MemoryManager
from memoranda.embedding.base import InputKind
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import FloatArray


class Counting(HashEmbedder):
    def __init__(self) -> None:
        super().__init__(64)
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        self.embedded += texts if kind == "passage" else []
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
