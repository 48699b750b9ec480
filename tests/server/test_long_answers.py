"""Answers have a limit in bytes: pages end early where they have a cursor, else the caller learns to ask for fewer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memoranda import MemoryManager
from memoranda.client import MemoryManager as RemoteManager
from memoranda.errors import InvalidInput
from memoranda.server import responses
from memoranda.server.routes import memories
from memoranda.storage.read_budget import AnswerTooLarge, ReadBudget, reading_at_most
from memoranda.testing.fakes import HashEmbedder
from tests.server.running import serving


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(responses, "MAX_ANSWER", 3000)
    monkeypatch.setattr(memories, "MAX_ANSWER", 3000)
    monkeypatch.setattr(memories, "_MAX_PAGE", 1000)
    with serving(tmp_path) as address:
        yield address


def post(url: str, path: str, body: dict[str, Any]) -> httpx2.Response:
    return httpx2.post(f"{url}/v1{path}", json=body, timeout=30)


def assert_asks_for_fewer(answer: httpx2.Response) -> None:
    assert answer.status_code == 413
    assert answer.json()["type"] == "urn:memoranda:InvalidInput"
    assert "ask for fewer" in answer.json()["detail"]


def test_items_that_are_too_much_for_one_answer_are_refused_and_fewer_come(url: str) -> None:
    post(url, "/items", {"namespace": ["n"], "values": {f"k{n}": "x" * 700 for n in range(8)}, "index": False})
    assert_asks_for_fewer(post(url, "/items/search", {"prefix": ["n"], "limit": 1000}))
    some = {"prefix": ["n"], "limit": 2}
    found = [post(url, "/items/search", {**some, "offset": start}).json() for start in (0, 2, 4, 6)]
    assert {item["key"] for page in found for item in page} == {f"k{n}" for n in range(8)}
    post(url, "/items", {"namespace": ["long"], "values": {"k": "x" * 9000}, "index": False})
    assert len(post(url, "/items/search", {"prefix": ["long"]}).json()) == 1


def test_pages_of_long_memories_end_early_and_lose_none(url: str) -> None:
    texts = [f"{n} " + "tea " * 100 for n in range(9)] + ["milk " * 600]
    post(url, "/memories/batch", {"contents": texts})
    pages, cursor = [], "0"
    while cursor is not None:
        page = post(url, "/memories/list", {"limit": 100, "cursor": cursor}).json()
        pages.append([item["content"] for item in page["items"]])
        cursor = page["next_cursor"]
    assert [text.strip() for page in pages for text in page] == [text.strip() for text in texts]
    assert [len(page) for page in pages] == [2, 2, 2, 2, 1, 1]
    assert_asks_for_fewer(post(url, "/memories/list", {"limit": 100, "offset": 1}))
    with RemoteManager(url) as remote:
        assert len(remote.list_memories(100)) == 10
        assert len(remote.list_memories(7)) == 7


def test_conversation_and_recall_ask_for_fewer(url: str) -> None:
    messages = [{"role": "user", "content": f"{n} " + "x" * 700} for n in range(8)]
    post(url, "/conversation/messages", {"agent": "a", "messages": messages})
    everything = httpx2.get(f"{url}/v1/conversation/messages", params={"agent": "a"}, timeout=30)
    assert_asks_for_fewer(everything)
    some = httpx2.get(f"{url}/v1/conversation/messages", params={"agent": "a", "stop": 2}, timeout=30)
    assert len(some.json()["messages"]) == 2
    post(url, "/memories/batch", {"contents": [f"Ann likes tea {n} " + "very " * 200 for n in range(9)]})
    assert_asks_for_fewer(post(url, "/recall", {"query": "tea", "limit": 100}))
    assert post(url, "/recall", {"query": "tea", "limit": 1}).status_code == 200


def test_write_is_answered_however_long_the_answer(url: str) -> None:
    answer = post(url, "/items", {"namespace": ["n"], "values": {f"k{n}": "x" * 700 for n in range(8)}})
    assert (answer.status_code, len(answer.json())) == (200, 8)


def test_budget_limits_what_is_read_from_the_database(tmp_path: Path) -> None:
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(64)) as memory:
        memory.put_many(("n",), {f"k{n}": "x" * 100 for n in range(100)}, index=False)
        budget = ReadBudget(1000)
        with reading_at_most(budget), pytest.raises(AnswerTooLarge, match="ask for fewer"):
            memory.search_items(("n",), limit=1000)
        assert -200 < budget.left < 0
        assert issubclass(AnswerTooLarge, InvalidInput)
        assert len(memory.search_items(("n",), limit=1000)) == 100
