"""`EditableMessage`: a copy of a message that its owner may change like any dict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from memoranda.messages.content import thaw
from memoranda.messages.dicts import id_text
from memoranda.messages.message import FIELDS, Message

T = TypeVar("T")


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
