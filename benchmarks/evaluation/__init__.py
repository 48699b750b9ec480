"""The parts of `benchmarks/quality.py`."""
