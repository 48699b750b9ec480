"""The MCP server: agent hosts use the same memory over the Model Context Protocol."""

from memoranda.mcp.base import Owner
from memoranda.mcp.run import create_http_app, create_server, run

__all__ = ["Owner", "create_http_app", "create_server", "run"]
