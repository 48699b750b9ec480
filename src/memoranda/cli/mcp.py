"""`memoranda mcp`: run the MCP server. `memoranda mcp install`: add it to the configuration of a client."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from memoranda.cli.options import WRITE, CommandOptions, command, with_options
from memoranda.cli.output import hint, make_group, print_result, safe_text
from memoranda.cli.serve import AllowUnauthenticated, Host, Hosts, Origins, server_config
from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from memoranda.settings import MemoryConfig

_MCP_PORT = 8701
Tools = Annotated[
    str,
    typer.Option(
        help="Tools that the model gets: core, all, or names of tools and of groups (facts, quarantine, connector, "
        "sessions, graph), separated by commas."
    ),
]


class McpTransport(StrEnum):
    """How an MCP client talks to the server."""

    STDIO = "stdio"
    HTTP = "http"


class ClientName(StrEnum):
    """The clients whose configuration `install` can change."""

    CLAUDE_DESKTOP = "claude-desktop"
    CLAUDE_CODE = "claude-code"
    CURSOR = "cursor"
    VSCODE = "vscode"
    CODEX = "codex"
    GEMINI = "gemini"


group = make_group(
    "Run the MCP server until it is stopped, or add it to a client. "
    "With stdio, --tenant names the tenant; with http, the API key does.\n\n"
    "Without --db and MEMORY_DB_URL, memories are kept in the user's data folder, such as ~/.local/share/memoranda."
)


def mcp(
    options: CommandOptions,
    context: typer.Context,
    transport: Annotated[
        McpTransport, typer.Option(help="stdio when the client starts this program; http to listen on a port.")
    ] = McpTransport.STDIO,
    tools: Tools = "core",
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on, for http.")] = _MCP_PORT,
    allowed_hosts: Hosts = None,
    allowed_origins: Origins = None,
    allow_unauthenticated: AllowUnauthenticated = None,
) -> None:
    if context.invoked_subcommand is not None:
        _refuse_options(context)
        return
    from memoranda.mcp import run
    from memoranda.mcp.run import Owner, choose_tools

    choose_tools(tools)
    config = options.user_config
    owner = Owner(tenant=options.tenant, user=options.user, agent=options.agent, session=options.session)
    http = server_config(host, port, allowed_hosts, allowed_origins, allow_unauthenticated)
    _prepare_folder(config)
    run(config, owner, http=http if transport is McpTransport.HTTP else None, tools=tools)


def _refuse_options(context: typer.Context) -> None:
    """Refuse options before the name of a command: they would be read and have no effect."""
    named = [name for name in context.params if context.get_parameter_source(name).name == "COMMANDLINE"]  # type: ignore[union-attr]
    if named:
        raise InvalidInput(f"write the options after `{context.invoked_subcommand}`: {', '.join(named)}")


def _prepare_folder(config: MemoryConfig) -> None:
    """Create the user's data folder, which nobody else may read; other folders must exist."""
    from memoranda.settings import database_url, user_data_folder
    from memoranda.storage import database_file

    file = database_file(database_url(config))
    if file is not None and file.parent == user_data_folder():
        file.parent.parent.mkdir(parents=True, exist_ok=True)
        file.parent.mkdir(mode=0o700, exist_ok=True)


def install(
    options: CommandOptions,
    client: Annotated[ClientName, typer.Argument(help="The program to add Memoranda to.")],
    tools: Tools = "core",
    name: Annotated[str, typer.Option(help="Name of the server in the configuration.")] = "memoranda",
    file: Annotated[
        Path | None, typer.Option(help="Configuration file, when it is not where the client usually keeps it.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change, and write nothing.")] = False,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Remove the server instead.")] = False,
) -> None:
    """Add the MCP server to a client.

    It shows the change, keeps a copy of the file, and leaves everything else as it is.

    The options --db, --user, --agent, --session, --tenant and --tools become arguments of the server.
    """
    from memoranda.mcp.install import CLIENTS, plan_install, server_entry
    from memoranda.mcp.run import choose_tools

    choose_tools(tools)
    entry = None if uninstall else server_entry(_server_arguments(options, tools))
    change = plan_install(client.value, entry, file=file, name=name)
    written = change.changed and not dry_run
    backup = change.write() if written else None
    done = {"client": client.value, "file": change.file, "changed": written, "backup": backup, "diff": change.diff}
    if options.as_json:
        print_result(done, as_json=True)
    elif change.diff:
        typer.echo(str(safe_text(change.diff)))  # lines of a file are not wrapped
    if written:
        kept = f"; the old one is {backup}" if backup else ""
        hint(f"{change.file} is written{kept}. Restart {CLIENTS[client.value].title}.", options.as_json)
    else:
        hint("Nothing was written." if change.changed else f"{change.file} is as it should be.", options.as_json)
    if not uninstall:
        hint(_describe_server(options), options.as_json)


def _server_arguments(options: CommandOptions, tools: str) -> list[str]:
    """Return the arguments of the server: a client starts it in another folder and with another environment."""
    from memoranda.types import DEFAULT_TENANT

    named = {
        "--db": _named_database(options),
        "--tenant": None if options.tenant == DEFAULT_TENANT else options.tenant,
        "--user": options.user,
        "--agent": options.agent,
        "--session": options.session,
        "--tools": None if tools == "core" else tools,
    }
    return [part for option, value in named.items() if value is not None for part in (option, value)]


def _named_database(options: CommandOptions) -> str | None:
    """Return the database that was named here, absolute; None for the user's own."""
    url, file = _find_database(options)
    from memoranda.settings import user_data_folder

    if file is None:
        return url
    return None if file == user_data_folder() / "memories.db" else str(file)


def _find_database(options: CommandOptions) -> tuple[str, Path | None]:
    from memoranda.settings import database_url
    from memoranda.storage import database_file

    url = database_url(options.user_config)
    file = database_file(url)
    return url, None if file is None else file.absolute()


def _describe_server(options: CommandOptions) -> str:
    from memoranda.settings import known_variables, set_variables

    url, file = _find_database(options)
    kept_in = str(file or url)
    where = f"Memories are kept in {kept_in}: look at them with `memoranda ui --db {shlex.quote(kept_in)}`."
    unseen = sorted(set(set_variables()) & set(known_variables()) - {"MEMORY_DB_URL", "MEMORY_STORAGE_DIR"})
    if not unseen:
        return where
    return f"{where}\nThe client does not know {', '.join(unseen)}: add what the server needs to `env` of its entry."


_OPTIONS: Final = {name: option for name, option in WRITE.items() if name != "as_json"}
group.callback(invoke_without_command=True, no_args_is_help=False)(with_options(mcp, _OPTIONS))
command(group, "install", shared=WRITE)(install)
