"""The MCP door: agents' hosts reach the same memory over the Model Context Protocol."""

from memoranda.mcp.run import Whose, create_http_app, create_server, run

__all__ = ["Whose", "create_http_app", "create_server", "run"]
