from __future__ import annotations

import os

# Not collected rather than skipped: these tests belong to another command.
collect_ignore = [] if os.environ.get("MEMORANDA_ENGINES") else ["test_chroma.py", "test_mem0.py", "test_ray.py"]
