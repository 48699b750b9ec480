from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

_ENGINE = ("sqlalchemy", "numpy", "faiss", "onnxruntime", "alembic")
_PACKAGES = ("storage", "remember.memories", "index", "embedding", "manager.components", "manager.manager")
_MODULES = (*_ENGINE, *(f"memoranda.{name}" for name in _PACKAGES))


def test_importing_the_client_does_not_load_the_engine() -> None:
    program = f"import sys, memoranda.client; print(*(name for name in {_MODULES!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", _MODULES)
def test_each_module_of_the_engine_exists(name: str) -> None:
    assert find_spec(name) is not None
