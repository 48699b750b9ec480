from __future__ import annotations

import subprocess
import sys

from typer.testing import CliRunner

from memoranda.cli.app import app


def test_the_version_is_printed() -> None:
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.output.split()[0]) == (0, "memoranda")


def test_help_names_the_commands() -> None:
    assert "models" in CliRunner().invoke(app, ["--help"]).output


def test_without_the_extra_the_install_line_is_printed() -> None:
    program = "import sys; sys.modules['typer'] = None; from memoranda.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        'error: the command line needs an extra: pip install "memoranda[cli]"\n',
    )
