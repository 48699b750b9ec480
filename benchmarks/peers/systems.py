"""The measured systems and their virtual environments."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent.parent
ROOT = BENCHMARKS.parent
CACHE = ROOT / ".bench"

REQUIREMENTS = {
    "mem0": ("mem0ai==2.2.1", "faiss-cpu==1.15.1"),
    "chromadb": ("chromadb==1.5.9",),
    "langgraph": ("langgraph-checkpoint==4.3.1", "numpy"),
    "mem0-postgres": ("mem0ai==2.2.1", "psycopg[binary,pool]", "numpy"),
    "langgraph-postgres": ("langgraph-checkpoint-postgres==3.2.0", "psycopg[binary,pool]", "numpy"),
}
_NO_TELEMETRY_NO_NETWORK = {
    "MEM0_TELEMETRY": "False",
    "ANONYMIZED_TELEMETRY": "False",
    "HF_HUB_OFFLINE": "1",
    # mem0 builds a client for a language model at start; with infer=False it is never called.
    "OPENAI_API_KEY": "unused",
}
_INSTALLER_PARTS = ("pip", "setuptools", "_distutils_hack", "pkg_resources", "distutils-precedence")


@dataclass(frozen=True, slots=True)
class System:
    """A measured system, one column of the report."""

    name: str
    target: str
    import_line: str
    environment: str | None = None
    """Its virtual environment; None for the one this script runs in."""
    max_memories: int | None = None
    """A limit for systems where more would take hours."""
    curve_to: int | None = None
    """The largest store size it is measured at in the curve; None leaves it out."""


OURS = System("Memoranda", "peers.ours:Ours", "from memoranda import MemoryManager", curve_to=100_000)
MEM0 = System("mem0 + Qdrant", "peers.mem0:Mem0Qdrant", "from mem0 import Memory", "mem0", curve_to=3_000)
MEM0_FAISS = System("mem0 + FAISS", "peers.mem0:Mem0Faiss", "from mem0 import Memory", "mem0", max_memories=1_000)
CHROMA = System("chromadb", "peers.chroma:Chroma", "import chromadb", "chromadb", curve_to=100_000)
LANGGRAPH = System(
    "LangGraph",
    "peers.langgraph:LangGraph",
    "from langgraph.store.memory import InMemoryStore",
    "langgraph",
    curve_to=100_000,
)
OURS_POSTGRES = System("Memoranda, PostgreSQL", "peers.ours:OursPostgres", OURS.import_line)
MEM0_POSTGRES = System("mem0 + pgvector", "peers.mem0:Mem0Postgres", MEM0.import_line, "mem0-postgres")
MEM0_EXACT = System("mem0 + pgvector, exact", "peers.mem0:Mem0PostgresExact", MEM0.import_line, "mem0-postgres")
LANGGRAPH_POSTGRES = System(
    "LangGraph PostgresStore",
    "peers.langgraph:LangGraphPostgres",
    "from langgraph.store.postgres import PostgresStore",
    "langgraph-postgres",
)
SYSTEMS = (OURS, MEM0, MEM0_FAISS, CHROMA, LANGGRAPH)


def prepare(environment: str) -> None:
    """Create a peer's environment under `.bench/`, unless it exists with the same requirements."""
    folder, requirements = CACHE / environment, "\n".join(REQUIREMENTS[environment])
    marker = folder / "requirements.txt"
    if marker.exists() and marker.read_text() == requirements:
        return
    print(f"installing {', '.join(REQUIREMENTS[environment])} into {folder.relative_to(ROOT)}", file=sys.stderr)
    install(folder, *REQUIREMENTS[environment])
    marker.write_text(requirements)


def install(folder: Path, *requirements: str) -> None:
    """Create a new virtual environment with these packages."""
    create_cache_folder()
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    command = [_python_in(folder), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
    subprocess.run(command, check=True, cwd=ROOT)


def create_cache_folder() -> None:
    """Create the cache folder with a `.gitignore` that excludes it from version control."""
    CACHE.mkdir(exist_ok=True)
    (CACHE / ".gitignore").write_text("*\n")


def installed_mb(folder: Path, *, with_bytecode: bool) -> float:
    """Return the size of an environment's packages without the installer."""
    total = 0
    for packages in folder.glob("lib*/python*/site-packages"):
        if packages.parent.parent.is_symlink():
            continue
        for path in packages.rglob("*"):
            part = path.relative_to(packages).parts[0]
            skipped = part.startswith(_INSTALLER_PARTS) or (not with_bytecode and "__pycache__" in path.parts)
            if path.is_file() and not skipped:
                total += path.stat().st_size
    return total / 1e6


def python_of(system: System) -> str:
    """Return the path of the interpreter that has this system installed."""
    return sys.executable if system.environment is None else _python_in(CACHE / system.environment)


def environment_of(system: System) -> dict[str, str]:
    """Return the variables of its process: no telemetry, no network; only Memoranda sees this checkout."""
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if system.environment is None:
        return variables | {"PYTHONPATH": str(ROOT / "src")}
    return variables | _NO_TELEMETRY_NO_NETWORK | {"MEM0_DIR": str(CACHE / "mem0-home")}


def _python_in(folder: Path) -> str:
    return str(folder / "bin" / "python")
