"""Commands that run servers: `memoranda serve`, `ui` and `mcp`; what `mcp install` adds to a client; and API `keys`."""

from __future__ import annotations

import shlex
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from memoranda.cli.options import DATABASE, SERVED, WRITE, CommandOptions, command, with_options
from memoranda.cli.output import fields_table, hint, make_group, message, print_result, safe_text, table
from memoranda.errors import InvalidInput
from memoranda.types import DEFAULT_TENANT, utc_now

if TYPE_CHECKING:
    from memoranda.server.config import ServerConfig
    from memoranda.server.keys import ApiKey, IssuedKey, Keys
    from memoranda.settings import MemoryConfig


_PORT = 8700

Host = Annotated[str, typer.Option(help="Address to listen on. Any address but loopback needs an API key.")]
Hosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-host",
        metavar="NAME",
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
        metavar="URL",
        help="Web origin that may call the server, for example https://app.example; can be repeated. "
        "Default: MEMORY_SERVER_ALLOWED_ORIGINS.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add these commands to the app."""
    command(app, "serve", shared=SERVED)(serve)
    command(app, "ui", shared=SERVED)(ui)


def serve(
    options: CommandOptions,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = _PORT,
    workers: Annotated[int, typer.Option(help="Processes that answer requests.", min=1)] = 1,
    allowed_hosts: Hosts = None,
    allowed_origins: Origins = None,
    allow_unauthenticated: AllowUnauthenticated = None,
) -> None:
    """Run the REST server until it is stopped."""
    from memoranda.server import run

    config = server_config(host, port, allowed_hosts, allowed_origins, allow_unauthenticated)
    run(replace(config, workers=workers), options.config)


def ui(
    options: CommandOptions,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 chooses a free one.")] = _PORT,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Open the dashboard, to look at what is remembered. Only this machine can reach it.

    It needs no key: whoever can run this command can read the database. A database named with --db must exist; the
    configured one is created on the first visit.
    """
    from memoranda.server.run import create_app, listen, prepare_to_listen

    config = replace(server_config("127.0.0.1", port, None, None, True), local_owner=True)
    if options.db is not None:
        options.require_database()
    config = prepare_to_listen(config, options.config)
    ready = partial(_announce, browser=browser)
    listen(create_app(config, options.config), config, log_level="warning", on_ready=ready)


def _announce(port: int, *, browser: bool) -> None:
    """Say where the dashboard is, and open it; a machine without a browser shows only the address."""
    import threading
    import webbrowser

    url = f"http://127.0.0.1:{port}/"
    typer.echo(f"The dashboard is at {url} (stop it with Ctrl+C)")
    if browser:
        # In a thread: a browser of the terminal takes it over until one leaves it.
        threading.Thread(target=webbrowser.open, args=[url], daemon=True).start()


def server_config(
    host: str, port: int, hosts: list[str] | None, origins: list[str] | None, allow_unauthenticated: bool | None
) -> ServerConfig:
    """Return the settings of a server from its options."""
    from memoranda.server.config import ServerConfig

    return ServerConfig(
        host=host,
        port=port,
        allowed_hosts=tuple(hosts or ()),
        allowed_origins=tuple(origins or ()),
        allow_unauthenticated=allow_unauthenticated,
    )


keys = make_group("Manage the API keys of the server.")

KeyId = Annotated[str, typer.Argument(help="Id of the key, as `keys list` shows it.")]


def create_key(
    options: CommandOptions,
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    scopes: Annotated[str, typer.Option(help="Comma-separated list of read, write and admin.")] = "read,write",
    days: Annotated[float | None, typer.Option(help="Days until the key expires. Default: never.")] = None,
    rate: Annotated[float | None, typer.Option(help="Maximum requests per second. Default: no limit.")] = None,
) -> None:
    """Create a key for the tenant. It is shown only once; the database stores a hash."""
    expires_in = None if days is None else timedelta(days=days)
    with _open_keys(options, create=True) as store:
        issued = store.create(name, tenant=options.tenant, scopes=scopes.split(","), expires_in=expires_in, rate=rate)
    _print_issued(issued, options.as_json)


def list_keys(
    options: CommandOptions,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only keys of this tenant.")] = None,
) -> None:
    """List the keys without their secrets."""
    with _open_keys(options) as store:
        found = [key for key in store.all() if tenant in (None, key.tenant)]
    columns = ("id", "name", "tenant", "scopes", "created", "state", "last used")
    rows = [
        (key.id, key.name, key.tenant, key.scopes, key.created_at.date(), _key_state(key), key.used_at or "never")
        for key in found
    ]
    none = message("no keys" if tenant is None else f"no keys of the tenant {tenant}", "yellow")
    print_result(found, options.as_json, (lambda: table(columns, rows)) if rows else none)


def _key_state(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return f"revoked {key.revoked_at.date()}"
    if key.expires_at is None:
        return "valid"
    return f"{'expired' if key.expires_at <= utc_now() else 'expires'} {key.expires_at.date()}"


def revoke_key(options: CommandOptions, key_id: KeyId) -> None:
    """Revoke a key. The server refuses it from now on."""
    with _open_keys(options) as store:
        store.revoke(key_id)
    print_result({"revoked": key_id}, options.as_json, message(f"{key_id} revoked"))


def rotate_key(
    options: CommandOptions,
    key_id: KeyId,
    hours: Annotated[float, typer.Option(help="Hours that the old key stays valid.")] = 0.0,
) -> None:
    """Replace a key with a new one that has the same rights."""
    with _open_keys(options) as store:
        issued = store.rotate(key_id, grace=timedelta(hours=hours))
    _print_issued(issued, options.as_json)


def _open_keys(options: CommandOptions, *, create: bool = False) -> AbstractContextManager[Keys]:
    from memoranda.server.keys import open_keys

    if not create:
        options.require_database()
    return open_keys(options.config)


def _print_issued(issued: IssuedKey, as_json: bool) -> None:
    fields = [("id", issued.info.id), ("tenant", issued.info.tenant), ("scopes", ", ".join(issued.info.scopes))]
    print_result(issued, as_json, lambda: fields_table(fields))
    if not as_json:
        typer.echo("the key, which is shown only this once: copy it now")
        typer.echo(issued.key)  # on its own line, never wrapped, so that it can be copied


for _name, _function in (("create", create_key), ("revoke", revoke_key), ("rotate", rotate_key)):
    command(keys, _name)(_function)
# Its --tenant is a filter, and all tenants are listed without it.
command(keys, "list", shared=DATABASE)(list_keys)


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


mcp_group = make_group(
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
    from memoranda.mcp.base import Owner, choose_tools

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
    from memoranda.mcp.base import choose_tools
    from memoranda.mcp.install import CLIENTS, plan_install, server_entry

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
mcp_group.callback(invoke_without_command=True, no_args_is_help=False)(with_options(mcp, _OPTIONS))
command(mcp_group, "install", shared=WRITE)(install)
