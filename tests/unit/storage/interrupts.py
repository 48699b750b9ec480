"""Ctrl-C at a chosen moment, the same one at each run."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from types import FrameType, ModuleType
from typing import ParamSpec

P = ParamSpec("P")


def interrupted_at(
    moment: int, call: Callable[P, object], *args: P.args, inside: Sequence[ModuleType], **kwargs: P.kwargs
) -> bool:
    """Whether the call was interrupted at its so-many-th call or return in these modules, where Python looks for it."""
    files, left = {module.__file__ for module in inside}, moment

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        if event in ("call", "c_return") and frame.f_code.co_filename in files:
            left -= 1
            if left < 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

    gc.disable()  # an interrupt inside of a finalizer is lost: Python prints it and goes on
    sys.setprofile(count)
    try:
        call(*args, **kwargs)
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
        gc.enable()
    return False
