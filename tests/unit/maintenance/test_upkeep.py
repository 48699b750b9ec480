from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memoranda import ANY, InvalidInput, MemoryConfig, MemoryManager, MemoryType, Message, aio
from memoranda.llm.base import LLM
from memoranda.llm.scripted import ScriptedLLM
from memoranda.maintenance.policies import POLICIES, UpkeepSettings
from memoranda.maintenance.upkeep_store import PlannedChange, UpkeepStore
from memoranda.results.maintenance import PolicyName, UpkeepDecision
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock

START = datetime(2026, 5, 1, 12, tzinfo=UTC)
SMALL_TALK = "Haha, that is so funny!"
FEW = UpkeepSettings(session_least=4, period_least=4, keep_short_term=3)
CATS = [
    "Our cat Tom chased the red ball in the garden",
    "Tom the cat lost his red ball in the garden",
    "The cat Tom found the red ball in the garden",
    "Taxes are due on the 14th of June, says the accountant",
]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


@pytest.fixture
def manager(tmp_path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path / 'm.db'}", embedder=HashEmbedder(), clock=clock) as manager:
        yield manager


def remember_turns(
    manager: MemoryManager, texts: list[str], at: datetime, session: str = "s1", user: str = "ada"
) -> list[int]:
    turns = [
        Message("user", text, f"{session}-{n}", name="Ada", timestamp=at + timedelta(minutes=n))
        for n, text in enumerate(texts)
    ]
    outcomes = manager.remember(turns, user=user, session=session)
    return [outcome.memory.id for outcome in outcomes if outcome.memory]


def test_expired_memories_are_archived_unless_pinned(manager: MemoryManager, clock: FakeClock) -> None:
    passing = manager.add_memory("the kettle is on", "short_term")
    kept = manager.pin(manager.add_memory("the oven is on", "short_term").id)
    clock.advance(days=2)
    report = manager.upkeep(policies=["expire"])
    assert [(decision.id, decision.action) for decision in report.decisions] == [(passing.id, "archived")]
    assert manager.get_stats().long_term_entries == 2
    assert kept.pinned


@pytest.mark.parametrize("settings", [None, FEW])
def test_default_upkeep_never_removes_or_hides_a_statement(
    manager: MemoryManager, clock: FakeClock, settings: UpkeepSettings | None
) -> None:
    texts = [
        "I can't have dairy.", "I use a wheelchair.", "I need a lift.", "My knee hurts.", "Never call me at night.",
        "could you always use large print?", "Would you speak slowly from now on?", "Can you stop whispering?",
        "I ordered 2 pens", "The blue key opens the shed.", "Anna was at the station.", "I had a car.", "I have a car.",
    ]  # fmt: skip
    turns = [Message("user", text, timestamp=START) for text in texts]
    outcomes = [*manager.remember(turns, user="ada"), *manager.remember(turns, user="bo", importance=0.01)]
    assert [outcome.status for outcome in outcomes] == ["stored"] * len(outcomes)
    for _ in range(4):
        clock.advance(days=200)
        report = manager.upkeep(settings=settings)
        assert {decision.action for decision in report.decisions} <= {"derived"}
    for user in ("ada", "bo"):
        said = [memory for memory in manager.list_memories(user=user) if memory.content in texts]
        assert [memory.archived_at for memory in said] == [None] * len(texts)


def test_small_talk_is_archived_and_deleted_only_when_asked(manager: MemoryManager, clock: FakeClock) -> None:
    chatter = manager.add_memory(SMALL_TALK, importance=0.05)
    clock.advance(days=365)
    assert [(each.id, each.action) for each in manager.upkeep().decisions] == [(chatter.id, "archived")]
    clock.advance(days=365)
    assert manager.upkeep().decisions == ()
    assert manager.get(chatter.id).content == SMALL_TALK
    assert [each.action for each in manager.upkeep(delete=True).decisions] == ["removed"]
    assert manager.list_memories() == []


