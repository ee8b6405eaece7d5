"""The switch that keeps a process off the network: ``CLOSECALL_OFFLINE``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from closecall.errors import ConfigurationError

VARIABLE = "CLOSECALL_OFFLINE"

_ON = {"1", "true", "yes", "on"}
_OFF = {"", "0", "false", "no", "off"}


def offline(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether ``CLOSECALL_OFFLINE`` forbids the network; unset or blank: it does not.

    Servers on this machine (loopback addresses) are no network and stay allowed.

    Raises
    ------
    ConfigurationError
        The variable is neither on nor off.
    """
    value = environ.get(VARIABLE, "").strip().lower()
    if value in _ON:
        return True
    if value in _OFF:
        return False
    raise ConfigurationError(f"{VARIABLE} must be on or off (1 or 0), got {value[:20]!r}")


def require_online(
    what: str, environ: Mapping[str, str] = os.environ, *, instead: str = "--embedder minilm"
) -> None:
    """Refuse what needs the network while ``CLOSECALL_OFFLINE`` is on.

    Parameters
    ----------
    what
        What wants the network, as the start of a sentence.
    environ
        Where the variable is looked up.
    instead
        What to use on this machine.

    Raises
    ------
    ConfigurationError
        The network is forbidden.
    """
    if offline(environ):
        raise ConfigurationError(
            f"{what} needs the network, and --offline or {VARIABLE} forbids it. Leave that out, "
            f"or use a model on this machine: {instead}"
        )


@contextmanager
def sealed(why: str = "") -> Iterator[list[str]]:
    """Refuse every connection and name lookup of this process that leaves the machine.

    Yields the list of what was tried, in words, which grows meanwhile. Loopback addresses and
    sockets without an address (pipes between processes) stay allowed. It reaches what goes
    through Python's ``socket``; a library with a network stack of its own is beyond it.

    Parameters
    ----------
    why
        What forbids the network, for the error; default: the variable.
    """
    import socket

    seal = _Seal(why or f"{VARIABLE} forbids the network")
    kept: list[tuple[Any, str, Any]] = []
    for owner, names, change in (
        (socket.socket, _SENDING, seal.sends),
        (socket, _LOOKING_UP, seal.looks_up),
    ):
        for name in names:
            if hasattr(owner, name):
                # What a class inherits is taken off it again, not put back.
                kept.append((owner, name, vars(owner).get(name)))
                setattr(owner, name, change(getattr(owner, name)))
    try:
        yield seal.tried
    finally:
        for owner, name, method in kept:
            if method is None:
                delattr(owner, name)
            else:
                setattr(owner, name, method)


class _Seal:
    """What refuses addresses beyond this machine, and notes them."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.tried: list[str] = []

    def refuse(self, host: object) -> None:
        if not _is_here(host):
            self.tried.append(f"{host}")
            raise ConfigurationError(f"{self.reason}, and something wanted to reach {host}")

    def sends(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method of sockets that looks at the address first."""
        import socket

        internet = {socket.AF_INET, socket.AF_INET6}

        def call(own: socket.socket, *given: Any) -> Any:
            # The address, where there is one, is the last argument that is a tuple.
            address = next((one for one in reversed(given) if isinstance(one, tuple)), None)
            if address is not None and own.family in internet:
                self.refuse(address[0])
            return method(own, *given)

        return call

    def looks_up(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that looks names up, and refuses them first."""

        def call(host: Any = "", *rest: Any, **more: Any) -> Any:
            # What is looked up by an address comes as a pair of host and port.
            self.refuse(host[0] if isinstance(host, tuple) else host)
            return function(host, *rest, **more)

        return call


_SENDING = ("connect", "connect_ex", "sendto", "sendmsg")
_LOOKING_UP = (
    "getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr", "getnameinfo", "getfqdn",
)  # fmt: skip


def _is_here(host: object) -> bool:
    """Whether a host is this machine."""
    import ipaddress

    if host is None:
        return True
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    if name.lower() in {"", "localhost"}:
        return True
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False
