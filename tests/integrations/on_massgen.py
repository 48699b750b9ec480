"""Puts `memoranda.aio` in place of the memory module of MassGen, the project of the first seed document."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

from memoranda import aio

# Not MassGen itself: importing it needs some 260 packages, and none of them is about memory.
package = ModuleType("massgen")
package.__path__ = [str(Path.cwd() / "massgen")]  # its tests are found there
package.memory = aio  # type: ignore[attr-defined]
sys.modules |= {"massgen": package, "massgen.memory": aio}
