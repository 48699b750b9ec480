"""`memoranda keys`: API keys of the server."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from memoranda.cli.options import CommandOptions, command
from memoranda.cli.output import fields_table, make_group, message, print_result, table

if TYPE_CHECKING:
    from memoranda.server.keys import IssuedKey

app = make_group("Manage the API keys of the server.")

KeyId = Annotated[str, typer.Argument(help="Id of the key, as `keys list` shows it.")]


def create(
    options: CommandOptions,
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    scopes: Annotated[str, typer.Option(help="Comma-separated list of read, write and admin.")] = "read,write",
    days: Annotated[float | None, typer.Option(help="Days until the key expires. Default: it never does.")] = None,
    rate: Annotated[float | None, typer.Option(help="Maximum requests per second. Default: no limit.")] = None,
) -> None:
    """Create a key for the tenant. It is shown only once; the database stores a hash."""
    from memoranda.server.keys import open_keys

    expires_in = None if days is None else timedelta(days=days)
    with open_keys(options.config) as keys:
        issued = keys.create(name, tenant=options.tenant, scopes=scopes.split(","), expires_in=expires_in, rate=rate)
    _print_issued(issued, options.as_json)


def list_keys(options: CommandOptions) -> None:
    """List the keys without their secrets."""
    from memoranda.server.keys import open_keys

    with open_keys(options.config) as keys:
        found = keys.all()
    columns = ("id", "name", "tenant", "scopes", "created_at", "expires_at", "revoked_at", "used_at")
    print_result(found, options.as_json, lambda: table(columns, ([key[column] for column in columns] for key in found)))


def revoke(options: CommandOptions, key_id: KeyId) -> None:
    """Revoke a key. The server refuses it from now on."""
    from memoranda.server.keys import open_keys

    with open_keys(options.config) as keys:
        keys.revoke(key_id)
    print_result({"revoked": key_id}, options.as_json, message(f"{key_id} revoked"))


def rotate(
    options: CommandOptions,
    key_id: KeyId,
    hours: Annotated[float, typer.Option(help="Hours that the old key stays valid.")] = 0.0,
) -> None:
    """Replace a key with a new one that has the same rights."""
    from memoranda.server.keys import open_keys

    with open_keys(options.config) as keys:
        issued = keys.rotate(key_id, grace=timedelta(hours=hours))
    _print_issued(issued, options.as_json)


def _print_issued(issued: IssuedKey, as_json: bool) -> None:
    fields = [("id", issued.info.id), ("tenant", issued.info.tenant), ("scopes", ", ".join(issued.info.scopes))]
    print_result(issued, as_json, lambda: fields_table(fields))
    if not as_json:
        typer.echo(issued.key)  # on its own line, never wrapped, so that it can be copied


for _name, _function in (("create", create), ("list", list_keys), ("revoke", revoke), ("rotate", rotate)):
    command(app, _name)(_function)
