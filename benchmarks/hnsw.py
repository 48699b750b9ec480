"""When a graph pays: exact scan against HNSW, on the sizes given.

    python benchmarks/hnsw.py
    python benchmarks/hnsw.py --texts corpus.jsonl.gz --questions queries.jsonl.gz

Without texts the vectors are drawn at random, shaped like those of sentences: a common direction, a spectrum
that falls slowly, topics, and questions that lie a little apart from the passages. Texts are embedded by the default
model (several milliseconds each); both files hold a JSON object with "text" on each line. Times are processor time
of the one thread that works, so that other programs on the machine disturb them little.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np

from memoranda.index.faiss import GRAPH_FROM, FAISSIndex
from memoranda.types import FloatArray

LIMIT = 10
QUESTIONS = 200


def main() -> None:
    options = _options()
    passages, questions = _vectors(options)
    print(
        f"{passages.shape[1]} dimensions, {len(questions)} questions, one thread; a graph is built above {GRAPH_FROM:,}"
    )
    print(f"{'rows':>8} {'exact ms':>9} {'graph ms':>9} {'ratio':>6} {'recall@10':>10} {'build s':>8} {'rows/s':>7}")
    for rows in (size for size in options.rows if size <= len(passages)):
        print(_line(passages[:rows], questions), flush=True)


def _line(passages: FloatArray, questions: FloatArray) -> str:
    rows, ids = len(passages), np.arange(len(passages))
    exact = FAISSIndex(passages.shape[1], graph_from=rows)
    exact.add(ids, passages)
    graph = FAISSIndex(passages.shape[1], graph_from=0, grow_on_add=False)
    graph.add(ids, passages)
    build = _seconds(graph.grow)
    exact_ms, expected = _ask(exact, questions)
    graph_ms, found = _ask(graph, questions)
    recall = np.mean([len(np.intersect1d(*pair)) / LIMIT for pair in zip(expected, found, strict=True)])
    ratio = exact_ms / graph_ms
    return f"{rows:8,} {exact_ms:9.2f} {graph_ms:9.2f} {ratio:6.1f} {recall:10.4f} {build:8.1f} {rows / build:7,.0f}"


def _ask(index: FAISSIndex, questions: FloatArray) -> tuple[float, list[list[int]]]:
    times, answers = [], []
    for question in questions:
        start = time.thread_time()
        ids, _ = index.search(question, LIMIT)
        times.append(time.thread_time() - start)
        answers.append(ids.tolist())
    return float(np.median(times)) * 1000, answers


def _seconds(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start


def _vectors(options: argparse.Namespace) -> tuple[FloatArray, FloatArray]:
    if options.texts is None:
        return _drawn(max(options.rows), QUESTIONS)
    from memoranda.embedding.model import EmbeddingModel

    model = EmbeddingModel()
    passages = model.encode(_texts(options.texts, max(options.rows)))
    return passages, model.encode(_texts(options.questions, QUESTIONS), kind="query")


def _texts(path: Path, count: int) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in islice(lines, count)]


def _drawn(passages: int, questions: int, dimension: int = 384, topics: int = 500) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(7)
    spectrum = np.arange(1, dimension + 1) ** -0.7
    spectrum /= np.linalg.norm(spectrum)
    centres = rng.standard_normal((topics, dimension)) * spectrum
    common, apart = 1.6 * np.eye(dimension)[0], 0.5 * rng.standard_normal(dimension) * spectrum
    turned = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]

    def some(count: int, shift: np.ndarray[tuple[int], np.dtype[np.float64]]) -> FloatArray:
        own = rng.standard_normal((count, dimension)) * spectrum
        mixed = (0.45 * centres[rng.integers(0, topics, count)] + 0.9 * own + shift) @ turned
        return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), dtype=np.float32)

    return some(passages, common), some(questions, common + apart)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Exact scan against HNSW.")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 20_000, 50_000, 100_000])
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--questions", type=Path)
    options = parser.parse_args()
    if (options.texts is None) != (options.questions is None):
        parser.error("--texts and --questions go together")
    return options


if __name__ == "__main__":
    main()
