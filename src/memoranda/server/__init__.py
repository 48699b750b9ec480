"""The REST server: other languages and other machines use the same memory over HTTP."""

from memoranda.server.config import ServerConfig
from memoranda.server.run import create_app, run

__all__ = ["ServerConfig", "create_app", "run"]
