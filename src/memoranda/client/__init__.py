"""A client for a Memoranda server with the methods of the embedded manager: `MemoryManager(url, api_key=…)`."""

from memoranda.errors import MissingExtra

try:
    import httpx2 as _httpx2  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtra("the client", "client") from error

from memoranda.client.manager import MemoryManager
from memoranda.client.sessions import SessionContext, create_session

__all__ = ["MemoryManager", "SessionContext", "create_session"]
