from __future__ import annotations

import re
from pathlib import Path

import pytest

from memoranda.server.keys import open_keys
from tests.server.running import serving

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "server.md"


def test_docs_blocks_run_against_a_real_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    with serving(tmp_path) as url:
        with open_keys(f"sqlite:///{tmp_path}/server.db") as keys:
            key = keys.create("docs").key
        for block in blocks:
            code = compile(block.replace("http://127.0.0.1:8700", url), str(PAGE), "exec")
            exec(code, {"__name__": "__main__", "KEY": key})  # noqa: S102 - our own page
    shown = capsys.readouterr().out
    assert "Ann moved to Oslo in May" in shown
    assert "['Bo drinks milk']" in shown


def test_docs_name_every_route() -> None:
    from memoranda.server.run import create_app

    page = PAGE.read_text(encoding="utf-8")
    paths = create_app(memory="sqlite://").openapi()["paths"]
    for path in paths:
        resource = path.removeprefix("/v1").split("/")[1]
        assert f"/{resource}" in page, path


def test_docs_name_every_environment_variable() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "src" / "memoranda" / "server").rglob("*.py"))
    for variable in set(re.findall(r"MEMORY_SERVER_\w+", sources)):
        assert variable in PAGE.read_text(encoding="utf-8"), variable
