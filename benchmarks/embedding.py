"""Texts per second, load time and memory of an embedding model.

    python benchmarks/embedding.py --model e5-dialogue --threads 1 2 --mixed 10000

Short texts are generated sentences of 16 to 64 words. Mixed texts have 1 to 5,000 words, evenly distributed over the
orders of magnitude, and are embedded in one call; memory is the peak of the whole process until then.
"""

from __future__ import annotations

import argparse
import math
import random
import resource
import sys
import time
from collections.abc import Sequence

from memoranda.embedding.base import Embedder
from memoranda.embedding.local import OnnxEmbedder, default_spec
from memoranda.embedding.model import open_embedder

STORY = """we met at the old harbour last summer and talked about work travel music children their school a new job
    tomorrow I want to cook something with lemons because my sister is coming from Lisbon by train it rained all
    week so nobody went swimming remember the password of the router was changed after the storm on Tuesday"""
WORDS = STORY.split()


def main() -> None:
    options = _parse_arguments()
    rng = random.Random(options.seed)
    short = [_make_text(rng, rng.randint(16, 64)) for _ in range(options.short)]
    rows = [("load and first text", f"{_measure_load(options.model):.2f} s")]
    for threads in options.threads:
        embedder = _open_embedder(options.model, threads)
        embedder.embed(short[:8], kind="passage")
        rows.append((f"texts/s, {threads} thread{'s' if threads > 1 else ''}", f"{_measure_rate(embedder, short):.0f}"))
    if options.mixed:
        rows += _measure_mixed(options.model, rng, options.mixed)
    for name, value in rows:
        print(f"{name:<40}{value:>14}")


def _measure_mixed(model: str, rng: random.Random, count: int) -> list[tuple[str, str]]:
    texts = [_make_text(rng, round(math.exp(rng.uniform(0, math.log(5_000))))) for _ in range(count)]
    rate = _measure_rate(_open_embedder(model, None), texts)
    return [(f"texts/s, {count:,} mixed, all cores", f"{rate:.0f}"), ("most memory taken", f"{_peak_mb():.0f} MB")]


def _measure_load(model: str) -> float:
    start = time.perf_counter()
    open_embedder(model).embed(["first"], kind="passage")
    return time.perf_counter() - start


def _measure_rate(embedder: Embedder, texts: Sequence[str]) -> float:
    start = time.perf_counter()
    embedder.embed(texts, kind="passage")
    return len(texts) / (time.perf_counter() - start)


def _open_embedder(model: str, threads: int | None) -> Embedder:
    if model == default_spec().name:
        return OnnxEmbedder(default_spec(), threads=threads)
    return open_embedder(model)


def _make_text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words))


def _peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="e5-dialogue", help="the model to measure")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of threads to measure")
    parser.add_argument("--short", type=int, default=300, help="number of short texts")
    parser.add_argument("--mixed", type=int, default=10_000, help="number of mixed texts; 0 for none")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
