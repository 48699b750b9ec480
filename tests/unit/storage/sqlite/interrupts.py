"""Raise `KeyboardInterrupt` at a chosen step of a call, the same step at each run."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from types import FrameType, ModuleType
from typing import ParamSpec

P = ParamSpec("P")


def interrupt_at(
    step: int, call: Callable[P, object], *args: P.args, inside: Sequence[ModuleType], **kwargs: P.kwargs
) -> bool:
    """Interrupt a call at its n-th function call or return in these modules; False when it ended before that."""
    files, left = {module.__file__ for module in inside}, step

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        if event in ("call", "c_return") and frame.f_code.co_filename in files:
            left -= 1
            if left < 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

    gc.disable()  # an interrupt inside a finalizer is lost: Python prints it and continues
    sys.setprofile(count)
    try:
        call(*args, **kwargs)
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
        gc.enable()
    return False
