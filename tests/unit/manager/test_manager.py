from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memoranda import (
    ANY,
    Closed,
    Conflict,
    Incompatible,
    InvalidInput,
    InvalidType,
    Memory,
    MemoryConfig,
    MemoryManager,
    MemoryType,
    Message,
    NotFound,
)
from memoranda.storage import group_commit
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOON)


@pytest.fixture
def manager(tmp_path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64), clock=clock) as manager:
        yield manager


def contents(hits: object) -> list[str]:
    return [hit.content for hit in hits]  # type: ignore[attr-defined]


def run_in_threads(calls: Sequence[Callable[[], object]]) -> None:
    """Run all calls at once; raise the first error of any of them."""
    with ThreadPoolExecutor(len(calls)) as pool:
        for future in [pool.submit(call) for call in calls]:
            future.result()


class TestMemories:
    def test_added_memory_can_be_read_changed_and_deleted(self, manager: MemoryManager) -> None:
        memory = manager.add_memory("Ann likes tea", "semantic", "user_input", {"importance": 0.8, "topic": "drinks"})
        assert (memory.id, memory.importance, memory.source, memory.type) == (1, 0.8, "user_input", MemoryType.SEMANTIC)
        assert manager.get(1) == memory
        changed = manager.update(1, "Ann likes coffee", importance=0.9)
        assert (changed.content, changed.importance, changed.metadata["topic"]) == ("Ann likes coffee", 0.9, "drinks")
        assert contents(manager.search_memories("coffee")) == ["Ann likes coffee"]
        assert manager.search_memories("tea")[0].score < manager.search_memories("coffee")[0].score
        assert manager.delete(1) == 1
        assert manager.search_memories("coffee") == []
        with pytest.raises(NotFound, match="no memory 1"):
            manager.get(1)

    def test_changing_a_returned_memory_does_not_change_the_stored_one(self, manager: MemoryManager) -> None:
        metadata = {"tags": ["a"]}
        memory = manager.add_memory("Ann likes tea", metadata=metadata)
        metadata["tags"].append("b")
        memory.metadata["tags"].append("c")
        assert manager.get(memory.id).metadata == {"tags": ["a"]}

    def test_add_memories_reports_progress(self, manager: MemoryManager) -> None:
        seen: list[tuple[int, int]] = []
        added = manager.add_memories(
            [f"fact {n}" for n in range(600)], progress=lambda done, total: seen.append((done, total))
        )
        assert [memory.id for memory in added] == list(range(1, 601))
        assert seen[-1] == (600, 600)
        assert len(seen) > 1

    def test_one_invalid_text_leaves_nothing_stored(self, manager: MemoryManager) -> None:
        with pytest.raises(InvalidInput):
            manager.add_memories(["good", " "])
        assert manager.get_stats().long_term_entries == 0

    def test_delete_with_an_unknown_id_deletes_nothing(self, manager: MemoryManager) -> None:
        manager.add_memories(["one", "two"])
        with pytest.raises(NotFound, match="no memory 7"):
            manager.delete([1, 7])
        assert manager.get(1).content == "one"
        assert manager.delete([1, 2]) == 2

    def test_ids_are_never_reused(self, manager: MemoryManager) -> None:
        manager.add_memories(["one", "two"])
        manager.delete([1, 2])
        assert manager.add_memory("three").id == 3

    def test_search_is_filtered_by_type_source_time_and_metadata(self, manager: MemoryManager) -> None:
        manager.add_memory("tea in spring", "episodic", "a", at=NOON - timedelta(days=300))
        manager.add_memory("tea in winter", "semantic", "b", {"n": 2})
        assert contents(manager.search_memories("tea", memory_types=["episodic"])) == ["tea in spring"]
        assert contents(manager.search_memory("tea", "semantic")) == ["tea in winter"]
        assert contents(manager.recall("tea", where={"source": "a"})) == ["tea in spring"]
        assert contents(manager.recall("tea", where={"after": NOON - timedelta(days=1)})) == ["tea in winter"]
        assert contents(manager.recall("tea", where={"metadata": {"n": {"gte": 2}}})) == ["tea in winter"]

    def test_unknown_filter_is_rejected(self, manager: MemoryManager) -> None:
        with pytest.raises(InvalidInput, match="unknown filter 'sauce'"):
            manager.recall("tea", where={"sauce": "a"})
        with pytest.raises(InvalidInput, match="unknown operator"):
            manager.recall("tea", where={"metadata": {"n": {"like": 2}}})

    def test_related_memories_are_found_by_depth_in_both_directions(self, manager: MemoryManager) -> None:
        manager.add_memories(["a", "b", "c", "d"])
        manager.add_memory_association(1, 2, "related_to", 0.5)
        manager.add_memory_association(2, 3, "related_to", 0.5)
        manager.add_memory_association(4, 1, "causes", 1.0)
        assert [each.id for each in manager.get_related_memories(1)] == [4, 2]
        assert [each.id for each in manager.get_related_memories(1, "related_to")] == [2]
        far = manager.get_related_memories(1, "related_to", depth=2)
        assert [(each.id, each.depth, each.strength) for each in far] == [(2, 1, 0.5), (3, 2, 0.25)]
        manager.add_memory_association(1, 2, "related_to", 0.9)
        assert manager.get_related_memories(1, "related_to")[0]["strength"] == 0.9
        with pytest.raises(NotFound):
            manager.add_memory_association(1, 99)
        with pytest.raises(InvalidInput, match="itself"):
            manager.add_memory_association(1, 1)

    def test_cleanup_deletes_old_unimportant_memories(self, manager: MemoryManager, clock: FakeClock) -> None:
        manager.add_memory("old and dull", importance=0.1)
        manager.add_memory("old and dear", importance=0.9)
        clock.now += timedelta(days=40)
        manager.add_memory("new and dull", importance=0.1)
        plan = manager.cleanup_old_memories(max_age_days=30, min_importance=0.3, dry_run=True)
        assert [(each.content, each.reason) for each in plan.memories] == [
            ("old and dull", "40 days old, importance 0.1")
        ]
        assert manager.get_stats().long_term_entries == 3
        done = manager.cleanup_old_memories(max_age_days=30, min_importance=0.3)
        assert (done["removed"], done["dry_run"]) == (1, False)
        assert manager.get_stats().long_term_entries == 2

    def test_short_term_memories_expire(self, manager: MemoryManager, clock: FakeClock) -> None:
        memory = manager.add_memory("the kettle is on", MemoryType.SHORT_TERM)
        assert contents(manager.search_memories("kettle")) == ["the kettle is on"]
        clock.now += timedelta(days=1, seconds=1)
        assert manager.search_memories("kettle") == manager.list_memories() == []
        assert manager.get(memory.id) == memory

    def test_update_of_an_outdated_version_changes_nothing_and_carries_the_current_memory(
        self, manager: MemoryManager
    ) -> None:
        read = manager.add_memory("Ann likes tea", user="ann")
        first = manager.update(read.id, "Ann likes coffee", user="ann", expected_version=read.version)
        assert first.version == read.version + 1
        with pytest.raises(Conflict, match="version 2, not 1") as late:
            manager.update(read.id, "Ann likes milk", user="ann", expected_version=read.version)
        assert late.value.current == first == manager.get(read.id, user="ann")
        assert manager.update(read.id, importance=0.9, user="ann", expected_version=2).version == 3

    def test_update_of_an_expected_version_stays_in_its_scope(self, manager: MemoryManager) -> None:
        memory = manager.add_memory("Ann likes tea", user="ann")
        with pytest.raises(NotFound):
            manager.update(memory.id, "x", user="bo", expected_version=7)

    @pytest.mark.parametrize("version", [0, -1, True, "1", 1.0])
    def test_invalid_expected_version_is_refused(self, manager: MemoryManager, version: Any) -> None:
        memory = manager.add_memory("tea")
        with pytest.raises(InvalidInput):
            manager.update(memory.id, "milk", expected_version=version)
        assert manager.get(memory.id) == memory

    def test_changes_by_functions_are_all_kept_when_writers_collide(self, manager: MemoryManager) -> None:
        memory = manager.add_memory("counter", metadata={"count": 0})

        def increment(current: Memory) -> dict[str, object]:
            return {"metadata": current.metadata | {"count": current.metadata["count"] + 1}}

        run_in_threads([lambda: [manager.update(memory.id, change=increment) for _ in range(5)] for _ in range(6)])
        assert manager.get(memory.id).metadata == {"count": 30}

    def test_slow_change_succeeds_after_others_have_gone_on(self, manager: MemoryManager) -> None:
        memory = manager.add_memory("tea")
        calls: list[int] = []

        def change(current: Memory) -> dict[str, object]:
            calls.append(current.version)
            if len(calls) < 3:
                manager.update(memory.id, f"tea {len(calls)}")  # while its own turn lasts, this waits for its end
            return {"importance": 0.9}

        assert manager.update(memory.id, change=change).content == "tea 2"
        assert len(calls) == 3

    def test_change_that_returns_nothing_to_change_writes_nothing(self, manager: MemoryManager) -> None:
        memory = manager.add_memory("tea")
        assert manager.update(memory.id, change=lambda _: {}) == memory == manager.get(memory.id)

    def test_change_of_an_outdated_version_raises_conflict(self, manager: MemoryManager) -> None:
        memory = manager.add_memory("tea")
        manager.update(memory.id, "milk")
        with pytest.raises(Conflict) as late:
            manager.update(memory.id, change=lambda _: {"content": "water"}, expected_version=1)
        assert late.value.current is not None
        assert late.value.current.content == "milk" == manager.get(memory.id).content

    @pytest.mark.parametrize("returned", [None, ["content"], {"id": 7}, {"content": ""}, {"importance": 2}])
    def test_change_that_returns_something_else_is_refused(self, manager: MemoryManager, returned: Any) -> None:
        memory = manager.add_memory("tea")
        with pytest.raises(InvalidInput):
            manager.update(memory.id, change=lambda _: returned)
        with pytest.raises(InvalidInput, match="not both"):
            manager.update(memory.id, "milk", change=lambda _: {})
        assert manager.get(memory.id) == memory

    def test_error_of_a_change_reaches_the_caller_and_nothing_is_written(self, manager: MemoryManager) -> None:
        memory = manager.add_memory("tea")
        with pytest.raises(ZeroDivisionError):
            manager.update(memory.id, change=lambda _: {"importance": 1 / 0})
        assert manager.get(memory.id) == memory


