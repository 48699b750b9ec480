from __future__ import annotations

from collections import namedtuple
from pathlib import Path
from typing import Any

import memoranda_models
import pytest

from memoranda.cli import doctor
from memoranda.index.partitions import Partitions
from memoranda.settings import known_variables
from tests.driver import sqlite3
from tests.unit.cli.conftest import Memoranda

SOURCES = Path(doctor.__file__).parents[1]


def _findings(memoranda: Memoranda, *options: str) -> tuple[int, list[dict[str, Any]]]:
    import json

    done = memoranda("doctor", "--json", *options)
    return done.exit_code, json.loads(done.stdout)


def _problems(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [finding for finding in findings if finding["state"] == "problem"]


def test_sound_installation_and_database_pass(memoranda: Memoranda) -> None:
    memoranda.add_facts()
    code, findings = _findings(memoranda)
    assert (code, _problems(findings)) == (0, [])
    checked = {finding["check"] for finding in findings}
    assert {"installation", "extras", "models", "settings", "SQLite", "embedding", "database", "disk space"} <= checked
    assert "3 memories" in next(each["detail"] for each in findings if each["check"] == "database")
    assert "everything that was checked works" in memoranda("doctor").stdout


def test_misspelt_setting_is_found_with_the_right_name(memoranda: Memoranda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_DURABILTY", "normal")
    code, findings = _findings(memoranda)
    [problem] = _problems(findings)
    assert code == 1
    assert "MEMORY_DURABILTY" in problem["detail"]
    assert problem["advice"] == "did you mean MEMORY_DURABILITY?"


def test_setting_in_env_file_is_checked_too(memoranda: Memoranda, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MEMORY_NONSENSE_AT_ALL=1\n")
    code, findings = _findings(memoranda)
    assert (code, len(_problems(findings))) == (1, 1)


def test_missing_device_is_reported_once_without_advice_to_repair(
    memoranda: Memoranda, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USE_GPU", "true")
    monkeypatch.setattr(Partitions, "_has_gpu", _report_no_device)
    memoranda.add_facts()
    found = [each for each in _problems(_findings(memoranda)[1]) if each["detail"] == "no device"]
    assert [each["advice"] for each in found] == [""]


def _report_no_device(partitions: Partitions) -> bool:
    partitions.problems.append("no device")
    return False


def test_bad_value_of_a_setting_is_a_problem_and_other_checks_run(
    memoranda: Memoranda, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_DURABILITY", "maybe")
    code, findings = _findings(memoranda)
    assert code == 1
    assert any("durability" in finding["detail"] for finding in _problems(findings))
    assert any(finding["check"] == "models" for finding in findings)


def test_damaged_model_file_is_found(memoranda: Memoranda, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    damaged = tmp_path / "vocab.txt"
    damaged.write_text("nothing")
    known = memoranda_models.path
    monkeypatch.setattr(memoranda_models, "path", lambda name: damaged if name == "vocab.txt" else known(name))
    found = [finding for finding in doctor._check_models(doctor.CommandOptions()) if finding.state == "problem"]
    assert [finding.detail for finding in found] == ["missing or damaged: vocab.txt"]
    assert "--force-reinstall" in found[0].advice


def test_damaged_database_exits_with_its_own_code(memoranda: Memoranda) -> None:
    memoranda.add_facts()
    connection = sqlite3.connect(memoranda.database)
    connection.execute("DELETE FROM vectors")
    connection.commit()
    connection.close()
    code, findings = _findings(memoranda)
    assert code == 6
    assert all(problem["advice"] == "memoranda repair" for problem in _problems(findings))


def test_file_that_is_no_database_is_a_problem(memoranda: Memoranda) -> None:
    memoranda.database.write_bytes(b"not a database at all" * 200)
    code, findings = _findings(memoranda)
    assert code == 6
    assert len(_problems(findings)) == 1


def test_full_disk_and_open_permissions_are_named(memoranda: Memoranda, monkeypatch: pytest.MonkeyPatch) -> None:
    memoranda.add_facts()
    memoranda.database.chmod(0o644)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage(10**9, 10**9, 1000))
    code, findings = _findings(memoranda)
    assert code == 1
    assert [problem["check"] for problem in _problems(findings)] == ["disk space"]
    assert any(finding["check"] == "permissions" and "chmod 600" in finding["advice"] for finding in findings)


def test_doctor_knows_every_variable_that_the_sources_name() -> None:
    import re

    named = {
        name
        for file in SOURCES.rglob("*.py")
        for name in re.findall(r"[\"'`](MEMORY_[A-Z_]+)[\"'`]", file.read_text("utf-8"))
    }
    assert named <= {*known_variables()}
    assert len(named) > 20


def test_named_database_that_does_not_exist_is_a_problem(memoranda: Memoranda) -> None:
    done = memoranda("doctor", "--db", "missing.db")
    assert done.exit_code == 1
    assert "1 problem found" in done.stdout
