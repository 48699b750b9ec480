"""Stage 1, messages → a window: the short-term memory of one conversation."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from memoranda.conversation.base import ListLog, MessageLog
from memoranda.conversation.window import MessageView, TokenCounter, default_counter, newest_that_fit
from memoranda.errors import Incompatible, InvalidInput, InvalidType, MemorandaError
from memoranda.files import atomic_replace
from memoranda.messages.message import ROLES, Message, as_message
from memoranda.types import JSON
from memoranda.validation import check_integer, check_retention_policy

AnyMessage: TypeAlias = Message | Mapping[str, object]
_PAGE = 200


class ConversationMemory:
    """The messages of one conversation, the oldest dropped beyond `max_messages`. Safe to use from several threads.

    `counter` counts the tokens of a text for `get_window`. `log` is where the messages are kept: in this process
    unless another place is given.
    """

    def __init__(
        self,
        max_messages: int | None = None,
        retention_policy: str = "session",
        *,
        counter: TokenCounter | None = None,
        log: MessageLog | None = None,
    ) -> None:
        self.max_messages = None if max_messages is None else check_integer(max_messages, "max_messages")
        self.retention_policy: str = check_retention_policy(retention_policy)
        self._counter = counter
        self._log: MessageLog = ListLog() if log is None else log
        self._lock = threading.RLock()

    @property
    def messages(self) -> MessageView:
        """The messages as a list that is always up to date; it may be changed or replaced as a whole."""
        return MessageView(lambda: self._log, self._lock)

    @messages.setter
    def messages(self, messages: Iterable[AnyMessage]) -> None:
        replacement = [as_message(message) for message in messages]
        with self._lock:
            self._log.replace(replacement)

    @property
    def in_memory(self) -> bool:
        """Whether the messages are kept in this process alone, so that no call here waits for anything."""
        return isinstance(self._log, ListLog)

    def __len__(self) -> int:
        return len(self._log)

    def size(self) -> int:
        """How many messages there are."""
        return len(self._log)

    def add_message(self, message: AnyMessage) -> None:
        """Adds one message; one whose id is already here is skipped."""
        self.add(as_message(message))

    def add(self, messages: AnyMessage | Iterable[AnyMessage] | None, allow_duplicates: bool = False) -> None:
        """Adds one message, several, or none: all of them or, on an error, not one."""
        given = _as_list(messages)
        with self._lock:
            self._append(given, once=not allow_duplicates)

    def get_messages(self, limit: int | None = None) -> list[Message]:
        """All messages, or the newest `limit`, oldest first."""
        with self._lock:
            size = len(self._log)
            wanted = size if limit is None else min(size, check_integer(limit, "limit", minimum=0))
            return self._log.read(size - wanted, size)

    def get_recent(self, n: int = 10) -> list[Message]:
        """The newest `n` messages, oldest first."""
        return self.get_messages(check_integer(n, "n", minimum=0))

    def get_messages_by_role(self, role: str, limit: int | None = None) -> list[Message]:
        """The messages of one role, or the newest `limit` of them, oldest first."""
        if not Message.is_valid_role(role):
            raise InvalidInput(f"unknown role {role!r}: use one of {', '.join(ROLES)}")
        wanted = None if limit is None else check_integer(limit, "limit", minimum=0)
        newest_first: list[Message] = []
        with self._lock:
            stop = len(self._log)
            while stop > 0 and (wanted is None or len(newest_first) < wanted):
                start = max(0, stop - _PAGE)
                newest_first += [message for message in reversed(self._log.read(start, stop)) if message.role == role]
                stop = start
        return newest_first[:wanted][::-1]

    def get_last_message(self) -> Message | None:
        """The newest message; None when there is none."""
        newest = self.get_messages(limit=1)
        return newest[0] if newest else None

    def get_window(self, max_tokens: int) -> list[Message]:
        """The system message and the newest turns that fit; a tool call is never parted from its results."""
        budget = check_integer(max_tokens, "max_tokens")
        with self._lock:
            return self._window(budget)

    def delete(self, index: int | Iterable[int]) -> None:
        """Deletes by position, negative ones from the end: all of them or, on an `IndexError`, not one."""
        with self._lock:
            indices, size = [index] if isinstance(index, int) else list(index), len(self._log)
            self._log.delete(sorted({_position(i, size) for i in indices}))

    def truncate_to_size(self, max_size: int) -> None:
        """Keeps the newest `max_size` messages."""
        keep = check_integer(max_size, "max_size", minimum=0)
        with self._lock:
            self._log.append([], keep=keep)

    def clear(self) -> None:
        """Removes all messages."""
        with self._lock:
            self._log.replace([])

    def move_to(self, log: MessageLog, retention_policy: str) -> None:
        """Goes on in another log, after what that one holds; on an error everything stays as it was."""
        policy = check_retention_policy(retention_policy)
        with self._lock:
            moved = self._log.read(0, len(self._log))
            log.append(moved, keep=self.max_messages, once=True)
            self._log.delete(range(len(moved)))
            self._log, self.retention_policy = log, policy

    def to_dict(self) -> list[dict[str, JSON]]:
        """All messages as plain JSON data."""
        return [message.to_dict() for message in self.get_messages()]

    def state_dict(self) -> dict[str, JSON]:
        """Everything that `load_state_dict` needs, as plain JSON data."""
        return packed(self.get_messages())

    def load_state_dict(self, state_dict: Mapping[str, object], strict: bool = True) -> None:
        """Replaces what is here by a saved state; on an error everything stays as it was.

        Without `strict`, unknown keys are passed over, and a state without messages leaves them as they are.
        """
        state = checked(state_dict, ("messages",), strict=strict)
        if "messages" in state:
            self._load(unpacked(state["messages"]))

    def save_to_file(self, filepath: str | PathLike[str]) -> None:
        """Writes the conversation as JSON; the file is the old one or the new one, never half of each."""
        write_atomically(Path(filepath), json.dumps(self.state_dict(), ensure_ascii=False, indent=1))

    def load_from_file(self, filepath: str | PathLike[str]) -> None:
        """Replaces what is here by a saved file; when it is damaged, everything stays as it was."""
        data = read_json(Path(filepath))
        self.load_state_dict({"messages": data} if isinstance(data, list) else data)  # type: ignore[arg-type]

    @property
    def _count(self) -> TokenCounter:
        return self._counter or default_counter()

    def _window(self, max_tokens: int) -> list[Message]:
        return newest_that_fit(self.messages, max_tokens, self._count)

    def _append(self, messages: Sequence[Message], *, once: bool) -> None:
        self._log.append(messages, keep=self.max_messages, once=once)

    def _load(self, messages: list[Message]) -> None:
        with self._lock:
            self._log.replace(messages if self.max_messages is None else messages[-self.max_messages :])


def _as_list(messages: object) -> list[Message]:
    if messages is None:
        return []
    if isinstance(messages, Message | Mapping):
        return [as_message(messages)]
    if isinstance(messages, str | bytes) or not isinstance(messages, Iterable):
        raise InvalidType(f"expected messages or dicts, not {type(messages).__name__}")
    return [as_message(message) for message in messages]


def _position(index: object, size: int) -> int:
    if isinstance(index, bool) or not isinstance(index, int):
        raise InvalidType(f"an index must be a whole number, not {type(index).__name__}")
    if not -size <= index < size:
        raise IndexError(f"no message {index}: there are {size}")
    return index % size


FORMAT = "memoranda.conversation"
VERSION = 1

_HEADER = ("format", "version", "title")


def packed(messages: Sequence[Message], **more: JSON) -> dict[str, JSON]:
    """The state that holds these messages."""
    return {"format": FORMAT, "version": VERSION, "messages": [message.to_dict() for message in messages], **more}


def checked(state: object, allowed: Sequence[str], *, strict: bool) -> Mapping[str, object]:
    """The state, when this version can read it; with `strict` it must hold messages and nothing unknown."""
    if not isinstance(state, Mapping):
        raise InvalidType(f"a conversation's state must be a dict, not {type(state).__name__}")
    if state.get("format", FORMAT) != FORMAT:
        raise Incompatible(f"this is {state['format']!r}, not a conversation")
    version = state.get("version", VERSION)
    if not isinstance(version, int) or version > VERSION:
        raise Incompatible(f"this conversation has version {version}; this code reads up to {VERSION}: update it")
    if strict:
        _check_keys(state, allowed)
    return state


def unpacked(given: object, name: str = "messages") -> list[Message]:
    """The messages in a state, each checked; the error names the one that is wrong."""
    if not isinstance(given, list | tuple):
        raise InvalidType(f"{name} must be a list, not {type(given).__name__}")
    messages = []
    for position, item in enumerate(given):
        try:
            messages.append(as_message(item))
        except MemorandaError as error:
            raise InvalidInput(f"{name}[{position}]: {error}") from error
    return messages


def summaries_of(state: Mapping[str, object], originals: int) -> tuple[list[str], list[int]]:
    """The summaries in a state, and how many of the originals each stands for."""
    summaries, spans = state.get("summaries", []), state.get("spans", [])
    if not isinstance(summaries, list) or not all(isinstance(summary, str) for summary in summaries):
        raise InvalidType("summaries must be a list of strings")
    if not isinstance(spans, list) or not all(isinstance(span, int) and span >= 0 for span in spans):
        raise InvalidType("spans must be a list of whole numbers")
    if len(spans) != len(summaries) or sum(spans) != originals:
        raise InvalidInput("the state's summaries, spans and originals do not belong together")
    return list(summaries), list(spans)


def _check_keys(state: Mapping[str, object], allowed: Sequence[str]) -> None:
    unknown = sorted(set(state) - {*_HEADER, *allowed})
    if unknown:
        raise InvalidInput(f"the state has an unknown key {unknown[0]!r}: leave it out, or use strict=False")
    if "messages" not in state:
        raise InvalidInput("the state has no 'messages': nothing to load")


_ORDINARY = 0o666  # what the program's own umask leaves of it, as for any file that a user asks for


def write_atomically(path: Path, text: str) -> None:
    """Puts the text on disk under that name; after a crash the file is the old one or this one."""
    with atomic_replace(path, _ORDINARY) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")


def read_json(path: Path) -> JSON:
    """The file's data; `Incompatible` when it is damaged."""
    try:
        data: JSON = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise Incompatible(f"{path} is damaged or not JSON: {error}") from error
    return data
