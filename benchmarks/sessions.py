"""The cost of a session while a thousand others are open: `python benchmarks/sessions.py`.

Opens, uses and ends a session while 0, 100 and 1,000 sessions are open; in memory, and in Redis on a server started
here or on `--url`. The cost must not depend on the number of open sessions: the last column is the ratio to the run
with none. Each figure is a median over the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable

from memoranda import MemoryConfig, MemoryManager, SessionContext, create_session
from values import redis_url

OPEN_SESSIONS = (0, 100, 1_000)
USES_PER_SESSION = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--url", help="a running Redis server; without it one is started for the run")
    parser.add_argument("--rounds", type=int, default=100)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _measure(
            "in memory", MemoryConfig(db_url=f"sqlite:///{folder}/a.db", enable_vector_search=False), arguments.rounds
        )
    with tempfile.TemporaryDirectory() as folder, redis_url(arguments.url) as url:
        config = MemoryConfig(
            db_url=f"sqlite:///{folder}/a.db", enable_vector_search=False, use_redis=True, redis_url=url
        )
        _measure("in Redis", config, arguments.rounds)


def _measure(backend: str, config: MemoryConfig, rounds: int) -> None:
    print(f"\nSessions {backend}, median of {rounds} rounds, milliseconds")
    print(f"{'open sessions':>14} {'open + end':>11} {'open, use, end':>15} {'one use':>9} {'against none':>13}")
    baseline = 0.0
    for count in OPEN_SESSIONS:
        with MemoryManager(config, tenant=f"open {count}") as manager:
            others = [_use(create_session(f"other {number}", manager)) for number in range(count)]
            empty = _median_ms(lambda manager=manager: create_session("measured", manager).end_session(), rounds)
            full = _median_ms(lambda manager=manager: _use(create_session("measured", manager)).end_session(), rounds)
            with create_session("steady", manager) as session:
                single_use = _median_ms(lambda session=session: session.save_agent_memory("writer", "step", 1), rounds)
            stats = _median_ms(manager.get_stats, 10)
            baseline = baseline or full
            print(f"{count:>14,} {empty:>11.2f} {full:>15.2f} {single_use:>9.3f} {full / baseline:>13.2f}")
            print(f"{'':>14} get_stats {stats:.2f}, active_sessions {manager.get_stats().active_sessions:,}")
            for session in others:
                session.end_session()


def _use(session: SessionContext) -> SessionContext:
    for number in range(USES_PER_SESSION):
        session.save_agent_memory("writer", f"step {number}", {"done": True})
        session.add_conversation_message("writer", "assistant", f"step {number} is done")
    return session


def _median_ms(call: Callable[[], object], rounds: int) -> float:
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return 1000 * statistics.median(seconds)


if __name__ == "__main__":
    main()
