from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memoranda.cli.app import app


class Memoranda:
    """Runs commands on one database."""

    def __init__(self, database: Path) -> None:
        self.database = database

    def __call__(self, *arguments: str, stdin: str | None = None) -> Any:
        done = CliRunner().invoke(app, list(arguments), input=stdin, prog_name="memoranda")
        assert "Traceback" not in done.output + done.stderr
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done

    def json(self, *arguments: str, stdin: str | None = None) -> Any:
        done = self(*arguments, "--json", stdin=stdin)
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)

    def add_facts(self) -> None:
        self.json("add", *(f"fact number {n}" for n in range(3)), "-u", "ann")


@pytest.fixture
def memoranda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memoranda:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EMBEDDING_MODEL", "fast")
    monkeypatch.setenv("MEMORY_DB_URL", f"sqlite:///{tmp_path}/m.db")
    monkeypatch.setenv("COLUMNS", "120")
    return Memoranda(tmp_path / "m.db")
