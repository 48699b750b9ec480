"""The `memoranda` command.

The commands are imported inside `main`, so that a missing extra gives one line and not a traceback.
"""

from __future__ import annotations

import sys

from memoranda.errors import MissingExtra


def main() -> None:
    """Run the command line, or print the install line when the extra `cli` is missing."""
    try:
        from memoranda.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"error: {MissingExtra('the command line', 'cli')}")
    app(prog_name="memoranda")


if __name__ == "__main__":
    main()
