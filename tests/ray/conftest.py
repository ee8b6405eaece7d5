"""One Ray of two workers for all tests here; starting it takes seconds."""

import importlib.util
import os
import tempfile

import pytest


def _here(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


@pytest.fixture(scope="session")
def _ray():
    if not (_here("ray") and _here("pyarrow")):
        pytest.skip("Ray is not installed: pip install '.[ray]'")
    from closecall.ray.cluster import cluster

    kept = {name: os.environ.get(name) for name in ("HOME", "RAY_TMPDIR")}
    # Sockets lie there, and their paths may have 107 bytes.
    with tempfile.TemporaryDirectory(prefix="cc", ignore_cleanup_errors=True) as place:
        os.environ.update(HOME=place, RAY_TMPDIR=place)
        try:
            with cluster(workers=2):
                yield
        finally:
            for name, value in kept.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


@pytest.fixture
def ray(_ray):
    """Ray, running."""
    import ray

    return ray
