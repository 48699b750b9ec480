"""Caches of what functions return for a text, kept for one write only."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, ParamSpec, TypeVar, cast

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_caches: list[Any] = []


def text_cache(size: int) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Return a decorator that keeps what a function returns for a text, until the write that asked for it ends.

    Not longer: that a text was read before, by any tenant, must not be told from the time that reading it takes.
    """

    def decorate(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        cached = lru_cache(maxsize=size)(function)
        _caches.append(cached)
        return cast("Callable[_Parameters, _Result]", cached)

    return decorate


def clear_text_caches() -> None:
    """Drop what `text_cache` keeps."""
    for cached in _caches:
        cached.cache_clear()
