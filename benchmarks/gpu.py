"""Exact search on a CUDA device: `python benchmarks/gpu.py [--rows 10000000]`.

Prints the time of one query and of a batch, beside the bandwidth that the card reaches when it only copies.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from memoranda.index.faiss import GpuScan, load_torch

DIMENSION = 384


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--batch", type=int, default=64)
    arguments = parser.parse_args()
    torch = load_torch()
    scan = GpuScan(DIMENSION)
    random = np.random.default_rng(0)
    while len(scan) < arguments.rows:
        rows = random.standard_normal((min(500_000, arguments.rows - len(scan)), DIMENSION), dtype=np.float32)
        scan.add(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    queries = random.standard_normal((arguments.batch, DIMENSION), dtype=np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    size = arguments.rows * DIMENSION * 2
    one = median_seconds(torch, lambda: scan.nearest(queries[0], 10))
    many = median_seconds(torch, lambda: scan.nearest_each(queries, 10))
    source = torch.empty(size // 2, dtype=torch.float16, device="cuda")
    target = torch.empty_like(source)
    copy = median_seconds(torch, lambda: target.copy_(source))
    print(f"{torch.cuda.get_device_name()}, {arguments.rows:,} vectors of {DIMENSION} dimensions, {size / 1e9:.1f} GB")
    print(f"one query         {one * 1e3:8.2f} ms  {size / one / 1e12:6.2f} TB/s read")
    print(f"batch of {arguments.batch:3}      {many * 1e3:8.2f} ms  {many / arguments.batch * 1e3:6.3f} ms a query")
    print(f"copy of as much   {copy * 1e3:8.2f} ms  {2 * size / copy / 1e12:6.2f} TB/s read and written")


def median_seconds(torch: object, work: Callable[[], object], times: int = 21) -> float:
    """Return the median time of the work, the device's part included."""
    from time import perf_counter

    taken = []
    for _ in range(times + 3):
        torch.cuda.synchronize()  # type: ignore[attr-defined]
        started = perf_counter()
        work()
        torch.cuda.synchronize()  # type: ignore[attr-defined]
        taken.append(perf_counter() - started)
    return float(np.median(taken[3:]))


if __name__ == "__main__":
    main()
