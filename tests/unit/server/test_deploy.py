"""The files an operator copies: nothing of them may point at what is not there."""

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
    """What a checker says of a file; nothing when it is content."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip() or f"exit code {done.returncode}" * bool(done.returncode)


def test_hadolint_has_nothing_to_say_of_the_image() -> None:
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if hadolint is None:
        pytest.skip("hadolint comes as a package for Linux on x86-64 alone")
    assert run(hadolint, "--failure-threshold", "style", str(DEPLOY / "Dockerfile")) == ""


def test_systemd_has_nothing_to_say_of_the_unit(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd is not on this machine")
    # It also looks for the program, which is not installed where tests run: another one stands in its place.
    text = (DEPLOY / "memoranda.service").read_text().replace("/opt/memoranda/bin/memoranda", sys.executable)
    copy = tmp_path / "memoranda.service"
    copy.write_text(text)
    assert run(analyze, "verify", str(copy)) == ""


def test_the_unit_starts_the_server_as_nobody_special_on_this_machine_alone() -> None:
    service = unit()["Service"]
    assert unit().sections() == ["Unit", "Service", "Install"]
    assert service["User"] == "memoranda"
    host = re.search(r"--host (\S+)", service["ExecStart"])
    assert host is not None
    assert ServerConfig(host=host[1]).is_local
    assert f"--port {DEFAULT_PORT}" in service["ExecStart"]
    for name in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "RestrictNamespaces"):
        assert service[name] == "yes"


def test_the_unit_gives_requests_under_way_more_time_than_the_server_takes() -> None:
    assert int(unit()["Service"]["TimeoutStopSec"]) > ServerConfig().shutdown_timeout


def test_the_image_copies_what_there_is_and_does_not_run_as_root() -> None:
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
