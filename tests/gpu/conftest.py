"""These tests need a CUDA device and PyTorch: `make gpu` runs them."""

import os

collect_ignore = [] if os.environ.get("MEMORANDA_GPU") else ["test_gpu_index.py"]