def test_dry_run_reports_same_decisions_and_changes_nothing(manager: MemoryManager, clock: FakeClock) -> None:
    remember_turns(manager, CATS, START)
    manager.add_memory("the kettle is on", "short_term")
    manager.add_memory(SMALL_TALK, importance=0.02)
    clock.advance(days=100)
    before = manager.list_memories(user=ANY)
    planned = manager.upkeep(policies=POLICIES, dry_run=True, settings=FEW)
    assert manager.list_memories(user=ANY) == before
    done = manager.upkeep(policies=POLICIES, settings=FEW)
    assert [(d.policy, d.action, d.reason) for d in planned.decisions] == [
        (d.policy, d.action, d.reason) for d in done.decisions
    ]
    assert {d.policy for d in done.decisions} == {"expire", "summarize", "consolidate", "reflect", "fade"}


def test_policies_that_cost_recall_run_only_when_named(manager: MemoryManager, clock: FakeClock) -> None:
    remember_turns(manager, CATS, START)
    clock.advance(days=100)
    assert {d.policy for d in manager.upkeep(settings=FEW).decisions} == {"consolidate"}
    asked = manager.upkeep(policies=["summarize", "reflect"], settings=FEW)
    assert {d.policy for d in asked.decisions} == {"summarize", "reflect"}


def test_second_run_changes_nothing(manager: MemoryManager, clock: FakeClock) -> None:
    for week in range(4):
        remember_turns(manager, CATS, START - timedelta(days=7 * week), session=f"s{week}")
    manager.add_memories(["The bank is closed today.", "the bank is closed today", SMALL_TALK], importance=0.02)
    clock.advance(days=100)
    first = manager.upkeep(settings=FEW)
    assert {decision.action for decision in first.decisions} == {"merged", "derived", "archived"}
    head = manager.health().changes
    assert manager.upkeep(settings=FEW).decisions == ()
    assert manager.health().changes == head


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("policies", [None, POLICIES])
def test_second_run_of_varied_store_changes_nothing(
    manager: MemoryManager, clock: FakeClock, seed: int, policies: tuple[PolicyName, ...] | None
) -> None:
    fill_at_random(manager, clock, random.Random(seed))
    clock.advance(days=100)
    settings = UpkeepSettings(session_least=4, period_least=4, archive_sources=seed % 2 == 0)
    first = manager.upkeep(policies=policies, settings=settings, delete=True)
    assert {"merged", "derived", "archived"} <= {decision.action for decision in first.decisions}
    head = manager.health().changes
    assert manager.upkeep(policies=policies, settings=settings, delete=True).decisions == ()
    assert manager.health().changes == head
    assert manager.check().ok


def fill_at_random(manager: MemoryManager, clock: FakeClock, rng: random.Random) -> None:
    """Store statements, updates of them, repetitions, small talk, values and expired memories of several owners."""
    homes = [f"I live in {city}." for city in ("Berlin", "Rome", "Ghent")]
    texts = [*homes, *CATS, SMALL_TALK, "Cool, thanks!", "I ordered 2 pens yesterday", "I can't have dairy."]
    for number in range(160):
        clock.advance(hours=rng.choice([0.1, 5, 30]))
        text = rng.choice(texts) + rng.choice(["", "!", " Thanks!"])
        scope: Any = {"user": rng.choice(["ada", "bo"]), "session": rng.choice([None, "s1", "s2"])}
        if rng.random() < 0.5:
            manager.remember(Message("user", text, f"m{number}", timestamp=clock()), **scope)
        else:
            kind = rng.choice(["semantic", "semantic", "short_term"])
            memory = manager.add_memory(text, kind, importance=rng.choice([0.02, 0.5, 0.9]), **scope)
            if rng.random() < 0.2:
                rng.choice([manager.pin, manager.archive])(memory.id, user=scope["user"])


def test_pinned_recent_and_important_memories_stay(manager: MemoryManager, clock: FakeClock) -> None:
    unimportant = [manager.add_memory(SMALL_TALK, agent=f"a{n}", importance=0.02) for n in range(3)]
    manager.pin(unimportant[0].id)
    manager.add_memory("important", importance=0.9)
    clock.advance(days=6.9)
    assert manager.upkeep().decisions == ()
    clock.advance(days=1)
    manager.add_memory(SMALL_TALK, agent="b", importance=0.02)
    assert [decision.id for decision in manager.upkeep().decisions] == [unimportant[1].id, unimportant[2].id]


