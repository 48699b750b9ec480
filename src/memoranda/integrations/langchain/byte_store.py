"""LangChain's store of bytes by key."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence

from memoranda.errors import InvalidType, MissingExtra
from memoranda.integrations.managers import OpenedSource, OwnedNamespace, Source, open_source

try:
    from langchain_core.stores import ByteStore
except ModuleNotFoundError as error:
    raise MissingExtra("the LangChain adapter", "langchain") from error


class MemorandaByteStore(OpenedSource, ByteStore):
    """Bytes by key, such as LangChain's caches and parent documents; `recall` does not find them."""

    def __init__(
        self,
        memory: Source = None,
        *,
        collection: str = "bytes",
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
    ) -> None:
        self.memory, self._owns_memory = open_source(memory)
        self._items = OwnedNamespace(self.memory, ("langchain", collection), agent=agent, user=user, session=session)

    def mget(self, keys: Sequence[str]) -> list[bytes | None]:
        return [None if item is None else b64decode(item.value) for item in map(self._items.get, keys)]

    def mset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        for key, value in key_value_pairs:
            if not isinstance(value, bytes):
                raise InvalidType(f"the value of {key!r} must be bytes, not {type(value).__name__}")
        self._items.put({key: b64encode(value).decode("ascii") for key, value in key_value_pairs}, False)

    def mdelete(self, keys: Sequence[str]) -> None:
        self._items.delete(keys)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        yield from (item.key for item in list(self._items.read()) if item.key.startswith(prefix or ""))
