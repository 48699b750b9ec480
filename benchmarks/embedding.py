"""Texts per second, load time and memory of an embedding model.

    python benchmarks/embedding.py --model e5-small-v2 --threads 1 2 --mixed 10000

Short texts are made-up sentences of 16 to 64 words. The mixed texts go from one word to 5,000, evenly over the orders
of magnitude, all in one call; memory is the most that the whole process took until then.
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
from memoranda.embedding.model import open_embedder
from memoranda.embedding.onnx import OnnxEmbedder, default_spec

STORY = """we met at the old harbour last summer and talked about work travel music children their school a new job
    tomorrow I want to cook something with lemons because my sister is coming from Lisbon by train it rained all
    week so nobody went swimming remember the password of the router was changed after the storm on Tuesday"""
WORDS = STORY.split()


def main() -> None:
    options = _options()
    rng = random.Random(options.seed)
    short = [_text(rng, rng.randint(16, 64)) for _ in range(options.short)]
    rows = [("load and first text", f"{_load_time(options.model):.2f} s")]
    for threads in options.threads:
        embedder = _embedder(options.model, threads)
        embedder.embed(short[:8], kind="passage")
        rows.append((f"texts/s, {threads} thread{'s' if threads > 1 else ''}", f"{_rate(embedder, short):.0f}"))
    if options.mixed:
        rows += _mixed(options.model, rng, options.mixed)
    for name, value in rows:
        print(f"{name:<40}{value:>14}")


def _mixed(model: str, rng: random.Random, count: int) -> list[tuple[str, str]]:
    texts = [_text(rng, round(math.exp(rng.uniform(0, math.log(5_000))))) for _ in range(count)]
    rate = _rate(_embedder(model, None), texts)
    return [(f"texts/s, {count:,} mixed, all cores", f"{rate:.0f}"), ("most memory taken", f"{_peak_mb():.0f} MB")]


def _load_time(model: str) -> float:
    start = time.perf_counter()
    open_embedder(model).embed(["first"], kind="passage")
    return time.perf_counter() - start


def _rate(embedder: Embedder, texts: Sequence[str]) -> float:
    start = time.perf_counter()
    embedder.embed(texts, kind="passage")
    return len(texts) / (time.perf_counter() - start)


def _embedder(model: str, threads: int | None) -> Embedder:
    if model == default_spec().name:
        return OnnxEmbedder(default_spec(), threads=threads)
    return open_embedder(model)


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words))


def _peak_mb() -> float:
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return taken / (1024 * 1024 if sys.platform == "darwin" else 1024)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="e5-small-v2")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--short", type=int, default=300, help="short texts for the rates")
    parser.add_argument("--mixed", type=int, default=10_000, help="texts of mixed length in one call; 0 for none")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
