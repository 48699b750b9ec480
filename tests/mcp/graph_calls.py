"""Random calls of the knowledge graph's tools, and a simple model of the expected results."""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

Arguments = dict[str, Any]
_NAMES = ("Ann", "ann", "Bob", "Tea House", "Ωmega", "", "a\nb")
_KINDS = ("person", "Place", "")
_TEXTS = ("likes tea", "Likes Tea", "moved to Oslo", "", "100% sure_", 'said "no"')
_LINKS = ("knows", "lives_in", "")


def random_calls(seed: int, count: int) -> Iterator[tuple[str, Arguments]]:
    """Yield calls that often touch the same names. No name is twice in one call: the reference would keep both."""
    rng = random.Random(seed)
    for _ in range(count):
        tool = rng.choice(_TOOLS)
        yield tool, _ARGUMENTS[tool](rng)


def _some(rng: random.Random, values: tuple[str, ...], most: int = 3) -> list[str]:
    return rng.sample(values, rng.randint(0, most))


def _relation(rng: random.Random) -> dict[str, str]:
    return {"from": rng.choice(_NAMES), "to": rng.choice(_NAMES), "relationType": rng.choice(_LINKS)}


def _relations(rng: random.Random) -> list[dict[str, str]]:
    several = [_relation(rng) for _ in range(rng.randint(0, 3))]
    return [each for n, each in enumerate(several) if each not in several[:n]]


_ARGUMENTS = {
    "create_entities": lambda rng: {
        "entities": [
            {"name": name, "entityType": rng.choice(_KINDS), "observations": _some(rng, _TEXTS)}
            for name in _some(rng, _NAMES)
        ]
    },
    "create_relations": lambda rng: {"relations": _relations(rng)},
    "add_observations": lambda rng: {
        "observations": [{"entityName": name, "contents": _some(rng, _TEXTS)} for name in _some(rng, _NAMES, 2)]
    },
    "delete_entities": lambda rng: {"entityNames": _some(rng, _NAMES, 2)},
    "delete_observations": lambda rng: {
        "deletions": [{"entityName": name, "observations": _some(rng, _TEXTS)} for name in _some(rng, _NAMES, 2)]
    },
    "delete_relations": lambda rng: {"relations": _relations(rng)},
    "read_graph": lambda rng: {},
    "search_nodes": lambda rng: {"query": rng.choice(("tea", "TEA", "Ωm", "person", "", "nothing like it", "%"))},
    "open_nodes": lambda rng: {"names": _some(rng, _NAMES)},
}
_TOOLS = tuple(_ARGUMENTS)


class GraphModel:
    """The graph as two lists."""

    def __init__(self) -> None:
        self.entities: list[dict[str, Any]] = []
        self.relations: list[dict[str, str]] = []

    def call(self, tool: str, arguments: Arguments) -> dict[str, Any] | None:
        """Return the structured content; None for an error."""
        answer: dict[str, Any] | None = getattr(self, tool)(**deepcopy(arguments))
        return deepcopy(answer)

    def create_entities(self, entities: list[dict[str, Any]]) -> dict[str, Any]:
        known = {each["name"] for each in self.entities}
        fresh = [each for each in entities if each["name"] not in known]
        self.entities += fresh
        return {"entities": fresh}

    def create_relations(self, relations: list[dict[str, str]]) -> dict[str, Any]:
        fresh = [each for each in relations if each not in self.relations]
        self.relations += fresh
        return {"relations": fresh}

    def add_observations(self, observations: list[dict[str, Any]]) -> dict[str, Any] | None:
        named = {each["name"]: each for each in self.entities}
        if any(each["entityName"] not in named for each in observations):
            return None
        results = []
        for each in observations:
            entity = named[each["entityName"]]
            fresh = [text for text in each["contents"] if text not in entity["observations"]]
            entity["observations"] += fresh
            results.append({"entityName": each["entityName"], "addedObservations": fresh})
        return {"results": results}

    def delete_entities(self, entityNames: list[str]) -> dict[str, Any]:
        self.entities = [each for each in self.entities if each["name"] not in entityNames]
        self.relations = [r for r in self.relations if r["from"] not in entityNames and r["to"] not in entityNames]
        return _done("Entities")

    def delete_observations(self, deletions: list[dict[str, Any]]) -> dict[str, Any]:
        for each in deletions:
            for entity in self.entities:
                if entity["name"] == each["entityName"]:
                    entity["observations"] = [t for t in entity["observations"] if t not in each["observations"]]
        return _done("Observations")

    def delete_relations(self, relations: list[dict[str, str]]) -> dict[str, Any]:
        self.relations = [each for each in self.relations if each not in relations]
        return _done("Relations")

    def read_graph(self) -> dict[str, Any]:
        return {"entities": self.entities, "relations": self.relations}

    def search_nodes(self, query: str) -> dict[str, Any]:
        text = query.lower()
        found = [
            each
            for each in self.entities
            if any(text in part.lower() for part in (each["name"], each["entityType"], *each["observations"]))
        ]
        return self._with_relations(found)

    def open_nodes(self, names: list[str]) -> dict[str, Any]:
        return self._with_relations([each for each in self.entities if each["name"] in names])

    def _with_relations(self, entities: list[dict[str, Any]]) -> dict[str, Any]:
        names = {each["name"] for each in entities}
        relations = [each for each in self.relations if each["from"] in names or each["to"] in names]
        return {"entities": entities, "relations": relations}


def _done(what: str) -> dict[str, Any]:
    return {"success": True, "message": f"{what} deleted successfully"}