def test_recently_recalled_memory_does_not_fade(manager: MemoryManager, clock: FakeClock) -> None:
    used, unused = manager.add_memories(["wow, funny umbrella", "wow, funny kettle"], importance=0.02)
    clock.advance(days=20)
    assert manager.recall("umbrella", limit=1)[0].id == used.id
    clock.advance(days=6)
    assert [decision.id for decision in manager.upkeep().decisions] == [unused.id]
    clock.advance(days=30)
    assert used.id in [decision.id for decision in manager.upkeep(policies=["fade"]).decisions]


def test_archived_memories_can_be_restored_until_they_are_deleted(manager: MemoryManager, clock: FakeClock) -> None:
    texts = ["that umbrella picture is so funny", "wow, nice umbrella picture"]
    first, second = manager.add_memories(texts, importance=0.02)
    clock.advance(days=10)
    manager.upkeep()
    assert list(manager.recall("umbrella")) == []
    assert manager.get(first.id).archived_at is not None
    manager.restore(first.id)
    manager.pin(first.id)
    assert [hit.id for hit in manager.recall("umbrella")] == [first.id]
    clock.advance(days=29)
    assert manager.upkeep(delete=True).decisions == ()
    clock.advance(days=2)
    report = manager.upkeep(delete=True)
    assert [(decision.id, decision.action) for decision in report.decisions] == [(second.id, "removed")]
    assert [memory.id for memory in manager.list_memories()] == [first.id]


def test_short_term_memories_beyond_window_are_archived(manager: MemoryManager, clock: FakeClock) -> None:
    ids = []
    for n in range(6):
        clock.advance(minutes=1)
        ids.append(manager.add_memory(f"step {n}", "working", agent="a").id)
    assert [decision.id for decision in manager.upkeep(policies=["window"], settings=FEW).decisions] == ids[:3]


def test_repeated_statements_are_merged_and_stay_merged(manager: MemoryManager, clock: FakeClock) -> None:
    texts = ["Ben likes strong coffee", "Ben likes strong coffee!", "Ben likes  strong, coffee"]
    ids = [manager.add_memory(text, user="ada").id for text in texts]
    report = manager.upkeep(policies=["merge"])
    assert [(decision.id, decision.into) for decision in report.decisions] == [(ids[1], ids[0]), (ids[2], ids[0])]
    assert [hit.id for hit in manager.recall("coffee", user="ada")] == [ids[0]]
    assert manager.history(ids[1], user="ada").superseded_by == manager.get(ids[0], user="ada")
    assert manager.history(ids[0], user="ada").supersedes == (ids[1], ids[2])
    assert [outcome.status for outcome in manager.remember(texts, user="ada")] == ["duplicate"] * 3


def test_repeated_conversation_adds_nothing(manager: MemoryManager, clock: FakeClock) -> None:
    remember_turns(manager, CATS, START)
    manager.remember(CATS, user="ada")
    clock.advance(days=30)
    manager.upkeep(settings=FEW)
    size = manager.get_stats().long_term_entries
    for _ in range(20):
        remember_turns(manager, CATS, START)
        manager.remember(CATS, user="ada")
        assert manager.upkeep(settings=FEW).decisions == ()
    assert manager.get_stats().long_term_entries == size


def test_consolidated_memory_names_its_sources(manager: MemoryManager, clock: FakeClock) -> None:
    ids = remember_turns(manager, CATS, START)
    clock.advance(days=1)
    (derived,) = manager.upkeep(policies=["consolidate"]).decisions
    assert derived.id is not None
    memory = manager.get(derived.id, user="ada")
    assert (memory.type, memory.session, memory.user) == (MemoryType.SEMANTIC, "s1", "ada")
    assert memory.content.splitlines() == [f"- Ada, 2026-05-01: {text}" for text in CATS[:3]]
    assert [line.source_id for line in manager.history(derived.id, user="ada").sources] == ids[:3]
    # It repeats its sources, so recall returns it only when one of them is gone.
    assert set(ids[:3]) <= {hit.id for hit in manager.recall("red ball", user="ada")} <= set(ids)
    manager.archive(ids[0], user="ada")
    assert derived.id in [hit.id for hit in manager.recall("red ball", user="ada")]


