"""FAISS itself, loaded at first use: a program that never searches never pays for it."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load_faiss() -> Any:
    """The FAISS module; its own type hints cover only half of it, hence no type here."""
    return import_module("faiss")
