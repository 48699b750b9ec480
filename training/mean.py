"""Write the mean of the weights of several models that began alike, compressed as the packages have it.

    python training/mean.py OUT/reranker-dialogue.onnx RUN RUN …

A file that is named twice counts twice.
"""

from __future__ import annotations

import hashlib
import lzma
import sys
from pathlib import Path

import torch
from bert import Bert, is_reranker, load, save


def write(model: Bert, graph: Path, file: Path) -> None:
    """Write a model into a graph, and beside it compressed; print its checksum."""
    save(model, graph, file)
    content = file.read_bytes()
    file.with_name(f"{file.name}.xz").write_bytes(lzma.compress(content, preset=9))
    print(f"{file.name}: {len(content):,} bytes, sha256 {hashlib.sha256(content).hexdigest()}")


def main() -> None:
    target, *files = (Path(each) for each in sys.argv[1:])
    models = [load(file, is_reranker=is_reranker(file)) for file in files]
    states = [model.state_dict() for model in models]
    models[0].load_state_dict({name: torch.stack([each[name] for each in states]).mean(0) for name in states[0]})
    write(models[0], files[0], target)


if __name__ == "__main__":
    main()
