"""The tests in a network namespace without interfaces but `lo`: they pass, and nothing tries to leave the machine.

As many tests as the plan has runs, at most; the parts of `PARTS` in order. Servers that tests start need `lo`.
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
        for part in PARTS if plan.runs >= LONG else SHORT:
            if not plan.goes_on(passed):
                break
            count, failed = run_tests(part, connects, isolated=isolated)
            passed += count
            violations += failed
        tried = sorted(set(connects.read_text("utf-8").splitlines())) if connects.exists() else []
    violations += [f"a connection that leaves the machine: {where}" for where in tried]
    detail = {"network namespace": isolated, "outbound connections": len(tried)}
    return result("offline", plan, min(passed, plan.runs), violations, detail)


def can_unshare() -> bool:
    """Whether this system lets a program make a network namespace of its own."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode == 0


def run_tests(part: str, connects: Path, *, isolated: bool) -> tuple[int, list[str]]:
    """Run one part of the tests; return how many passed, and what failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", part]
    if isolated:
        # `lo` is down in a new namespace: bring it up without any tool, which may not be installed.
        command = ["unshare", "-rn", sys.executable, str(HOOK / "with_loopback.py"), *command]
    path = os.pathsep.join(map(str, (HOOK, ROOT / "src", ROOT)))
    variables = os.environ | {"PYTHONPATH": path, "MEMORANDA_CONNECTS": str(connects)}
    done = subprocess.run(command, env=variables, cwd=ROOT, capture_output=True, text=True, check=False)
    found = _PASSED.search(done.stdout)
    failed = [f"{part}: {line}" for line in _FAILED.findall(done.stdout)]
    if done.returncode and not failed:
        failed.append(f"{part} ended with {done.returncode}: {(done.stdout + done.stderr)[-300:]}")
    return int(found[1]) if found else done.stdout.count("."), failed
