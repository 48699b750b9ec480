"""A real, small model through the real path. `scripts/small-llm` fetches it; without it these tests are skipped."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from recollect.errors import ExtractionFailed, NotFound
from recollect.extraction.llm import refine
from recollect.extraction.rules import extract
from recollect.llm.base import CountingLLM
from recollect.llm.gguf import GGUFLLM
from recollect.messages.message import Message

MODEL = Path(sys.prefix) / "share" / "recollect-tests" / "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="module")
def llm() -> GGUFLLM:
    pytest.importorskip("xllamacpp")
    if not MODEL.is_file():
        pytest.skip(f"no model at {MODEL}: run scripts/small-llm")
    return GGUFLLM(MODEL, context=1024)


def test_it_completes_and_counts_and_says_the_same_again(llm: GGUFLLM) -> None:
    assert isinstance(llm, CountingLLM)
    answer = llm.generate("Say hello.", max_tokens=4)
    assert answer.text.strip()
    assert 0 < answer.output_tokens <= 4
    assert answer.input_tokens > 2
    assert llm.complete("Say hello.", max_tokens=4) == answer.text


def test_an_answer_that_is_cut_off_fails_with_its_text(llm: GGUFLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.extraction.llm.MAX_TOKENS", 8)  # too few for a whole answer: it must fail, cleanly
    text = "I moved to Lisbon in May 2023 with my sister Anna."
    with pytest.raises(ExtractionFailed) as failure:
        refine(extract([Message("user", text, name="Ana")]), llm)
    assert failure.value.text.strip()  # kept for another try


def test_a_missing_file_is_said_to_be() -> None:
    with pytest.raises(NotFound, match="no model file"):
        GGUFLLM("/nowhere/model.gguf")