def test_sources_are_archived_only_with_archive_sources(manager: MemoryManager, clock: FakeClock) -> None:
    ids = remember_turns(manager, CATS, START)
    clock.advance(days=1)
    (derived,) = manager.upkeep(policies=["consolidate"], settings=UpkeepSettings(archive_sources=True)).decisions
    found = [hit.id for hit in manager.recall("red ball garden", user="ada")]
    assert (found[0], set(found) & set(ids[:3])) == (derived.id, set())
    assert [line.kind for line in manager.history(ids[0], user="ada").derived] == ["consolidated"]


def test_finished_conversation_is_summarized_again_when_it_continues(manager: MemoryManager, clock: FakeClock) -> None:
    remember_turns(manager, CATS, START)
    assert manager.upkeep(policies=["summarize"], settings=FEW).decisions == ()
    clock.advance(hours=2)
    (first,) = manager.upkeep(policies=["summarize"], settings=FEW).decisions
    assert "Taxes are due on the 14th of June" in first.content
    remember_turns(manager, [*CATS, "We moved to Bern on the 3rd of May"], START)
    clock.advance(hours=2)
    (second,) = manager.upkeep(policies=["summarize"], settings=FEW).decisions
    assert "Bern" in second.content
    assert first.id is not None
    assert manager.get(first.id, user="ada").superseded_by == second.id
    assert manager.upkeep(policies=["summarize"], settings=FEW).decisions == ()


def test_finished_week_gets_a_reflection(manager: MemoryManager, clock: FakeClock) -> None:
    remember_turns(manager, CATS, START)
    clock.advance(days=8)
    (derived,) = manager.upkeep(policies=["reflect"], settings=FEW).decisions
    assert derived.id is not None
    memory = manager.get(derived.id, user="ada")
    assert memory.type is MemoryType.REFLECTION
    assert memory.content.startswith("Looking back on 2026-04-27 to 2026-05-04:\n- Ada, 2026-05-01: ")


class BrokenLLM:
    def complete(self, prompt: str, *, max_tokens: int) -> str:
        raise KeyError("choices")


@pytest.mark.parametrize("llm", [ScriptedLLM([]), ScriptedLLM([" "]), BrokenLLM()])
def test_failing_model_gives_extractive_summary_and_a_problem(
    manager: MemoryManager, clock: FakeClock, llm: LLM
) -> None:
    remember_turns(manager, CATS, START)
    clock.advance(hours=2)
    report = manager.upkeep(policies=["summarize"], settings=FEW, llm=llm)
    (derived,) = report.decisions
    assert derived.id is not None
    assert manager.get(derived.id, user="ada").trust == "user"
    assert derived.content.startswith("Summary of a conversation:\n- Ada, 2026-05-01: ")
    assert report.problems[0].startswith("summarize of the session s1 was written without the model, which failed: ")


def test_model_writes_summary_with_the_trust_of_a_model(manager: MemoryManager, clock: FakeClock) -> None:
    ids = remember_turns(manager, CATS, START)
    clock.advance(hours=2)
    (derived,) = manager.upkeep(policies=["summarize"], settings=FEW, llm=ScriptedLLM(["A cat and taxes."])).decisions
    assert derived.content == "Summary of a conversation:\nA cat and taxes."
    assert derived.id is not None
    assert manager.get(derived.id, user="ada").trust == "model"
    assert [line.source_id for line in manager.history(derived.id, user="ada").sources] == ids


def test_derived_memory_has_lowest_trust_of_its_sources(manager: MemoryManager, clock: FakeClock) -> None:
    turns = [Message("tool" if n == 1 else "user", text, tool_call_id="c") for n, text in enumerate(CATS[:3])]
    manager.remember(turns, user="ada", session="s1")
    clock.advance(days=1)
    (derived,) = manager.upkeep(policies=["consolidate"]).decisions
    assert derived.id is not None
    assert manager.get(derived.id, user="ada").trust == "tool"


