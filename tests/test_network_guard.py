"""The guard of the suite itself: a try to use the network fails its test, whoever swallows it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SWALLOWED = """
import contextlib, socket
with contextlib.suppress(Exception):
    {call}
"""
CALLS = (
    'socket.getaddrinfo("models.example", 443)',
    'socket.gethostbyname("models.example")',
    'with socket.socket() as s: s.connect(("192.0.2.1", 443))',
    'with socket.socket() as s: s.connect_ex(("192.0.2.1", 443))',
    'with socket.socket(type=socket.SOCK_DGRAM) as s: s.sendto(b"x", ("192.0.2.1", 53))',
    'socket.create_connection(("127.0.0.1", 9))',
)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("child", [False, True], ids=["here", "in a child process"])
def test_a_try_that_is_swallowed_is_noted(call, child, no_network):
    code = SWALLOWED.format(call=call)
    if child:
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    else:
        exec(code, {})
    assert "socket." in no_network.read_text(encoding="utf-8")
    no_network.unlink()


@pytest.mark.loopback
def test_a_test_marked_for_it_reaches_this_machine_and_no_other(no_network):
    code = SWALLOWED.format(call='socket.create_connection(("localhost", 9), 1)')
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert not no_network.exists()
    subprocess.run([sys.executable, "-c", SWALLOWED.format(call=CALLS[0])], check=True, timeout=60)
    no_network.unlink()


def test_a_note_fails_the_test(tmp_path):
    test = SWALLOWED.format(call=CALLS[0]).replace("\n", "\n    ")
    (tmp_path / "test_it.py").write_text(f"def test_it():{test}\n    pass\n", encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = loopback\n", encoding="utf-8")
    here = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ["PYTHONPATH"]])}
    # The child is guarded by its own conftest, not by this test's notes.
    environment = {k: v for k, v in os.environ.items() if k != "CLOSECALL_TEST_GUARD"} | here
    said = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", "."],
        check=False, cwd=tmp_path, env=environment,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert said.returncode == 1
    assert "a test used the network: socket.getaddrinfo 'models.example'" in said.stdout
