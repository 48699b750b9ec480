"""Programs and tests in a network namespace: they work, and nothing tries to leave the machine.

First programs without any interface, not even `lo`, with the real models: the demo, which remembers a long
conversation, restarts and answers, and the command line. Then tests, as many as the plan has runs at most, with `lo`
for the servers that they start.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.prove.regime import Plan, Result, result

ROOT = Path(__file__).resolve().parents[2]
HOOK = Path(__file__).parent / "no_network"
PROGRAMS = (
    ("memoranda.demo",),
    ("memoranda", "add", "Nora is allergic to walnuts.", "--db", "{folder}/m.db"),
    ("memoranda", "recall", "What must Nora not eat?", "--db", "{folder}/m.db"),
)
SHORT = ("tests/unit/dates", "tests/unit/recall/test_render.py", "tests/unit/client/test_imports.py", "tests/unit/mcp")
PARTS = tuple(f"tests/unit/{name.name}" for name in sorted((ROOT / "tests/unit").iterdir()) if name.is_dir())
LONG = 1000
"""Tests from which all parts run."""
_PASSED = re.compile(r"(\d+) passed")
_FAILED = re.compile(r"^(?:FAILED|ERROR) .*$", re.MULTILINE)


def offline(plan: Plan) -> Result:
    """Run tests without a network; count those that passed."""
    passed, violations = 0, list[str]()
    isolated = can_unshare()
    with tempfile.TemporaryDirectory() as folder:
        connects = Path(folder) / "connects"
        for program in PROGRAMS if isolated else ():
            violations += run_program([each.format(folder=folder) for each in program], connects)
        for part in PARTS if plan.runs >= LONG else SHORT:
            if not plan.goes_on(passed):
                break
            count, failed = run_tests(part, connects, isolated=isolated)
            passed += count
            violations += failed
        tried = sorted(set(connects.read_text("utf-8").splitlines())) if connects.exists() else []
    violations += [f"a connection that leaves the machine: {where}" for where in tried]
    detail = {
        "network namespace": isolated,
        "programs": len(PROGRAMS) if isolated else 0,
        "outbound connections": len(tried),
    }
    return result("offline", plan, min(passed, plan.runs), violations, detail)


def can_unshare() -> bool:
    """Whether this system lets a program make a network namespace of its own."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode == 0


def run_program(arguments: list[str], connects: Path) -> list[str]:
    """Run a module where there is no network at all; return what went wrong."""
    command = ["unshare", "-rn", sys.executable, "-m", *arguments]
    done = subprocess.run(
        command, env=_variables(connects), cwd=connects.parent, capture_output=True, text=True, check=False
    )
    return [f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr[-300:]}"] if done.returncode else []


def _variables(connects: Path) -> dict[str, str]:
    path = os.pathsep.join(map(str, (HOOK, ROOT / "src", ROOT)))
    return os.environ | {"PYTHONPATH": path, "MEMORANDA_CONNECTS": str(connects)}


def run_tests(part: str, connects: Path, *, isolated: bool) -> tuple[int, list[str]]:
    """Run one part of the tests; return how many passed, and what failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", part]
    if isolated:
        # `lo` is down in a new namespace: bring it up without any tool, which may not be installed.
        command = ["unshare", "-rn", sys.executable, str(HOOK / "with_loopback.py"), *command]
    done = subprocess.run(command, env=_variables(connects), cwd=ROOT, capture_output=True, text=True, check=False)
    found = _PASSED.search(done.stdout)
    failed = [f"{part}: {line}" for line in _FAILED.findall(done.stdout)]
    if done.returncode and not failed:
        failed.append(f"{part} ended with {done.returncode}: {(done.stdout + done.stderr)[-300:]}")
    return int(found[1]) if found else done.stdout.count("."), failed
