"""Run other systems on the same questions, each in its own environment.

They have no notion of a speaker, so they get the text in the form that helps them most: "Caroline: I went to …".
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.sets import QuestionSet, Turn
from evaluation.vectors import CachedVectors
from peers.systems import BENCHMARKS, CACHE, REQUIREMENTS, System, environment_of, install, prepare, python_of

_BM25S = ("bm25s==0.3.16", "PyStemmer", "numpy")
PEERS: dict[str, str | None] = {
    "mem0": "mem0",
    "chromadb": "chromadb",
    "langgraph": "langgraph",
    "bm25s": "bm25s",
    "dense": None,
}
"""The environment that each runs in; None is the environment of this script."""


def answers_of(
    peer: str, questions: QuestionSet, embedder: CachedVectors, work: Path, *, again: bool
) -> tuple[dict[str, Any], str]:
    """Return a peer's answers by question id, and its settings."""
    folder = work / f"{questions.name}-{peer}"
    cached = folder / "answers.json"
    if again or not cached.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _write_task(questions, embedder, folder)
        _run(peer, folder)
    found = json.loads(cached.read_text())
    return found["answers"], found["settings"]


def _write_task(questions: QuestionSet, embedder: CachedVectors, folder: Path) -> None:
    scopes = {
        scope: {"ids": [turn.id for turn in turns], "texts": [_to_text(turn) for turn in turns]}
        for scope, turns in questions.scopes.items()
    }
    queries = [{"id": each.id, "scope": each.scope, "text": each.text} for each in questions.questions]
    texts = [text for scope in scopes.values() for text in scope["texts"]]
    print(f"{questions.name}: vectors of {len(texts)} texts for the peers", file=sys.stderr)
    passages = embedder.embed(texts, kind="passage")
    vectors = np.concatenate([passages, embedder.embed([each["text"] for each in queries], kind="query")])
    embedder.save()
    np.save(folder / "vectors.npy", vectors)
    (folder / "task.json").write_text(json.dumps({"scopes": scopes, "questions": queries}))


def _to_text(turn: Turn) -> str:
    return f"{turn.speaker or turn.role}: {turn.text}"


def _run(peer: str, folder: Path) -> None:
    environment = PEERS[peer]
    if environment in REQUIREMENTS:
        prepare(environment)
    elif environment is not None and not (CACHE / environment / "bin" / "python").exists():
        install(CACHE / environment, *_BM25S)
    system = System(peer, "", "", environment)
    print(f"asking {peer}", file=sys.stderr)
    command = [python_of(system), "-m", "peers.quality_worker", peer, str(folder.resolve())]
    subprocess.run(command, check=True, cwd=BENCHMARKS, env=environment_of(system))
