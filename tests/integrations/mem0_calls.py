"""Random calls of both memories, whose answers must be the same but for ids, times and scores."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.integrations.mem0_pair import Pair

CALLS = 500
TIMES = ("created_at", "updated_at")


def add(pair: Pair) -> None:
    rng = pair.rng
    said = [
        {"role": rng.choice(["user", "assistant", "system"]), "content": f"note {rng.random()}"}
        | ({"name": "eva"} if rng.random() < 0.3 else {})
        for _ in range(rng.randint(1, 3))
    ]
    messages = rng.choice([said, said[0], f"note {rng.random()}"])
    expires = rng.choice([None, None, None, "2020-01-31", "2999-12-31"])
    owner = pair.owner() if rng.random() < 0.95 else {}
    theirs, ours = pair.call("add", messages, metadata=pair.metadata(), expiration_date=expires, infer=False, **owner)
    if isinstance(theirs, dict):
        assert [plain(each) for each in ours["results"]] == [plain(each) for each in theirs["results"]]
        pair.ids += [(one["id"], two["id"]) for one, two in zip(theirs["results"], ours["results"], strict=True)]


def get_all(pair: Pair) -> None:
    filters = pair.filters() if pair.rng.random() < 0.95 else pair.condition()
    show = pair.rng.random() < 0.3
    compare(*pair.call("get_all", filters=filters, top_k=900, show_expired=show), filters, scored=False)


def search(pair: Pair) -> None:
    filters = pair.filters() if pair.rng.random() < 0.95 else pair.condition()
    show = pair.rng.random() < 0.3
    options = {"filters": filters, "top_k": 900, "threshold": 0.0, "show_expired": show}
    compare(*pair.call("search", "note about", **options), filters, scored=True)


def get(pair: Pair) -> None:
    for one, two in pair.rng.sample(pair.ids, min(1, len(pair.ids))):
        theirs, ours = pair.theirs.get(one), pair.ours.get(two)
        assert (theirs is None) == (ours is None)
        assert theirs is None or (plain(ours), sorted(ours)) == (plain(theirs), sorted(theirs))
        pair.counts["get"] += 1


def update(pair: Pair) -> None:
    for one, two in pair.rng.sample(pair.ids, min(1, len(pair.ids))):
        change: dict[str, Any] = pair.rng.choice(
            [
                {"text": f"changed {pair.rng.random()}"},
                {"data": f"changed {pair.rng.random()}"},
                {"metadata": {**pair.metadata(), "user_id": "mallory"}},
                {"text": "changed", "metadata": pair.metadata()},
                {"expiration_date": pair.rng.choice([None, "2020-01-01", "2999-01-01", "soon"])},
                {},
            ]
        )
        by_id(pair, "update", one, two, **change)


def delete(pair: Pair) -> None:
    for one, two in pair.rng.sample(pair.ids, min(1, len(pair.ids))):
        by_id(pair, "delete", one, two)


def delete_all(pair: Pair) -> None:
    owner = {"user_id": "bob", "agent_id": "coder", "run_id": "r2"} if pair.rng.random() < 0.7 else {}
    theirs, ours = pair.call("delete_all", **owner)
    assert isinstance(theirs, Exception) or theirs == ours


def history(pair: Pair) -> None:
    """Compared for memories that exist: we keep nothing of a deleted one."""
    for one, two in pair.rng.sample(pair.ids, min(1, len(pair.ids))):
        if pair.theirs.get(one) is None:
            assert pair.ours.history(two) == []
            continue
        theirs, ours = pair.theirs.history(one), pair.ours.history(two)
        assert [plain(each) for each in ours] == [plain(each) for each in theirs]
        pair.counts["history"] += 1


def by_id(pair: Pair, name: str, one: str, two: str, **change: Any) -> None:
    known = pair.theirs.get(one) is not None
    answers = []
    for memory, memory_id in ((pair.theirs, one), (pair.ours, two)):
        try:
            answers.append(getattr(memory, name)(memory_id, **change))
        except ValueError:
            answers.append(ValueError)
    assert answers[0] == answers[1], (name, change, known)
    pair.counts[name] += 1


def compare(theirs: Any, ours: Any, filters: dict[str, Any], *, scored: bool) -> None:
    if isinstance(theirs, Exception):
        return
    sets = [Counter(str(sorted(plain(each).items())) for each in answer["results"]) for answer in (theirs, ours)]
    assert sets[0] == sets[1], filters
    shapes = [{tuple(sorted(each)) for each in answer["results"]} for answer in (theirs, ours)]
    assert shapes[0] == shapes[1]
    scores = [each["score"] for each in ours["results"]] if scored else []
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def plain(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without what differs by nature: ids, times and scores."""
    return {key: value for key, value in answer.items() if key not in ("id", "memory_id", "score", *TIMES)}


STEPS = (
    [add] * 5 + [get_all] * 3 + [search] * 3 + [get, get, update, update, update, delete, history, history, delete_all]
)


def run_calls(pair: Pair) -> None:
    for _ in range(CALLS):
        pair.rng.choice(STEPS)(pair)
    assert min(pair.counts[name] for name in ("add", "get_all", "search", "get", "update", "delete", "history")) > 10
    assert pair.counts["errors"] > 3
