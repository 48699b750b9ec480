"""mem0's memory and ours side by side, and random arguments for their calls."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from mem0.exceptions import ValidationError

_TOPICS, _TAGS = ("tea", "travel", "work"), ("a", "b", "c")


class Pair:
    """Both memories, and their ids of the same memory."""

    def __init__(self, theirs: Any, ours: Any, seed: int) -> None:
        self.theirs, self.ours, self.rng = theirs, ours, random.Random(seed)
        self.ids: list[tuple[str, str]] = []
        self.counts: Counter[str] = Counter()

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Return both answers; an error of one must be an error of the other."""
        self.counts[name] += 1
        answers = []
        for memory in (self.theirs, self.ours):
            try:
                answers.append(getattr(memory, name)(*args, **kwargs))
            except (ValueError, TypeError, ValidationError) as error:
                answers.append(error)
        failed = [isinstance(answer, Exception) for answer in answers]
        assert failed[0] == failed[1], (name, args, kwargs, answers)
        self.counts["errors"] += failed[0]
        return answers[0], answers[1]

    def owner(self) -> dict[str, Any]:
        names = {"user_id": ("ann", "bob", 7), "agent_id": ("helper", "coder"), "run_id": ("r1", "r2")}
        chosen = self.rng.sample(sorted(names), self.rng.choice([1, 1, 2, 3]))
        return {key: self.rng.choice(names[key]) for key in chosen}

    def metadata(self) -> dict[str, Any]:
        rng = self.rng
        values = {
            "topic": rng.choice(_TOPICS),
            "n": rng.randint(0, 9),
            "ok": rng.random() < 0.5,
            "tags": rng.sample(_TAGS, 2),
        }
        return {key: values[key] for key in values if rng.random() < 0.6}

    def condition(self) -> dict[str, Any]:
        rng = self.rng
        return rng.choice(
            [
                {"topic": rng.choice(_TOPICS)},
                {"topic": {rng.choice(["eq", "ne"]): rng.choice(_TOPICS)}},
                {"topic": {rng.choice(["in", "nin"]): rng.sample(_TOPICS, 2)}},
                {"topic": {"contains": rng.choice(_TOPICS)}},  # whole words, as Qdrant compares these
                {"topic": "*"},
                {"n": {rng.choice(["gt", "gte", "lt", "lte"]): rng.randint(0, 9)}},
                {"n": {"gte": 2, "lt": 7}},
                {"n": rng.randint(0, 9)},
                {"ok": True},
                {"tags": rng.choice(_TAGS)},
                {"role": "assistant"},
                {"actor_id": "eva"},
            ]
        )

    def filters(self) -> dict[str, Any]:
        owner, kind = self.owner(), self.rng.randint(0, 6)
        if kind < 2:
            return owner
        if kind < 4:
            return {**owner, **self.condition()}
        one, other = self.condition(), self.condition()
        # mem0 drops one of two conditions on a key, and "*" anywhere but at the top.
        while set(one) & set(other) or "*" in (*one.values(), *other.values()):
            one, other = self.condition(), self.condition()
        return {**owner, {4: "AND", 5: "OR", 6: "NOT"}[kind]: [one, other]}
