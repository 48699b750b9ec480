"""The deployment files are valid, and every file and option they name exists."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml  # type: ignore[import-untyped]

from memoranda.cli.app import app
from memoranda.server.config import DEFAULT_PORT, ServerConfig
from memoranda.settings import known_variables

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


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return loaded


def test_compose_names_only_services_volumes_and_files_that_exist(compose: dict[str, Any]) -> None:
    services, volumes = compose["services"], set(compose["volumes"])
    assert set(services) == {"postgres", "redis", "migrate", "one", "two"}
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
        named = {volume.partition(":")[0] for volume in service.get("volumes", [])}
        assert named <= volumes
        assert {config["source"] for config in service.get("configs", [])} <= set(compose["configs"])
        if "build" in service:
            assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
        else:
            assert re.search(r":\w*\d", service["image"]), "an image without a version"


def test_compose_runs_commands_and_sets_variables_that_memoranda_has(compose: dict[str, Any]) -> None:
    program: Any = typer.main.get_command(app)
    default = re.search(r"^CMD (\[.*\])", (DEPLOY / "Dockerfile").read_text(), re.M)
    assert default is not None
    ours = [service for service in compose["services"].values() if service["image"] == "memoranda"]
    assert len(ours) == 3
    for service in ours:
        words = service.get("command") or json.loads(default[1])
        context = program.make_context("memoranda", list(words))  # which parses the options of no command yet
        name, command, rest = program.resolve_command(context, list(words))
        assert command is not None
        command.make_context(name, rest, parent=context)
        assert set(service["environment"]) <= set(known_variables())


def test_compose_creates_the_roles_and_the_database_that_its_servers_use(compose: dict[str, Any]) -> None:
    script = compose["configs"]["roles"]["content"]
    services = compose["services"]
    for name, role in (("one", "memoranda_service"), ("two", "memoranda_service"), ("migrate", "memoranda_owner")):
        url = services[name]["environment"]["MEMORY_DB_URL"]
        assert url.startswith(f"postgresql://{role}:$")
        assert url.endswith("@postgres/memories")
        assert f"CREATE ROLE {role} LOGIN" in script
    assert "CREATE DATABASE memories OWNER memoranda_owner ENCODING 'UTF8' TEMPLATE template0" in script
    assert services["migrate"]["command"][-2:] == ["--service-role", "memoranda_service"]


def test_compose_publishes_the_port_that_the_image_serves(compose: dict[str, Any]) -> None:
    ports = [compose["services"][name]["ports"] for name in ("one", "two")]
    assert all(port[0].startswith("127.0.0.1:") and port[0].endswith(f":{DEFAULT_PORT}") for port in ports)
    assert len({port[0] for port in ports}) == 2
