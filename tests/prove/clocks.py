"""A clock that jumps by up to a year, runs backwards, stands still or changes to summer time.

Nothing expires early, nothing expired is served, and the numbers of changes only grow.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from random import Random

from memoranda import MemoryManager
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock
from tests.prove.regime import Plan, Result, result, scratch_folder

START = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
"""Half an hour before summer time begins in Europe."""
ZONES = (UTC, timezone(timedelta(hours=1)), timezone(timedelta(hours=2)), timezone(timedelta(hours=-8)))
SCHEDULES_PER_STORE = 50
STEPS = 8


def clock_jumps(plan: Plan) -> Result:
    """Run schedules of a clock: each is some steps in which it jumps, while values and memories are stored and read."""
    done, violations, served = 0, list[str](), 0
    while plan.goes_on(done):
        with scratch_folder() as folder:
            clock = FakeClock(START)
            url = f"sqlite:///{folder}/m.db"
            with MemoryManager(url, embedder=HashEmbedder(8), clock=clock, retention_policy="persistent") as manager:
                for _ in range(min(SCHEDULES_PER_STORE, plan.runs - done)):
                    served += run_schedule(manager, clock, plan.rng("clock", done), done, violations)
                    done += 1
    return result("clocks", plan, done, violations, {"values served": served})


def run_schedule(manager: MemoryManager, clock: FakeClock, rng: Random, number: int, violations: list[str]) -> int:
    """Run one schedule for an agent of its own; return how many values were served."""
    agent, served, head = f"agent {number}", 0, 0
    expected: dict[str, datetime] = {}
    for step in range(STEPS):
        jump(clock, rng)
        if step % 2 == 0:
            seconds = rng.choice([1.0, 3600.0, 86_400.0, 40 * 86_400.0])
            key = f"key {step}"
            manager.save(agent, key, step, ttl=seconds)
            manager.add_memory(f"note {number} {step}", rng.choice(["episodic", "short_term"]), agent=agent)
            expected[key] = clock.now + timedelta(seconds=seconds)
        for key, expires in expected.items():
            found = manager.retrieve(agent, key)
            if clock.now < expires and found is None:
                violations.append(f"schedule {number}, step {step}: {key} expired early ({clock.now} before {expires})")
            if clock.now >= expires and found is not None:
                violations.append(f"schedule {number}, step {step}: {key} is served after {expires} at {clock.now}")
            served += found is not None
        # What has expired stays so, whatever the clock says later: it may be deleted at any time after.
        expected = {key: expires for key, expires in expected.items() if clock.now < expires}
        recalled = manager.recall("note", agent=agent, limit=2 * STEPS)
        for memory in (hit.memory for hit in recalled):
            if memory.expires_at is not None and memory.expires_at <= clock.now:
                violations.append(f"schedule {number}, step {step}: {memory.content} is recalled after its end")
        now_head = recalled.head
        if now_head < head:
            violations.append(f"schedule {number}, step {step}: the number of the latest change fell")
        head = now_head
    return served


def jump(clock: FakeClock, rng: Random) -> None:
    """Move the clock: a little, far, backwards, not at all, or only to another time zone."""
    how = rng.randrange(6)
    if how == 0:
        clock.advance(seconds=rng.uniform(0, 5))
    elif how == 1:
        clock.advance(days=rng.uniform(0, 366))
    elif how == 2:
        clock.advance(days=-rng.uniform(0, 366))
    elif how == 3:
        clock.advance(hours=rng.choice([-1, 1]))
    elif how == 4:
        clock.now = clock.now.astimezone(rng.choice(ZONES))
    # Far jumps must not carry a long run out of the range of dates.
    if abs(clock.now - START) > timedelta(days=3660):
        clock.now = START
