"""Calls that are interrupted by Ctrl-C: later ones work, nothing acknowledged is lost, and no wait is without a bound.

Two ways in turn. `KeyboardInterrupt` before any two statements of the code that shares commits; and in any call that
writes, or reads and writes in the background, first at any moment at which Python looks for signals, whatever code runs
then, and again shortly after.
"""

from __future__ import annotations

import dis
import gc
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import Any, Final
from unittest import mock

from memoranda import MemoryManager
from memoranda.storage import group_commit
from memoranda.storage.sqlite import store
from memoranda.testing.fakes import HashEmbedder
from tests.prove.operations import KINDS, Planner, Writer, find_problems, observe, open_manager, perform
from tests.prove.regime import Plan, Result, result
from tests.unit.storage.sqlite.interrupts import Interrupts

WAIT_SECONDS: Final = 20.0
PART: Final = 50
"""Interrupts in one store."""
_LOOKS_FOR_SIGNALS: Final = frozenset(
    dis.opmap[name] for name in ("CALL", "CALL_FUNCTION_EX", "CALL_KW", "RESUME", "JUMP_BACKWARD") if name in dis.opmap
)
"""After these instructions, and only then, Python runs the handlers of signals."""
_LOCKS: Final = ("threading.py", "queue.py", "file_lock.py")
READS: Final[dict[str, Callable[[MemoryManager], object]]] = {
    "recall": lambda manager: manager.recall("after", user="other"),
    "context": lambda manager: manager.context("after", user="other"),
    "replay": lambda manager: manager.replay(manager.recall("after", user="other").id, user="other"),
    "check": lambda manager: manager.check(),
    "stats": lambda manager: manager.get_stats(),
}
"""Calls that change no memory. Recalls are written in the background; `replay` waits for that, and is called most."""
_KINDS: Final = tuple(kind for kind in KINDS if KINDS[kind].shared)


def interrupts(plan: Plan) -> Result:
    """Interrupt writes at two moments, then write again."""
    done, violations, came, part = 0, list[str](), 0, 0
    while plan.goes_on(done, violations):
        runs = min(PART, plan.runs - done)
        with tempfile.TemporaryDirectory() as folder:
            interrupt = interrupt_commits if part % 2 else interrupt_calls
            came += interrupt(Path(folder), plan, range(done, done + runs), violations)
        done, part = done + runs, part + 1
    return result("interrupts", plan, done, violations, {"interrupts that came": came})


def interrupt_calls(folder: Path, plan: Plan, numbers: range, violations: list[str]) -> int:
    """Interrupt calls of every kind that writes; return how many interrupts came."""
    came, manager = 0, open_manager(folder / "memories.db")
    writer, rng = Writer(manager, "ana", folder), plan.rng("calls", numbers.start)
    planner = Planner(rng, "ana", {}, f"i{numbers.start}", _KINDS)
    for number in numbers:
        state = planner.state = observe(writer)
        operation = planner.next() if rng.random() < 0.6 else None
        moments, read = draw_moments(rng, 0.3 if operation else 0.6), rng.choice([*READS, "replay", "replay"])
        call = partial(READS[read], manager) if operation is None else partial(perform, writer, operation)
        with _watched() as hangs:
            finished = moments.interrupt(call)
        came += len(moments.came)
        case = f"interrupt {number} of {read if operation is None else operation.kind} at {moments.came}"
        if hangs:
            violations.append(f"{case}: it did not end within {WAIT_SECONDS:g} s, after an earlier interrupt")
            return came
        if not _can_go_on(writer, case, violations):
            return came  # without `close`, which would wait too
        found = observe(writer)
        if operation is None:
            violations += [f"{case}: it changed something"] * (found != state)
        elif found != operation.apply(state) and (finished or not operation.can_lead(state, found)):
            violations.append(f"{case}: acknowledged and not there, or done in part")
    with suppress(KeyboardInterrupt), _watched() as hangs:
        violations += [f"after {numbers}: {problem}" for problem in find_problems(writer)]
        manager.close()
    violations += [f"after {numbers}: close did not end within {WAIT_SECONDS:g} s"] * len(hangs)
    return came


@contextmanager
def _watched() -> Iterator[list[str]]:
    """Interrupt the block for good when it does not end; then the list has an entry."""
    hangs: list[str] = []

    def end(_: int, __: FrameType | None) -> None:
        hangs.append("hangs")
        raise KeyboardInterrupt

    before, main = signal.signal(signal.SIGUSR1, end), threading.main_thread()
    timer = threading.Timer(WAIT_SECONDS, lambda: signal.pthread_kill(main.ident or 0, signal.SIGUSR1))
    timer.start()
    try:
        yield hangs
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGUSR1, before)


def _can_go_on(writer: Writer, case: str, violations: list[str]) -> bool:
    """Return whether a write and a read of another thread end."""
    for what, call in (
        ("write", lambda: writer.manager.add_memory(f"after {case}", user="other")),
        ("read", lambda: observe(writer)),
        ("recall", lambda: writer.manager.recall("after", user="other", limit=1)),
    ):
        if _call_elsewhere(call) is None:
            violations.append(f"{case}: a later {what} failed, or did not end within {WAIT_SECONDS:g} s")
            return False
    return True


