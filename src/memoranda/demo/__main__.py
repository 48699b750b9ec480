"""Remember a long conversation, restart, and ask about it."""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from memoranda.errors import InvalidInput, MemorandaError, MissingExtra


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo and return its exit status."""
    options = _parser().parse_args(arguments)
    _print_any_script()
    try:
        return _run(options.keep, options.ask)
    except MemorandaError as error:
        print(error, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m memoranda.demo", description=__doc__)
    parser.add_argument("--keep", type=Path, metavar="PATH", help="write the database there and keep it")
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    return parser


def _run(keep: Path | None, ask: Path | None) -> int:
    if find_spec("rich") is None:
        raise MissingExtra("The demo", "cli")
    if ask is not None:
        from memoranda.demo.steps import ask as answer_from

        answer_from(ask)
        return 0
    if keep is not None:
        return _demo(_new_file(keep))
    with TemporaryDirectory(prefix="memoranda-demo-") as folder:
        return _demo(Path(folder) / "memories.db")


def _demo(path: Path) -> int:
    from memoranda.demo.steps import take_in

    take_in(path)
    sys.stdout.flush()
    # A new process: nothing of the first one is left but the file.
    return subprocess.run([sys.executable, "-m", "memoranda.demo", "--ask", str(path)], check=False).returncode


def _new_file(path: Path) -> Path:
    if path.exists():
        raise InvalidInput(f"{path} exists already: name a new file, so that nothing of yours is touched")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.resolve()


def _print_any_script() -> None:
    # The conversation has umlauts and Japanese in it, which an old code page could not print.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
