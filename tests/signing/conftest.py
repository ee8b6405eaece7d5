"""Keys and a sealed run; lets the tests of this folder import the helpers of runs."""

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "runs"))

pytest.importorskip("cryptography")

from every_run import cases, gated

from closecall.signing.private_keys import new_key


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("made") / "run"
    gated(place, place.parent, given=cases(6))
    return place


@pytest.fixture
def run(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "run"))


@pytest.fixture
def key(tmp_path):
    """An Ed25519 key, its public half beside it."""
    path = tmp_path / "sign.key"
    path.with_name("sign.key.pub").write_bytes(new_key(path).public_pem())
    return path


@pytest.fixture
def public(key):
    return key.with_name("sign.key.pub")
