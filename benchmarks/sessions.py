"""Sessions beside a thousand others: `python benchmarks/sessions.py`.

Opens and ends a session, and uses one, while 0, 100 and 1,000 sessions are open; in memory, and in Redis on a server
started here or on `--url`. What it costs must not depend on how many others there are: the last column is the time
against the run with none. Rounds take turns; the median of each counts.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable

from memoranda import MemoryConfig, MemoryManager, SessionContext, create_session
from values import redis_url

CROWDS = (0, 100, 1_000)
USES = 5


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--url", help="a running Redis server; without it one is started for the run")
    options.add_argument("--rounds", type=int, default=100)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _measure("in memory", MemoryConfig(db_url=f"sqlite:///{folder}/a.db", enable_vector_search=False), given.rounds)
    with tempfile.TemporaryDirectory() as folder, redis_url(given.url) as url:
        config = MemoryConfig(
            db_url=f"sqlite:///{folder}/a.db", enable_vector_search=False, use_redis=True, redis_url=url
        )
        _measure("in Redis", config, given.rounds)


def _measure(where: str, config: MemoryConfig, rounds: int) -> None:
    print(f"\nSessions {where}, median of {rounds} rounds, milliseconds")
    print(f"{'open sessions':>14} {'open + end':>11} {'open, use, end':>15} {'one use':>9} {'against none':>13}")
    alone = 0.0
    for crowd in CROWDS:
        with MemoryManager(config, tenant=f"crowd {crowd}") as manager:
            others = [_busy(create_session(f"other {number}", manager)) for number in range(crowd)]
            empty = _median(lambda manager=manager: create_session("mine", manager).end_session(), rounds)
            used = _median(lambda manager=manager: _busy(create_session("mine", manager)).end_session(), rounds)
            with create_session("steady", manager) as session:
                one = _median(lambda session=session: session.save_agent_memory("writer", "step", 1), rounds)
            stats = _median(manager.get_stats, 10)
            alone = alone or used
            print(f"{crowd:>14,} {empty:>11.2f} {used:>15.2f} {one:>9.3f} {used / alone:>13.2f}")
            print(f"{'':>14} get_stats {stats:.2f}, active_sessions {manager.get_stats().active_sessions:,}")
            for session in others:
                session.end_session()


def _busy(session: SessionContext) -> SessionContext:
    for number in range(USES):
        session.save_agent_memory("writer", f"step {number}", {"done": True})
        session.add_conversation_message("writer", "assistant", f"step {number} is done")
    return session


def _median(work: Callable[[], object], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return 1000 * statistics.median(taken)


if __name__ == "__main__":
    main()
