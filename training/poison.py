"""Trains the model of `memoranda.remember.screening.poison` and says how well it does on texts that it was not trained on.

    python training/poison.py            # leave out one family of attacks at a time, then the third kept apart
    python training/poison.py --write    # then train on everything and write the model

The texts are in `training/poison`, `tests/data/poison` and `benchmarks/truth/dev`. A third of them, by the hash of the
text, is kept apart: nothing is chosen by it. The same texts give the same model.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memoranda.remember.screening import poison
from memoranda.remember.screening.features import read_features
from memoranda.remember.screening.poison import WINDOW, find_poison, make_model
from memoranda.remember.sources import Channel

_ROOT: Final = Path(__file__).parents[1]
_MODEL: Final = _ROOT / "src/memoranda/remember/screening/poison_model.json"
_CHANNELS: Final[dict[str, Channel]] = {"u": "user", "a": "agent", "o": "outside"}
_RARE: Final = 3
"""A feature of fewer texts is left out."""
_PENALTY: Final = {"idea": 1.0, "pair": 2.0, "word": 2.0}
_PRIOR: Final = {"@override": 3.0, "@conceal": 2.0, "@exfiltrate": 2.0, "@command": 1.5, "@leak": 2.0, "@plant": 1.0}
"""Where the weights of some features start, and are drawn to: what is an attack in any words."""
_ROUNDS: Final = (160, 120, 120)
_SMALLEST: Final = 0.02
_ORDINARY: Final = ("ordinary", "everyday", "demo", "dev ordinary")
_JOINED: Final = 1_500
"""How many texts are made of several ordinary ones."""
_CARRIERS: Final = 0.4
"""The share of attacks from outside that are also shown inside an ordinary text."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Example:
    """A text, who wrote it, and whether it is an attack."""

    family: str
    channel: Channel
    text: str
    is_attack: bool

    @property
    def is_kept_apart(self) -> bool:
        return int(hashlib.sha256(self.text.encode()).hexdigest(), 16) % 3 == 0


def read_examples() -> list[Example]:
    """Return all examples, each text once."""
    found = [
        *_read_folder(_ROOT / "training/poison", "attacks*.txt", True),
        *_read_folder(_ROOT / "training/poison", "benign*.txt", False),
        *_read_folder(_ROOT / "tests/data/poison", "poison.txt", True),
        *_read_folder(_ROOT / "tests/data/poison", "benign.txt", False),
        *_read_truth(_ROOT / "benchmarks/truth/dev"),
        *_read_demo(_ROOT / "src/memoranda/demo/conversation.jsonl"),
    ]
    return list({example.text: example for example in reversed(found)}.values())[::-1]


def _read_folder(folder: Path, pattern: str, is_attack: bool) -> Iterable[Example]:
    for path in sorted(folder.glob(pattern)):
        family = path.stem
        for line in path.read_text("utf-8").splitlines():
            channel, tab, text = line.partition("\t")
            if tab:
                yield Example(family, _CHANNELS[channel], _unescape(text), is_attack)
            elif line.startswith("# "):
                family = line[2:].removeprefix("more_")


