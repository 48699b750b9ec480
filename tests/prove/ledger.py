"""The states a store may have after its writer was killed: all acknowledged operations, and the last one or not."""

from __future__ import annotations

from dataclasses import dataclass, field

State = dict[str, str]
"""Token → content of every memory in the store. The token of a memory never changes; its content may."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of the writer, as the change it makes to the state."""

    kind: str
    put: State = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    atomic: bool = True
    """Whether it is one commit; any part of another one may be found after a crash."""

    def apply(self, state: State) -> State:
        return {token: text for token, text in (state | self.put).items() if token not in self.drop}

    def can_lead(self, state: State, found: State) -> bool:
        """Return whether an interrupted run of this operation can have led from one state to the other."""
        after = self.apply(state)
        if self.atomic:
            return found in (state, after)
        return all(found.get(token) in (state.get(token), after.get(token)) for token in {*state, *found, *after})


@dataclass(slots=True)
class Ledger:
    """The expected content of one store over all its crashes.

    An interrupted operation is uncertain until the next one is acknowledged. A writer can die after its commit is in
    the log but before other processes see it: while one of them has the file open the operation is missing, and after
    the last has closed it, recovery finds it in the log. It was never acknowledged, so both are correct; but once seen
    it must stay, and after a later operation it must never appear.
    """

    state: State = field(default_factory=dict)
    in_flight: Operation | None = None
    uncertain: list[Operation] = field(default_factory=list)
    absent: int = 0
    """How many of the uncertain operations were missing at the last check; if one appears now, it is late."""
    late: int = 0
    acknowledged: int = 0
    interrupted: int = 0
    """Kills in the middle of an operation."""
    intended: set[str] = field(default_factory=set)
    """Every content that the writer ever began to write."""
    written: set[str] = field(default_factory=set)
    """Every content that was found in the store or acknowledged."""
    undone: set[str] = field(default_factory=set)
    """Contents that were not on disk when a later operation was acknowledged: no reader may ever see them."""

    def begin(self, operation: Operation) -> None:
        self.in_flight = operation
        self.intended |= set(operation.put.values())

    def acknowledge(self) -> None:
        assert self.in_flight is not None
        self._set_state(self.in_flight.apply(self.state))
        self.in_flight = None
        self.acknowledged += 1

    def interrupt(self) -> None:
        if self.in_flight is not None:
            self.uncertain.append(self.in_flight)
            self.interrupted += 1
        self.in_flight = None

    def check(self, rows: list[tuple[str, str]]) -> list[str]:
        """Return what is wrong if the rows found are in none of the possible states."""
        found = dict(rows)
        possible = [self.state, *(operation.apply(self.state) for operation in self.uncertain)]
        findings = [f"{len(rows) - len(found)} duplicate rows"] if len(found) != len(rows) else []
        if found != self.state and not any(each.can_lead(self.state, found) for each in self.uncertain):
            findings += _differences(found, possible)
        if found != self.state:
            self.late += found in possible[1 : self.absent + 1]
            self._set_state(found)
        self.absent = len(self.uncertain)
        return findings

    def _set_state(self, state: State) -> None:
        put = {text for operation in self.uncertain for text in operation.put.values()}
        self.undone |= put - set(state.values())
        self.written |= set(state.values())
        self.state, self.uncertain, self.absent = state, [], 0


def _differences(found: State, possible: list[State]) -> list[str]:
    in_all = set.intersection(*(set(state) for state in possible))
    in_any = {pair for state in possible for pair in state.items()}
    known = {token for token, _ in in_any}
    differences = {
        "lost": in_all - found.keys(),
        "phantom": found.keys() - known,
        "with wrong content": {
            token for token, text in found.items() if token in known and (token, text) not in in_any
        },
    }
    found_problems = [
        f"{len(tokens)} {what}: {', '.join(sorted(tokens)[:5])}" for what, tokens in differences.items() if tokens
    ]
    return found_problems or ["an operation was written in part"]
