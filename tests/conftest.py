"""Fixtures every test may use, and the two rules of the suite: no network, no touched home."""

import os
import socket
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of human-labelled data beside the checkout; absent on most machines."""
    folder = Path(os.environ.get("CLOSECALL_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if folder.is_dir():
        return folder
    if os.environ.get("CI") == "true":
        pytest.fail(f"the labelled data folder is missing: {folder}")
    return pytest.skip(f"the labelled data folder is not on this machine: {folder}")


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    """Cache and model store of each test are its own; no variable of the machine leaks in."""
    home = tmp_path_factory.mktemp("closecall")
    for name in list(os.environ):
        if name.startswith(("CLOSECALL_", "AI_", "OPENAI_", "AZURE_OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("CLOSECALL_CACHE_DIR", str(home / "cache"))
    monkeypatch.setenv("CLOSECALL_MODELS_DIR", str(home / "models"))


@pytest.fixture(autouse=True)
def _no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    """Connecting or resolving a name fails, except on the loopback in tests marked for it."""
    loopback = request.node.get_closest_marker("loopback") is not None
    connect, getaddrinfo = socket.socket.connect, socket.getaddrinfo

    def guarded_connect(self, address):
        if loopback and isinstance(address, tuple) and address[0] in LOOPBACK:
            return connect(self, address)
        raise AssertionError(f"a test tried to connect to {address!r}")

    def guarded_getaddrinfo(host, *args, **kwargs):
        if loopback and host in LOOPBACK:
            return getaddrinfo(host, *args, **kwargs)
        raise AssertionError(f"a test tried to resolve {host!r}")

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_connect)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
