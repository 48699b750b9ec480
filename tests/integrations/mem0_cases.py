"""mem0 itself and our `Memory` are given the same random calls, and must give the same answers."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["MEM0_TELEMETRY"] = "False"  # before mem0 is imported: it reads this once

from mem0 import AsyncMemoryClient, MemoryClient
from mem0 import Memory as Mem0
from mem0.configs.base import MemoryConfig
from mem0.embeddings.base import EmbeddingBase
from mem0.exceptions import MemoryNotFoundError, ValidationError

from memoranda import MemoryManager, aio
from memoranda.integrations.mem0 import AsyncMemory, Memory
from memoranda.server.keys import open_keys
from memoranda.testing.fakes import HashEmbedder
from tests.integrations.mem0_calls import TIMES, run_calls
from tests.integrations.mem0_pair import Pair
from tests.server.running import serving


class PositiveEmbedding(EmbeddingBase):
    """Vectors without negative numbers, so that every memory is above a threshold of 0."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        rng = random.Random(text)
        return [abs(rng.gauss(0, 1)) for _ in range(32)]


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mem0]:
    monkeypatch.setenv("MEM0_DIR", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    store = {"path": str(tmp_path / "qdrant"), "embedding_model_dims": 32, "on_disk": True}
    memory = Mem0.from_config(
        {"vector_store": {"provider": "qdrant", "config": store}, "history_db_path": str(tmp_path / "history.db")}
    )
    memory.embedding_model = PositiveEmbedding()
    yield memory
    memory.vector_store.client.close()
    memory.close()


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Memory]:
    with MemoryManager(f"sqlite:///{tmp_path}/ours.db", embedder=HashEmbedder()) as manager:
        yield Memory(manager)


class BlockingAsync:
    """`AsyncMemory`, each call run to its end."""

    def __init__(self, memory: AsyncMemory, loop: asyncio.AbstractEventLoop) -> None:
        self._memory, self._loop = memory, loop

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._memory, name)
        return lambda *args, **kwargs: self._loop.run_until_complete(method(*args, **kwargs))


@pytest.mark.parametrize("seed", range(2))
def test_memory_answers_as_mem0_does(theirs: Mem0, ours: Memory, seed: int) -> None:
    run_calls(Pair(theirs, ours, seed))


def test_async_memory_answers_as_mem0_does(theirs: Mem0, tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        manager = aio.MemoryManager(f"sqlite:///{tmp_path}/ours.db", embedder=HashEmbedder())
        run_calls(Pair(theirs, BlockingAsync(AsyncMemory(manager), runner.get_loop()), 7))
        runner.run(manager.close())


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryClient]:
    """mem0's own client, and our server."""
    monkeypatch.setenv("MEM0_DIR", str(tmp_path / "home"))
    with serving(tmp_path) as address, open_keys(f"sqlite:///{tmp_path}/server.db") as keys:
        key = keys.create("mem0", scopes=("read", "write", "admin")).key
        yield MemoryClient(api_key=key, host=f"{address}/mem0")


def test_client_of_mem0_works_with_our_server(client: MemoryClient) -> None:
    said = [{"role": "user", "content": "I like tea"}, {"role": "assistant", "content": "Which one?"}]
    tea, question = client.add(said, user_id="ann", metadata={"topic": "drinks"}, infer=False)["results"]
    assert (tea["memory"], question["role"]) == ("I like tea", "assistant")
    client.add("My sister Eva lives in Porto", filters={"user_id": "bob"})
    listed = client.get_all(filters={"AND": [{"user_id": "ann"}, {"topic": {"in": ["drinks"]}}]}, page=1, page_size=1)
    assert (listed["count"], len(listed["results"]), listed["previous"]) == (2, 1, None)
    assert listed["next"].endswith("page=2&page_size=1") or "page=2" in listed["next"]
    assert client.search("tea", filters={"user_id": "ann"}, top_k=1)["results"][0]["id"] == tea["id"]
    assert client.update(tea["id"], text="I like green tea", metadata={"n": 1})["memory"] == "I like green tea"
    assert client.get(tea["id"])["metadata"] == {"topic": "drinks", "n": 1}
    assert [each["event"] for each in client.history(tea["id"])] == ["ADD", "UPDATE"]
    assert {(each["type"], each["name"]) for each in client.users()["results"]} == {("user", "ann"), ("user", "bob")}
    client.batch_update([{"memory_id": question["id"], "text": "Which tea?"}])
    assert client.get(question["id"])["memory"] == "Which tea?"
    client.batch_delete([{"memory_id": question["id"]}])
    client.delete(tea["id"])
    with pytest.raises(MemoryNotFoundError):
        client.get(tea["id"])
    assert client.delete_all(user_id="bob") == {"message": "Memories deleted successfully!"}
    client.add("I like tea", user_id="ann", infer=False)
    assert client.reset()["message"].startswith("Client reset successful")
    assert client.get_all(filters={"user_id": "ann"})["results"] == []


def test_client_of_mem0_gets_errors_that_say_what_to_do(client: MemoryClient) -> None:
    with pytest.raises(ValidationError, match="app_id is not supported"):
        client.add("I like tea", app_id="x")
    with pytest.raises(ValidationError, match="must name a user_id"):
        client.get_all(filters={"topic": "x"})
    with pytest.raises(ValueError, match="not valid"):
        MemoryClient(api_key="wrong", host=client.host)


async def test_async_client_of_mem0_works_with_our_server(client: MemoryClient) -> None:
    other = await asyncio.to_thread(AsyncMemoryClient, api_key=client.api_key, host=client.host)
    added = await other.add("I like tea", user_id="ann", infer=False)
    found = await other.search("tea", filters={"user_id": "ann"})
    assert [each["id"] for each in found["results"]] == [each["id"] for each in added["results"]]
    await other.async_client.aclose()


def test_times_have_the_form_of_mem0(theirs: Mem0, ours: Memory) -> None:
    for memory in (theirs, ours):
        answer = memory.add("I like tea", user_id="ann", infer=False)["results"][0]
        found = memory.get(answer["id"])
        assert [len(found[key]) for key in TIMES] == [32, 32]
        assert found["created_at"] == found["updated_at"]
        assert found["created_at"].endswith("+00:00")
        memory.update(answer["id"], "I like coffee")
        later = memory.get(answer["id"])
        assert later["created_at"] == found["created_at"] < later["updated_at"]
        events = [(each["event"], each["updated_at"]) for each in memory.history(answer["id"])]
        assert events == [("ADD", found["created_at"]), ("UPDATE", later["updated_at"])]


def test_configuration_of_mem0_opens_our_store_in_its_folder(tmp_path: Path) -> None:
    store = {"provider": "faiss", "config": {"path": str(tmp_path / "faiss"), "collection_name": "c"}}
    for opened in (Memory(MemoryConfig(vector_store=store)), Memory.from_config({"vector_store": store})):
        with opened as memory:
            memory.add("I like tea", user_id="ann", infer=False)
    assert len(list((tmp_path / "faiss").glob("*.db"))) == 1
    with pytest.raises(ValueError, match="Invalid query"):
        Mem0.search(None, " ", filters={"user_id": "ann"})  # type: ignore[arg-type]