def test_upkeep_without_embedder_compares_words(tmp_path: Path, clock: FakeClock) -> None:
    config = MemoryConfig(db_url=f"sqlite:///{tmp_path / 'm.db'}", enable_vector_search=False)
    with MemoryManager(config, clock=clock) as manager:
        remember_turns(manager, CATS, START)
        clock.advance(days=1)
        assert [decision.action for decision in manager.upkeep(policies=["consolidate"]).decisions] == ["derived"]


def test_users_and_tenants_are_consolidated_separately(manager: MemoryManager, clock: FakeClock) -> None:
    for user in ("ada", "bob"):
        remember_turns(manager, CATS[:2], START, user=user)
    other = manager.for_tenant("other")
    remember_turns(other, CATS[:2], START)
    clock.advance(days=1)
    assert manager.upkeep(settings=UpkeepSettings(cluster_least=3)).decisions == ()
    assert len(manager.upkeep(user="bob", settings=UpkeepSettings(cluster_least=2)).decisions) == 1
    assert other.upkeep(dry_run=True, settings=UpkeepSettings(cluster_least=2)).examined == 2


def test_shared_knowledge_is_never_examined(manager: MemoryManager, clock: FakeClock) -> None:
    manager.add_knowledge("The office opens at nine.", source="a")
    manager.add_knowledge("The office opens at nine.", source="b")
    clock.advance(days=1000)
    assert manager.upkeep().examined == 0


def test_lease_allows_one_run_at_a_time_and_expires(manager: MemoryManager, clock: FakeClock) -> None:
    manager.add_memory(SMALL_TALK, importance=0.01)
    clock.advance(days=9)
    with UpkeepStore(manager._components.open().store, "default", clock) as other:
        assert other.held_until is None
        assert "under way" in (manager.upkeep().skipped or "")
        assert manager.upkeep(dry_run=True).decisions != ()
        clock.advance(minutes=6)
        assert [decision.action for decision in manager.upkeep().decisions] == ["archived"]


def test_memory_changed_since_planning_is_left_alone(manager: MemoryManager, clock: FakeClock) -> None:
    memory = manager.add_memory(SMALL_TALK, importance=0.01)
    manager.pin(memory.id)
    with UpkeepStore(manager._components.open().store, "default", clock) as store:
        plan = PlannedChange(UpkeepDecision("fade", "archived", memory.id, "note", "faded"), (memory,))
        assert store.apply([plan], clock()) == []
    assert manager.get(memory.id).archived_at is None


def test_schedule_runs_in_background_until_close(tmp_path: Path, clock: FakeClock) -> None:
    manager = MemoryManager(f"sqlite:///{tmp_path / 'm.db'}", embedder=HashEmbedder(), clock=clock)
    assert manager.upkeep(every=timedelta(milliseconds=20)).decisions == ()
    first, second = manager.add_memories(["The kettle is on", "The kettle is on!"])
    deadline = time.monotonic() + 20
    while manager.get(second.id).superseded_by is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert manager.get(second.id).superseded_by == first.id
    assert manager.health().status == "ok"
    manager.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "memoranda-upkeep"]


def test_progress_counts_users(manager: MemoryManager) -> None:
    for user in ("ada", "bob", None):
        manager.add_memory("hello", user=user)
    steps: list[tuple[int, int]] = []
    manager.upkeep(progress=lambda done, total: steps.append((done, total)))
    assert steps == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policies": ["dust"]}, "expire"),
        ({"policies": "fade"}, "list"),
        ({"every": 0}, "every"),
        ({"every": "x"}, "every"),
    ],
)
def test_invalid_arguments_are_rejected_with_advice(
    manager: MemoryManager, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        manager.upkeep(**arguments)  # type: ignore[arg-type]


async def test_async_manager_runs_upkeep(tmp_path: Path, clock: FakeClock) -> None:
    async with aio.MemoryManager(f"sqlite:///{tmp_path / 'm.db'}", embedder=HashEmbedder(), clock=clock) as manager:
        memory = await manager.add_memory(SMALL_TALK, importance=0.01)
        await manager.pin(memory.id)
        clock.advance(days=9)
        assert (await manager.upkeep()).decisions == ()
        await manager.unpin(memory.id)
        assert (await manager.upkeep()).count("archived") == 1
        assert (await manager.history(memory.id)).memory.archived_at is not None