class TestRemember:
    def test_message_keeps_speaker_time_and_id(self, manager: MemoryManager) -> None:
        message = Message("user", "I moved to Lisbon", message_id="m1", name="Ann", timestamp=NOON - timedelta(days=3))
        (outcome,) = manager.remember(message, user="ann", session="s1")
        assert outcome.status == "stored"
        (hit,) = manager.recall("Lisbon", user="ann")
        assert (hit.message_id, hit.session, hit.memory.speaker) == ("m1", "s1", "Ann")
        assert (hit.memory.valid_from, hit.memory.recorded_at) == (NOON - timedelta(days=3), NOON)

    def test_newer_fact_ends_older_one_which_still_answers_as_of_its_time(self, manager: MemoryManager) -> None:
        turns = [
            Message("user", "Hello!", "m1", name="Ann", timestamp=NOON - timedelta(days=91)),
            Message("user", "I live in Hamburg.", "m2", name="Ann", timestamp=NOON - timedelta(days=90)),
            Message("user", "I live in Ghent now.", "m3", name="Ann", timestamp=NOON - timedelta(days=3)),
        ]
        greeting, old, new = manager.remember(turns, user="ann")
        assert (greeting.status, greeting.rule, greeting.message_id) == ("rejected", "greeting", "m1")
        assert old.memory is not None
        assert new.memory is not None
        assert new.reason == f"replaces what {old.memory.id} said"
        assert new.memory.evidence == (0, 20)
        assert new.memory.notes["claims"][0]["value"] == "Ghent"
        assert [hit.id for hit in manager.recall("Where do I live?", user="ann")] == [new.memory.id]
        then = manager.recall("Where do I live?", user="ann", as_of=NOON - timedelta(days=30))
        assert [hit.id for hit in then] == [old.memory.id]

    def test_repeated_message_is_a_duplicate(self, manager: MemoryManager) -> None:
        turns = [Message("user", "I grow tomatoes", message_id="1"), Message("user", "We keep bees", message_id="2")]
        assert [each.status for each in manager.remember(turns, session="s")] == ["stored", "stored"]
        again = manager.remember([*turns, {"role": "user", "content": "The goats are gone"}], session="s")
        assert [each.status for each in again] == ["duplicate", "duplicate", "stored"]
        assert again[0].memory is not None
        assert again[0].memory.id == 1

    def test_repeated_text_is_a_duplicate_within_its_scope(self, manager: MemoryManager) -> None:
        first, second = manager.remember(["tea", "tea"], user="ann")
        assert (first.status, second.status, second.reason) == ("stored", "duplicate", 'the same statement as "tea"')
        assert second.memory == first.memory
        assert manager.remember("tea", user="bob")[0].status == "stored"

    def test_expired_text_is_stored_again(self, manager: MemoryManager, clock: FakeClock) -> None:
        manager.remember("the kettle is on", type="short_term")
        assert manager.remember("the kettle is on", type="short_term")[0].status == "duplicate"
        clock.now += timedelta(days=2)
        assert manager.remember("the kettle is on", type="short_term")[0].status == "stored"

    def test_repeated_idempotency_key_stores_nothing_again(self, manager: MemoryManager) -> None:
        first = manager.remember(["a", "b"], idempotency_key="k")
        again = manager.remember(["a changed", "b"], idempotency_key="k")
        assert [each.status for each in again] == ["duplicate", "duplicate"]
        assert [each.memory for each in first] == [each.memory for each in again]

    def test_idempotency_key_of_what_was_forgotten_stores_nothing_any_more(self, manager: MemoryManager) -> None:
        manager.remember("The boat is blue.", user="ann", idempotency_key="k")
        manager.remember(["one", "two"], user="ann", idempotency_key="several")
        manager.forget(containing="boat", user="ann")
        manager.forget(containing="two", user="ann")
        for content, key in (("The boat is blue.", "k"), ("The car is red.", "k"), (["one", "two"], "several")):
            with pytest.raises(Conflict, match="was forgotten since, so nothing is stored: use a new key"):
                manager.remember(content, user="ann", idempotency_key=key)
        assert [memory.content for memory in manager.list_memories(user="ann")] == ["one"]
        assert manager.remember("The car is red.", user="bob", idempotency_key="k")[0].status == "stored"
        assert manager.remember("The boat is blue.", user="ann", idempotency_key="k2")[0].status == "stored"
        assert manager.remember("The boat is blue.", user="ann")[0].status == "duplicate"

    def test_message_without_text_is_rejected_and_the_rest_is_stored(self, manager: MemoryManager) -> None:
        outcomes = manager.remember([Message("assistant", None, message_id="m"), Message("user", "We keep bees")])
        assert [(each.status, each.reason) for each in outcomes] == [
            ("rejected", "the assistant message has no text"),
            ("stored", ""),
        ]

    def test_equal_texts_are_embedded_once(self, tmp_path: Path) -> None:
        embedder = HashEmbedder(64)
        seen: list[str] = []
        plain = embedder.embed

        def counting(texts: list[str], *, kind: str) -> object:
            seen.extend(texts)
            return plain(texts, kind=kind)  # type: ignore[arg-type]

        embedder.embed = counting  # type: ignore[method-assign, assignment]
        with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=embedder) as manager:
            manager.add_memories(["tea", "tea", "milk"])
            manager.remember("tea", user="ann")
        assert sorted(seen) == ["milk", "tea"]


