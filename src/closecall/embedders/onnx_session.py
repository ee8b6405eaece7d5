"""A session of onnxruntime on the device asked for, and on no other."""

from __future__ import annotations

import contextlib
import io
import os
import re
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.held_back import held_back
from closecall.errors import ConfigurationError, EmbeddingError, ModelError, UsageError
from closecall.models.onnx_functions import require_bounded

CPU = "cpu"
_DEVICE = re.compile(r"cpu|cuda(:\d{1,3})?")
_CPU_PROVIDER = "CPUExecutionProvider"
_CUDA_PROVIDER = "CUDAExecutionProvider"
_CUDA_FAILED = re.compile(r"\b(cuda|cudnn|cublas)", re.IGNORECASE)
_ERRORS_ONLY = 3

_NO_MEMORY = (
    "failed to allocate memory", "out of memory", "not enough memory", "bad_alloc",
    "bad allocation", "alloc_failed",
)  # fmt: skip

Feed = Mapping[str, NDArray[Any]]


class NoMemoryError(EmbeddingError):
    """The runtime had not the memory for what it was given at once."""


class Session(NamedTuple):
    """A session and where it runs.

    ``bound``: inputs and outputs are bound to the device, so that what is not asked for never
    leaves it.
    """

    raw: Any
    device: str
    bound: bool

    def run(self, outputs: list[str], feed: Feed) -> list[NDArray[Any]]:
        """Return the outputs asked for, by name, as arrays of this process's memory.

        Raises
        ------
        NoMemoryError
            If there was not the memory.
        EmbeddingError
            If the runtime fails otherwise.
        """
        try:
            found: list[NDArray[Any]] = (
                self._bound_run(outputs, feed) if self.bound else self.raw.run(outputs, feed)
            )
        except Exception as error:  # the runtime's exceptions share no base but this
            kind = NoMemoryError if _is_out_of_memory(error) else EmbeddingError
            raise kind(f"onnxruntime failed: {error}") from error
        return found

    def _bound_run(self, outputs: list[str], feed: Feed) -> list[NDArray[Any]]:
        import onnxruntime

        kind, number = device_parts(self.device)
        binding = self.raw.io_binding()
        # They must outlive the run: the binding itself holds no reference.
        held = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy(array, kind, number)
            for name, array in feed.items()
        }
        for name, value in held.items():
            binding.bind_ortvalue_input(name, value)
        for name in outputs:
            binding.bind_output(name, kind, number)
        self.raw.run_with_iobinding(binding)
        found: list[NDArray[Any]] = binding.copy_outputs_to_cpu()
        return found


def _is_out_of_memory(error: Exception) -> bool:
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(words in text for words in _NO_MEMORY)


def checked_device(device: str) -> str:
    """Return a device's name if it can be one: ``cpu``, ``cuda`` or ``cuda:N``.

    Raises
    ------
    UsageError
        If it cannot.
    """
    if not isinstance(device, str) or not _DEVICE.fullmatch(device):
        raise UsageError(f"device must be cpu, cuda or cuda:N, got {device!r}")
    return device


def device_parts(device: str) -> tuple[str, int]:
    """Return the kind of a device and its number: ``cuda:1`` to ``cuda`` and 1."""
    kind, _, number = device.partition(":")
    return kind, int(number or 0)