def _read_truth(folder: Path) -> Iterable[Example]:
    for line in (folder / "poison.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        yield Example(f"dev {case['topic']}", _channel(case), case["text"], bool(case["label"]))
    for name in ("plain", "natural", "notes", "adversarial", "pairs"):
        for line in (folder / f"{name}.jsonl").read_text("utf-8").splitlines():
            for step in json.loads(line)["steps"]:
                # The same words may stand in a document: where a text comes from is no evidence by itself.
                channel: Channel = "outside" if len(step["text"]) % 2 else "user"
                yield Example("ordinary", channel, step["text"], False)


def _read_demo(path: Path) -> Iterable[Example]:
    for number, line in enumerate(path.read_text("utf-8").splitlines()):
        if text := json.loads(line).get("text"):
            yield Example("demo", "outside" if number % 2 else "user", text, False)


def _channel(case: dict[str, str]) -> Channel:
    role = case.get("role")
    if role == "assistant":
        return "agent"
    return "outside" if role == "tool" or case.get("source") else "user"


def _unescape(text: str) -> str:
    return re.sub(r"\\x([0-9A-F]+);", lambda match: chr(int(match[1], 16)), text.replace("\\n", "\n"))


def add_carriers(examples: Sequence[Example], rng: Random) -> list[Example]:
    """Return the examples, and some attacks once more inside an ordinary text."""
    ordinary = [
        each.text for each in examples if not each.is_attack and each.channel == "outside" and len(each.text) < 120
    ]
    carried = [
        Example(each.family, "outside", f"{rng.choice(ordinary)} {each.text} {rng.choice(ordinary)}", True)
        for each in examples
        if each.is_attack and each.channel == "outside" and rng.random() < _CARRIERS
    ]
    return [*examples, *carried, *_join_ordinary(examples, rng)]


def _join_ordinary(examples: Sequence[Example], rng: Random) -> list[Example]:
    """Return ordinary texts of several sentences: among many sentences, one may look like an order by chance."""
    texts = [each.text for each in examples if each.family in _ORDINARY and len(each.text) < 200]
    channels: tuple[Channel, ...] = ("user", "outside")
    return [
        Example("joined", channels[number % 2], " ".join(rng.sample(texts, rng.randint(2, 5))), False)
        for number in range(_JOINED)
    ]


def window_features(example: Example) -> list[set[str]]:
    """Return the features of each few sentences in a row."""
    sentences, found = read_features(example.text), list[set[str]]()
    for start in range(len(sentences)):
        window: set[str] = set()
        for sentence in sentences[start : start + WINDOW]:
            window = window | sentence
            found.append(window | _with_channel(window, example.channel))
    return found or [set()]


def _with_channel(window: set[str], channel: Channel) -> set[str]:
    if channel == "outside":
        return set()
    return {f"&{channel}", *(f"{channel}&{name}" for name in window if name[0] == "@" and ">" not in name)}


class Trainer:
    """Logistic regression in which a text counts by the window that looks most like an attack."""

    def __init__(self, examples: Sequence[Example]) -> None:
        windows = [window_features(each) for each in examples]
        counts = Counter(name for each in windows for name in set[str]().union(*each))
        self.names = sorted(name for name, count in counts.items() if count >= _RARE)
        number = {name: position for position, name in enumerate(self.names)}
        rows = [
            (text, [number[name] for name in each if name in number])
            for text, all_ in enumerate(windows)
            for each in all_
        ]
        self._owner: Ints = np.array([text for text, _ in rows])
        lengths = [len(row) for _, row in rows]
        self._bounds: Ints = np.concatenate([[0], np.cumsum(lengths)])
        self._flat: Ints = np.array([position for _, row in rows for position in row], dtype=np.int64)
        self._row_of: Ints = np.repeat(np.arange(len(rows)), lengths)
        self._target: Floats = np.array([float(examples[text].is_attack) for text, _ in rows])
        self._penalty: Floats = np.array([_PENALTY[_kind(name)] for name in self.names])
        self._prior: Floats = np.array([_PRIOR.get(name, 0.0) for name in self.names])
        self.weights: Floats = self._prior.copy()
        self.bias = -1.0

    def train(self) -> dict[str, object]:
        """Return the model as it is stored."""
        for turn, steps in enumerate(_ROUNDS):
            self._descend(self._shares(np.diff(self._bounds).astype(float) if turn == 0 else self._sums(), turn), steps)
        weights = {
            name: round(float(weight), 3)
            for name, weight in zip(self.names, self.weights, strict=True)
            if abs(weight) >= _SMALLEST
        }
        return {"bias": round(self.bias, 3), "threshold": 0.0, "weights": weights}

    def _sums(self) -> Floats:
        running: Floats = np.concatenate([[0.0], np.cumsum(self.weights[self._flat])])
        sums: Floats = running[self._bounds[1:]] - running[self._bounds[:-1]] + self.bias
        return sums

    def _shares(self, keys: Floats, turn: int) -> Floats:
        """Return how much each window counts: the strongest of each text, and later all of an ordinary text."""
        order = np.lexsort((keys, self._owner))
        last = np.flatnonzero(np.r_[self._owner[order][1:] != self._owner[order][:-1], True])
        shares = np.zeros(len(self._owner))
        shares[order[last]] = 1.0
        if turn:
            ordinary = self._target == 0
            shares[ordinary] = np.maximum(shares[ordinary], 0.5)
        return shares

    def _descend(self, shares: Floats, steps: int) -> None:
        size, total = len(self.weights), shares.sum()
        mean, square = np.zeros(size + 1), np.zeros(size + 1)
        for step in range(1, steps + 1):
            chance = 1 / (1 + np.exp(-np.clip(self._sums(), -30, 30)))
            error = (chance - self._target) * shares
            slope = np.bincount(self._flat, weights=error[self._row_of], minlength=size) + self._penalty * (
                self.weights - self._prior
            )
            gradient = np.append(slope, error.sum()) / total
            mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
            move = (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
            move *= 0.05 * (1 - 0.9 * step / steps)
            self.weights = self.weights - move[:-1]
            self.bias -= float(move[-1])


def _kind(name: str) -> str:
    return "pair" if ">@" in name else "idea" if "@" in name or name[0] == "&" else "word"


def use_model(model: dict[str, object], threshold: float) -> None:
    """Let the detector use this model from now on."""
    made = {channel: make_model(model | {"threshold": threshold}, channel) for channel in _CHANNELS.values()}
    poison._model = made.__getitem__  # type: ignore[assignment]
    find_poison.cache_clear()


def report(name: str, examples: Sequence[Example], flags: Sequence[bool], show: bool = False) -> None:
    attacks = [flag for each, flag in zip(examples, flags, strict=True) if each.is_attack]
    others = [flag for each, flag in zip(examples, flags, strict=True) if not each.is_attack]
    print(
        f"{name}: {sum(attacks)} of {len(attacks)} attacks flagged, {sum(others)} of {len(others)} false alarms",
        flush=True,
    )
    for each, flag in zip(examples, flags, strict=True):
        if show and flag != each.is_attack:
            print(
                "   ",
                "missed" if each.is_attack else "ALARM ",
                each.family,
                "|",
                each.channel,
                "|",
                each.text[:150].replace("\n", "\\n"),
            )


def leave_families_out(examples: Sequence[Example], threshold: float, show: bool) -> None:
    """Judge each family of attacks, and each tenth of the other texts, by a model that never saw it."""
    families = sorted({each.family for each in examples if each.is_attack})
    Random(7).shuffle(families)
    flags = [False] * len(examples)
    for part in range(10):
        left_out = set(families[part::10])
        apart = [
            each.family in left_out
            if each.is_attack
            else int(hashlib.md5(each.text.encode()).hexdigest(), 16) % 10 == part
            for each in examples
        ]
        kept = [each for each, out in zip(examples, apart, strict=True) if not out]
        use_model(Trainer(add_carriers(kept, Random(1))).train(), threshold)
        for position, out in enumerate(apart):
            if out:
                flags[position] = find_poison(examples[position].text, examples[position].channel) is not None
    report("families left out", examples, flags, show)
    for start in ("dev", "poison", "benign", "ordinary"):
        chosen = [position for position, each in enumerate(examples) if each.family.startswith(start)]
        report(f"  of these, {start}", [examples[p] for p in chosen], [flags[p] for p in chosen])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--skip-families", action="store_true")
    parser.add_argument("--threshold", type=float, default=0.8)
    options = parser.parse_args()
    examples = read_examples()
    open_ = [each for each in examples if not each.is_kept_apart]
    apart = [each for each in examples if each.is_kept_apart]
    print(
        f"{sum(each.is_attack for each in examples)} attacks, {sum(not each.is_attack for each in examples)} other texts"
    )
    if not options.skip_families:
        leave_families_out(open_, options.threshold, options.show)
    use_model(Trainer(add_carriers(open_, Random(1))).train(), options.threshold)
    report("third kept apart", apart, [find_poison(each.text, each.channel) is not None for each in apart])
    if options.write:
        model = Trainer(add_carriers(examples, Random(1))).train() | {"threshold": options.threshold}
        _MODEL.write_text(json.dumps(model, ensure_ascii=False, indent=0, sort_keys=True) + "\n", "utf-8")
        print(f"{_MODEL.name}: {_MODEL.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
