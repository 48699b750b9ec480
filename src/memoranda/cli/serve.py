"""`memoranda serve`, `mcp`, `bench`: programs that go on until they are stopped."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from memoranda.cli.calls import WRITE, Call, command
from memoranda.cli.output import progress_bar, show, table

if TYPE_CHECKING:
    from memoranda.server.config import ServerConfig

_PORT = 8700
_MCP_PORT = 8701

Host = Annotated[str, typer.Option(help="The address to listen on; anything but loopback needs an API key.")]
Hosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-host",
        help="A name it may be called by, beside its own; may be repeated. MEMORY_SERVER_ALLOWED_HOSTS by default.",
    ),
]
Origins = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-origin",
        help="A web page that may call it, as https://app.example; may be repeated. "
        "MEMORY_SERVER_ALLOWED_ORIGINS by default.",
    ),
]


class Transport(StrEnum):
    """How a host talks to the MCP door."""

    STDIO = "stdio"
    HTTP = "http"


def register(app: typer.Typer) -> None:
    """Adds these commands."""
    command(app, "serve")(serve)
    command(app, "mcp", options=WRITE)(mcp)
    command(app, "bench")(bench)


def serve(
    call: Call,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.")] = _PORT,
    allowed_hosts: Hosts = None,
    allowed_origins: Origins = None,
) -> None:
    """Serve this memory over REST until stopped."""
    from memoranda.server import run

    run(_server_config(host, port, allowed_hosts, allowed_origins), call.config)


def mcp(
    call: Call,
    transport: Annotated[
        Transport, typer.Option(help="stdio for a host that starts this program, or http.")
    ] = Transport.STDIO,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port for http.")] = _MCP_PORT,
    allowed_hosts: Hosts = None,
    allowed_origins: Origins = None,
) -> None:
    """Serve this memory over MCP until stopped. Over http, a key says whose tenant; stdio has --tenant."""
    from memoranda.mcp import run
    from memoranda.mcp.run import Owner

    owner = Owner(tenant=call.tenant, user=call.user, agent=call.agent, session=call.session)
    http = _server_config(host, port, allowed_hosts, allowed_origins) if transport is Transport.HTTP else None
    run(call.config, owner, http=http)


def _server_config(host: str, port: int, hosts: list[str] | None, origins: list[str] | None) -> ServerConfig:
    from memoranda.server.config import ServerConfig

    return ServerConfig(host=host, port=port, allowed_hosts=tuple(hosts or ()), allowed_origins=tuple(origins or ()))


def bench(
    call: Call,
    memories: Annotated[int, typer.Option(help="How many memories to write.")] = 1000,
) -> None:
    """Measure writes and searches on this machine. The store is thrown away."""
    from memoranda.cli.models import measure

    with progress_bar("Measuring", call.as_json) as progress:
        figures = measure(memories, call.config, progress)
    rows = ((figure.what, f"{figure.value:,.1f}", figure.unit) for figure in figures)
    show(figures, call.as_json, lambda: table(("what", "figure", "unit"), rows))
