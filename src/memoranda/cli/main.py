"""The `memoranda` command."""

from __future__ import annotations

import sys

from memoranda.errors import MissingExtra


def main() -> None:
    """Runs the command line; without the extra `cli` it says how to get it."""
    try:
        from memoranda.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"error: {MissingExtra('the command line', 'cli')}")
    app()


if __name__ == "__main__":
    main()
