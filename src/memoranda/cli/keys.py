"""`memoranda keys`: who may use the server."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from memoranda.cli.calls import STORE, Call, command
from memoranda.cli.errors import group
from memoranda.cli.output import pairs, said, show, table

if TYPE_CHECKING:
    from memoranda.server.keys import IssuedKey

app = group("API keys of the server.")

KeyId = Annotated[str, typer.Argument(help="The key's id, as `keys list` shows it.")]


def create(
    call: Call,
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    scopes: Annotated[str, typer.Option(help="Some of read, write, admin, with commas.")] = "read,write",
    days: Annotated[float | None, typer.Option(help="How many days it works; for ever by default.")] = None,
    rate: Annotated[float | None, typer.Option(help="Requests a second at most; no limit by default.")] = None,
) -> None:
    """Make a key for the tenant. It is shown once and stored as a hash only."""
    from memoranda.server.keys import open_keys

    ends = None if days is None else timedelta(days=days)
    with open_keys(call.config) as keys:
        issued = keys.create(name, tenant=call.tenant, scopes=scopes.split(","), expires_in=ends, rate=rate)
    _show_issued(issued, call.as_json)


def list_keys(call: Call) -> None:
    """List the keys, never their secrets."""
    from memoranda.server.keys import open_keys

    with open_keys(call.config) as keys:
        found = keys.all()
    columns = ("id", "name", "tenant", "scopes", "created_at", "expires_at", "revoked_at", "used_at")
    rows = [[" ".join(key.scopes) if column == "scopes" else key[column] for column in columns] for key in found]
    show(found, call.as_json, lambda: table(columns, rows))


def revoke(call: Call, key_id: KeyId) -> None:
    """Refuse a key from now on."""
    from memoranda.server.keys import open_keys

    with open_keys(call.config) as keys:
        keys.revoke(key_id)
    show({"revoked": key_id}, call.as_json, said(f"{key_id} revoked"))


def rotate(
    call: Call, key_id: KeyId, hours: Annotated[float, typer.Option(help="How long the old one still works.")] = 0.0
) -> None:
    """Make a new key with the same rights in the place of an old one."""
    from memoranda.server.keys import open_keys

    with open_keys(call.config) as keys:
        issued = keys.rotate(key_id, grace=timedelta(hours=hours))
    _show_issued(issued, call.as_json)


def _show_issued(issued: IssuedKey, as_json: bool) -> None:
    about = [("id", issued.info.id), ("tenant", issued.info.tenant), ("scopes", ", ".join(issued.info.scopes))]
    show(issued, as_json, lambda: pairs(about))
    if not as_json:
        typer.echo(issued.key)  # on a line of its own, whole however narrow the terminal is


for name, function in (("create", create), ("list", list_keys), ("revoke", revoke), ("rotate", rotate)):
    command(app, name, options=STORE)(function)
