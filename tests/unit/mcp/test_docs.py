from __future__ import annotations

from pathlib import Path

from memoranda.mcp.base import TOOL_GROUPS
from memoranda.mcp.install import CLIENTS
from tests.unit.mcp.conftest import Connect

PAGE = Path(__file__).parents[3] / "docs" / "mcp.md"


async def test_docs_name_every_tool_and_resource(connect: Connect) -> None:
    page = PAGE.read_text("utf-8")
    async with connect() as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        names += [resource.uri for resource in (await client.list_resources()).resources]
        names += [prompt.name for prompt in (await client.list_prompts()).prompts]
    names += [*TOOL_GROUPS, *CLIENTS]
    names.remove("core")
    assert [name for name in names if f"`{name}`" not in page] == []
