"""Each regime over the interfaces can fail: given a fault, it reports it."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from memoranda import MemoryManager, NotFound
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock
from tests.prove import clocks, interrupts, model, offline, parsers, soak
from tests.prove.regime import Plan
from tests.prove.requests import Known


def test_model_reports_a_delete_that_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryManager, "delete", lambda *_, **__: 1)
    found = [model.run_world(model.ManagerWorld(f"seed {number}"), 40)[1] for number in range(2)]
    assert any(problem and "AssertionError" in problem for problem in found)


@pytest.mark.parametrize("kind", ["sqlite file", "in memory"])
def test_model_reports_a_store_that_hides_rows(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from memoranda.storage.sqlite.store import SQLiteStore

    real = SQLiteStore.get
    monkeypatch.setattr(SQLiteStore, "get", lambda self, scope, ids: [*real(self, scope, ids)[:-1], None][: len(ids)])
    problem = model.run_world(model.WORLDS[kind]("seed"), 60)[1]
    assert problem is not None


def test_model_runs_every_store_in_its_short_version() -> None:
    steps = model.model_steps(Plan(60, seed=2)).detail["steps by store"]
    assert isinstance(steps, dict)
    assert all(steps.values())


def test_parsers_report_untyped_errors_and_slow_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> object:
        raise KeyError("x")

    monkeypatch.setitem(parsers.TARGETS, "broken", parsers.Target(fail, ["a"]))
    assert "KeyError" in str(parsers.try_input("broken", "a"))
    monkeypatch.setattr(parsers, "MAX_SECONDS", -1.0)
    assert "took" in str(parsers.try_input("cursors", "1"))


def test_parsers_make_the_same_input_for_the_same_seed_and_number() -> None:
    for target in parsers.TARGETS:
        assert repr(parsers.make_input(target, 3, 14)) == repr(parsers.make_input(target, 3, 14))
    assert len({repr(parsers.make_input("questions", 3, number)) for number in range(50)}) > 40


def test_parsers_report_a_text_that_ends_the_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    from memoranda.recall import render

    monkeypatch.setattr(render, "neutralise", lambda text: text)
    forged = parsers.TARGETS["rendering"].samples[-1]
    assert "AssertionError" in str(parsers.try_input("rendering", forged))


def test_clocks_report_what_is_served_too_long_or_too_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock(clocks.START)
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(8), clock=clock) as manager:
        for always, word in ((1, "served"), (None, "early")):
            monkeypatch.setattr(MemoryManager, "retrieve", lambda *_, answer=always: answer)
            violations: list[str] = []
            for number in range(6):
                clocks.run_schedule(manager, clock, random.Random(number), number, violations)
            assert any(word in violation for violation in violations)


def test_interrupts_report_a_lost_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(*_: object, **__: object) -> None:
        raise NotFound("gone")

    with interrupts.interrupted_store(tmp_path) as (broken, manager):
        monkeypatch.setattr(MemoryManager, "get", lose)
        violations: list[str] = []
        came = interrupts.interrupt_once(broken, manager, random.Random(1), 0, violations)
        assert any("lost" in violation for violation in violations)
        assert came in (1, 2)


def test_soak_finds_the_slope_of_a_line_and_its_interval() -> None:
    rng = random.Random(0)
    rise, half_width = soak.slope([(float(x), 3.0 * x + rng.gauss(0, 1)) for x in range(100)])
    assert abs(rise - 3.0) < half_width < 0.02
    assert soak.slope([(0.0, 1.0)])[1] == float("inf")


def test_soak_reports_growth_of_memory_descriptors_and_threads() -> None:
    level = [soak.Sample(float(at), 100.0, 20, 10) for at in range(40)]
    assert soak.judge(level, 1.0, 0.5, 3600) == []
    assert soak.judge(level, 9.0, 0.5, 3600) == ["memory grows by 9.0 ± 0.5 MB/h"]
    growing = [soak.Sample(float(at), 100.0, 20 + at, 10 + at) for at in range(40)]
    assert len(soak.judge(growing, 0.0, 0.5, 3600)) == 2


def test_offline_hook_notes_connections_that_leave_the_machine(tmp_path: Path) -> None:
    code = """
import socket
for host in ("192.0.2.1", "127.0.0.1"):
    with socket.socket() as s:
        s.settimeout(0.05)
        try:
            s.connect((host, 9))
        except OSError:
            pass
"""
    connects = tmp_path / "connects"
    variables = os.environ | {"PYTHONPATH": str(offline.HOOK), "MEMORANDA_CONNECTS": str(connects)}
    subprocess.run([sys.executable, "-c", code], env=variables, check=True)
    assert connects.read_text("utf-8") == "('192.0.2.1', 9)\n"


@pytest.mark.parametrize(("status", "output"), [(1, "FAILED tests/a.py::test_a\n1 passed"), (4, "no such file")])
def test_offline_reports_a_part_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, output: str
) -> None:
    done = subprocess.CompletedProcess([], status, output, "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    _, failed = offline.run_tests("tests/a.py", tmp_path / "connects", isolated=False)
    assert len(failed) == 1


def test_requests_use_ids_that_responses_returned() -> None:
    known = Known(random.Random(3))
    known.note({"hits": [{"memory": {"id": 7}}], "id": "abc", "next_cursor": "12"})
    case = SimpleNamespace(path_parameters={"memory_id": 1}, query={"cursor": "9"}, body={"ids": [1], "limit": 3})
    for _ in range(10):
        known.put_into(case)
    assert case.path_parameters == {"memory_id": 7}
    assert case.query == {"cursor": "12"}
    assert case.body == {"ids": [7], "limit": 3}
