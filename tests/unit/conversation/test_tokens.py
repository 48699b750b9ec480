from __future__ import annotations

import importlib
from typing import Any

import pytest

from memoranda.conversation import window
from memoranda.conversation.window import default_counter, estimate_tokens, exact_counter, message_tokens
from memoranda.errors import InvalidInput, MissingExtra
from memoranda.messages.calls import ToolCallMsg
from memoranda.messages.message import Message

TALK = """Hey! I went to the pottery class on 12 March 2024, it was amazing. We made three bowls, and Anna's turned out
really well. Do you still want to come with us next Thursday? It costs $45, they take reservations until noon."""
CODE = 'def add(a: int, b: int = 3) -> int:\n    """Adds."""\n    return {"sum": a + b}["sum"]\n' * 5
JSON = '{"query": "AI trends", "limit": 10, "filters": {"year": [2023, 2024], "lang": "en"}}' * 3
GERMAN = "Die Größe der Schüler überraschte die Lehrkräfte während der Prüfungen in München im Frühjahr."
CHINESE = "我昨天去了北京的一家新餐厅,那里的烤鸭非常好吃,下次我们一起去吧。"


@pytest.mark.parametrize(("text", "count"), [("", 0), ("hello world", 2), ("tiktoken is great!", 6)])
def test_the_exact_counter_knows_openais_vocabulary(text: str, count: int) -> None:
    assert exact_counter("o200k_base")(text) == count


def test_the_encodings_differ_and_an_unknown_one_is_refused() -> None:
    assert exact_counter("cl100k_base")(CHINESE) > exact_counter("o200k_base")(CHINESE)
    with pytest.raises(InvalidInput, match="unknown encoding 'x'"):
        exact_counter("x")


@pytest.mark.parametrize("text", [TALK, CODE, JSON, GERMAN, CHINESE])
def test_the_estimate_is_near_and_rarely_too_low(text: str) -> None:
    exact = exact_counter()(text)
    assert 0.9 * exact <= estimate_tokens(text) <= 1.5 * exact


def test_a_special_token_in_a_text_is_only_text() -> None:
    assert exact_counter()("<|endoftext|>") > 1


def test_without_the_extra_the_estimate_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def missing(name: str, *args: Any) -> Any:
        if name == "toktok":
            raise ImportError(name)
        return real(name, *args)

    window.exact_counter.cache_clear()
    monkeypatch.setattr(window, "import_module", missing)
    assert default_counter() is estimate_tokens
    with pytest.raises(MissingExtra, match=r"memoranda\[tokens\]"):
        exact_counter()
    monkeypatch.undo()
    assert default_counter() is not estimate_tokens


def test_a_message_costs_its_words_its_calls_its_pictures_and_a_frame() -> None:
    count = len
    assert message_tokens(Message("user", "abc"), count) == 4 + 3
    assert message_tokens(Message("user", images=["a.png"]), count) == 4 + 1_000
    asked = Message("assistant", tool_calls=[ToolCallMsg("id", "id", "function", "name", "{}")])
    assert message_tokens(asked, count) == 4 + 2 + 4 + 2
