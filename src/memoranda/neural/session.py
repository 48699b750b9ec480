"""Opening a model file with onnxruntime, the same way for every model: one thread a run, no telemetry."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memoranda.errors import Incompatible, Unavailable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

_CPU: Final = "CPUExecutionProvider"
_GPU: Final = "CUDAExecutionProvider"


def open_session(model: Path, *, use_gpu: bool = False) -> InferenceSession:
    """The opened model. Runs are to be spread over threads by the caller, one text each."""
    onnxruntime = _load()
    if use_gpu and _GPU not in onnxruntime.get_available_providers():
        raise Unavailable(f"this onnxruntime has no {_GPU}: pip install onnxruntime-gpu in place of onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # With one text a run, the arena stays at the longest text a thread; without it malloc's own heaps grow threefold.
    options.enable_cpu_mem_arena = True
    # A plan of buffers for every length seen would be kept for ever.
    options.enable_mem_pattern = False
    options.log_severity_level = 4  # what goes wrong is raised, not printed
    providers = [_GPU, _CPU] if use_gpu else [_CPU]
    with translated(model):
        session = onnxruntime.InferenceSession(_content(model), options, providers=providers)
    # It keeps what it was opened from, in case the providers were changed; ours never are, and it is 34 MB.
    session._model_bytes = None
    return session


@contextmanager
def translated(model: Path) -> Iterator[None]:
    """onnxruntime's errors as ours: a model that does not fit, or a machine that has no room for it now."""
    _load()
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    try:
        yield
    except (state.Fail, state.InvalidArgument, state.InvalidGraph, state.InvalidProtobuf, state.NoSuchFile) as error:
        raise Incompatible(f"the model file {model} cannot be run ({error}): install it again") from error
    except state.RuntimeException as error:
        raise Unavailable(f"the model {model.stem} cannot be run now: {error}") from error


def cores() -> int:
    """How many texts can be read at once: the cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _content(model: Path) -> str | bytes:
    """A plain file is opened by its name; a packed one is handed over as what is inside."""
    import memoranda_models

    if model.suffix != memoranda_models.PACKED:
        return str(model)
    try:
        return memoranda_models.unpacked(model)
    except (OSError, ValueError) as error:
        raise Incompatible(f"the model file {model} cannot be read ({error}): install it again") from error


def _load() -> Any:
    # Its telemetry is on by default and starts with the import: it writes to the temporary folder and may send.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime
