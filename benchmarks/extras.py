"""The figures that need no peer: what an installation weighs, and what the real embedder does."""

from __future__ import annotations

import re
import subprocess
import sys

from peers.systems import BENCHMARKS, CACHE, OURS, REQUIREMENTS, ROOT, environment_of, install, installed_mb


def install_sizes() -> dict[str, dict[str, float]]:
    """Megabytes on disk of Recollect's core with its models, freshly installed, and of the peers."""
    core = CACHE / "core"
    install(core, str(ROOT / "packages" / "recollect-models"), str(ROOT))
    folders = {"Recollect with models": core} | {name: CACHE / name for name in REQUIREMENTS}
    return {
        name: {
            "mb": installed_mb(folder, with_bytecode=False),
            "mb_with_bytecode": installed_mb(folder, with_bytecode=True),
        }
        for name, folder in folders.items()
        if folder.exists()
    }


def embedding_figures() -> dict[str, str]:
    """Texts per second and resident memory of the default embedder, as `embedding.py` prints them."""
    command = [sys.executable, str(BENCHMARKS / "embedding.py")]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT, env=environment_of(OURS))
    rows = [re.split(r"\s{2,}", line.strip()) for line in run.stdout.splitlines() if line.strip()]
    return {row[0]: row[-1] for row in rows}
