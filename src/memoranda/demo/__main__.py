"""Store a long conversation, restart, and answer questions about it."""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from memoranda.demo.steps import answer_questions, store_conversation
from memoranda.errors import InvalidInput, MemorandaError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo and return its exit status."""
    options = _make_parser().parse_args(arguments)
    _replace_unprintable_characters()
    try:
        return _run(options.keep, options.ask, options.kept)
    except MemorandaError as error:
        print(error, file=sys.stderr)
        return 1


def _make_parser() -> argparse.ArgumentParser:
    about = (
        "Store nine months of messages of two friends in a new file, answer questions about them from another process, "
        "and show what changed since, what was refused, and what memory does not know. It takes about half a minute, "
        "needs no network and no language model, and leaves nothing behind unless you keep the file."
    )
    parser = argparse.ArgumentParser(prog="python -m memoranda.demo", description=about)
    parser.add_argument("--keep", type=Path, metavar="PATH", help="write the database to this new file and keep it")
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--kept", action="store_true", help=argparse.SUPPRESS)
    return parser


def _run(keep: Path | None, ask: Path | None, kept: bool) -> int:
    if ask is not None:
        answer_questions(ask, kept=kept)
        return 0
    if keep is not None:
        return _run_both_processes(_check_new_file(keep), "--kept")
    with TemporaryDirectory(prefix="memoranda-demo-") as folder:
        return _run_both_processes(Path(folder) / "memories.db")


def _run_both_processes(path: Path, *options: str) -> int:
    store_conversation(path)
    sys.stdout.flush()
    # A new process, which shares nothing with the first one but the file.
    command = [sys.executable, "-m", "memoranda.demo", "--ask", str(path), *options]
    return subprocess.run(command, check=False).returncode


def _check_new_file(path: Path) -> Path:
    if path.exists():
        raise InvalidInput(f"{path} exists already: choose a new file, so that none of your data is changed")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.resolve()


def _replace_unprintable_characters() -> None:
    # The conversation contains umlauts and Japanese, which some terminals cannot print.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
