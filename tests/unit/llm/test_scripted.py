from __future__ import annotations

import pytest

from memoranda.errors import Unavailable
from memoranda.llm.base import LLM
from memoranda.llm.scripted import ScriptedLLM


def test_scripted_model_answers_in_order_and_records_prompts() -> None:
    scripted = ScriptedLLM(["one", "two and three"])
    llm: LLM = scripted
    assert llm.complete("a", max_tokens=5) == "one"
    assert llm.complete("b", max_tokens=2) == "two and"
    with pytest.raises(Unavailable, match="no answers left"):
        llm.complete("c", max_tokens=5)
    assert scripted.prompts == ["a", "b", "c"]
