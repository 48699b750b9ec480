"""Tests with programs of others: `scripts/mcp-peers` installs them and runs this."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.mcp import differential
from tests.mcp.programs import over_http, with_fixtures

EXPECTED = {
    "logging-set-level": "removed from the newest protocol; the SDK's server does not offer it",
    "tools-call-with-logging": "the same",
    "resources-subscribe": "replaced by subscriptions/listen, which is served",
    "resources-unsubscribe": "the same",
    "elicitation-sep1330-enums": "no fixture for it: our tools never ask the user",
}


def conformance(programs: Path, url: str) -> bool:
    """Print the runner's counts; return whether exactly the expected scenarios fail."""
    command = [str(programs / ".bin" / "conformance"), "server", "--url", url]
    output = subprocess.run(command, capture_output=True, text=True, check=False, cwd=programs.parent).stdout
    counted = re.findall(r"[✓✗] ([\w-]+): \d+ passed, (\d+) failed", output)
    failed = {name for name, count in counted if count != "0"}
    print(f"conformance: {output.strip().splitlines()[-1]}, of {len(counted)} scenarios")
    for name in sorted(failed | set(EXPECTED)):
        print(f"  {name}: {'passes, but was expected to fail' if name not in failed else EXPECTED.get(name, 'FAILED')}")
    return bool(counted) and failed == set(EXPECTED)


def newest(programs: Path, url: str) -> bool:
    """Return whether all checks of the next runner pass for the newest protocol."""
    runner = ["node", str(programs / "conformance-next" / "dist" / "index.js"), "server", "--url", url]
    passed = []
    for which in (["--spec-version", "2026-07-28"], ["--scenario", "server-stateless"]):
        done = subprocess.run([*runner, *which], capture_output=True, text=True, check=False, cwd=programs.parent)
        counted = re.findall(r"(?:Total: |Passed: ).*", done.stdout)
        print(f"next conformance runner, {which[1]}: {counted[-1] if counted else 'FAILED'}")
        passed.append(done.returncode == 0 and bool(counted))
    return all(passed)


def inspector(programs: Path, url: str) -> bool:
    """Return whether the inspector's command line can list the tools and call two of them."""
    tools = _inspect(programs, url, "--method", "tools/list")["tools"]
    kept = _inspect(programs, url, *_call("remember", "content=Ann moved to Oslo in May"))
    found = _inspect(programs, url, *_call("recall", "query=Where does Ann live?"))
    ok = kept["structuredContent"]["outcomes"][0]["status"] == "stored" and "Oslo" in found["content"][0]["text"]
    print(f"inspector: {len(tools)} tools listed, remember and recall {'work' if ok else 'FAIL'}")
    return bool(ok)


def _call(tool: str, argument: str) -> list[str]:
    return ["--method", "tools/call", "--tool-name", tool, "--tool-arg", argument]


def _inspect(programs: Path, url: str, *arguments: str) -> Any:
    command = [str(programs / ".bin" / "mcp-inspector"), "--cli", url, "--transport", "http", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=programs.parent)
    return json.loads(done.stdout)


def main(programs: Path) -> int:
    server = programs / "@modelcontextprotocol" / "server-memory"
    with with_fixtures() as url:
        passed = [conformance(programs, url), newest(programs, url)]
    with tempfile.TemporaryDirectory() as folder, over_http(Path(folder) / "m.db") as url:
        passed.append(inspector(programs, url))
    same = asyncio.run(differential.compare(server, seeds=5, calls=100)) == 0
    return 0 if all(passed) and same else 1


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]).absolute()))
