"""The figures that need no peer: what an installation weighs, and what the real embedder does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from peers.systems import BENCHMARKS, CACHE, OURS, REQUIREMENTS, ROOT, environment_of, install, installed_mb


def install_sizes() -> dict[str, dict[str, float]]:
    """Megabytes on disk, freshly installed: Memoranda's core with its models, the same with the reranker, the peers."""
    models, reranker = (str(ROOT / "packages" / name) for name in ("memoranda-models", "memoranda-reranker"))
    install(CACHE / "core", models, str(ROOT))
    install(CACHE / "best", models, reranker, str(ROOT))
    ours = {"Memoranda with models": CACHE / "core", "Memoranda[best]": CACHE / "best"}
    folders = ours | {name: CACHE / name for name in REQUIREMENTS}
    return {name: _sizes(folder) for name, folder in folders.items() if folder.exists()}


def _sizes(folder: Path) -> dict[str, float]:
    return {
        "mb": installed_mb(folder, with_bytecode=False),
        "mb_with_bytecode": installed_mb(folder, with_bytecode=True),
    }


def embedding_figures() -> dict[str, str]:
    """Texts per second and resident memory of the default embedder, as `embedding.py` prints them."""
    command = [sys.executable, str(BENCHMARKS / "embedding.py")]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT, env=environment_of(OURS))
    rows = [re.split(r"\s{2,}", line.strip()) for line in run.stdout.splitlines() if line.strip()]
    return {row[0]: row[-1] for row in rows}
