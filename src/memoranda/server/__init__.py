"""The REST door: other languages and other machines reach the same memory."""

from memoranda.server.config import ServerConfig
from memoranda.server.run import create_app, run

__all__ = ["ServerConfig", "create_app", "run"]
