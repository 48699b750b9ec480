"""Raise `KeyboardInterrupt` at a chosen step of a call, the same step at each run."""

from __future__ import annotations

import ast
import gc
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
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


class Interrupts:
    """A copy of a module that raises `KeyboardInterrupt` before chosen statements of the thread that made it.

    A trace function cannot do this twice: Python ends the tracing when it raises.
    """

    def __init__(self, module: ModuleType) -> None:
        self.left: set[int] = set()
        """The statements to interrupt, counted from 0 as they are run."""
        self.module = ModuleType(module.__name__)
        self.module.__dict__.update(__file__=module.__file__, tick=self._tick)
        self._run = 0
        self._thread = threading.get_ident()
        tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
        exec(compile(_Ticking().visit(tree), str(module.__file__), "exec"), self.module.__dict__)  # noqa: S102

    def interrupt(self, statements: Sequence[int], call: Callable[[], object]) -> int:
        """Run a call with an interrupt at each of these statements; return how many came."""
        self._run, self.left = 0, set(statements)
        gc.disable()  # an interrupt inside a finalizer is lost: Python prints it and continues
        try:
            with suppress(KeyboardInterrupt):
                call()
            return len(set(statements)) - len(self.left)
        finally:
            self.left = set()
            gc.enable()

    def _tick(self) -> None:
        if threading.get_ident() != self._thread:
            return
        number, self._run = self._run, self._run + 1
        if number in self.left:
            self.left.discard(number)
            raise KeyboardInterrupt


class _Ticking(ast.NodeTransformer):
    """Puts a call of `tick()` before each statement of each function."""

    def visit(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(node, name, None)
            if isinstance(statements, list) and not isinstance(node, ast.Module | ast.ClassDef):
                setattr(node, name, [each for statement in statements for each in (_tick_at(statement), statement)])
        return node


def _tick_at(statement: ast.stmt) -> ast.stmt:
    tick = ast.Expr(ast.Call(ast.Name("tick", ast.Load()), [], []))
    return ast.fix_missing_locations(ast.copy_location(tick, statement))
