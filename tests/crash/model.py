"""What a killed writer may leave behind: all it was told is written, and its last operation whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass, field

State = dict[str, str]
"""Token → content of every memory in the store. A token names a memory for good; its content may change."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of the writer, as the change it makes to the state."""

    kind: str
    put: State = field(default_factory=dict)
    drop: tuple[str, ...] = ()

    def on(self, state: State) -> State:
        return {token: text for token, text in (state | self.put).items() if token not in self.drop}


@dataclass(slots=True)
class Ledger:
    """The parent's account of one store over all its crashes.

    An operation that was struck stays in doubt until the next one is acknowledged. A writer can die after its
    commit is in the log but before the other processes are told: while one of them has the file open the operation
    is not there, and when the last has closed it, recovery finds it in the log. It was never acknowledged, so both
    are right; but once it has been there it must stay, and once overtaken by another it must never come.
    """

    state: State = field(default_factory=dict)
    in_flight: Operation | None = None
    doubtful: list[Operation] = field(default_factory=list)
    absent: int = 0
    """How many of the doubtful were found missing once: one of them that comes after all comes late."""
    late: int = 0
    acknowledged: int = 0
    struck: int = 0
    """Kills that hit in the middle of an operation."""
    intended: set[str] = field(default_factory=set)
    """Every content the writer ever set out to write."""
    undone: set[str] = field(default_factory=set)
    """Contents that another operation overtook before they were on disk: nobody may ever have seen them."""

    def begin(self, operation: Operation) -> None:
        self.in_flight = operation
        self.intended |= set(operation.put.values())

    def done(self) -> None:
        assert self.in_flight is not None
        self._settle(self.in_flight.on(self.state))
        self.in_flight = None
        self.acknowledged += 1

    def killed(self) -> None:
        if self.in_flight is not None:
            self.doubtful.append(self.in_flight)
            self.struck += 1
        self.in_flight = None

    def reopened(self, rows: list[tuple[str, str]]) -> list[str]:
        """The findings if the store is in none of its possible states."""
        found = dict(rows)
        possible = [self.state, *(operation.on(self.state) for operation in self.doubtful)]
        findings = [f"{len(rows) - len(found)} rows twice"] if len(found) != len(rows) else []
        if found not in possible:
            findings += _differences(found, possible)
        if found != self.state:
            self.late += found in possible[1 : self.absent + 1]
            self._settle(found)
        self.absent = len(self.doubtful)
        return findings

    def _settle(self, state: State) -> None:
        put = {text for operation in self.doubtful for text in operation.put.values()}
        self.undone |= put - set(state.values())
        self.state, self.doubtful, self.absent = state, [], 0


def _differences(found: State, possible: list[State]) -> list[str]:
    everywhere = set.intersection(*(set(state) for state in possible))
    anywhere = {pair for state in possible for pair in state.items()}
    known = {token for token, _ in anywhere}
    named = {
        "lost": everywhere - found.keys(),
        "phantom": found.keys() - known,
        "with foreign text": {
            token for token, text in found.items() if token in known and (token, text) not in anywhere
        },
    }
    told = [f"{len(tokens)} {what}: {', '.join(sorted(tokens)[:5])}" for what, tokens in named.items() if tokens]
    return told or ["an operation was written by halves"]
