"""The memory of a Recollect server, with the embedded manager's own methods: `MemoryManager(url, api_key=…)`."""

from recollect.errors import MissingExtra

try:
    import httpx2 as _httpx2  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtra("the client", "client") from error

from recollect.client.manager import MemoryManager
from recollect.client.session import SessionContext, create_session

__all__ = ["MemoryManager", "SessionContext", "create_session"]
