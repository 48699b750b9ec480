"""Files of the packaged models, read only when they are what the package says."""

from __future__ import annotations

import hashlib
from pathlib import Path

import memoranda_models

from memoranda.errors import Incompatible, Unavailable


def read_model_file(path: Path) -> bytes:
    """Return the content of a model file; `Incompatible` when a packaged one is damaged or was replaced."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Unavailable(f"{path.name} cannot be read ({error.strerror}): reinstall memoranda-models") from error
    expected = memoranda_models.SHA256.get(path.name)
    # A model that was added has its own vocabulary, often with the same name.
    is_packaged = expected is not None and path == memoranda_models.path(path.name)
    if is_packaged and hashlib.sha256(data).hexdigest() != expected:
        raise Incompatible(f"{path} is damaged (its checksum is wrong): reinstall memoranda-models")
    return data
