"""Runtimes that each bring an OpenMP, in one process."""

import pytest

from closecall.index import side_by_side
from closecall.index.side_by_side import runtimes_side_by_side


def test_what_is_installed_works_in_both_orders():
    assert runtimes_side_by_side(("onnxruntime", "faiss")) == (
        "onnxruntime, faiss loaded in one process in both orders, each with a search"
    )


@pytest.mark.parametrize(
    ("last_words", "how"),
    [("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal 11"), ("raise OSError('OMP: Error #15')", "exit 1: OSError: OMP: Error #15")],
)  # fmt: skip
def test_a_process_that_ends_is_told_with_its_order(monkeypatch, last_words, how):
    monkeypatch.setattr(
        side_by_side, "_PROGRAM", f"import sys\nif sys.argv[1] == 'faiss': {last_words}"
    )
    with pytest.raises(RuntimeError, match=f"^faiss, then numpy in one process ended with {how}"):
        runtimes_side_by_side(("numpy", "faiss"))


def test_a_process_that_hangs_is_ended(monkeypatch):
    monkeypatch.setattr(side_by_side, "_PROGRAM", "import threading; threading.Event().wait()")
    monkeypatch.setattr(side_by_side, "TIMEOUT_S", 0.5)
    with pytest.raises(RuntimeError, match=r"a search did not end in 0\.5 s"):
        runtimes_side_by_side(("faiss",))


def test_without_faiss_it_says_what_to_install():
    with pytest.raises(RuntimeError, match="pip install faiss-cpu"):
        runtimes_side_by_side(("numpy",))