def make_session(
    data: bytes,
    where: str,
    *,
    device: str = CPU,
    fuse: bool = False,
    beside: Mapping[str, bytes] | None = None,
) -> Session:
    """Return a session that runs where it was asked to.

    On one thread, none of its own: it survives a fork. On CUDA, products of float32 are computed
    in float32 and not in the shorter TF32, so that they agree with the CPU's.

    Parameters
    ----------
    data
        The graph.
    where
        Its path, for messages.
    device
        ``cpu``, ``cuda`` or ``cuda:N``.
    fuse
        Whether the runtime may join operators; a graph of closecall's own is joined already.
    beside
        The files that the graph keeps weights in, by the name it calls them.

    Raises
    ------
    ModelError
        If the runtime cannot load the graph.
    ConfigurationError
        If the runtime cannot be imported, or the device is not there or not used.
    """
    try:
        require_bounded(data)
    except ValueError as error:
        raise ModelError(f"{where}: not an ONNX file that is run: {error}") from error
    onnxruntime = _imported()
    wanted = _providers(onnxruntime, device)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    # Else bytes that are both are read as the runtime's own format, which nothing here checks.
    options.add_session_config_entry("session.load_model_format", "ONNX")
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if fuse else levels.ORT_ENABLE_BASIC
    if beside:
        _add_files(options, beside, where)
    try:
        with warnings.catch_warnings():
            # What the runtime warns of when a device fails is refused below, with its reason.
            warnings.simplefilter("ignore")
            session = onnxruntime.InferenceSession(
                data, options, providers=wanted, enable_fallback=0
            )
    except Exception as error:  # the runtime's exceptions share no base but this
        if device != CPU and _CUDA_FAILED.search(str(error)):
            raise _no_device(onnxruntime, device, f"cannot start it: {error}") from error
        raise ModelError(f"{where}: the runtime cannot load it: {error}") from error
    # It keeps the bytes for a change of providers, which never comes: the file's size in memory.
    session._model_bytes = b""  # noqa: SLF001
    # Without this a run that fails on the device is repeated on the CPU, with a line of print.
    session.disable_fallback()
    _require_active(onnxruntime, session.get_providers(), device)
    return Session(session, device, bound=device != CPU)


def _imported() -> Any:
    # Read when the module loads: without it some builds (1.32 on Linux) write ids to the home
    # folder and, ten seconds later, look up a host; the call below comes too late for that.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        with held_back():
            import onnxruntime
    except ImportError as error:
        raise not_importable("onnxruntime", error) from error

    onnxruntime.disable_telemetry_events()
    return onnxruntime


def _providers(onnxruntime: Any, device: str) -> list[Any]:
    kind, number = device_parts(device)
    if kind == CPU:
        return [_CPU_PROVIDER]
    there = onnxruntime.get_available_providers()
    if _CUDA_PROVIDER not in there:
        raise _no_device(onnxruntime, device, f"has only {', '.join(there)}")
    if hasattr(onnxruntime, "preload_dlls"):
        # Finds CUDA among the installed packages; what it cannot load it prints.
        with contextlib.redirect_stdout(io.StringIO()):
            onnxruntime.preload_dlls()
    return [(_CUDA_PROVIDER, {"device_id": str(number), "use_tf32": "0"}), _CPU_PROVIDER]


def _require_active(onnxruntime: Any, active: list[str], device: str) -> None:
    wanted = _CPU_PROVIDER if device == CPU else _CUDA_PROVIDER
    if active[:1] == [wanted]:
        return
    if device == CPU:
        raise ConfigurationError(f"asked onnxruntime for {wanted}, got {', '.join(active)}")
    raise _no_device(onnxruntime, device, f"started {', '.join(active)} instead")


def _no_device(onnxruntime: Any, device: str, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"device {device} was asked for, but onnxruntime {onnxruntime.__version__} {what}. Its "
        "CUDA build replaces the one for the CPU: pip uninstall onnxruntime, then pip install "
        "'onnxruntime-gpu[cuda,cudnn]', and an NVIDIA driver must be there. Or run it with "
        "device=cpu"
    )


def _add_files(options: Any, beside: Mapping[str, bytes], where: str) -> None:
    if not hasattr(options, "add_external_initializers_from_files_in_memory"):
        raise ConfigurationError(
            f"{where}: keeps weights in other files, which this onnxruntime can only look up by "
            "itself. Update onnxruntime, or write the model as one file with "
            "onnx.save(onnx.load(OLD), NEW)"
        )
    names = list(beside)
    options.add_external_initializers_from_files_in_memory(
        names, [beside[name] for name in names], [len(beside[name]) for name in names]
    )


def as_float32(found: NDArray[Any]) -> NDArray[np.float32]:
    """Return an output as float32, itself if it is."""
    return found.astype(np.float32, copy=False)


def not_importable(package: str, error: ImportError) -> ConfigurationError:
    """Return the error for a package that this one needs and that cannot be imported."""
    return ConfigurationError(
        f"{package} cannot be imported: {error}. "
        f"Install it again: pip install --force-reinstall {package}"
    )
