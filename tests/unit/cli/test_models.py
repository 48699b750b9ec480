from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from memoranda.cli.models import app
from tests.unit.embedding.tiny_bert import make_weights, write_folder


@pytest.fixture(autouse=True)
def _empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORANDA_HOME", str(tmp_path / "home"))


def _names() -> list[str]:
    return [row["name"] for row in json.loads(CliRunner().invoke(app, ["list", "--json"]).stdout)]


def test_model_is_added_listed_and_removed(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tiny-bert", make_weights())
    added = CliRunner().invoke(app, ["add", str(folder), "--name", "tiny"])
    assert added.exit_code == 0
    assert "tiny (32 dimensions)" in added.stdout
    assert _names() == ["e5-small-v2", "fast", "tiny"]
    assert "tiny" in CliRunner().invoke(app, ["list"]).stdout
    assert CliRunner().invoke(app, ["remove", "tiny"]).exit_code == 0
    assert _names() == ["e5-small-v2", "fast"]


@pytest.mark.parametrize("command", [["remove", "nope"], ["add", "/nowhere/at-all"]])
def test_error_is_one_line_with_exit_code(command: list[str]) -> None:
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 3
    assert "error: no " in done.stderr
    assert "Traceback" not in done.output
