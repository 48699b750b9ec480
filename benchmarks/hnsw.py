"""Exact scan against an HNSW graph: speed, recall and build time by index size.

    python benchmarks/hnsw.py
    python benchmarks/hnsw.py --texts corpus.jsonl.gz --questions queries.jsonl.gz

Without texts, random vectors are used that resemble sentence embeddings: a common direction, a slowly falling
spectrum, topics, and queries at a small distance from the passages. Texts are embedded by the default model (several
milliseconds each); both files contain a JSON object with "text" on each line. Times are processor time of one thread,
so other programs on the machine have little effect.
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
    options = _parse_arguments()
    passages, questions = _load_vectors(options)
    print(
        f"{passages.shape[1]} dimensions, {len(questions)} questions, one thread; a graph is built above {GRAPH_FROM:,}"
    )
    print(f"{'rows':>8} {'exact ms':>9} {'graph ms':>9} {'ratio':>6} {'recall@10':>10} {'build s':>8} {'rows/s':>7}")
    for rows in (size for size in options.rows if size <= len(passages)):
        print(_measure(passages[:rows], questions), flush=True)


def _measure(passages: FloatArray, questions: FloatArray) -> str:
    rows, ids = len(passages), np.arange(len(passages))
    exact = FAISSIndex(passages.shape[1], graph_from=rows)
    exact.add(ids, passages)
    graph = FAISSIndex(passages.shape[1], graph_from=0, grow_on_add=False)
    graph.add(ids, passages)
    build = _measure_seconds(graph.grow)
    exact_ms, expected = _search_all(exact, questions)
    graph_ms, found = _search_all(graph, questions)
    recall = np.mean([len(np.intersect1d(*pair)) / LIMIT for pair in zip(expected, found, strict=True)])
    ratio = exact_ms / graph_ms
    return f"{rows:8,} {exact_ms:9.2f} {graph_ms:9.2f} {ratio:6.1f} {recall:10.4f} {build:8.1f} {rows / build:7,.0f}"


def _search_all(index: FAISSIndex, questions: FloatArray) -> tuple[float, list[list[int]]]:
    times, answers = [], []
    for question in questions:
        start = time.thread_time()
        ids, _ = index.search(question, LIMIT)
        times.append(time.thread_time() - start)
        answers.append(ids.tolist())
    return float(np.median(times)) * 1000, answers


def _measure_seconds(function: Callable[[], object]) -> float:
    start = time.thread_time()
    function()
    return time.thread_time() - start


def _load_vectors(options: argparse.Namespace) -> tuple[FloatArray, FloatArray]:
    if options.texts is None:
        return _random_vectors(max(options.rows), QUESTIONS)
    from memoranda.embedding.model import EmbeddingModel

    model = EmbeddingModel()
    passages = model.encode(_read_texts(options.texts, max(options.rows)))
    return passages, model.encode(_read_texts(options.questions, QUESTIONS), kind="query")


def _read_texts(path: Path, count: int) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in islice(lines, count)]


def _random_vectors(
    passages: int, questions: int, dimension: int = 384, topics: int = 500
) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(7)
    spectrum = np.arange(1, dimension + 1) ** -0.7
    spectrum /= np.linalg.norm(spectrum)
    centres = rng.standard_normal((topics, dimension)) * spectrum
    common, offset = 1.6 * np.eye(dimension)[0], 0.5 * rng.standard_normal(dimension) * spectrum
    rotation = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]

    def draw(count: int, shift: np.ndarray[tuple[int], np.dtype[np.float64]]) -> FloatArray:
        noise = rng.standard_normal((count, dimension)) * spectrum
        mixed = (0.45 * centres[rng.integers(0, topics, count)] + 0.9 * noise + shift) @ rotation
        return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), dtype=np.float32)

    return draw(passages, common), draw(questions, common + offset)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 20_000, 50_000, 100_000], help="index sizes")
    parser.add_argument("--texts", type=Path, help="passages, gzipped JSON lines")
    parser.add_argument("--questions", type=Path, help="queries, gzipped JSON lines")
    options = parser.parse_args()
    if (options.texts is None) != (options.questions is None):
        parser.error("--texts and --questions must be given together")
    return options


if __name__ == "__main__":
    main()
