"""mem0's `Memory` and `AsyncMemory` on Memoranda, for programs that were written for mem0. Needs no mem0.

Also: import the memories of an existing mem0 store.
"""

from memoranda.integrations.mem0.answers import MemoryNotFound
from memoranda.integrations.mem0.memory import AsyncMemory, Memory
from memoranda.manager.mem0_import import import_mem0
from memoranda.results.transfer import Mem0ImportReport
from memoranda.transfer.mem0_files import Mem0Memory, read

__all__ = ["AsyncMemory", "Mem0ImportReport", "Mem0Memory", "Memory", "MemoryNotFound", "import_mem0", "read"]
