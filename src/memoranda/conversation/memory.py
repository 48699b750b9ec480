"""`ConversationMemory`: the messages of one conversation, and the copies of them that its caller may change."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from memoranda.conversation.base import (
    AnyMessage,
    ListLog,
    MessageLog,
    MessageView,
    TokenCounter,
    default_counter,
    fit_window,
)
from memoranda.display import shown
from memoranda.errors import Incompatible, InvalidInput, InvalidType, MemorandaError
from memoranda.files import atomic_replace, read_text_file, translate_file_errors
from memoranda.messages.content import ROLE_NAMES, check_string, id_text, thaw
from memoranda.messages.message import CONVERTERS, FIELDS, Message, is_message
from memoranda.messages.parsing import as_message
from memoranda.text.checks import escape_surrogates
from memoranda.types import JSON, RetentionPolicy
from memoranda.validation import check_integer, check_retention_policy

T = TypeVar("T")


class ConversationMemory:
    """The messages of one conversation; the oldest are dropped beyond `max_messages`. Safe to use from several threads.

    Args:
        max_messages: How many messages are kept; None keeps all.
        retention_policy: `single_run`, `session` or `persistent`. Without a log, `persistent` keeps the messages in the
            database of the settings, as the one conversation that has no name; `MemoryManager.get_memory` has others.
        counter: Counts the tokens of a text, for `get_window`.
        log: Where the messages are kept; without it, in this process.
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
        self._log: MessageLog = self._default_log() if log is None else log
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        limit = "" if self.max_messages is None else f", max_messages={self.max_messages}"
        return f"{type(self).__name__}({str(self.retention_policy)!r}{limit})"

    def _default_log(self) -> MessageLog:
        if self.retention_policy != RetentionPolicy.PERSISTENT:
            return ListLog()
        from memoranda.conversation.stored import unnamed_log

        return unnamed_log()

    @property
    def messages(self) -> MessageView:
        """The messages as a list that is always up to date; it may be changed, or replaced as a whole."""
        return MessageView(lambda: self._log, self._lock)

    @messages.setter
    def messages(self, messages: Iterable[AnyMessage]) -> None:
        replacement = [as_message(message) for message in messages]
        with self._lock:
            self._log.replace(replacement)

    @property
    def in_memory(self) -> bool:
        """Whether the messages are kept in this process only, so that no call waits for a disk or a network."""
        return isinstance(self._log, ListLog)

    def __len__(self) -> int:
        return len(self._log)

    def __bool__(self) -> bool:
        return True  # a conversation without messages is a conversation: `if self.memory:` asks for nothing else

    def size(self) -> int:
        """Return the number of messages."""
        return len(self._log)

    def add_message(self, message: AnyMessage) -> None:
        """Add one message; skip it when the conversation already has its id."""
        self.add(as_message(message))

    def add(self, messages: AnyMessage | Iterable[AnyMessage] | None, allow_duplicates: bool = False) -> None:
        """Add one message, several, or none. On an error, none is added."""
        new_messages = _to_messages(messages)
        with self._lock:
            self._append(new_messages, skip_duplicates=not allow_duplicates)

    def get_messages(self, limit: int | None = None) -> list[Message]:
        """Return copies of all messages, or of the newest `limit`, oldest first; a limit below 1 is none."""
        count = None if limit is None else check_integer(limit, "limit", minimum=None)
        return editable(self._read_newest(count if count and count > 0 else None))

    def get_recent(self, n: int = 10) -> list[Message]:
        """Return copies of the newest `n` messages, oldest first."""
        return editable(self._read_newest(check_integer(n, "n", minimum=0)))

    def get_messages_by_role(self, role: str, limit: int | None = None) -> list[Message]:
        """Return copies of the messages of one role, or of the newest `limit`, oldest first; none for other roles."""
        role = ROLE_NAMES.get(check_string(role, "role").lower(), "")
        count = None if limit is None else check_integer(limit, "limit", minimum=0)
        newest_first: list[Message] = []
        with self._lock:
            stop = len(self._log)
            while stop > 0 and (count is None or len(newest_first) < count):
                start = max(0, stop - _PAGE)
                newest_first += [message for message in reversed(self._log.read(start, stop)) if message.role == role]
                stop = start
        return editable(newest_first[:count][::-1])

    def get_last_message(self) -> Message | None:
        """Return a copy of the newest message; None when there is none."""
        newest = self.get_recent(1)
        return newest[0] if newest else None

    def get_window(self, max_tokens: int) -> list[Message]:
        """Return copies of the system message and the newest turns that fit; a tool call stays with its results."""
        budget = check_integer(max_tokens, "max_tokens")
        with self._lock:
            return editable(self._window(budget))

    def delete(self, index: int | Iterable[int]) -> None:
        """Delete messages by index, from 0 on. On an `IndexError`, none is deleted."""
        with self._lock:
            indices, size = [index] if isinstance(index, int) else list(index), len(self._log)
            self._log.delete(sorted({_to_position(i, size) for i in indices}))

    def retrieve(self, *_: object, **__: object) -> NoReturn:
        """Raise `NotImplementedError`: a conversation is read in its order, and `PersistentMemory` is searched."""
        raise NotImplementedError("a conversation is not searched: use get_messages(), or PersistentMemory.retrieve")

    def pop(self) -> Message | None:
        """Remove the newest message and return it; None when there is none."""
        with self._lock:
            removed = self._log.pop()
        return None if removed is None else editable([removed])[0]

    def truncate_to_size(self, max_size: int) -> None:
        """Keep the newest `max_size` messages."""
        keep = check_integer(max_size, "max_size", minimum=0)
        with self._lock:
            self._log.append([], keep=keep)

    def clear(self) -> None:
        """Remove all messages."""
        with self._lock:
            self._log.replace([])

    def move_to(self, log: MessageLog, retention_policy: str) -> None:
        """Move the messages to the end of another log and continue there. On an error, nothing changes."""
        policy = check_retention_policy(retention_policy)
        with self._lock:
            messages = self._log.read(0, len(self._log))
            log.append(messages, keep=self.max_messages, skip_duplicates=True)
            self._log.delete(range(len(messages)))
            self._log, self.retention_policy = log, policy

    def to_dict(self) -> list[dict[str, JSON]]:
        """Return all messages as plain JSON data."""
        return [message.to_dict() for message in self._read_newest()]

    def state_dict(self) -> dict[str, JSON]:
        """Return everything that `load_state_dict` needs, as plain JSON data."""
        return build_state(self._read_newest())

    def load_state_dict(self, state_dict: Mapping[str, object], strict: bool = True) -> None:
        """Replace the messages with those of a saved state. On an error, nothing changes.

        Without `strict`, unknown keys are ignored, and a state without messages leaves them as they are.
        """
        state = check_state(state_dict, ("messages",), strict=strict)
        if "messages" not in state:
            return
        messages = parse_messages(state["messages"])
        with self._lock:
            self._log.replace(messages if self.max_messages is None else messages[-self.max_messages :])

    def save_to_file(self, filepath: str | PathLike[str]) -> None:
        """Write the conversation as JSON. The file is replaced as a whole, so it is never half written."""
        write_atomically(Path(filepath), escape_surrogates(json.dumps(self.state_dict(), ensure_ascii=False, indent=1)))

    def load_from_file(self, filepath: str | PathLike[str]) -> None:
        """Replace the messages with those of a saved file. When the file is damaged, nothing changes."""
        data = read_json(Path(filepath))
        self.load_state_dict({"messages": data} if isinstance(data, list) else data)  # type: ignore[arg-type]

    def _read_newest(self, count: int | None = None) -> list[Message]:
        with self._lock:
            size = len(self._log)
            return self._log.read(0 if count is None else max(0, size - count), size)

    @property
    def _count(self) -> TokenCounter:
        return self._counter or default_counter()

    def _window(self, max_tokens: int) -> list[Message]:
        return fit_window(self.messages, max_tokens, self._count)

    def _append(self, messages: Sequence[Message], *, skip_duplicates: bool) -> None:
        self._log.append(messages, keep=self.max_messages, skip_duplicates=skip_duplicates)


