"""mem0 itself and our `Memory` are given the same random calls, and must give the same answers."""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
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
from tests.server.running import serving

CALLS = 500
TOPICS, TAGS = ("tea", "travel", "work"), ("a", "b", "c")
TIMES = ("created_at", "updated_at")


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


class Pair:
    """Both memories, and their ids of the same memory."""

    def __init__(self, theirs: Any, ours: Any, seed: int) -> None:
        self.theirs, self.ours, self.rng = theirs, ours, random.Random(seed)
        self.ids: list[tuple[str, str]] = []
        self.counts: Counter[str] = Counter()

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Return both answers; an error of one must be an error of the other."""
        self.counts[name] += 1
        answers = []
        for memory in (self.theirs, self.ours):
            try:
                answers.append(getattr(memory, name)(*args, **kwargs))
            except (ValueError, TypeError, ValidationError) as error:
                answers.append(error)
        failed = [isinstance(answer, Exception) for answer in answers]
        assert failed[0] == failed[1], (name, args, kwargs, answers)
        self.counts["errors"] += failed[0]
        return answers[0], answers[1]

    def owner(self) -> dict[str, Any]:
        names = {"user_id": ("ann", "bob", 7), "agent_id": ("helper", "coder"), "run_id": ("r1", "r2")}
        chosen = self.rng.sample(sorted(names), self.rng.choice([1, 1, 2, 3]))
        return {key: self.rng.choice(names[key]) for key in chosen}

    def metadata(self) -> dict[str, Any]:
        rng = self.rng
        values = {
            "topic": rng.choice(TOPICS),
            "n": rng.randint(0, 9),
            "ok": rng.random() < 0.5,
            "tags": rng.sample(TAGS, 2),
        }
        return {key: values[key] for key in values if rng.random() < 0.6}

    def condition(self) -> dict[str, Any]:
        rng = self.rng
        return rng.choice(
            [
                {"topic": rng.choice(TOPICS)},
                {"topic": {rng.choice(["eq", "ne"]): rng.choice(TOPICS)}},
                {"topic": {rng.choice(["in", "nin"]): rng.sample(TOPICS, 2)}},
                {"topic": {"contains": rng.choice(TOPICS)}},  # whole words, as Qdrant compares these
                {"topic": "*"},
                {"n": {rng.choice(["gt", "gte", "lt", "lte"]): rng.randint(0, 9)}},
                {"n": {"gte": 2, "lt": 7}},
                {"n": rng.randint(0, 9)},
                {"ok": True},
                {"tags": rng.choice(TAGS)},
                {"role": "assistant"},
                {"actor_id": "eva"},
            ]
        )

    def filters(self) -> dict[str, Any]:
        owner, kind = self.owner(), self.rng.randint(0, 6)
        if kind < 2:
            return owner
        if kind < 4:
            return {**owner, **self.condition()}
        one, other = self.condition(), self.condition()
        # mem0 drops one of two conditions on a key, and "*" anywhere but at the top.
        while set(one) & set(other) or "*" in (*one.values(), *other.values()):
            one, other = self.condition(), self.condition()
        return {**owner, {4: "AND", 5: "OR", 6: "NOT"}[kind]: [one, other]}


def add(pair: Pair) -> None:
    rng = pair.rng
    said = [
        {"role": rng.choice(["user", "assistant", "system"]), "content": f"note {rng.random()}"}
        | ({"name": "eva"} if rng.random() < 0.3 else {})
        for _ in range(rng.randint(1, 3))
    ]
    messages = rng.choice([said, said[0], f"note {rng.random()}"])
    expires = rng.choice([None, None, None, "2020-01-31", "2999-12-31"])
    owner = pair.owner() if rng.random() < 0.95 else {}
    theirs, ours = pair.call("add", messages, metadata=pair.metadata(), expiration_date=expires, infer=False, **owner)
    if isinstance(theirs, dict):
        assert [plain(each) for each in ours["results"]] == [plain(each) for each in theirs["results"]]
        pair.ids += [(one["id"], two["id"]) for one, two in zip(theirs["results"], ours["results"], strict=True)]


def get_all(pair: Pair) -> None:
    filters = pair.filters() if pair.rng.random() < 0.95 else pair.condition()
    show = pair.rng.random() < 0.3
    compare(*pair.call("get_all", filters=filters, top_k=900, show_expired=show), filters, scored=False)


def search(pair: Pair) -> None:
    filters = pair.filters() if pair.rng.random() < 0.95 else pair.condition()
    show = pair.rng.random() < 0.3
    options = {"filters": filters, "top_k": 900, "threshold": 0.0, "show_expired": show}
    compare(*pair.call("search", "note about", **options), filters, scored=True)


def get(pair: Pair) -> None:
    for one, two in pair.rng.sample(pair.ids, min(1, len(pair.ids))):
        theirs, ours = pair.theirs.get(one), pair.ours.get(two)
        assert (theirs is None) == (ours is None)
        assert theirs is None or (plain(ours), sorted(ours)) == (plain(theirs), sorted(theirs))
        pair.counts["get"] += 1


def update(pair: Pair) -> None:
    for one, two in pair.rng.sample(pair.ids, min(1, len(pair.ids))):
        change: dict[str, Any] = pair.rng.choice(
            [
                {"text": f"changed {pair.rng.random()}"},
                {"data": f"changed {pair.rng.random()}"},
                {"metadata": {**pair.metadata(), "user_id": "mallory"}},
                {"text": "changed", "metadata": pair.metadata()},
                {"expiration_date": pair.rng.choice([None, "2020-01-01", "2999-01-01", "soon"])},
                {},
            ]
        )
        by_id(pair, "update", one, two, **change)


def delete(pair: Pair) -> None:
    for one, two in pair.rng.sample(pair.ids, min(1, len(pair.ids))):
        by_id(pair, "delete", one, two)


def delete_all(pair: Pair) -> None:
    owner = {"user_id": "bob", "agent_id": "coder", "run_id": "r2"} if pair.rng.random() < 0.7 else {}
    theirs, ours = pair.call("delete_all", **owner)
    assert isinstance(theirs, Exception) or theirs == ours


def history(pair: Pair) -> None:
    """Compared for memories that exist: we keep nothing of a deleted one."""
    for one, two in pair.rng.sample(pair.ids, min(1, len(pair.ids))):
        if pair.theirs.get(one) is None:
            assert pair.ours.history(two) == []
            continue
        theirs, ours = pair.theirs.history(one), pair.ours.history(two)
        assert [plain(each) for each in ours] == [plain(each) for each in theirs]
        pair.counts["history"] += 1


def by_id(pair: Pair, name: str, one: str, two: str, **change: Any) -> None:
    known = pair.theirs.get(one) is not None
    answers = []
    for memory, memory_id in ((pair.theirs, one), (pair.ours, two)):
        try:
            answers.append(getattr(memory, name)(memory_id, **change))
        except ValueError:
            answers.append(ValueError)
    assert answers[0] == answers[1], (name, change, known)
    pair.counts[name] += 1


def compare(theirs: Any, ours: Any, filters: dict[str, Any], *, scored: bool) -> None:
    if isinstance(theirs, Exception):
        return
    sets = [Counter(str(sorted(plain(each).items())) for each in answer["results"]) for answer in (theirs, ours)]
    assert sets[0] == sets[1], filters
    shapes = [{tuple(sorted(each)) for each in answer["results"]} for answer in (theirs, ours)]
    assert shapes[0] == shapes[1]
    scores = [each["score"] for each in ours["results"]] if scored else []
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def plain(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without what differs by nature: ids, times and scores."""
    return {key: value for key, value in answer.items() if key not in ("id", "memory_id", "score", *TIMES)}


STEPS = (
    [add] * 5 + [get_all] * 3 + [search] * 3 + [get, get, update, update, update, delete, history, history, delete_all]
)


def run_calls(pair: Pair) -> None:
    for _ in range(CALLS):
        pair.rng.choice(STEPS)(pair)
    assert min(pair.counts[name] for name in ("add", "get_all", "search", "get", "update", "delete", "history")) > 10
    assert pair.counts["errors"] > 3


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
