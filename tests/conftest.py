"""Fixtures every test may use, and the two rules of the suite: no network, no touched home."""

import importlib.util
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GUARD = Path(__file__).resolve().parent / "guard"


def _guard():
    """Load the guard by its place: an installation may have a sitecustomize of its own."""
    spec = importlib.util.spec_from_file_location("network_guard", GUARD / "sitecustomize.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


guard = _guard()
NUMBERS = itertools.count()

if importlib.util.find_spec("hypothesis"):  # not beside other evaluators
    from hypothesis import settings

    # A busy machine may take a second for any example: how long one takes says nothing.
    settings.register_profile("at any speed", deadline=None)
    settings.load_profile("at any speed")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of human-labelled data beside the checkout; absent on most machines."""
    folder = Path(os.environ.get("CLOSECALL_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if folder.is_dir():
        return folder
    if os.environ.get("CI") == "true":
        pytest.fail(f"the labelled data folder is missing: {folder}")
    return pytest.skip(f"the labelled data folder is not on this machine: {folder}")


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all tests; ``mktemp`` lists all it ever made, so it is too slow for each."""
    return tmp_path_factory.mktemp("closecall")


@pytest.fixture
def _home(_homes: Path) -> Path:
    home = _homes / str(next(NUMBERS))
    home.mkdir()
    return home


@pytest.fixture(autouse=True)
def _own_folders(_home: Path, monkeypatch: pytest.MonkeyPatch):
    """Cache and model store of each test are its own; no variable of the machine leaks in."""
    for name in list(os.environ):
        if name.startswith(
            ("CLOSECALL_", "AI_", "OPENAI_", "AZURE_OPENAI_", "FOUNDRY_", "BITDEER_", "OLLAMA_")
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("CLOSECALL_CACHE_DIR", str(_home / "cache"))
    monkeypatch.setenv("CLOSECALL_MODELS_DIR", str(_home / "models"))


@pytest.fixture(autouse=True)
def no_network(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    _home: Path,
    _own_folders,
):
    """Connecting or resolving a name fails, except on the loopback in tests marked for it.

    Tries are noted, here and in child processes, so that swallowing the error does not help.
    """
    notes = _home / "tries"
    loopback = request.node.get_closest_marker("loopback") is not None
    path = [str(GUARD), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    monkeypatch.setenv(guard.NOTES, str(notes))
    if loopback:
        monkeypatch.setenv(guard.LOOPBACK_ALLOWED, "1")
    guard.watched.update(notes=str(notes), loopback=loopback)
    yield notes
    guard.watched.update(notes=None)
    if notes.exists():
        pytest.fail(f"a test used the network: {notes.read_text(encoding='utf-8')}")


@pytest.fixture
def unprivileged(tmp_path: Path):
    """Run the command line as a user who may not look into ``tmp_path``; return what came of it.

    It runs twice: first with all rights, so that every module is loaded by then.
    """
    if os.name != "posix":
        pytest.skip("takes away rights as POSIX does")
    code = """
import contextlib, io, os, sys
from closecall.cli import run
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    run(sys.argv[2:])
os.chmod(sys.argv[1], 0)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.exit(run(sys.argv[2:]))
"""

    def call(*args: object, **variables: str):
        try:
            return subprocess.run(
                [sys.executable, "-c", code, str(tmp_path), *map(str, args)],
                check=False,
                capture_output=True,
                encoding="utf-8",
                env={**os.environ, **variables},
                cwd="/",
                timeout=120,
            )
        finally:
            tmp_path.chmod(0o700)

    return call


@pytest.fixture
def no_hang():
    """Fail a test that takes more than five seconds of the processor where it takes a moment."""
    if not hasattr(signal, "ITIMER_VIRTUAL"):
        pytest.skip("needs a clock of processor time")

    def too_long(*_):
        pytest.fail("more than five seconds of the processor")

    before = signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, 5)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)
