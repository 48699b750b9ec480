from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

WALK = Path(__file__).parents[2] / "scripts" / "walk.py"


def test_walk_script_counts_files_and_folder_switches() -> None:
    done = subprocess.run(
        [sys.executable, str(WALK)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["remember", "recall"]
    assert all(re.fullmatch(r"\w+: \d+ files, \d+ folder switches", line) for line in lines)
