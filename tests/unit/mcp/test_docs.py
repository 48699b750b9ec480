from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.unit.mcp.conftest import Connect

PAGE = Path(__file__).parents[3] / "docs" / "mcp.md"


def test_docs_program_runs(tmp_path: Path) -> None:
    [program] = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    environment = {**os.environ, "EMBEDDING_MODEL": "fast"}
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "- Ann moved to Oslo [#1]" in done.stdout


async def test_docs_name_every_tool_and_resource(connect: Connect) -> None:
    page = PAGE.read_text("utf-8")
    async with connect() as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        names += [resource.uri for resource in (await client.list_resources()).resources]
    assert [name for name in names if f"`{name}`" not in page] == []
