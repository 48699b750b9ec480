from __future__ import annotations

import subprocess
import sys

_ENGINE = ("sqlalchemy", "numpy", "faiss", "onnxruntime", "alembic")
_PACKAGES = ("storage", "memories", "index", "embedding", "manager.components", "manager.manager")


def test_importing_the_client_does_not_load_the_engine() -> None:
    modules = (*_ENGINE, *(f"memoranda.{name}" for name in _PACKAGES))
    program = f"import sys, memoranda.client; print(*(name for name in {modules!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
