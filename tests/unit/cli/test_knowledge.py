from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memoranda.cli.app import app


def test_documents_are_added_listed_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_ENABLE_VECTOR_SEARCH", "false")
    (tmp_path / "a.md").write_text("# Tea\nTea is hot.\n# Milk\nMilk is cold.", "utf-8")
    store = ["--db", str(tmp_path / "a.db"), "--json"]

    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["knowledge", *arguments, *store])
        return done.exit_code, done.stdout

    status, answer = run("add", str(tmp_path / "a.md"), "--version", "2")
    assert (status, json.loads(answer)[0]["added"]) == (0, 2)
    status, answer = run("list")
    assert [(each["source"], each["version"], each["chunks"]) for each in json.loads(answer)] == [("a.md", "2", 2)]
    assert run("remove", "a.md")[0] == 0
    assert run("remove", "a.md")[0] != 0