class TestScopes:
    def test_what_others_write_does_not_move_the_scores_of_an_agent(self, manager: MemoryManager) -> None:
        for text in ("green tea for two", "black coffee", "a long walk by the sea"):
            manager.add_memory(text, agent="a", session="s")
        before = [(hit.content, hit.score) for hit in manager.recall("green tea", agent="a")]
        for number in range(40):
            manager.add_memory(f"tea and more green tea {number}", agent="b", session="t")
        assert [(hit.content, hit.score) for hit in manager.recall("green tea", agent="a")] == before
        assert [(hit.content, hit.score) for hit in manager.recall("green tea", session="s")] == before

    def test_user_sees_only_their_own_memories(self, manager: MemoryManager) -> None:
        manager.add_memory("tea of ann", user="ann")
        manager.add_memory("tea of bob", user="bob")
        manager.add_memory("tea of nobody")
        assert contents(manager.recall("tea", user="ann")) == ["tea of ann"]
        assert contents(manager.recall("tea")) == ["tea of nobody"]
        assert len(manager.recall("tea", user=ANY)) == 3
        with pytest.raises(NotFound):
            manager.get(1, user="bob")
        with pytest.raises(NotFound):
            manager.delete(1)

    def test_agent_and_session_match_exactly_and_none_means_any(self, manager: MemoryManager) -> None:
        manager.add_memory("tea one", agent="a", session="s")
        manager.add_memory("tea two", agent="a", session="t")
        manager.add_memory("tea three", agent="ab")
        assert contents(manager.recall("tea", agent="a", session="s")) == ["tea one"]
        assert sorted(contents(manager.recall("tea", agent="a"))) == ["tea one", "tea two"]
        assert len(manager.recall("tea")) == 3

    def test_tenants_do_not_see_each_other(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/a.db"
        with (
            MemoryManager(url, embedder=HashEmbedder(64), tenant="x") as x,
            MemoryManager(url, embedder=HashEmbedder(64), tenant="y") as y,
        ):
            x.add_memory("tea")
            assert y.recall("tea", user=ANY).hits == ()
            assert len(x.recall("tea")) == 1


class TestValues:
    def test_values_are_stored_by_agent_and_key(self, manager: MemoryManager, clock: FakeClock) -> None:
        assert manager.save("a", "k", {"n": 1}) is True
        assert manager.save("a", "k", [1, None], "long_term") is True
        assert manager.retrieve("a", "k") == {"n": 1}
        assert manager.retrieve("a", "k", "long_term") == [1, None]
        assert manager.retrieve("b", "k") is None
        assert manager.retrieve("b", "k", "long_term") is None
        clock.now += timedelta(days=2)
        assert manager.retrieve("a", "k") is None
        assert manager.retrieve("a", "k", "long_term") == [1, None]

    def test_long_term_value_is_replaced_and_found_by_its_content(self, manager: MemoryManager) -> None:
        manager.save("a", "best_practices", ["Personalize emails"], "long_term")
        manager.save("a", "best_practices", ["Test headlines"], "long_term")
        assert manager.retrieve("a", "best_practices", "long_term") == ["Test headlines"]
        (hit,) = manager.search_similar("a", "which headlines", top_k=5)
        assert hit.memory.value == ["Test headlines"]
        assert manager.search_similar("b", "which headlines") == []

    @pytest.mark.parametrize("kind", ["semantic", "nonsense"])
    def test_other_memory_types_are_rejected_for_values(self, manager: MemoryManager, kind: str) -> None:
        with pytest.raises(InvalidInput):
            manager.save("a", "k", 1, kind)
        with pytest.raises(InvalidInput):
            manager.retrieve("a", "k", kind)

    def test_long_term_value_rejects_a_ttl(self, manager: MemoryManager) -> None:
        with pytest.raises(InvalidInput, match="ttl"):
            manager.save("a", "k", 1, "long_term", ttl=5)


class TestLifecycle:
    def test_memories_outlive_the_manager(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/a.db"
        with MemoryManager(url, embedder=HashEmbedder(64)) as manager:
            manager.add_memory("tea")
        with MemoryManager(url, embedder=HashEmbedder(64)) as manager:
            assert contents(manager.recall("tea")) == ["tea"]

    def test_writes_of_another_manager_are_seen_by_the_next_search(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/a.db"
        with (
            MemoryManager(url, embedder=HashEmbedder(64)) as one,
            MemoryManager(url, embedder=HashEmbedder(64)) as two,
        ):
            assert two.recall("tea").hits == ()
            one.add_memory("tea")
            assert contents(two.recall("tea")) == ["tea"]
            two.update(1, "milk")
            assert contents(one.recall("milk")) == ["milk"]
            one.delete(1)
            assert two.recall("milk").hits == ()

    def test_concurrent_deletes_of_one_memory_succeed_once(self, tmp_path: Path) -> None:
        with (
            MemoryManager(tmp_path / "a.db", embedder=HashEmbedder(64)) as one,
            MemoryManager(tmp_path / "a.db") as two,
        ):
            ids = [memory.id for memory in one.add_memories([f"note {n}" for n in range(60)])]
            deleted: list[int] = []

            def delete(manager: MemoryManager) -> None:
                for memory_id in ids:
                    with suppress(NotFound):
                        deleted.extend([memory_id] * manager.delete(memory_id))

            run_in_threads([partial(delete, manager) for manager in (one, two) * 2])
            assert sorted(deleted) == ids

    def test_concurrent_updates_all_succeed(self, manager: MemoryManager) -> None:
        manager.add_memory("tea")
        run_in_threads([lambda: [manager.update(1, f"tea {n}") for n in range(4)] for _ in range(12)])
        assert manager.get(1).version == 1 + 4 * 12

    def test_database_can_be_a_path(self, tmp_path: Path) -> None:
        for number, manager in enumerate((MemoryManager(tmp_path / "0.db"), MemoryManager(db_url=tmp_path / "1.db"))):
            with manager:
                assert manager.health().database == str(tmp_path / f"{number}.db")

    @pytest.mark.parametrize("wrong", [b"memories.db", 5, ["memories.db"]])
    def test_database_argument_of_a_wrong_type_is_rejected(self, wrong: Any) -> None:
        for make in (lambda: MemoryManager(wrong), lambda: MemoryManager(db_url=wrong)):
            with pytest.raises(InvalidType, match="must be a path or a URL"):
                make()

    @pytest.mark.parametrize(
        ("url", "advice"),
        [
            ("sqlite:memories.db", "is not a database URL"),
            ("file:memories.db", "is not a database URL"),
            ("sqlite://host:port/memories.db", "is not a database URL"),
            ("sqlite:///memories.db?mode=ro", "options after the '\\?'"),
            ("sqlite:///a\0b.db", "NUL byte"),
            ("sqlite:///a\ud800b.db", "lone surrogate"),
        ],
    )
    def test_invalid_database_url_is_rejected(self, url: str, advice: str) -> None:
        with pytest.raises(InvalidInput, match=advice):
            MemoryManager(url).get_stats()

    def test_forget_never_deletes_a_database_named_like_an_index(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/memories.faiss"
        with MemoryManager(url, embedder=HashEmbedder(64)) as manager:
            manager.add_memories(["tea", "milk"])
            manager.forget(1)
        with MemoryManager(url, embedder=HashEmbedder(64)) as manager:
            assert [memory.content for memory in manager.list_memories()] == ["milk"]
        with pytest.raises(InvalidInput, match="another name"):
            MemoryManager(url, faiss_index_path=tmp_path / "memories.faiss").get_stats()

    def test_close_can_be_repeated_and_later_use_raises_closed(self, tmp_path: Path) -> None:
        manager = MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64))
        manager.add_memory("tea")
        manager.close()
        manager.close()
        with pytest.raises(Closed):
            manager.add_memory("tea")

    def test_forked_child_opens_its_own_store(self, manager: MemoryManager) -> None:
        manager.add_memory("tea")
        child = os.fork()
        if child == 0:  # pragma: no cover
            try:
                manager.add_memory("milk")
                os._exit(0 if len(manager.recall("tea milk")) == 2 else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert contents(manager.recall("milk"))[0] == "milk"
        assert manager.add_memory("juice").id == 3

    def test_no_file_is_created_before_it_is_needed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        manager = MemoryManager()
        manager.save("a", "k", 1)
        manager.close()
        assert list(tmp_path.iterdir()) == []

    def test_importing_and_adding_load_no_search_library(self, tmp_path: Path) -> None:
        program = f"""
import sys, json
import memoranda
early = [name for name in ("numpy", "sqlalchemy", "faiss", "onnxruntime", "alembic") if name in sys.modules]
config = memoranda.MemoryConfig(db_url="sqlite:///{tmp_path}/a.db", enable_vector_search=False)
with memoranda.MemoryManager(config) as m:
    m.add_memory("tea")
late = [name for name in ("faiss", "onnxruntime") if name in sys.modules]
print(json.dumps([early, late]))
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert json.loads(done.stdout) == [[], []]

    def test_another_model_is_rejected_until_reembed(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/a.db"
        with MemoryManager(url, embedder=HashEmbedder(64)) as manager:
            manager.add_memories(["tea", "milk"])
        with MemoryManager(url, embedder=HashEmbedder(32)) as manager:
            with pytest.raises(Incompatible, match="reembed"):
                manager.recall("tea")
            with pytest.raises(Incompatible, match="reembed"):
                manager.add_memory("juice")
            assert manager.reembed() == 2
            assert contents(manager.recall("tea"))[0] == "tea"
            assert manager.add_memory("juice").id == 3
            assert manager.health().generation == 2
        with MemoryManager(url, embedder=HashEmbedder(64)) as manager, pytest.raises(Incompatible):
            manager.recall("tea")

    def test_reembed_stops_managers_with_the_old_model(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/a.db"
        with (
            MemoryManager(url, embedder=HashEmbedder(64)) as old,
            MemoryManager(url, embedder=HashEmbedder(32)) as new,
        ):
            old.add_memory("tea")
            new.reembed()
            with pytest.raises(Incompatible, match="another"):
                old.add_memory("milk")
            with pytest.raises(Incompatible):
                old.recall("tea")
            assert new.get_stats().long_term_entries == 1

    def test_health_reports_database_and_status(self, manager: MemoryManager, tmp_path: Path) -> None:
        manager.add_memory("tea")
        health = manager.health()
        assert (health.status, health.problems, health["changes"]) == ("ok", (), 1)
        assert health.database == f"{tmp_path}/a.db"
        assert health.wal_reset_bug is False
        assert health.size_bytes > 0

    def test_recall_without_vector_search_is_lexical(self, tmp_path: Path) -> None:
        config = MemoryConfig(db_url=f"sqlite:///{tmp_path}/a.db", enable_vector_search=False)
        with MemoryManager(config) as manager:
            manager.add_memory("tea")
            (hit,) = manager.recall("tea")
            assert [each.arm for each in hit.why] == ["lexical"]
            assert manager.health().embedder is None


class TestCommitSize:
    def _remember(self, tmp_path: Path, commit_size: int) -> list[Memory]:
        config = MemoryConfig(db_url=f"sqlite:///{tmp_path}/{commit_size}.db", commit_size=commit_size)
        texts = [
            f"I {claim} in {year}"
            for year in range(2000, 2010)
            for claim in (f"moved to Oslo{year}", "like tea", f"work at Acme{year % 3}")
        ]
        messages = [Message("user", text, message_id=f"m{n}", timestamp=NOON) for n, text in enumerate(texts)]
        with MemoryManager(config, embedder=HashEmbedder(16), clock=FakeClock(NOON)) as manager:
            outcomes = manager.remember(messages, user="ann")
            assert len(outcomes) == len(messages)
            assert manager.check().ok
            return manager.list_memories(user="ann", limit=1000)

    def test_several_commits_store_the_same_as_one(self, tmp_path: Path) -> None:
        one = self._remember(tmp_path, 0)
        assert len(one) > 10
        assert self._remember(tmp_path, 8) == one

    def test_another_writer_gets_in_between_two_commits_of_a_long_call(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        config = MemoryConfig(db_url=f"sqlite:///{tmp_path}/a.db", commit_size=8)
        messages = [{"role": "user", "content": f"I bought house number {n} in Oslo"} for n in range(20)]
        with MemoryManager(config, embedder=HashEmbedder(16)) as manager:
            other = manager.for_tenant("other")
            other.add_memory("before")
            store, between = manager._components.open().store, list[int]()
            write = store.write

            def write_and_let_another_in(work: Any, **options: Any) -> Any:
                result = write(work, **options)
                with monkeypatch.context() as original:
                    original.setattr(store, "write", write)
                    between.append(other.add_memory("small").id)
                return result

            with monkeypatch.context() as patched:
                patched.setattr(store, "write", write_and_let_another_in)
                ids = [outcome.memory.id for outcome in manager.remember(messages, user="ann") if outcome.memory]
            other.close()
        assert len(between) >= 3  # more where commits take long
        assert min(ids) < between[0] < between[1] < max(ids)

    @pytest.mark.parametrize("size", [-1, True, 1.5, "8"])
    def test_invalid_commit_size_is_refused(self, size: Any) -> None:
        with pytest.raises(InvalidInput, match="commit_size"):
            MemoryConfig(commit_size=size)


class TestEmptyChoices:
    @pytest.mark.parametrize("where", [{"source": []}, {"speaker": []}, {"type": []}, {"metadata": {"topic": []}}])
    def test_empty_list_in_a_filter_matches_nothing(self, manager: MemoryManager, where: dict[str, Any]) -> None:
        manager.add_memory("Ann likes tea", source="chat", metadata={"topic": "tea"})
        assert list(manager.recall("tea", where=where)) == []
        assert manager.list_memories(where=where) == []
        assert manager.forget(where=where).ids == ()
        assert len(manager.list_memories()) == 1

    def test_empty_list_of_types_matches_nothing(self, manager: MemoryManager) -> None:
        manager.add_memory("Ann likes tea")
        assert list(manager.recall("tea", types=[])) == []
        assert manager.search_memories("tea", []) == []
        assert manager.forget(types=[]).ids == ()
        assert len(manager.list_memories(types=None)) == 1


def test_users_agents_and_sessions_are_listed_who_have_only_talked(tmp_path: Path) -> None:
    with MemoryManager(db_url=f"sqlite:///{tmp_path}/m.db") as manager:
        manager.remember("It rains", user="ann", agent="a", session="s1")
        manager.remember(Message("user", "hi"), user="bob", agent="b", session="s2")
        manager.remember(Message("user", "hello"), user="ann", agent="c", session="s3")
        assert [(each.user, each.memories) for each in manager.users()] == [("ann", 1), ("bob", 0)]
        assert [(each.name, each.memories) for each in manager.agents(user=ANY)] == [("a", 1), ("b", 0), ("c", 0)]
        assert [(each.name, each.memories) for each in manager.sessions(user="ann")] == [("s1", 1), ("s3", 0)]
        assert [each.user for each in manager.users(1)] == ["ann"]
        assert [each.user for each in manager.users(5, 1)] == ["bob"]
        ann = manager.users()[0]
        assert ann.last_active == max(each.last_active for each in manager.agents(user="ann"))


def test_users_lists_who_has_memories_in_pages(tmp_path: Path) -> None:
    with MemoryManager(db_url=f"sqlite:///{tmp_path}/m.db") as manager:
        manager.remember("It rains")
        for user, count in (("cy", 1), ("ann", 3), ("bob", 2)):
            manager.remember([f"fact {n} of {user}" for n in range(count)], user=user)
        assert [(each.user, each.memories) for each in manager.users()] == [("ann", 3), ("bob", 2), ("cy", 1)]
        assert [each.user for each in manager.users(1, 1)] == ["bob"]
        assert all(each.last_active.tzinfo for each in manager.users())
        with pytest.raises(InvalidInput):
            manager.users(0)
        with MemoryManager(db_url=f"sqlite:///{tmp_path}/m.db", tenant="other") as other:
            assert other.users() == []


def test_list_memories_newest_first_pages_backwards(tmp_path: Path) -> None:
    with MemoryManager(db_url=f"sqlite:///{tmp_path}/m.db") as manager:
        manager.remember([f"fact {n}" for n in range(5)], user="ann")
        page = manager.list_memories(2, user="ann", newest_first=True)
        assert [memory.content for memory in page] == ["fact 4", "fact 3"]
        rest = manager.list_memories(9, page[-1].id, user="ann", newest_first=True)
        assert [memory.content for memory in rest] == ["fact 2", "fact 1", "fact 0"]


def test_change_of_a_file_wins_against_a_writer_that_is_always_faster(
    manager: MemoryManager, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert list(tmp_path.iterdir())  # on a server the change is tried again until it wins
    monkeypatch.setattr(group_commit, "_PREPARE_SECONDS", 30.0)  # however slow this machine is
    memory = manager.add_memory("counter", metadata={"count": 0})
    calls: list[int] = []
    rivals: list[threading.Thread] = []

    def change(current: Memory) -> dict[str, object]:
        calls.append(current.version)
        rivals.append(threading.Thread(target=manager.update, args=(memory.id, f"rival {len(calls)}")))
        rivals[-1].start()
        rivals[-1].join(0.02 if len(calls) > 1 else None)
        return {"metadata": {"count": 1}}

    manager.update(memory.id, change=change)
    for rival in rivals:
        rival.join()
    assert len(calls) == 2
    assert manager.get(memory.id).metadata == {"count": 1}
    assert manager.get(memory.id).content == "rival 2"