def _to_messages(messages: object) -> list[Message]:
    if messages is None:
        return []
    if is_message(messages):
        return [as_message(messages)]
    if isinstance(messages, str | bytes) or not isinstance(messages, Iterable):
        raise InvalidType(f"messages must be a message or a list of them, not {type(messages).__name__}; {CONVERTERS}")
    return [as_message(message) for message in messages]


def _to_position(index: object, size: int) -> int:
    if isinstance(index, bool) or not isinstance(index, int):
        raise InvalidType(f"an index must be a whole number, not {type(index).__name__}")
    if not 0 <= index < size:
        raise IndexError(f"no message {index}: there are {size}, and the first is 0; pop() removes the last")
    return index


def build_state(messages: Sequence[Message], **more: JSON) -> dict[str, JSON]:
    """Return the state of a conversation with these messages."""
    return {"format": FORMAT, "version": VERSION, "messages": [message.to_dict() for message in messages], **more}


def check_state(state: object, allowed: Sequence[str], *, strict: bool) -> Mapping[str, object]:
    """Return the state if this version can read it; with `strict` it must have messages and no unknown key."""
    if not isinstance(state, Mapping):
        raise InvalidType(f"a conversation's state must be a dict, not {type(state).__name__}")
    if state.get("format", FORMAT) != FORMAT:
        raise Incompatible(f"this is {shown(state['format'])}, not a conversation")
    version = state.get("version", VERSION)
    if not isinstance(version, int) or version > VERSION:
        raise Incompatible(f"this conversation has version {version}; this code reads up to {VERSION}: update it")
    if strict:
        unknown = sorted(set(state) - {*_HEADER, *allowed})
        if unknown:
            raise InvalidInput(f"the state has an unknown key {shown(unknown[0])}: leave it out, or use strict=False")
        if "messages" not in state:
            raise InvalidInput("the state has no 'messages': nothing to load")
    return state


