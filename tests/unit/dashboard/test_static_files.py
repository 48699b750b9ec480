from __future__ import annotations

import json
import re
import shlex
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import pytest
from typer.main import get_command

from memoranda.cli.app import app
from tests.unit.cli.conftest import Memoranda

STATIC = Path(str(files("memoranda.dashboard").joinpath("static")))
OWN = [*STATIC.glob("*.js"), *STATIC.glob("pages/*.js")]


def test_vendored_files_are_the_published_ones() -> None:
    listed = json.loads(STATIC.joinpath("vendor", "vendor.json").read_text("utf-8"))
    present = {file.name for file in STATIC.joinpath("vendor").iterdir()} - {"vendor.json", "NOTICE"}
    assert set(listed) == present
    for name, row in listed.items():
        assert sha256(STATIC.joinpath("vendor", name).read_bytes()).hexdigest() == row["sha256"], name


def test_notice_holds_the_licence_of_each_package() -> None:
    notice = STATIC.joinpath("vendor", "NOTICE").read_text("utf-8")
    rows = json.loads(STATIC.joinpath("vendor", "vendor.json").read_text("utf-8")).values()
    for package in {row["package"] for row in rows} | {"preact"}:
        assert f"\n{package}\n" in notice


def test_no_file_asks_another_server_or_runs_a_text() -> None:
    for file in [*OWN, STATIC / "index.html", STATIC / "app.css"]:
        text = file.read_text("utf-8")
        addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]{2,}", text))
        assert addresses == set(), file.name
        assert not re.search(r"\beval\(|new Function|innerHTML|dangerouslySetInnerHTML|document\.write", text), (
            file.name
        )


def test_page_has_no_inline_script_or_style() -> None:
    page = STATIC.joinpath("index.html").read_text("utf-8")
    assert re.findall(r"<script(?![^>]*src=)", page) == []
    assert "<style" not in page
    assert re.findall(r"\s(?:on\w+|style)=", page) == []


def test_every_icon_that_is_used_exists() -> None:
    drawn = set(re.findall(r'symbol id="icon-(\w+)"', STATIC.joinpath("index.html").read_text("utf-8")))
    used: set[str] = set()
    for file in OWN:
        text = file.read_text("utf-8")
        used |= set(re.findall(r'Icon\} name="(\w+)"', text)) | set(re.findall(r'\bicon[=:] ?"(\w+)"', text))
    assert used - drawn == set()
    assert len(used) > 10


def test_every_module_that_is_imported_exists() -> None:
    for file in OWN:
        for name in re.findall(r'from "(\.[^"]+)"', file.read_text("utf-8")):
            assert (file.parent / name).exists(), f"{file.name}: {name}"


def test_dashboard_loads_less_than_a_hundred_kilobytes_of_other_peoples_code() -> None:
    assert sum(file.stat().st_size for file in STATIC.joinpath("vendor").glob("*.js")) < 100_000


def test_every_command_that_a_page_names_exists() -> None:
    known, named = get_command(app).commands, set[str]()  # type: ignore[attr-defined]
    for file in OWN:
        text = file.read_text("utf-8")
        named |= set(re.findall(r"(?:<code>|`|^)memoranda (\w+)", text, re.M))
    assert {"add", "recall", "keys"} <= named
    assert named - set(known) == set()


def test_lines_of_the_first_visit_are_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMORY_DB_URL", f"sqlite:///{tmp_path}/m.db")
    python, commands = re.findall(
        r"<pre [^>]*>\$\{`(.*?)`\}</pre>", (STATIC / "pages/overview.js").read_text("utf-8"), re.S
    )
    python, commands = (lines.replace("${database}", f"{tmp_path}/m.db") for lines in (python, commands))
    names: dict[str, object] = {}
    exec(python, names)  # noqa: S102 - what a reader would paste
    answer = names["memory"].recall("Where does Ana live?", user="ana")  # type: ignore[attr-defined]
    names["memory"].close()  # type: ignore[attr-defined]
    assert (answer[0].content, answer.answerable > 0.6) == ("Ana lives in Oslo", True)
    run = Memoranda(tmp_path / "m.db")
    add, recall = [shlex.split(line)[1:] for line in commands.splitlines()]
    assert run(*add).exit_code == 0
    found = run.json(*recall)
    assert (found["hits"][0]["memory"]["content"], found["answerable"] > 0.6) == ("Ana lives in Oslo", True)
