"""What must go with a memory that is to be forgotten. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from memoranda.storage.base import Derivation


def with_descendants(ids: Iterable[int], lineage: Iterable[Derivation]) -> set[int]:
    """The ids, everything made from them, and what they were merged with: all that still tells of them."""
    reach: dict[int, set[int]] = defaultdict(set)
    for line in lineage:
        reach[line.source_id].add(line.derived_id)
        if line.kind == "merged":
            reach[line.derived_id].add(line.source_id)
    found, waiting = set(ids), list(ids)
    while waiting:
        fresh = reach[waiting.pop()] - found
        found |= fresh
        waiting += fresh
    return found