def draw_moments(rng: Random, in_locks: float = 0.3) -> Moments:
    """Return two moments: anywhere in the call, or inside Python's own locks, which most moments miss."""
    again = rng.choice([0.0, rng.uniform(1e-6, 2e-3)])
    if rng.random() < in_locks:
        return Moments(rng.randint(1, 12), again, _LOCKS)
    return Moments(int(10 ** rng.uniform(0, 4)), again)


@dataclass(slots=True)
class Moments:
    """Raises `KeyboardInterrupt` in a call: after so many looks for signals, and once more so many seconds later."""

    looks: int
    seconds: float
    """No second one when 0."""
    files: tuple[str, ...] = (".py",)
    """Ends of the names of files whose looks are counted."""
    came: list[str] = field(default_factory=list)
    _last: dict[FrameType, int] = field(default_factory=dict)

    def interrupt(self, call: Callable[[], object]) -> bool:
        """Return whether the call came to its end. It runs in the main thread, where signals are handled."""
        before = signal.signal(signal.SIGALRM, self._second)
        gc.disable()  # an interrupt inside a finalizer is lost: Python prints it and continues
        try:
            sys.settrace(self._trace)
            call()
        except KeyboardInterrupt:
            return False
        finally:
            sys.settrace(None)
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            self._last.clear()
            gc.enable()
        return True

    def _trace(self, frame: FrameType, _: str, __: Any) -> Any:
        name = frame.f_code.co_filename
        if "importlib" in name or not name.endswith(self.files):  # an interrupted import is not looked for here
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._step

    def _step(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "opcode":
            here, before = frame.f_lasti, self._last.get(frame)
            self._last[frame] = here
            if before is not None and _may_interrupt(frame.f_code, before, here):
                self.looks -= 1
                if self.looks == 0:
                    self._first(frame)
        elif event == "return":
            self._last.pop(frame, None)
        return self._step

    def _first(self, frame: FrameType) -> None:
        self.came.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
        if self.seconds:
            signal.setitimer(signal.ITIMER_REAL, self.seconds)
        raise KeyboardInterrupt  # this also ends the tracing

    def _second(self, _: int, frame: FrameType | None) -> None:
        if frame is not None and frame.f_code.co_filename != __file__:  # the call can be over
            self.came.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
            raise KeyboardInterrupt


def _may_interrupt(code: CodeType, before: int, here: int) -> bool:
    """Whether Python handles a signal after the instruction `before`, and where it is caught as here."""
    return code.co_code[before] in _LOOKS_FOR_SIGNALS and _handler(code, before) == _handler(code, here)


@cache
def _handlers(code: CodeType) -> list[tuple[int, int, int]]:
    return [(each.start, each.end, each.target) for each in dis._parse_exception_table(code)]  # type: ignore[attr-defined]


def _handler(code: CodeType, offset: int) -> int | None:
    return next((target for start, end, target in _handlers(code) if start <= offset < end), None)


def interrupt_commits(folder: Path, plan: Plan, numbers: range, violations: list[str]) -> int:
    """Interrupt writes in the code that shares commits; return how many interrupts came."""
    with interrupted_store(folder) as (broken, manager):
        return sum(
            interrupt_once(broken, manager, plan.rng("interrupt", number), number, violations) for number in numbers
        )


@contextmanager
def interrupted_store(folder: Path) -> Iterator[tuple[Interrupts, MemoryManager]]:
    """Open a manager over a store whose group commit can be interrupted before any of its statements."""
    broken = Interrupts(group_commit)
    with (
        mock.patch.object(store, "GroupCommit", broken.module.GroupCommit),
        MemoryManager(f"sqlite:///{folder}/m.db", embedder=HashEmbedder(8)) as manager,
    ):
        manager.add_memory("the first one")
        yield broken, manager


def interrupt_once(broken: Interrupts, manager: MemoryManager, rng: Random, number: int, violations: list[str]) -> int:
    """Interrupt one write twice; then a write of this and of another thread must end, and be there."""
    acknowledged: list[int] = []
    came = broken.interrupt(
        [rng.randrange(30), rng.randrange(60)],
        lambda: acknowledged.append(manager.add_memory(f"interrupted {number}").id),
    )
    for text in (f"after {number}", f"after {number}, again"):
        written = _call_elsewhere(lambda text=text: manager.add_memory(text).id)
        if written is None:
            violations.append(f"interrupt {number}: a later write did not end within {WAIT_SECONDS:g} s")
        else:
            acknowledged.append(written)
    for memory_id in acknowledged:
        try:
            manager.get(memory_id)
        except LookupError:
            violations.append(f"interrupt {number}: memory {memory_id} was acknowledged and is lost")
    return came


def _call_elsewhere(call: Callable[[], Any]) -> Any:
    """Return what a call in another thread returns; None when it raises or does not end."""
    returned: list[Any] = []
    thread = threading.Thread(target=lambda: returned.append(call()), daemon=True)
    thread.start()
    thread.join(WAIT_SECONDS)
    return returned[0] if returned else None
