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

    No longer than that, so that the time of a call never shows that some tenant had the same text before.
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
