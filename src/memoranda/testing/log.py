"""The contract of a `MessageLog` as a pytest suite: subclass `MessageLogContract` and define the fixture `log`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from memoranda.conversation.base import MessageLog
from memoranda.messages.message import Message

_IDS = [str(n) for n in range(40)]
_FULL = Message(
    "assistant",
    {"thought": "früh ☀", "nested": [1, None, 2.5]},
    name="Ines",
    tool_calls=[{"id": "c1", "type": "function", "function": {"name": "trains", "arguments": "{}"}}],
    agent_calls=[{"agent_name": "Other", "request": {"a": [1]}}],
    structured_data={"k": [1, {"deep": True}]},
    images=["https://example.org/a.png"],
    timestamp=datetime(2031, 5, 6, 7, 8, 9, 123456, tzinfo=UTC),
    metadata={"m": ["x"]},
)


class MessageLogContract:
    """The contract of a `MessageLog`. Name the subclass `Test…`, and define a fixture `log`."""

    @pytest.fixture
    def log(self) -> MessageLog:
        raise NotImplementedError("define a fixture named `log` that returns a new, empty log")

    @pytest.mark.parametrize("seed", range(6))
    def test_log_equals_plain_list_after_random_operations(self, log: MessageLog, seed: int) -> None:
        rng = random.Random(seed)
        model: list[Message] = []
        for _ in range(30):
            model = rng.choice([_append, _append, _delete, _replace])(log, model, rng)
            assert len(log) == len(model)
            assert log.read(0, len(log)) == model
            start, stop = sorted((rng.randint(0, len(model)), rng.randint(0, len(model))))
            assert log.read(start, stop) == model[start:stop]
            assert log.find_ids(_IDS) == {message.message_id for message in model}

    def test_message_is_returned_with_every_field(self, log: MessageLog) -> None:
        log.append([_FULL], keep=None)
        assert log.read(0, 1) == [_FULL]
        assert log.read(0, 1)[0].to_dict() == _FULL.to_dict()

    def test_skip_duplicates_keeps_first_message_of_an_id(self, log: MessageLog) -> None:
        first, second, other = (
            Message("user", text, message_id=key) for text, key in (("a", "1"), ("b", "1"), ("c", "2"))
        )
        log.append([first, second, first], keep=None, skip_duplicates=True)
        log.append([second, other], keep=None, skip_duplicates=True)
        assert log.read(0, 9) == [first, other]
        log.append([second], keep=None)
        assert log.read(0, 9) == [first, other, second]

    def test_id_outside_the_window_can_be_added_again(self, log: MessageLog) -> None:
        old, new = Message("user", "a", message_id="1"), Message("user", "b", message_id="2")
        log.append([old], keep=1, skip_duplicates=True)
        log.append([new], keep=1, skip_duplicates=True)
        log.append([old], keep=1, skip_duplicates=True)
        assert log.read(0, 9) == [old]

    def test_appending_nothing_still_truncates_to_keep(self, log: MessageLog) -> None:
        log.append(_random_messages(random.Random(1), 9), keep=None)
        newest = log.read(6, 9)
        log.append([], keep=3)
        assert log.read(0, 9) == newest
        log.append([], keep=0)
        assert len(log) == 0


def _random_messages(rng: random.Random, count: int) -> list[Message]:
    return [Message("user", f"{rng.random()}", message_id=rng.choice(_IDS)) for _ in range(count)]


def _append(log: MessageLog, model: list[Message], rng: random.Random) -> list[Message]:
    added, keep, skip = (
        _random_messages(rng, rng.randint(0, 8)),
        rng.choice([None, None, 0, 1, 5, 12]),
        rng.random() < 0.5,
    )
    log.append(added, keep=keep, skip_duplicates=skip)
    for message in added:
        if not skip or all(message.message_id != each.message_id for each in model):
            model = [*model, message]
    return model if keep is None else model[len(model) - min(keep, len(model)) :]


def _delete(log: MessageLog, model: list[Message], rng: random.Random) -> list[Message]:
    ends = [range(len(model) // 3), range(len(model) // 2, len(model)), range(0, len(model), 3)]
    anywhere = sorted(rng.sample(range(len(model)), rng.randint(0, len(model) // 2)))
    positions: Sequence[int] = rng.choice([*ends, anywhere])
    log.delete(positions)
    return [message for position, message in enumerate(model) if position not in set(positions)]


def _replace(log: MessageLog, model: list[Message], rng: random.Random) -> list[Message]:
    at = rng.randint(0, len(model))
    messages = rng.choice(
        [
            model[at:],
            model[:at],
            [*model[:at], *_random_messages(rng, rng.randint(1, 4)), *model[at:]],
            [*model[:at], *_random_messages(rng, 1), *model[at + 1 :]],
            model[::-1],
            [],
        ]
    )
    log.replace(messages)
    return messages
