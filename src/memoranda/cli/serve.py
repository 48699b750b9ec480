"""`memoranda serve` and `ui`: run a server until it is stopped. `memoranda keys`: API keys of the server."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from memoranda.cli.options import DATABASE, SERVED, CommandOptions, command
from memoranda.cli.output import fields_table, make_group, message, print_result, table

if TYPE_CHECKING:
    from memoranda.server.config import ServerConfig
    from memoranda.server.keys import ApiKey, IssuedKey, Keys


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
    from memoranda.types import utc_now

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
