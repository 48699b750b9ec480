"""The deployment files are valid, and every file and option they name exists."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memoranda.server.config import DEFAULT_PORT, ServerConfig

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"


def unit() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None, comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DEPLOY / "memoranda.service")
    return parser


def run(*command: str) -> str:
    """Return the output of a checker; empty when it finds nothing."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip() or f"exit code {done.returncode}" * bool(done.returncode)


def test_dockerfile_passes_hadolint() -> None:
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if hadolint is None:
        pytest.skip("hadolint comes as a package for Linux on x86-64 alone")
    assert run(hadolint, "--failure-threshold", "style", str(DEPLOY / "Dockerfile")) == ""


def test_unit_passes_systemd_analyze(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd is not on this machine")
    # It also checks that the program exists, which is not installed where tests run: use another one.
    text = (DEPLOY / "memoranda.service").read_text().replace("/opt/memoranda/bin/memoranda", sys.executable)
    copy = tmp_path / "memoranda.service"
    copy.write_text(text)
    assert run(analyze, "verify", str(copy)) == ""


def test_unit_runs_unprivileged_and_listens_locally() -> None:
    service = unit()["Service"]
    assert unit().sections() == ["Unit", "Service", "Install"]
    assert service["User"] == "memoranda"
    host = re.search(r"--host (\S+)", service["ExecStart"])
    assert host is not None
    assert ServerConfig(host=host[1]).is_local
    assert f"--port {DEFAULT_PORT}" in service["ExecStart"]
    for name in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "RestrictNamespaces"):
        assert service[name] == "yes"


def test_unit_stop_timeout_is_longer_than_the_servers() -> None:
    assert int(unit()["Service"]["TimeoutStopSec"]) > ServerConfig().shutdown_timeout


def test_image_copies_existing_files_and_does_not_run_as_root() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line.strip() and not line.startswith("#")]
    copied = [step[1].split() for step in steps if step[0] == "COPY" and "--from" not in step[1]]
    for source in (name for names in copied for name in names[:-1]):
        assert (ROOT / source).exists(), source
    assert all(":" in step[1] and "latest" not in step[1] for step in steps if step[0] == "FROM")
    order = [step[0] for step in steps]
    assert order.index("USER") < order.index("ENTRYPOINT")
    assert [step[1] for step in steps if step[0] == "USER"] == ["10001"]
    assert f"{DEFAULT_PORT}" in next(step[1] for step in steps if step[0] == "EXPOSE")
    assert "HEALTHCHECK" in order