def parse_messages(items: object, name: str = "messages") -> list[Message]:
    """Return the messages in a state. The error for a wrong one has its position."""
    if not isinstance(items, list | tuple):
        raise InvalidType(f"{name} must be a list, not {type(items).__name__}")
    messages = []
    for position, item in enumerate(items):
        try:
            messages.append(as_message(item))
        except MemorandaError as error:
            raise InvalidInput(f"{name}[{position}]: {error}") from error
    return messages


def write_atomically(path: Path, text: str) -> None:
    """Write a text file; after a crash the file has the old text or the new one."""
    with translate_file_errors(path), atomic_replace(path, _FILE_MODE) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def read_json(path: Path) -> JSON:
    """Return the data of a JSON file; raise `Incompatible` when it is damaged."""
    text = read_text_file(path)
    try:
        with translate_file_errors(path):
            data: JSON = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Incompatible(f"{path} is damaged or not JSON: {error}") from error
    return data


def editable(messages: Iterable[Message]) -> list[Message]:
    """Return copies that the caller may change; the messages stay as they are."""
    return [EditableMessage.copy_of(message) for message in messages]


class EditableMessage(Message):
    """A message as a conversation returns it: changing it changes this copy, and nothing that is stored.

    Its attributes show the changes. A role, id or time that is taken out remains as an attribute. A change after which
    it would be no message, such as an object as content, is an error and changes nothing.
    """

    __slots__ = ("_last", "_shared")
    _last: Message
    """What it was when it was made or a key was set last."""
    _shared: bool
    """Whether the caller has lists or dicts of it, so that it may have changed since."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._adopt(Message(*arguments, **named))

    @classmethod
    def copy_of(cls, message: Message) -> EditableMessage:
        """Return a copy of a message."""
        copy = cls.__new__(cls)
        copy._adopt(message.frozen())
        return copy

    def _adopt(self, message: Message) -> None:
        object.__setattr__(self, "_last", message)
        object.__setattr__(self, "_shared", False)
        dict.update(self, dict.items(message))

    def frozen(self) -> Message:
        """Return what this message is now, as one that cannot change."""
        return self._parse(dict(dict.items(self))) if self._shared else self._last

    def _parse(self, keys: dict[str, Any]) -> Message:
        last = self._last
        required = {"role": last.role, "message_id": last.message_id, "timestamp": last.timestamp}
        data = required | {key: value for key, value in keys.items() if value is not None or key not in required}
        if data.get("id") not in (None, last.get("id")) and data["message_id"] == last.message_id:
            data["message_id"] = id_text(data["id"])
        return Message.from_dict(data)

    def __getattr__(self, name: str) -> Any:
        if name not in FIELDS:  # the fields have no values of their own here, so that each is looked up
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        return getattr(self.frozen(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in FIELDS:
            raise AttributeError(f"a message has no field {name!r}: set a key of it, message[{name!r}] = …")
        self[name] = value

    def __getitem__(self, key: str) -> Any:
        if not dict.__contains__(self, key):
            return self.frozen()[key]
        value = dict.__getitem__(self, key)
        if isinstance(value, dict | list):
            # A plain copy, made once: what the caller changes in it is seen when it is read again.
            value = thaw(value)
            dict.__setitem__(self, key, value)
            object.__setattr__(self, "_shared", True)
        return value

    def _change(self, change: Callable[[dict[str, Any]], T]) -> T:
        """Change the keys, and the attributes with them; on an error, nothing changes."""
        data = {key: self[key] for key in self}
        result = change(data)
        object.__setattr__(self, "_last", self._parse(data))
        dict.clear(self)
        dict.update(self, data)
        return result

    def __setitem__(self, key: str, value: Any) -> None:  # type: ignore[override]
        self._change(lambda data: data.__setitem__(key, value))

    def __delitem__(self, key: str) -> None:  # type: ignore[override]
        self._change(lambda data: data.__delitem__(key))

    def __ior__(self, other: Any) -> EditableMessage:  # type: ignore[override, misc]
        self._change(lambda data: data.update(other))
        return self

    def update(self, *others: Any, **more: Any) -> None:  # type: ignore[override]
        self._change(lambda data: data.update(*others, **more))

    def pop(self, *key_and_default: Any) -> Any:  # type: ignore[override]
        return self._change(lambda data: data.pop(*key_and_default))

    def popitem(self) -> tuple[str, Any]:  # type: ignore[override]
        return self._change(dict.popitem)

    def setdefault(self, key: str, default: Any = None) -> Any:  # type: ignore[override]
        return self._change(lambda data: data.setdefault(key, default))

    def clear(self) -> None:  # type: ignore[override]
        self._change(dict.clear)

    def __copy__(self) -> EditableMessage:
        return self.copy_of(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> EditableMessage:
        return self.copy_of(self)


FORMAT = "memoranda.conversation"
VERSION = 1

_HEADER = ("format", "version", "title")
_PAGE = 200
_FILE_MODE = 0o666  # limited by the program's umask, like any file that a user asks for
