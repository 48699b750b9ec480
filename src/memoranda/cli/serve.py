"""`memoranda serve` and `memoranda mcp`: run a server until it is stopped."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from memoranda.cli.options import WRITE, CommandOptions, command

if TYPE_CHECKING:
    from memoranda.server.config import ServerConfig

_PORT = 8700
_MCP_PORT = 8701

Host = Annotated[str, typer.Option(help="Address to listen on. Any address but loopback needs an API key.")]
Hosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-host",
        help="Another host name that clients may use; can be repeated. Default: MEMORY_SERVER_ALLOWED_HOSTS.",
    ),
]
AllowUnauthenticated = Annotated[
    bool | None,
    typer.Option(
        "--allow-unauthenticated/--require-key",
        help="Whether callers on this machine need no key until the first key is created; callers from elsewhere and "
        "through a proxy always need one. Default: allowed when listening on loopback.",
        show_default=False,
    ),
]
Origins = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-origin",
        help="Web origin that may call the server, for example https://app.example; can be repeated. "
        "Default: MEMORY_SERVER_ALLOWED_ORIGINS.",
    ),
]


class McpTransport(StrEnum):
    """How an MCP client talks to the server."""

    STDIO = "stdio"
    HTTP = "http"


def register(app: typer.Typer) -> None:
    """Add these commands to the app."""
    command(app, "serve")(serve)
    command(app, "mcp", shared=WRITE)(mcp)


def serve(
    options: CommandOptions,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = _PORT,
    allowed_hosts: Hosts = None,
    allowed_origins: Origins = None,
    allow_unauthenticated: AllowUnauthenticated = None,
) -> None:
    """Run the REST server until it is stopped."""
    from memoranda.server import run

    run(_server_config(host, port, allowed_hosts, allowed_origins, allow_unauthenticated), options.config)


def mcp(
    options: CommandOptions,
    transport: Annotated[
        McpTransport, typer.Option(help="stdio when the client starts this program; http to listen on a port.")
    ] = McpTransport.STDIO,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on, for http.")] = _MCP_PORT,
    allowed_hosts: Hosts = None,
    allowed_origins: Origins = None,
    allow_unauthenticated: AllowUnauthenticated = None,
) -> None:
    """Run the MCP server until it is stopped. With stdio, --tenant names the tenant; with http, the API key does."""
    from memoranda.mcp import run
    from memoranda.mcp.run import Owner

    owner = Owner(tenant=options.tenant, user=options.user, agent=options.agent, session=options.session)
    http = _server_config(host, port, allowed_hosts, allowed_origins, allow_unauthenticated)
    run(options.config, owner, http=http if transport is McpTransport.HTTP else None)


def _server_config(
    host: str, port: int, hosts: list[str] | None, origins: list[str] | None, allow_unauthenticated: bool | None
) -> ServerConfig:
    from memoranda.server.config import ServerConfig

    return ServerConfig(
        host=host,
        port=port,
        allowed_hosts=tuple(hosts or ()),
        allowed_origins=tuple(origins or ()),
        allow_unauthenticated=allow_unauthenticated,
    )
