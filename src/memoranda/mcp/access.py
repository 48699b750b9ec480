"""Which tools a key may see and call."""

from __future__ import annotations

from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, CallToolResult, ListToolsResult, TextContent, Tool

from memoranda.errors import Denied
from memoranda.server.auth import Principal

_OPEN: Final = frozenset({"initialize", "ping", "server/discover"})


_ALSO_READ: Final = frozenset({"session_say"})
"""Tools that change something and tell what others have said."""


class ScopeCheck:
    """Middleware of the SDK's server: every message, with the key it came with."""

    def __init__(self, tools: list[Tool]) -> None:
        self._needs = {tool.name: _scopes_of(tool) for tool in tools}

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        principal: Principal = ctx.request.state.principal  # type: ignore[union-attr]  # over HTTP there is one
        if ctx.method == "tools/list":
            return self._shown(await call_next(ctx), principal)
        try:
            self._check(ctx, principal)
        except Denied as error:
            if ctx.method == "tools/call":
                return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)
            raise MCPError(INVALID_REQUEST, str(error)) from error
        return await call_next(ctx)

    def _check(self, ctx: ServerRequestContext[Any, Any], principal: Principal) -> None:
        if ctx.method == "tools/call":
            named = (ctx.params or {}).get("name")
            for scope in self._needs.get(str(named), ("write",)):
                principal.require(scope)
        elif not (ctx.method in _OPEN or ctx.method.startswith("notifications/") or ctx.method.endswith("/list")):
            principal.require("read")

    def _shown(self, result: HandlerResult, principal: Principal) -> HandlerResult:
        if not isinstance(result, ListToolsResult):
            result = ListToolsResult.model_validate(result)
        allowed = [tool for tool in result.tools if principal.scopes.issuperset(self._needs[tool.name])]
        return result.model_copy(update={"tools": allowed})


def _scopes_of(tool: Tool) -> tuple[str, ...]:
    if tool.annotations is not None and tool.annotations.read_only_hint:
        return ("read",)
    return ("read", "write") if tool.name in _ALSO_READ else ("write",)
