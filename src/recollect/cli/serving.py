"""`recollect serve`, `mcp`, `bench`: programs that go on until they are stopped."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from recollect.cli.calls import WRITE, Call, command
from recollect.cli.output import progress_bar, show, table

_PORT = 8700
_MCP_PORT = 8701


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
    host: Annotated[
        str, typer.Option(help="The address to listen on; anything but loopback needs an API key.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.")] = _PORT,
) -> None:
    """Serve this memory over REST until stopped."""
    from recollect.server import ServerConfig, run

    run(ServerConfig(host=host, port=port), call.config)


def mcp(
    call: Call,
    transport: Annotated[
        Transport, typer.Option(help="stdio for a host that starts this program, or http.")
    ] = Transport.STDIO,
    port: Annotated[int, typer.Option(help="The port for http, on loopback.")] = _MCP_PORT,
) -> None:
    """Serve this memory over MCP until stopped."""
    from recollect.mcp import Whose, run

    whose = Whose(tenant=call.tenant, user=call.user, agent=call.agent, session=call.session)
    run(call.config, whose, http_port=port if transport is Transport.HTTP else None)


def bench(
    call: Call,
    memories: Annotated[int, typer.Option(help="How many memories to write.")] = 1000,
) -> None:
    """Measure writes and searches on this machine. The store is thrown away."""
    from recollect.cli.bench import measure

    with progress_bar("Measuring", call.as_json) as progress:
        figures = measure(memories, call.config, progress)
    rows = ((figure.what, f"{figure.value:,.1f}", figure.unit) for figure in figures)
    show(figures, call.as_json, lambda: table(("what", "figure", "unit"), rows))
