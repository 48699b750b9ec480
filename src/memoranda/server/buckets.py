"""How often a key may call: a token bucket, refilled at the key's rate."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Bucket:
    """Holds as many requests as a second's worth, at least one; the rest must wait."""

    rate: float
    left: float
    filled_at: float

    @classmethod
    def full(cls, rate: float, now: float) -> Bucket:
        return cls(rate, max(1.0, rate), now)

    def take(self, now: float) -> float:
        """Takes one request out: 0 when there was one, else the seconds until there will be."""
        self.left = min(max(1.0, self.rate), self.left + (now - self.filled_at) * self.rate)
        self.filled_at = now
        if self.left >= 1:
            self.left -= 1
            return 0.0
        return (1 - self.left) / self.rate
