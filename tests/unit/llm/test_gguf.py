"""Tests with a real, small model. `scripts/small-llm` fetches it; without it they are skipped."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from memoranda import MemoryManager
from memoranda.errors import ExtractionFailed, NotFound
from memoranda.llm.base import CountingLLM
from memoranda.llm.gguf import GGUFLLM
from memoranda.messages.message import Message
from memoranda.remember.extraction import extract, only_candidates
from memoranda.remember.model.facts import extract_facts
from memoranda.testing.fakes import HashEmbedder

MODEL = Path(sys.prefix) / "share" / "memoranda-tests" / "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="module")
def llm() -> GGUFLLM:
    pytest.importorskip("xllamacpp")
    if not MODEL.is_file():
        pytest.skip(f"no model at {MODEL}: run scripts/small-llm")
    return GGUFLLM(MODEL, context=1024)


def test_model_completes_counts_tokens_and_is_deterministic(llm: GGUFLLM) -> None:
    assert isinstance(llm, CountingLLM)
    answer = llm.generate("Say hello.", max_tokens=4)
    assert answer.text.strip()
    assert 0 < answer.output_tokens <= 4
    assert answer.input_tokens > 2
    assert llm.complete("Say hello.", max_tokens=4) == answer.text


def test_truncated_answer_is_the_failure_with_its_text(llm: GGUFLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "memoranda.remember.model.facts.MAX_TOKENS", 8
    )  # too few for a whole answer: it must fail, cleanly
    text = "I moved to Lisbon in May 2023 with my sister Anna."
    findings = extract_facts(only_candidates(extract([Message("user", text, name="Ana")])), llm)
    assert isinstance(findings.failure, ExtractionFailed)
    assert findings.failure.text.strip()
    assert findings.read == set()  # kept for another try


def test_remembering_stores_the_message_and_only_facts_with_evidence(
    llm: GGUFLLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoranda.remember.model.facts.MAX_TOKENS", 32)
    text = "I moved to Lisbon in May 2023 with my sister Anna."
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(16), llm=llm) as manager:
        outcomes = manager.remember(Message("user", text, "m1", name="Ana"), user="ana")
        assert (outcomes[0].status, outcomes[0].message_id) == ("stored", "m1")
        assert outcomes.usage.calls >= 1
        assert outcomes.usage.output_tokens > 0
        stored = manager.list_memories(user="ana")
        assert stored[0].content == text
        assert all(memory.message_id == "m1" and memory.evidence for memory in stored)


def test_missing_model_file_raises_not_found() -> None:
    with pytest.raises(NotFound, match="no model file"):
        GGUFLLM("/nowhere/model.gguf")
