from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import memoranda_models


def test_opening_a_model_writes_nothing_and_sends_nothing(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from memoranda.embedding.onnx import open_session
open_session(Path({str(memoranda_models.path("e5-small-v2.onnx"))!r}))
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    assert list(tmp_path.iterdir()) == []
