"""The REST door: other languages and other machines reach the same memory."""

from recollect.server.config import ServerConfig
from recollect.server.run import create_app, run

__all__ = ["ServerConfig", "create_app", "run"]
