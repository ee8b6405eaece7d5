"""The Ray that a run goes on: one that is there, or one started on this machine for the run."""

from __future__ import annotations

import logging
import math
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from closecall.errors import ConfigurationError, UsageError
from closecall.offline import VARIABLE, offline

OBJECTS_BYTES = 128 * 1024 * 1024
"""Shared memory of a Ray started here: blocks are told by their place, so little passes there."""

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
REACH_S = 10.0
"""Seconds in which a cluster's address has to be reached."""

_LOCAL = {
    # Ray then takes 127.0.0.1 for this machine's address, as it does by itself on macOS.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}
_QUIET = {
    # What a lost worker printed last comes on standard output, where a report may go.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
}


@contextmanager
def cluster(
    address: str | None = None, *, workers: int = 1, num_cpus: float = 1, num_gpus: float = 0
) -> Iterator[None]:
    """Have a Ray to run on; one that was started here, or connected to, is left at the end.

    A Ray this process is connected to already is used as it is, and stays. Otherwise ``address``
    is a cluster's ``HOST:PORT``, or ``auto`` for the one this machine belongs to. None: a Ray on
    this machine with room for ``workers``; it listens on 127.0.0.1 only, has no dashboard, and
    sends nothing about its use to anyone. The environment of this process is the workers' there.

    Raises
    ------
    UsageError
        An address for a process that is connected, or one of Ray's client.
    ConfigurationError
        There is no cluster at that address, or none can be started; or the network is forbidden.
    """
    if address is not None:
        _require_address(address)
    ray = load_ray()
    if ray.is_initialized():
        if address is not None:
            raise UsageError("this process is connected to a Ray already; leave out the address")
        yield
        return
    set_here = {"RAY_USAGE_STATS_ENABLED": "0"} if address is not None else _LOCAL
    with _environ({**set_here, **_QUIET}):
        term = _handler()
        with _quietly():
            _connect(ray, address, workers=workers, num_cpus=num_cpus, num_gpus=num_gpus)
        try:
            yield
        finally:
            ray.shutdown()
            if term is not None:
                signal.signal(signal.SIGTERM, term)


def load_ray() -> Any:
    """Return Ray, imported so that it keeps its own log to itself; some of that is set only then.

    A Ray that the caller imported before tells what it always does.
    """
    if "ray" not in sys.modules:
        with _environ(_QUIET), _quietly():
            import ray  # noqa: F401 - loads it
    return sys.modules["ray"]


@contextmanager
def _environ(variables: Mapping[str, str]) -> Iterator[None]:
    """Have these variables set, and then as they were."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _require_address(address: str) -> None:
    if "://" in address:
        raise UsageError(
            f"Ray's client ({address.partition('://')[0]}://) cannot drive a run. Run on a "
            "machine of the cluster, or send the command there with ray job submit, and give auto "
            "or HOST:PORT"
        )
    host, _, port = address.rpartition(":")
    if offline() and not is_here(address):
        raise ConfigurationError(
            f"the Ray cluster at {address} is on the network, and --offline or {VARIABLE} forbids "
            "it. Leave out the address, and Ray starts on this machine"
        )
    if address == "auto":
        return
    try:
        # Ray itself would try for minutes.
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_S).close()
    except (OSError, OverflowError, ValueError) as error:
        raise ConfigurationError(
            f"no Ray cluster at {address}: {error}. Give auto on a machine of the cluster, or its "
            "HOST:PORT, as ray start prints it"
        ) from error


def is_here(address: str) -> bool:
    """Whether an address leads no further than this machine; that of ``auto`` cannot be told."""
    return address.rpartition(":")[0].strip("[]") in LOOPBACK


def _connect(
    ray: Any, address: str | None, *, workers: int, num_cpus: float, num_gpus: float
) -> None:
    how: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address is not None:
            ray.init(address=address, **how)
            return
        from ray._private import ray_constants

        # The variable is read when Ray is imported, which a caller may have done before.
        ray_constants.ENABLE_RAY_CLUSTER = False
        with _without_usage_server():
            ray.init(
                address="local",
                num_cpus=max(1, math.ceil(workers * num_cpus)),
                num_gpus=None if num_gpus else 0,
                include_dashboard=False,
                object_store_memory=OBJECTS_BYTES,
                _node_ip_address="127.0.0.1",
                **how,
            )
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = "Ray cannot be started here" if address is None else f"no Ray cluster at {address}"
        token = "" if address is None else ". One that asks for a token takes RAY_AUTH_MODE=token"
        raise ConfigurationError(f"{where}: {_first_line(error)}{token}") from error


@contextmanager
def _without_usage_server() -> Iterator[None]:
    """Start no server for the dashboard.

    Without a dashboard it only counts usage, and asks the addresses of three clouds where it is
    before it looks whether that is switched off.
    """
    from ray._private.node import Node

    kept = getattr(Node, "start_api_server", None)

    def no_server(node: Any, **_options: Any) -> None:
        node._webui_url = ""  # noqa: SLF001 - what the server's start would have set

    if kept is not None:
        Node.start_api_server = no_server
    try:
        yield
    finally:
        if kept is not None:
            Node.start_api_server = kept


def _first_line(error: Exception) -> str:
    """Return what an error says first, without a full stop: the sentence goes on."""
    return str(error).strip().partition("\n")[0][:300].rstrip(". ") or type(error).__name__


def _handler() -> Any:
    """Return what handles SIGTERM, which Ray replaces; None where it cannot be looked at."""
    try:
        return signal.getsignal(signal.SIGTERM)
    except ValueError:
        return None


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep what Ray's core prints as it starts off standard error; show it if that fails."""
    out = 2  # what the core writes to, whatever stands for it in Python
    try:
        kept = os.dup(out)
    except OSError:  # closed
        yield
        return
    sys.stderr.flush()
    with tempfile.TemporaryFile() as aside:
        os.dup2(aside.fileno(), out)
        try:
            yield
        except BaseException:
            sys.stderr.flush()
            aside.seek(0)
            os.write(kept, aside.read())
            raise
        finally:
            sys.stderr.flush()
            os.dup2(kept, out)
            os.close(kept)
